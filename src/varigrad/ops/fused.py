"""Products with their bias and activation in one kernel: the namespace `vg.fused`."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, binary, convert, convert_floating, operands
from varigrad.ops.matmul import check_product
from varigrad.ops.matmul import mat_mul as unfused_mat_mul
from varigrad.tensor import Tensor, format_shape

__all__ = ["mat_mul"]


def mat_mul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    bias: TensorLike | None = None,
    activation: str | None = "linear",
    prelu_activation_weights: TensorLike | None = None,
    leakyrelu_alpha: float = 0.2,
) -> Tensor:
    """`activation(a @ b + bias)` in one step, differentiable like the separate ops.

    Mirrors `tf.fused.matMul`.

    Args:
        a: Floating, `[..., rows, inner]`; `[..., inner, rows]` with `transpose_a`.
        b: Floating, `[..., inner, columns]`; `[..., columns, inner]` with `transpose_b`.
        transpose_a: Whether to swap the last two axes of `a` first.
        transpose_b: Whether to swap the last two axes of `b` first.
        bias: Floating, of a shape that broadcasts to the result's, such as `[columns]`.
        activation: `"linear"`, `"relu"`, `"relu6"`, `"elu"`, `"sigmoid"`, `"leakyrelu"` or `"prelu"`.
        prelu_activation_weights: The slopes of `"prelu"`, of a shape that broadcasts to the result's.
        leakyrelu_alpha: The slope of `"leakyrelu"` below zero.

    Returns:
        `[..., rows, columns]`.

    Raises:
        ValueError: The shapes do not fit each other, or the activation is unknown.

    >>> import varigrad as vg
    >>> vg.fused.mat_mul([[1, 2]], [[1, -1], [1, -1]], bias=[1, 1], activation="relu").tolist()
    [[4.0, 0.0]]
    """
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage.dtype is b.storage.dtype):
        a, b = operands("fused.mat_mul", a, b)
    if a.storage.dtype.kind != "f":
        a, b = convert_floating(a, "fused.mat_mul", "a"), convert_floating(b, "fused.mat_mul", "b")
    if bias is None:
        inputs = (a, b)
    elif isinstance(bias, Tensor) and bias.storage.dtype is a.storage.dtype:
        inputs = (a, b, bias)
    else:
        inputs = (a, b, convert(bias, "fused.mat_mul", "bias", a.dtype))
    inside = _inside(activation, leakyrelu_alpha)
    try:
        y = run_kernel(
            "_FusedMatMul",
            inputs,
            {
                "transpose_a": transpose_a,
                "transpose_b": transpose_b,
                "activation": inside,
                "leakyrelu_alpha": leakyrelu_alpha,
            },
        )
    except ValueError:
        _check_mat_mul(*inputs, transpose_a=transpose_a, transpose_b=transpose_b)
        raise
    if inside == activation:
        return y
    return _activate("fused.mat_mul", y, activation, prelu_activation_weights, leakyrelu_alpha)


# The activations that kernels apply themselves: those whose derivative their result tells.
_INSIDE = frozenset(["elu", "leakyrelu", "linear", "relu", "relu6", "sigmoid"])


def _inside(activation: str | None, leakyrelu_alpha: float) -> str:
    """The activation that the kernel applies."""
    if activation not in _INSIDE or (leakyrelu_alpha < 0 and activation == "leakyrelu"):
        return "linear"
    return activation


def _activate(
    op: str, y: Tensor, activation: str | None, prelu_weights: TensorLike | None, leakyrelu_alpha: float
) -> Tensor:
    """Applies an activation that no fused kernel has."""
    if activation == "prelu":
        if prelu_weights is None:
            raise ValueError(f"{op}: the activation 'prelu' needs prelu_activation_weights")
        alpha = convert(prelu_weights, op, "prelu_activation_weights", y.dtype)
        return binary("Prelu", op, y, alpha)
    if activation == "leakyrelu":  # a slope below 0: the sign of the result does not tell the sign of its argument
        return run_kernel("LeakyRelu", (y,), {"alpha": leakyrelu_alpha})
    if activation is None:
        return y
    raise ValueError(f"{op}: unknown activation {activation!r}; use one of {', '.join(sorted([*_INSIDE, 'prelu']))}")


def _check_mat_mul(a: Tensor, b: Tensor, bias: Tensor | None = None, *, transpose_a: bool, transpose_b: bool) -> None:
    """Explains why a fused product failed."""
    for name, x in (("a", a), ("b", b)):
        if x.rank < 2:
            raise ValueError(f"fused.mat_mul: {name} must have rank 2 or more, got shape {format_shape(x.shape)}")
    check_product("fused.mat_mul", a, b, transpose_a, transpose_b)
    if bias is not None:
        shape = unfused_mat_mul(a, b, transpose_a, transpose_b).shape
        raise ValueError(
            f"fused.mat_mul: bias of shape {format_shape(bias.shape)} cannot be added to a product of shape "
            f"{format_shape(shape)}"
        )

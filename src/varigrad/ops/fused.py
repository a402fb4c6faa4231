"""Products with their bias and activation in one kernel: the namespace `vg.fused`."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.activations import leaky_relu, prelu, relu6
from varigrad.ops.arguments import TensorLike, accept, convert, operands, reshape_to
from varigrad.ops.conv_calls import convolve
from varigrad.ops.conv_geometry import Pad, Steps
from varigrad.ops.matmul import check_product, rank_too_low
from varigrad.ops.matmul import mat_mul as unfused_mat_mul
from varigrad.ops.options import flag, number
from varigrad.tensor import Tensor, format_shape

__all__ = ["conv2d", "depthwise_conv2d", "mat_mul"]

# The activations inside the kernels: those whose derivative their result tells. The others follow as ops.
_INSIDE = frozenset(["elu", "linear", "relu", "sigmoid"])
_NAMES = ", ".join(sorted([*_INSIDE, "leakyrelu", "prelu", "relu6"]))


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
        a, b = accept(a, "fused.mat_mul", "a", "f"), accept(b, "fused.mat_mul", "b", "f")
    if a.storage.ndim < 2 or b.storage.ndim < 2:
        raise rank_too_low("fused.mat_mul", a, b)
    if bias is None:
        inputs = (a, b)
    elif isinstance(bias, Tensor) and bias.storage.dtype is a.storage.dtype:
        inputs = (a, b, bias)
    else:
        inputs = (a, b, convert(bias, "fused.mat_mul", "bias", a.dtype))
    if transpose_a.__class__ is not bool or transpose_b.__class__ is not bool:
        transpose_a = flag("fused.mat_mul", "transpose_a", transpose_a)
        transpose_b = flag("fused.mat_mul", "transpose_b", transpose_b)
    inside = _inside("fused.mat_mul", activation)
    try:
        y = run_kernel(
            "_FusedMatMul", inputs, {"transpose_a": transpose_a, "transpose_b": transpose_b, "activation": inside}
        )
    except ValueError:
        _check_mat_mul(inputs, transpose_a, transpose_b)
        raise
    if inside == activation:
        return y
    return _activate("fused.mat_mul", y, activation, prelu_activation_weights, leakyrelu_alpha)


def conv2d(
    x: TensorLike,
    filter: TensorLike,
    strides: Steps,
    pad: Pad,
    data_format: str = "NHWC",
    dilations: Steps = 1,
    dim_rounding_mode: str | None = None,
    bias: TensorLike | None = None,
    activation: str | None = "linear",
    prelu_activation_weights: TensorLike | None = None,
    leakyrelu_alpha: float = 0.2,
) -> Tensor:
    """`activation(conv2d(x, filter) + bias)` in one step, differentiable like the separate ops.

    Mirrors `tf.fused.conv2d`. The first seven arguments are those of `vg.conv2d`; the others those of
    `vg.fused.mat_mul`, with a bias `[filters]` or one that broadcasts to `[batch, height, width, filters]`.

    >>> import varigrad as vg
    >>> y = vg.fused.conv2d([[[1], [-3]]], [[[[1, 2]]]], strides=1, pad="valid", bias=[1, 1], activation="relu")
    >>> y.tolist()
    [[[2.0, 3.0], [0.0, 0.0]]]
    """
    op = "fused.conv2d"
    inside = _inside(op, activation)
    y = convolve(op, "FusedConv2D", 2, x, filter, strides, pad, data_format, dilations, dim_rounding_mode, bias, inside)
    if inside == activation:
        return y
    return _activate(op, y, activation, prelu_activation_weights, leakyrelu_alpha, data_format == "NCHW")


def depthwise_conv2d(
    x: TensorLike,
    filter: TensorLike,
    strides: Steps,
    pad: Pad,
    data_format: str = "NHWC",
    dilations: Steps = 1,
    dim_rounding_mode: str | None = None,
    bias: TensorLike | None = None,
    activation: str | None = "linear",
    prelu_activation_weights: TensorLike | None = None,
    leakyrelu_alpha: float = 0.2,
) -> Tensor:
    """`activation(depthwise_conv2d(x, filter) + bias)` in one step, differentiable like the separate ops.

    Mirrors `tf.fused.depthwiseConv2d`. The arguments are those of `vg.fused.conv2d`, with the filter of
    `vg.depthwise_conv2d`.

    >>> import varigrad as vg
    >>> y = vg.fused.depthwise_conv2d([[[1, -3]]], vg.ones([1, 1, 2, 1]), strides=1, pad="valid", activation="relu")
    >>> y.tolist()
    [[[1.0, 0.0]]]
    """
    op = "fused.depthwise_conv2d"
    inside = _inside(op, activation)
    y = convolve(
        op, "FusedDepthwiseConv2D", 2, x, filter, strides, pad, data_format, dilations, dim_rounding_mode, bias, inside
    )
    if inside == activation:
        return y
    return _activate(op, y, activation, prelu_activation_weights, leakyrelu_alpha, data_format == "NCHW")


def _inside(op: str, activation: str | None) -> str:
    """What the kernel does of an activation."""
    if activation is not None and not isinstance(activation, str):
        raise TypeError(f"{op}: activation must be one of {_NAMES}, got {activation!r:.80}")
    return activation if activation in _INSIDE else "linear"


def _activate(
    op: str,
    y: Tensor,
    activation: str | None,
    prelu_weights: TensorLike | None,
    leakyrelu_alpha: float,
    channels_first: bool = False,
) -> Tensor:
    """Applies an activation that the kernels do not have."""
    if activation is None:
        return y
    if activation == "relu6":
        return relu6(y)
    if activation == "leakyrelu":
        return leaky_relu(y, number(op, "leakyrelu_alpha", leakyrelu_alpha))
    if activation == "prelu":
        if prelu_weights is None:
            raise ValueError(f"{op}: the activation 'prelu' needs prelu_activation_weights")
        weights = convert(prelu_weights, op, "prelu_activation_weights", y.dtype)
        if channels_first and weights.rank == 1:
            weights = reshape_to(weights, (weights.size, 1, 1))
        return prelu(y, weights)
    raise ValueError(f"{op}: unknown activation {activation!r}; use one of {_NAMES}")


def _check_mat_mul(inputs: tuple[Tensor, ...], transpose_a: bool, transpose_b: bool) -> None:
    """Explains why a fused product failed."""
    a, b, *bias = inputs
    check_product("fused.mat_mul", a, b, transpose_a, transpose_b)
    if bias:
        product = unfused_mat_mul(a, b, transpose_a, transpose_b)
        raise ValueError(
            f"fused.mat_mul: bias of shape {format_shape(bias[0].shape)} cannot be added to a product of shape "
            f"{format_shape(product.shape)}"
        )

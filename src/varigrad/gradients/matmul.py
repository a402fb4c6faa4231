"""Derivatives of matrix products."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from varigrad.engine import run_kernel
from varigrad.gradients.rules import sum_to
from varigrad.ops.arithmetic import mul, scale, sub
from varigrad.ops.matmul import flat_rows
from varigrad.tape import Gradient, inputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, shape: tuple[int, ...]) -> Tensor:
    """A matrix product, summed over the batch axes along which the tensor of this shape was broadcast."""
    if transpose_a and not transpose_b and len(shape) == 2 < a.ndim and a.shape[:-2] == b.shape[:-2]:
        # A sum of products over a batch is one product of matrices with all rows.
        a, b = flat_rows(a), flat_rows(b)
    product = run_kernel("BatchMatMul", (a, b), {"transpose_a": transpose_a, "transpose_b": transpose_b})
    return product if product.storage.shape == shape else sum_to(product, shape)


def _factors(
    dy: Tensor, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool
) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
    """The gradients of op(a) @ op(b)."""

    def for_a() -> Tensor:
        if transpose_a:
            return _product(b, dy, transpose_b, True, a.storage.shape)
        return _product(dy, b, False, not transpose_b, a.storage.shape)

    def for_b() -> Tensor:
        if transpose_b:
            return _product(dy, a, True, transpose_a, b.storage.shape)
        return _product(a, dy, not transpose_a, False, b.storage.shape)

    return for_a, for_b


def _fused_inputs(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """The output, both matrices, and the shape of the bias if there is one."""
    a, b, *bias = inputs
    return outputs[0], a, b, bias[0].storage.shape if bias else None


def _fused_mat_mul(
    dy: Tensor,
    y: Tensor,
    a: Tensor,
    b: Tensor,
    bias: tuple[int, ...] | None,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
    leakyrelu_alpha: float,
) -> tuple[Any, ...]:
    if activation != "linear":
        attrs = {"activation": activation, "leakyrelu_alpha": leakyrelu_alpha}
        dy = run_kernel("_FusedActivationGrad", (dy, y), attrs)
    for_a, for_b = _factors(dy, a, b, transpose_a, transpose_b)
    return for_a, for_b, lambda: sum_to(dy, bias or ())


def _fused_activation_grad(
    ddy: Tensor, dy: Tensor, y: Tensor, activation: str, leakyrelu_alpha: float
) -> tuple[Any, ...]:
    attrs = {"activation": activation, "leakyrelu_alpha": leakyrelu_alpha}

    def for_y() -> Tensor:
        product = mul(ddy, dy)
        if activation == "sigmoid":  # the derivative is y - y², so its own is 1 - 2y
            return mul(product, sub(1.0, scale(y, 2.0)))
        # elu's is y + 1 where y < 0, and constant elsewhere
        return sub(product, run_kernel("_FusedActivationGrad", (product, y), {**attrs, "activation": "relu"}))

    return (
        lambda: run_kernel("_FusedActivationGrad", (ddy, y), attrs),
        for_y if activation in ("elu", "sigmoid") else None,
    )


GRADIENTS: dict[str, Gradient] = {
    "BatchMatMul": Gradient(_factors, inputs),
    "_FusedActivationGrad": Gradient(_fused_activation_grad, inputs),
    "_FusedMatMul": Gradient(_fused_mat_mul, _fused_inputs),
}

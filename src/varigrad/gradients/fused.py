"""Derivatives of products with a bias and an activation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.gradients.activations import GRADIENTS as ACTIVATIONS
from varigrad.gradients.convolution import GRADIENTS as CONVOLUTION
from varigrad.gradients.matmul import factor_gradients
from varigrad.gradients.rules import sum_to
from varigrad.tape import Gradient
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]

# dy, y -> the gradient of what the activation was applied to.
_ACTIVATION_GRADIENTS: dict[str, Any] = {
    "elu": ACTIVATIONS["Elu"].rule,
    "relu": ACTIVATIONS["Relu"].rule,
    "sigmoid": ACTIVATIONS["Sigmoid"].rule,
}


def _factors_and_output(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """The output, both factors, and the shape of the bias if there is one."""
    return (*outputs, *inputs[:2], inputs[2].storage.shape if len(inputs) > 2 else None)


def _fused_mat_mul(
    dy: Tensor,
    y: Tensor,
    a: Tensor,
    b: Tensor,
    bias: tuple[int, ...] | None,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
) -> tuple[Any, ...]:
    if activation != "linear":
        dy = _ACTIVATION_GRADIENTS[activation](dy, y)
    for_a, for_b = factor_gradients(dy, a, b, transpose_a, transpose_b)
    return (for_a, for_b) if bias is None else (for_a, for_b, lambda: sum_to(dy, bias))


def _fused_convolution(kernel: str) -> Gradient:
    """The rule of a convolution with a bias and an activation, from that of the convolution."""
    convolution: Any = CONVOLUTION[kernel].rule

    def rule(
        dy: Tensor,
        y: Tensor,
        x: Tensor,
        filter: Tensor,
        bias: tuple[int, ...] | None,
        activation: str,
        **geometry: Any,
    ) -> tuple[Any, ...]:
        if activation != "linear":
            dy = _ACTIVATION_GRADIENTS[activation](dy, y)
        gradients = convolution(dy, x, filter, **geometry)
        return gradients if bias is None else (*gradients, lambda: sum_to(dy, bias))

    return Gradient(rule, _factors_and_output)


GRADIENTS: dict[str, Gradient] = {
    "FusedConv2D": _fused_convolution("Conv2D"),
    "FusedDepthwiseConv2D": _fused_convolution("DepthwiseConv2dNative"),
    "_FusedMatMul": Gradient(_fused_mat_mul, _factors_and_output),
}

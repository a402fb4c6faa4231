"""Derivatives of products with a bias and an activation."""

# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.gradients.convolution import GRADIENTS as CONVOLUTION
from varigrad.gradients.elementwise import GRADIENTS as ELEMENTWISE
from varigrad.gradients.matmul import factor_gradients
from varigrad.gradients.rules import sum_to
from varigrad.tape import Gradient, Rule
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]

# dy, y -> the gradient of what the activation was applied to.
_ACTIVATION_GRADIENTS: dict[str, Rule] = {
    "elu": ELEMENTWISE["Elu"].rule,
    "linear": lambda dy, y: dy,
    "relu": ELEMENTWISE["Relu"].rule,
    "sigmoid": ELEMENTWISE["Sigmoid"].rule,
}


def _factors_and_output(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """The output, both factors, and the shape of the bias if there is one."""
    return (*outputs, *inputs[:2], inputs[2].storage.shape if len(inputs) > 2 else None)


def _fused(product_gradients: Rule) -> Gradient:
    """The rule of a product with a bias and an activation, from the product's own."""

    def rule(
        dy: Tensor, y: Tensor, a: Tensor, b: Tensor, bias: tuple[int, ...] | None, activation: str, **attrs: Any
    ) -> tuple[Any, ...]:
        dy = _ACTIVATION_GRADIENTS[activation](dy, y)
        gradients = product_gradients(dy, a, b, **attrs)
        return gradients if bias is None else (*gradients, lambda: sum_to(dy, bias))

    return Gradient(rule, _factors_and_output)


GRADIENTS: dict[str, Gradient] = {
    "FusedConv2D": _fused(CONVOLUTION["Conv2D"].rule),
    "FusedDepthwiseConv2D": _fused(CONVOLUTION["DepthwiseConv2dNative"].rule),
    "_FusedMatMul": _fused(factor_gradients),
}

"""Derivatives of binary arithmetic."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.gradients.rules import sum_to
from varigrad.ops.arithmetic import mul, multiply_no_nan, scale
from varigrad.tape import Gradient, input_shapes, inputs, nothing

__all__ = ["GRADIENTS"]

GRADIENTS: dict[str, Gradient] = {
    "Add": Gradient(
        lambda dy, a, b: (lambda: sum_to(dy, a), lambda: sum_to(dy, b)),
        input_shapes,
    ),
    "Sub": Gradient(
        lambda dy, a, b: (lambda: sum_to(dy, a), lambda: sum_to(scale(dy, -1.0), b)),
        input_shapes,
    ),
    "Multiply": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(multiply_no_nan(b, dy), a.shape),
            lambda: sum_to(multiply_no_nan(a, dy), b.shape),
        ),
        inputs,
    ),
    "MultiplyNoNan": Gradient(
        lambda dy, x, weight: (
            lambda: sum_to(mul(weight, dy), x.shape),
            lambda: sum_to(multiply_no_nan(x, dy), weight.shape),
        ),
        inputs,
    ),
    "Scale": Gradient(lambda dy, factor: scale(dy, factor), nothing),
}

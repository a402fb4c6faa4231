"""Derivatives of trigonometric and hyperbolic functions."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.gradients.rules import chain, used
from varigrad.ops.arithmetic import add, mul, scale, sub
from varigrad.ops.elementwise import conj, neg, reciprocal, rsqrt, square
from varigrad.ops.trigonometry import cos, cosh, sin, sinh, tanh_grad
from varigrad.tape import Gradient, inputs, outputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _one_minus_square(x: Tensor) -> Tensor:
    # As a product it keeps its digits near 1.
    return mul(sub(1.0, x), add(x, 1.0))


GRADIENTS: dict[str, Gradient] = {
    "Acos": Gradient(lambda dy, x: chain(neg(rsqrt(_one_minus_square(x))), dy), inputs),
    "Acosh": Gradient(lambda dy, y: chain(reciprocal(sinh(y)), dy), outputs),
    "Asin": Gradient(lambda dy, x: chain(rsqrt(_one_minus_square(x)), dy), inputs),
    "Asinh": Gradient(lambda dy, y: chain(reciprocal(cosh(y)), dy), outputs),
    "Atan": Gradient(lambda dy, x: chain(reciprocal(add(square(x), 1.0)), dy), inputs),
    "Atanh": Gradient(lambda dy, x: chain(reciprocal(_one_minus_square(x)), dy), inputs),
    "Cos": Gradient(lambda dy, x: chain(neg(sin(x)), dy), inputs),
    "Cosh": Gradient(lambda dy, x: chain(sinh(x), dy), inputs),
    "Sin": Gradient(lambda dy, x: chain(cos(x), dy), inputs),
    "Sinh": Gradient(lambda dy, x: chain(cosh(x), dy), inputs),
    "Tan": Gradient(lambda dy, y: chain(add(square(y), 1.0), dy), outputs),
    "Tanh": Gradient(lambda dy, y: tanh_grad(dy, conj(y)), outputs),
    "TanhGrad": Gradient(
        lambda ddy, dy, y: (
            tanh_grad(ddy, conj(y)),
            lambda: chain(scale(y, -2.0), used(dy, ddy)),
        ),
        inputs,
    ),
}

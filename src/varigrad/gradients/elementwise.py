"""Derivatives of functions of single numbers."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import math

from varigrad.gradients.rules import chain, no_slope
from varigrad.ops.arguments import cast_to
from varigrad.ops.arithmetic import add, div_no_nan, mul, scale
from varigrad.ops.comparison import equal, keep_where
from varigrad.ops.elementwise import conj, exp, neg, reciprocal, sign, square
from varigrad.tape import Gradient, inputs, inputs_and_outputs, nothing, outputs

__all__ = ["GRADIENTS"]

GRADIENTS: dict[str, Gradient] = {
    "Abs": Gradient(lambda dy, x: chain(sign(x), dy), inputs),
    "Ceil": Gradient(lambda dy: no_slope(dy), nothing),
    "ClipByValue": Gradient(
        lambda dy, x, y, clip_value_min, clip_value_max: keep_where(dy, equal(x, y)),
        inputs_and_outputs,
    ),
    "ComplexAbs": Gradient(
        lambda dy, x, y: mul(div_no_nan(x, cast_to(y, "complex64")), cast_to(dy, "complex64")),
        inputs_and_outputs,
    ),
    "Conj": Gradient(lambda dy: conj(dy), nothing),
    "Erf": Gradient(lambda dy, x: chain(scale(exp(neg(square(x))), 2 / math.sqrt(math.pi)), dy), inputs),
    "Exp": Gradient(lambda dy, y: chain(y, dy), outputs),
    "Expm1": Gradient(lambda dy, x: chain(exp(x), dy), inputs),
    "Floor": Gradient(lambda dy: no_slope(dy), nothing),
    "Log": Gradient(lambda dy, x: chain(reciprocal(x), dy), inputs),
    "Log1p": Gradient(lambda dy, x: chain(reciprocal(add(x, 1.0)), dy), inputs),
    "Neg": Gradient(lambda dy: neg(dy), nothing),
    "Reciprocal": Gradient(lambda dy, y: chain(neg(square(y)), dy), outputs),
    "Round": Gradient(lambda dy: no_slope(dy), nothing),
    "Rsqrt": Gradient(lambda dy, y: chain(scale(mul(y, square(y)), -0.5), dy), outputs),
    "Sign": Gradient(lambda dy: no_slope(dy), nothing),
    "Sqrt": Gradient(lambda dy, y: chain(scale(reciprocal(y), 0.5), dy), outputs),
    "Square": Gradient(lambda dy, x: chain(x, dy, 2.0), inputs),
    "Step": Gradient(lambda dy, alpha: no_slope(dy), nothing),
}

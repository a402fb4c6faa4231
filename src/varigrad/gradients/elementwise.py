"""Derivatives of functions of single numbers."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

import math

from varigrad.engine import run_kernel
from varigrad.gradients.rules import chain, no_slope, sum_to, used
from varigrad.ops.arguments import cast_to
from varigrad.ops.arithmetic import add, div_no_nan, minimum, mul, scale, sub
from varigrad.ops.comparison import equal, greater, keep_where, less, where
from varigrad.ops.elementwise import (
    conj,
    exp,
    neg,
    reciprocal,
    relu_grad,
    sigmoid,
    sigmoid_grad,
    sign,
    square,
    step,
)
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
    "Elu": Gradient(lambda dy, y, **attrs: run_kernel("EluGrad", (dy, y), attrs), outputs),
    "EluGrad": Gradient(
        lambda ddy, dy, y, **attrs: (
            run_kernel("EluGrad", (ddy, y), attrs),
            lambda: keep_where(used(dy, ddy), less(y, 0.0)),
        ),
        inputs,
    ),
    "Erf": Gradient(lambda dy, x: chain(scale(exp(neg(square(x))), 2 / math.sqrt(math.pi)), dy), inputs),
    "Exp": Gradient(lambda dy, y: chain(y, dy), outputs),
    "Expm1": Gradient(lambda dy, x: chain(exp(x), dy), inputs),
    "Floor": Gradient(lambda dy: no_slope(dy), nothing),
    "LeakyRelu": Gradient(lambda dy, x, alpha: chain(step(x, alpha), dy), inputs),
    "Log": Gradient(lambda dy, x: chain(reciprocal(x), dy), inputs),
    "Log1p": Gradient(lambda dy, x: chain(reciprocal(add(x, 1.0)), dy), inputs),
    "Neg": Gradient(lambda dy: neg(dy), nothing),
    "Prelu": Gradient(
        lambda dy, x, alpha: (
            lambda: sum_to(chain(where(greater(x, 0.0), 1.0, alpha), dy), x.shape),
            lambda: sum_to(chain(minimum(x, 0.0), dy), alpha.shape),
        ),
        inputs,
    ),
    "Reciprocal": Gradient(lambda dy, y: chain(neg(square(y)), dy), outputs),
    "Relu": Gradient(lambda dy, y: relu_grad(dy, y), outputs),
    "Relu6": Gradient(lambda dy, x, y: keep_where(relu_grad(dy, y), equal(x, y)), inputs_and_outputs),
    "ReluGrad": Gradient(lambda ddy, dy, y: (relu_grad(ddy, y), lambda: no_slope(y)), inputs),
    "Round": Gradient(lambda dy: no_slope(dy), nothing),
    "Rsqrt": Gradient(lambda dy, y: chain(scale(mul(y, square(y)), -0.5), dy), outputs),
    "Selu": Gradient(lambda dy, y, **attrs: run_kernel("EluGrad", (dy, y), attrs), outputs),
    "Sigmoid": Gradient(lambda dy, y: sigmoid_grad(dy, y), outputs),
    "SigmoidGrad": Gradient(
        lambda ddy, dy, y: (
            sigmoid_grad(ddy, y),
            lambda: chain(sub(1.0, scale(y, 2.0)), used(dy, ddy)),
        ),
        inputs,
    ),
    "Sign": Gradient(lambda dy: no_slope(dy), nothing),
    "Softplus": Gradient(lambda dy, x: chain(sigmoid(x), dy), inputs),
    "Sqrt": Gradient(lambda dy, y: chain(scale(reciprocal(y), 0.5), dy), outputs),
    "Square": Gradient(lambda dy, x: chain(x, dy, 2.0), inputs),
    "Step": Gradient(lambda dy, alpha: no_slope(dy), nothing),
}

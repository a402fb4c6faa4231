"""Derivatives of binary arithmetic."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.gradients.rules import chain, no_slope, sum_to, used
from varigrad.ops.arithmetic import (
    add,
    div,
    div_no_nan,
    floor_div,
    mul,
    multiply_no_nan,
    pow,
    scale,
    sub,
)
from varigrad.ops.comparison import greater, greater_equal, keep_where, less, less_equal, not_equal
from varigrad.ops.elementwise import conj, log, neg, reciprocal, square
from varigrad.tape import Gradient, input_shapes, inputs, inputs_and_outputs, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _has_logarithm(base: Tensor) -> Tensor:
    return not_equal(base, 0.0) if base.storage.dtype.kind == "c" else greater(base, 0.0)


GRADIENTS: dict[str, Gradient] = {
    "Add": Gradient(
        lambda dy, a, b: (lambda: sum_to(dy, a), lambda: sum_to(dy, b)),
        input_shapes,
    ),
    "AddN": Gradient(lambda dy, *shapes: (dy,) * len(shapes), input_shapes),
    "Atan2": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(chain(div_no_nan(b, add(square(a), square(b))), dy), a.shape),
            lambda: sum_to(chain(div_no_nan(neg(a), add(square(a), square(b))), dy), b.shape),
        ),
        inputs,
    ),
    "DivNoNan": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(div_no_nan(dy, conj(b)), a.shape),
            lambda: sum_to(chain(div_no_nan(div_no_nan(neg(a), b), b), dy), b.shape),
        ),
        inputs,
    ),
    "FloorDiv": Gradient(
        lambda dy, a, b: (lambda: sum_to(no_slope(dy), a), lambda: sum_to(no_slope(dy), b)),
        input_shapes,
    ),
    # Of two that are equal the first has the whole gradient, as in TensorFlow and TensorFlow.js.
    "Maximum": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(keep_where(dy, greater_equal(a, b)), a.shape),
            lambda: sum_to(keep_where(dy, less(a, b)), b.shape),
        ),
        inputs,
    ),
    "Minimum": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(keep_where(dy, less_equal(a, b)), a.shape),
            lambda: sum_to(keep_where(dy, greater(a, b)), b.shape),
        ),
        inputs,
    ),
    "Mod": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(dy, a.shape),
            lambda: sum_to(chain(neg(floor_div(a, b)), dy), b.shape),
        ),
        inputs,
    ),
    "Multiply": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(chain(b, dy), a.shape),
            lambda: sum_to(chain(a, dy), b.shape),
        ),
        inputs,
    ),
    "MultiplyNoNan": Gradient(
        lambda dy, x, weight, factor=1.0: (
            lambda: sum_to(used(weight, dy, factor), x.shape),
            lambda: sum_to(chain(x, dy, factor), weight.shape),
        ),
        inputs,
    ),
    # At base 0, base^(exp - 1) is infinite where exp is 0, which says that it does not count. The slope for the
    # exponent is y log(base), and 0 where the base has no logarithm (complex bases other than 0 have one).
    "Pow": Gradient(
        lambda dy, base, exp, y: (
            lambda: sum_to(chain(multiply_no_nan(pow(base, sub(exp, 1.0)), exp), dy), base.shape),
            lambda: sum_to(chain(keep_where(mul(y, log(base)), _has_logarithm(base)), dy), exp.shape),
        ),
        inputs_and_outputs,
    ),
    "RealDiv": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(chain(reciprocal(b), dy), a.shape),
            lambda: sum_to(chain(div(div(neg(a), b), b), dy), b.shape),
        ),
        inputs,
    ),
    "Scale": Gradient(lambda dy, factor: scale(dy, factor), nothing),
    "SquaredDifference": Gradient(
        lambda dy, a, b: (
            lambda: sum_to(chain(scale(sub(a, b), 2.0), dy), a.shape),
            lambda: sum_to(chain(scale(sub(a, b), -2.0), dy), b.shape),
        ),
        inputs,
    ),
    "Sub": Gradient(
        lambda dy, a, b: (lambda: sum_to(dy, a), lambda: sum_to(neg(dy), b)),
        input_shapes,
    ),
}

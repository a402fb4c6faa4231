"""How kernels that work number by number are written as vector code.

`LOWERINGS` maps a kernel's name to a `Lowering`: what kinds of numbers it takes, and a function that writes it, of the
operands (all of one kind) and the kernel's attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from varigrad.backends.native.activations import (
    elu,
    elu_grad,
    leaky_relu,
    prelu,
    relu,
    relu6,
    relu_grad,
    sigmoid_cross_entropy,
    sigmoid_grad,
    softplus,
)
from varigrad.backends.native.code import BOOL, F32, F64, I32, Code, Kind, Operand
from varigrad.backends.native.division import floor_divide, remainder
from varigrad.backends.native.formulas import Formula
from varigrad.backends.native.powers import power
from varigrad.backends.native.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
)
from varigrad.backends.native.vector_math import (
    erf,
    exp,
    expm1,
    is_positive,
    log,
    log1p,
    maximum,
    minimum,
    sigmoid,
    tanh,
)

__all__ = ["LOWERINGS", "Lowering"]


class Lowering(NamedTuple):
    """How one kernel is written: `write(code, *operands, **attrs)`, and for which kinds, as their letters. `mask` is
    the place among the operands of one that is of truth values."""

    kinds: str
    write: Callable[..., Operand]
    mask: int | None = None


def _keep_where(code: Code, x: Operand, mask: Operand) -> Operand:
    return code.select(mask, x, code.like(x, 0))


def _tanh_grad(code: Code, dy: Operand, y: Operand) -> Operand:
    one = code.like(y, 1)
    return code.mul(code.mul(code.sub(one, y), code.add(one, y)), dy)


def _sign(code: Code, x: Operand) -> Operand:
    zero = code.like(x, 0)
    below = "olt" if x.kind.is_float else "slt"
    negative = code.select(code.compare(below, x, zero), code.like(x, -1), zero)
    return code.select(is_positive(code, x), code.like(x, 1), negative)


def _step(code: Code, x: Operand, alpha: float) -> Operand:
    zero = code.like(x, 0)
    below = "ole" if x.kind.is_float else "sle"
    lower = code.select(code.compare(below, x, zero), code.like(x, alpha), x)
    return code.select(is_positive(code, x), code.like(x, 1), lower)


def _clip(code: Code, x: Operand, clip_value_min: float, clip_value_max: float) -> Operand:
    if x.kind is I32:
        clip_value_min = math.ceil(max(clip_value_min, -(2**31)))
        clip_value_max = math.floor(min(clip_value_max, 2**31 - 1))
    return minimum(code, maximum(code, x, code.like(x, clip_value_min)), code.like(x, clip_value_max))


def _square(code: Code, x: Operand) -> Operand:
    return code.mul(x, x)


def _cube(code: Code, x: Operand) -> Operand:
    return code.mul(_square(code, x), x)


def _reciprocal(code: Code, x: Operand) -> Operand:
    return code.div(code.like(x, 1), x)


def _sqrt(code: Code, x: Operand) -> Operand:
    return code.intrinsic("sqrt", x)


def _rsqrt(code: Code, x: Operand) -> Operand:
    return _reciprocal(code, _sqrt(code, x))


def _root_of_positive(code: Code, x: Operand) -> Operand:
    return _sqrt(code, code.add(x, code.like(x, 0)))  # + 0 makes a 0 of -0, whose powers are positive


_POWERS: dict[float, Callable[[Code, Operand], Operand]] = {
    -1.0: _reciprocal,
    -0.5: lambda code, x: _reciprocal(code, _root_of_positive(code, x)),
    0.5: _root_of_positive,
    1.0: lambda code, x: x,
    2.0: _square,
    3.0: _cube,
}


def _power(code: Code, base: Operand, exponent: Operand, exponent_is: float | None = None) -> Operand:
    """`exponent_is` is the exponent if it is known: some have shorter ways."""
    shortcut = _POWERS.get(exponent_is) if exponent_is is not None else None
    return power(code, base, exponent) if shortcut is None else shortcut(code, base)


def _squared_difference(code: Code, a: Operand, b: Operand) -> Operand:
    return _square(code, code.sub(a, b))


def _scale(code: Code, x: Operand, factor: float) -> Operand:
    return code.mul(x, code.like(x, factor))


def _multiply_no_nan(code: Code, x: Operand, weight: Operand, factor: float = 1.0) -> Operand:
    product = code.mul(x, weight)
    if factor != 1:
        product = _scale(code, product, factor)
    zero = code.like(x, 0)
    return code.select(code.compare("oeq", weight, zero), zero, product)


def _div_no_nan(code: Code, a: Operand, b: Operand) -> Operand:
    zero = code.like(a, 0)
    return code.select(code.compare("oeq", b, zero), zero, code.div(a, b))


def _add_n(code: Code, *operands: Operand) -> Operand:
    total = operands[0]
    for x in operands[1:]:
        total = code.add(total, x)
    return total


def _multiply(code: Code, a: Operand, b: Operand) -> Operand:
    return code.bits("and", a, b) if a.kind is BOOL else code.mul(a, b)


def _add(code: Code, a: Operand, b: Operand) -> Operand:
    return code.bits("or", a, b) if a.kind is BOOL else code.add(a, b)


def _formula(code: Code, *operands: Operand, formula: Formula) -> Operand:
    return formula.write(code, operands)


def _absolute(code: Code, x: Operand) -> Operand:
    return maximum(code, x, code.neg(x)) if x.kind is I32 else code.intrinsic("fabs", x)


def _is_finite(code: Code, x: Operand) -> Operand:
    return code.compare("olt", code.intrinsic("fabs", x), code.like(x, math.inf))


def _is_infinite(code: Code, x: Operand) -> Operand:
    return code.compare("oeq", code.intrinsic("fabs", x), code.like(x, math.inf))


def _is_nan(code: Code, x: Operand) -> Operand:
    return code.compare("uno", x, x)


def _invert(code: Code, x: Operand) -> Operand:
    return code.invert(x)


def _negative(code: Code, x: Operand) -> Operand:
    return code.neg(x)


def _subtract(code: Code, a: Operand, b: Operand) -> Operand:
    return code.sub(a, b)


def _divide(code: Code, a: Operand, b: Operand) -> Operand:
    return code.div(a, b)


def _comparison(of_floats: str, of_integers: str) -> Callable[[Code, Operand, Operand], Operand]:
    def write(code: Code, a: Operand, b: Operand) -> Operand:
        if a.kind is BOOL:
            a, b = code.convert("zext", a, I32), code.convert("zext", b, I32)
        return code.compare(of_floats if a.kind.is_float else of_integers, a, b)

    return write


def _maximum_number(code: Code, a: Operand, b: Operand) -> Operand:
    """The larger; NaN only if both are."""
    if not a.kind.is_float:
        return maximum(code, a, b)
    larger = code.select(code.compare("ogt", b, a), b, a)
    return code.select(code.compare("uno", a, a), b, larger)


def _intrinsic(name: str) -> Callable[[Code, Operand], Operand]:
    return lambda code, x: code.intrinsic(name, x)


def _bits(instruction: str) -> Callable[[Code, Operand, Operand], Operand]:
    return lambda code, a, b: code.bits(instruction, a, b)


def _cast(code: Code, x: Operand, kind: Kind) -> Operand:
    """A number as one of another kind, as NumPy casts it."""
    if kind is x.kind:
        return x
    if kind is BOOL:
        return code.compare("une" if x.kind.is_float else "ne", x, code.like(x, 0))
    if x.kind is BOOL:
        return code.convert("zext", x, I32) if kind is I32 else code.convert("uitofp", x, kind)
    if kind is I32:
        return _integer(code, x)
    if x.kind is I32:
        return code.convert("sitofp", x, kind)
    return code.convert("fpext" if kind is F64 else "fptrunc", x, kind)


def _integer(code: Code, x: Operand) -> Operand:
    """A float without its fraction; where no integer fits, what NumPy makes of it on this machine."""
    strange = np.array([math.nan, 1e10, -1e10], np.float32 if x.kind is F32 else np.float64)
    with np.errstate(invalid="ignore"):
        missing, above, below = strange.astype(np.int32).tolist()
    limit = 2.0**31
    too_large = code.compare("oge", x, code.like(x, limit))
    too_small = code.compare("ole", x, code.like(x, -limit - (x.kind is not F32)))
    whole = code.bits("or", too_large, code.bits("or", too_small, code.compare("uno", x, x)))
    number = code.convert("fptosi", code.select(whole, code.like(x, 0), x), I32)
    for mask, value in ((too_large, above), (too_small, below), (code.compare("uno", x, x), missing)):
        number = code.select(mask, code.like(number, value), number)
    return number


def _select(code: Code, mask: Operand, a: Operand, b: Operand) -> Operand:
    return code.select(mask, a, b)


def _identity(code: Code, x: Operand) -> Operand:
    return x


LOWERINGS: dict[str, Lowering] = {
    "Abs": Lowering("fdi", _absolute),
    "Acos": Lowering("fd", acos),
    "Acosh": Lowering("fd", acosh),
    "Add": Lowering("fdi?", _add),
    "AddN": Lowering("fdi", _add_n),
    "Asin": Lowering("fd", asin),
    "Asinh": Lowering("fd", asinh),
    "Atan": Lowering("fd", atan),
    "Atan2": Lowering("fd", atan2),
    "Atanh": Lowering("fd", atanh),
    "BitwiseAnd": Lowering("i", _bits("and")),
    "BitwiseNot": Lowering("i", _invert),
    "BitwiseOr": Lowering("i", _bits("or")),
    "BitwiseXor": Lowering("i", _bits("xor")),
    "Cast": Lowering("fdi?", _cast),
    "Ceil": Lowering("fd", _intrinsic("ceil")),
    "ClipByValue": Lowering("fdi", _clip),
    "Copy": Lowering("fdi?", _identity),
    "Cos": Lowering("fd", cos),
    "Cosh": Lowering("fd", cosh),
    "DivNoNan": Lowering("fd", _div_no_nan),
    "Elu": Lowering("fd", elu),
    "EluGrad": Lowering("fd", elu_grad),
    "Equal": Lowering("fdi?", _comparison("oeq", "eq")),
    "Erf": Lowering("fd", erf),
    "Exp": Lowering("fd", exp),
    "Expm1": Lowering("fd", expm1),
    "Floor": Lowering("fd", _intrinsic("floor")),
    "FloorDiv": Lowering("fdi", floor_divide),
    "Formula": Lowering("fd", _formula),
    "Greater": Lowering("fdi?", _comparison("ogt", "sgt")),
    "GreaterEqual": Lowering("fdi?", _comparison("oge", "sge")),
    "IsFinite": Lowering("fd", _is_finite),
    "IsInf": Lowering("fd", _is_infinite),
    "IsNan": Lowering("fd", _is_nan),
    "KeepWhere": Lowering("fdi", _keep_where, mask=1),
    "LeakyRelu": Lowering("fd", leaky_relu),
    "Less": Lowering("fdi?", _comparison("olt", "slt")),
    "LessEqual": Lowering("fdi?", _comparison("ole", "sle")),
    "Log": Lowering("fd", log),
    "Log1p": Lowering("fd", log1p),
    "LogicalAnd": Lowering("?", _bits("and")),
    "LogicalNot": Lowering("?", _invert),
    "LogicalOr": Lowering("?", _bits("or")),
    "LogicalXor": Lowering("?", _bits("xor")),
    "Maximum": Lowering("fdi", maximum),
    "MaximumNumber": Lowering("fdi", _maximum_number),
    "Minimum": Lowering("fdi", minimum),
    "Mod": Lowering("fdi", remainder),
    "Multiply": Lowering("fdi?", _multiply),
    "MultiplyNoNan": Lowering("fd", _multiply_no_nan),
    "Neg": Lowering("fdi", _negative),
    "NotEqual": Lowering("fdi?", _comparison("une", "ne")),
    "Pow": Lowering("fd", _power),
    "Prelu": Lowering("fd", prelu),
    "RealDiv": Lowering("fd", _divide),
    "Reciprocal": Lowering("fd", _reciprocal),
    "Relu": Lowering("fdi", relu),
    "Relu6": Lowering("fd", relu6),
    "ReluGrad": Lowering("fdi", relu_grad),
    "Round": Lowering("fd", _intrinsic("rint")),
    "Rsqrt": Lowering("fd", _rsqrt),
    "Scale": Lowering("fd", _scale),
    "Select": Lowering("fdi?", _select, mask=0),
    "Selu": Lowering("fd", elu),
    "Sigmoid": Lowering("fd", sigmoid),
    "SigmoidCrossEntropyWithLogits": Lowering("fd", sigmoid_cross_entropy),
    "SigmoidGrad": Lowering("fd", sigmoid_grad),
    "Sign": Lowering("fdi", _sign),
    "Sin": Lowering("fd", sin),
    "Sinh": Lowering("fd", sinh),
    "Softplus": Lowering("fd", softplus),
    "Sqrt": Lowering("fd", _sqrt),
    "Square": Lowering("fdi", _square),
    "SquaredDifference": Lowering("fdi", _squared_difference),
    "Step": Lowering("fdi", _step),
    "Sub": Lowering("fdi", _subtract),
    "Tan": Lowering("fd", tan),
    "Tanh": Lowering("fd", tanh),
    "TanhGrad": Lowering("fd", _tanh_grad),
}

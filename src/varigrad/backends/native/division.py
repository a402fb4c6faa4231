"""Division without fractions as vector code, of floats and of integers, as NumPy has it."""

from __future__ import annotations

from varigrad.backends.native.code import F64, I32, Code, Operand
from varigrad.backends.native.vector_math import library

__all__ = ["floor_divide", "remainder"]


def _float_remainder(code: Code, a: Operand, b: Operand) -> Operand:
    """What is left of a, with the sign of b, as NumPy has it; NaN for b = 0."""
    rest = library(code, "fmod", a, b)
    zero = code.like(a, 0)
    other_sign = code.bits("xor", code.compare("olt", rest, zero), code.compare("olt", b, zero))
    moved = code.select(other_sign, code.add(rest, b), rest)
    return code.select(code.compare("oeq", rest, zero), code.intrinsic("copysign", zero, b), moved)


def _float_floor_divide(code: Code, a: Operand, b: Operand) -> Operand:
    """The whole number of times that b goes into a, as NumPy has it: the nearest one to (a - remainder) / b."""
    zero, one = code.like(a, 0), code.like(a, 1)
    rest = library(code, "fmod", a, b)
    quotient = code.div(code.sub(a, rest), b)
    other_sign = code.bits("xor", code.compare("olt", rest, zero), code.compare("olt", b, zero))
    lower = code.bits("and", other_sign, code.compare("one", rest, zero))
    quotient = code.select(lower, code.sub(quotient, one), quotient)
    whole = code.intrinsic("floor", quotient)
    up = code.compare("ogt", code.sub(quotient, whole), code.like(a, 0.5))
    whole = code.select(up, code.add(whole, one), whole)
    ratio = code.div(a, b)
    whole = code.select(code.compare("oeq", quotient, zero), code.intrinsic("copysign", zero, ratio), whole)
    return code.select(code.compare("oeq", b, zero), ratio, whole)


def _integer_floor_divide(code: Code, a: Operand, b: Operand) -> Operand:
    """a / b rounded down, and 0 for b = 0: float64 holds enough digits for the right integer."""
    x, y = code.convert("sitofp", a, F64), code.convert("sitofp", b, F64)
    none, zero = code.compare("eq", b, code.like(b, 0)), code.like(x, 0)
    quotient = code.intrinsic("floor", code.div(x, code.select(none, code.like(y, 1), y)))
    # The only one that is too large, -2³¹ / -1, stays -2³¹.
    quotient = code.select(code.compare("oge", quotient, code.like(x, 2.0**31)), code.like(x, -(2.0**31)), quotient)
    return code.convert("fptosi", code.select(none, zero, quotient), I32)


def floor_divide(code: Code, a: Operand, b: Operand) -> Operand:
    """a / b rounded down."""
    return _float_floor_divide(code, a, b) if a.kind.is_float else _integer_floor_divide(code, a, b)


def remainder(code: Code, a: Operand, b: Operand) -> Operand:
    """What is left of a after division by b."""
    if a.kind.is_float:
        return _float_remainder(code, a, b)
    rest = code.sub(a, code.mul(_integer_floor_divide(code, a, b), b))
    return code.select(code.compare("eq", b, code.like(b, 0)), code.like(b, 0), rest)

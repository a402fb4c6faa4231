"""Trigonometric functions, their inverses and the hyperbolic ones, as vector code.

The argument of a sine goes through float64, or two of them, where nothing of what is left of it beside the multiples of
π / 2 is lost; numbers beyond what that is good for, a thousand million, go to the C library.
"""

from __future__ import annotations

import math

from varigrad.backends.native.code import F32, F64, I64, Code, Kind, Operand
from varigrad.backends.native.vector_math import beyond, expm1, half_exp, log1p

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh", "tan"]

# (sin(r) / r - 1) / r² and (cos(r) - 1 + r² / 2) / r⁴ as polynomials of r², for |r| up to π / 4.
_SIN = {
    F32: (-0.166666666415, 0.00833332937318, -0.000198393307607, 2.71827261426e-6),
    F64: (
        *(-0.16666666666666667, 0.0083333333333333227, -0.00019841269841255045, 2.7557319214180318e-6),
        *(-2.5052104909214857e-8, 1.6058366349139519e-10, -7.5786849635158509e-13),
    ),
}
_COS = {
    F32: (0.0416666666226, -0.00138888837341, 2.47995149349e-5, -2.72098219444e-7),
    F64: (
        *(0.041666666666666667, -0.0013888888888888874, 2.4801587301571445e-5, -2.7557319215354168e-7),
        *(2.0876754361323271e-9, -1.1470292719569767e-11, 4.7380843789023394e-14),
    ),
}
# (atan(t) / t - 1) / t² as a polynomial of t², for |t| up to √2 - 1.
_ATAN = {
    F32: (-0.333333153921, 0.199984823919, -0.142437121831, 0.10594962993, -0.0608074624402),
    F64: (
        *(-0.33333333333333198, 0.19999999999953627, -0.14285714280200804, 0.11111110783667209),
        *(-0.090908977631526995, 0.076920602964517456, -0.066631047564831085, 0.058478925780301846),
        *(-0.050393102162040961, 0.038064455467391715, -0.017906820544113582),
    ),
}
# (asin(t) / t - 1) / t² as a polynomial of t², for |t| up to ½.
_ASIN = {
    F32: (0.166667541308, 0.0749523292084, 0.045478299579, 0.0241412336764, 0.0422301010203),
    F64: (
        *(0.16666666666665376, 0.075000000003447778, 0.044642856822018384, 0.0303819593931099),
        *(0.022371752004455318, 0.017359794539708356, 0.013884361920847813, 0.012174865054045709),
        *(0.0065038579008506113, 0.019593415350495777, -0.016325244473653609, 0.031980703025927237),
    ),
}
# π / 2 as a sum of three float64.
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
_LARGEST_ANGLE = 1e9
_TINY = {F32: 1e-5, F64: 1e-9}  # where x is sin(x), tan(x) and the like
_ROUNDING = 1.5 * 2.0**52  # added to a small number, it leaves the nearest integer in the last bits
_HUGE = {F32: 1e9, F64: 1e15}  # where 1 is nothing beside x
_TAN_OF_EIGHTH = math.sqrt(2) - 1


def _half_pi(kind: Kind) -> tuple[float, float]:
    """π / 2 as the nearest number of a kind, and what is left."""
    return (_HALF_PI[0], _HALF_PI[1]) if kind is F64 else (1.5707963705062866, -4.371139000186241e-08)


def _reduced(code: Code, x: Operand, fully: bool) -> tuple[Operand, Operand, Operand]:
    """For float64 x: an integer n, and x - n π / 2 as a sum of two numbers; of one, if not `fully`."""
    shifted = code.fma(x, code.like(x, 2 / math.pi), code.like(x, _ROUNDING))
    n = code.neg(code.sub(shifted, code.like(x, _ROUNDING)))
    first = code.fma(n, code.like(x, _HALF_PI[0]), x)  # exact: both are multiples of the same power of two
    if not fully:
        high = code.fma(n, code.like(x, _HALF_PI[1]), first)
        return code.convert("bitcast", shifted, I64), high, code.like(x, 0)
    part = code.mul(n, code.like(x, _HALF_PI[1]))
    lost = code.fma(n, code.like(x, _HALF_PI[1]), code.neg(part))
    total = code.add(first, part)
    back = code.sub(total, first)
    rest = code.add(code.sub(first, code.sub(total, back)), code.sub(part, back))
    rest = code.fma(n, code.like(x, _HALF_PI[2]), code.add(rest, lost))
    high = code.add(total, rest)
    return code.convert("bitcast", shifted, I64), high, code.sub(rest, code.sub(high, total))


def _sin_and_cos(code: Code, x: Operand) -> tuple[Operand, Operand, Operand]:
    """An integer n, and sine and cosine of x - n π / 2, as float64; float32 needs fewer digits of them."""
    kind = x.kind
    wide = x if kind is F64 else code.convert("fpext", x, F64)
    n, high, low = _reduced(code, wide, fully=kind is F64)
    square = code.mul(high, high)
    half = code.mul(square, code.like(wide, 0.5))
    whole = code.sub(code.like(wide, 1), half)
    lost = code.sub(code.sub(code.like(wide, 1), whole), half)
    tail = code.mul(code.mul(square, square), code.polynomial(square, _COS[kind]))
    cosine = code.add(whole, code.add(lost, code.sub(tail, code.mul(high, low))))
    tail = code.mul(code.mul(square, high), code.polynomial(square, _SIN[kind]))
    sine = code.add(high, code.add(tail, code.mul(low, whole)))
    return n, sine, cosine


def _odd(code: Code, n: Operand) -> Operand:
    return code.compare("ne", code.bits("and", n, code.like(n, 1)), code.like(n, 0))


def _narrow(code: Code, x: Operand, kind: Kind) -> Operand:
    return x if kind is F64 else code.convert("fptrunc", x, kind)


def _wave(code: Code, x: Operand, ahead: int) -> Operand:
    """The sine of x + ahead π / 2."""
    n, sine, cosine = _sin_and_cos(code, x)
    n = code.add(n, code.like(n, ahead))
    size = code.select(_odd(code, n), cosine, sine)
    sign = code.bits("shl", code.bits("and", n, code.like(n, 2)), code.like(n, 62))
    flipped = code.bits("xor", code.convert("bitcast", size, I64), sign)
    return _narrow(code, code.convert("bitcast", flipped, F64), x.kind)


def _unless_tiny(code: Code, x: Operand, result: Operand) -> Operand:
    """x itself where it is so small that it is its own result: this keeps the sign of 0."""
    return code.select(code.compare("olt", code.intrinsic("fabs", x), code.like(x, _TINY[x.kind])), x, result)


def sin(code: Code, x: Operand) -> Operand:
    """The sine."""
    return beyond(code, "sin", x, _LARGEST_ANGLE, _unless_tiny(code, x, _wave(code, x, 0)))


def cos(code: Code, x: Operand) -> Operand:
    """The cosine."""
    return beyond(code, "cos", x, _LARGEST_ANGLE, _wave(code, x, 1))


def tan(code: Code, x: Operand) -> Operand:
    """The tangent."""
    n, sine, cosine = _sin_and_cos(code, x)
    odd = _odd(code, n)
    ratio = code.div(code.select(odd, cosine, sine), code.select(odd, code.neg(sine), cosine))
    return beyond(code, "tan", x, _LARGEST_ANGLE, _unless_tiny(code, x, _narrow(code, ratio, x.kind)))


# The inverses.


def _atan_of_positive(code: Code, x: Operand) -> Operand:
    """By the angle that is left beside π / 2 or π / 4."""
    high, low = _half_pi(x.kind)
    one, zero = code.like(x, 1), code.like(x, 0)
    large = code.compare("ogt", x, code.like(x, 1 / _TAN_OF_EIGHTH))
    middle = code.compare("ogt", x, code.like(x, _TAN_OF_EIGHTH))
    above = code.select(large, code.like(x, -1), code.select(middle, code.sub(x, one), x))
    below = code.select(large, x, code.select(middle, code.add(x, one), one))
    base = code.select(large, code.like(x, high), code.select(middle, code.like(x, high / 2), zero))
    rest = code.select(large, code.like(x, low), code.select(middle, code.like(x, low / 2), zero))
    t = code.div(above, below)
    square = code.mul(t, t)
    tail = code.fma(code.mul(square, t), code.polynomial(square, _ATAN[x.kind]), rest)
    return code.add(base, code.add(t, tail))


def atan(code: Code, x: Operand) -> Operand:
    """The arc tangent."""
    return code.intrinsic("copysign", _atan_of_positive(code, code.intrinsic("fabs", x)), x)


def atan2(code: Code, y: Operand, x: Operand) -> Operand:
    """The angle of the point (x, y)."""
    zero, infinity = code.like(x, 0), code.like(x, math.inf)
    height, width = code.intrinsic("fabs", y), code.intrinsic("fabs", x)
    ratio = code.div(height, width)
    both_zero = code.bits("and", code.compare("oeq", height, zero), code.compare("oeq", width, zero))
    both_infinite = code.bits("and", code.compare("oeq", height, infinity), code.compare("oeq", width, infinity))
    ratio = code.select(both_zero, zero, code.select(both_infinite, code.like(x, 1), ratio))
    angle = _atan_of_positive(code, ratio)
    high, low = _half_pi(x.kind)
    behind = code.sub(code.like(x, 2 * high), code.sub(angle, code.like(x, 2 * low)))
    leftwards = code.compare("olt", code.intrinsic("copysign", code.like(x, 1), x), zero)
    return code.intrinsic("copysign", code.select(leftwards, behind, angle), y)


def _asin_parts(code: Code, x: Operand) -> tuple[Operand, Operand, Operand]:
    """Whether |x| is at most ½; t, which is |x| or √((1 - |x|) / 2); and asin(t) - t."""
    size = code.intrinsic("fabs", x)
    small = code.compare("ole", size, code.like(x, 0.5))
    half = code.mul(code.sub(code.like(x, 1), size), code.like(x, 0.5))
    square = code.select(small, code.mul(x, x), half)
    t = code.select(small, size, code.intrinsic("sqrt", half))
    return small, t, code.mul(code.mul(t, square), code.polynomial(square, _ASIN[x.kind]))


def asin(code: Code, x: Operand) -> Operand:
    """The arc sine."""
    small, t, tail = _asin_parts(code, x)
    high, low = _half_pi(x.kind)
    twice = code.add(t, t)
    rest = code.sub(code.like(x, low), code.add(tail, tail))
    large = code.add(code.sub(code.like(x, high), twice), rest)
    return code.intrinsic("copysign", code.select(small, code.add(t, tail), large), x)


def acos(code: Code, x: Operand) -> Operand:
    """The arc cosine."""
    small, t, tail = _asin_parts(code, x)
    high, low = _half_pi(x.kind)
    signed, rest = (code.intrinsic("copysign", part, x) for part in (t, tail))
    beside = code.sub(code.like(x, high), code.sub(signed, code.sub(code.like(x, low), rest)))
    near = code.add(t, tail)
    twice = code.add(near, near)
    far = code.sub(code.like(x, 2 * high), code.sub(twice, code.like(x, 2 * low)))
    negative = code.compare("olt", x, code.like(x, 0))
    return code.select(small, beside, code.select(negative, far, twice))


# Hyperbolic functions.


def sinh(code: Code, x: Operand) -> Operand:
    """The hyperbolic sine: exp(|x|) - 1 keeps its digits near 0."""
    size = code.intrinsic("fabs", x)
    half = code.mul(expm1(code, size), code.like(x, 0.5))
    small = code.add(half, code.div(half, code.fma(half, code.like(x, 2), code.like(x, 1))))
    large = code.compare("ogt", size, code.like(x, 40))
    return code.intrinsic("copysign", code.select(large, half_exp(code, size), small), x)


def cosh(code: Code, x: Operand) -> Operand:
    """The hyperbolic cosine."""
    half = half_exp(code, code.intrinsic("fabs", x))
    return code.add(half, code.div(code.like(x, 0.25), half))


def asinh(code: Code, x: Operand) -> Operand:
    """The inverse hyperbolic sine."""
    size = code.intrinsic("fabs", x)
    square = code.mul(size, size)
    one = code.like(x, 1)
    root = code.intrinsic("sqrt", code.add(square, one))
    beyond_one = code.add(size, code.div(square, code.add(root, one)))
    return code.intrinsic("copysign", _log_beyond(code, size, beyond_one), x)


def acosh(code: Code, x: Operand) -> Operand:
    """The inverse hyperbolic cosine."""
    one = code.like(x, 1)
    t = code.sub(x, one)
    beyond_one = code.add(t, code.intrinsic("sqrt", code.fma(t, t, code.add(t, t))))
    result = _log_beyond(code, x, beyond_one)
    return code.select(code.compare("ult", x, one), code.like(x, math.nan), result)


def _log_beyond(code: Code, x: Operand, beyond_one: Operand) -> Operand:
    """log(1 + beyond_one), which is log(2 x) where x is huge."""
    huge = code.compare("ogt", x, code.like(x, _HUGE[x.kind]))
    logarithm = log1p(code, code.select(huge, x, beyond_one))
    return code.add(logarithm, code.select(huge, code.like(x, math.log(2)), code.like(x, 0)))


def atanh(code: Code, x: Operand) -> Operand:
    """The inverse hyperbolic tangent."""
    size = code.intrinsic("fabs", x)
    ratio = code.div(code.add(size, size), code.sub(code.like(x, 1), size))
    return code.intrinsic("copysign", code.mul(log1p(code, ratio), code.like(x, 0.5)), x)

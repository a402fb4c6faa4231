"""Powers as vector code: exp(y log(x)), with the logarithm to more digits than the result has."""

from __future__ import annotations

import math

from varigrad.backends.native.code import F32, F64, Code, Operand
from varigrad.backends.native.vector_math import exp_of_sum, log_parts, power_of_two, split_exponent

__all__ = ["power"]

# (2 atanh(s) / s - 2 - 2 s² / 3) / s⁴ as a polynomial of s², for s = f / (2 + f) and 1 + f from √½ to √2.
_LOG = (
    *(0.39999999999999977, 0.28571428571445274, 0.22222222217499195, 0.18181818874697105),
    *(0.15384556581755725, 0.13336328256770221, 0.11674603186550634, 0.1199077483922482),
)
# (2 atanh(s) / s - 2) / s² and (exp(r) - 1 - r) / r², to the digits that a float32 needs.
_SHORT_LOG = (0.6666666564085, 0.40000336289992, 0.2853723470476, 0.23583627434977)
_SHORT_EXP = (
    *(0.50000000681611, 0.16666665869196, 0.041666293308094, 0.0083334964604786),
    *(0.0013944777694223, 0.00019790955290337),
)
_LOG2 = (0.6931471805599453, 2.3190468138462996e-17)
_TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)
_SHORT_MODERATE = 300.0  # the same for float32: float64 has their powers
_MODERATE = 1000.0  # exponents of e beyond which the result is 0 or infinite anyhow


def power(code: Code, base: Operand, exponent: Operand) -> Operand:
    """base to the power of exponent, as C's pow."""
    x, y = (code.convert("fpext", z, F64) if z.kind is F32 else z for z in (base, exponent))
    size = code.intrinsic("fabs", x)
    result = (_to_digits_of_float32 if base.kind is F32 else _to_all_digits)(code, size, y)
    result = _signed(code, x, y, result)
    return code.convert("fptrunc", result, F32) if base.kind is F32 else result


def _signed(code: Code, x: Operand, y: Operand, result: Operand) -> Operand:
    """Of a power of |x|, that of x."""
    zero, one, infinity = (code.like(x, value) for value in (0.0, 1.0, math.inf))
    size = code.intrinsic("fabs", x)
    whole = code.compare("oeq", code.intrinsic("floor", y), y)
    half = code.mul(y, code.like(y, 0.5))
    odd = code.bits("and", whole, code.compare("une", code.intrinsic("floor", half), half))
    result = code.select(odd, code.intrinsic("copysign", result, x), result)
    no_root = code.bits("and", code.compare("olt", x, zero), code.compare("olt", size, infinity))
    result = code.select(code.bits("and", no_root, code.invert(whole)), code.like(x, math.nan), result)
    # 1 to any power; -1 to an infinite one; anything to the power of 0.
    endless = code.bits("and", code.compare("oeq", code.intrinsic("fabs", y), infinity), code.compare("oeq", size, one))
    is_one = code.bits("or", code.compare("oeq", x, one), code.compare("oeq", y, zero))
    return code.select(code.bits("or", is_one, endless), one, result)


def _special(code: Code, x: Operand, logarithm: Operand) -> Operand:
    """A logarithm, also where x is 0, infinite or NaN."""
    infinity, zero = code.like(x, math.inf), code.like(x, 0)
    ordinary = code.bits("and", code.compare("ogt", x, zero), code.compare("olt", x, infinity))
    special = code.select(code.compare("oeq", x, zero), code.neg(infinity), x)  # infinity and NaN are their own
    return code.select(ordinary, logarithm, special)


def _to_digits_of_float32(code: Code, x: Operand, y: Operand) -> Operand:
    """A power of a float32 that is not negative, in float64, whose range it is far inside."""
    whole, f = log_parts(code, x)
    s = code.div(f, code.add(f, code.like(x, 2)))
    square = code.mul(s, s)
    bent = code.fma(code.mul(square, s), code.polynomial(square, _SHORT_LOG), code.add(s, s))
    product = code.mul(y, _special(code, x, code.fma(whole, code.like(x, _LOG2[0]), bent)))
    limit = code.like(x, _SHORT_MODERATE)
    product = code.select(code.compare("ogt", product, limit), limit, product)
    product = code.select(code.compare("olt", product, code.neg(limit)), code.neg(limit), product)
    exponent, r = split_exponent(code, product)
    power_of_e = code.fma(code.mul(r, r), code.polynomial(r, _SHORT_EXP), code.add(r, code.like(x, 1)))
    return code.mul(power_of_e, power_of_two(code, exponent, F64))


def _to_all_digits(code: Code, x: Operand, y: Operand) -> Operand:
    """A power of a float64 that is not negative."""
    high, low = _logarithm(code, x)
    high = _special(code, x, high)
    product = code.mul(y, high)
    rest = code.fma(y, low, code.fma(y, high, code.neg(product)))
    moderate = code.compare("olt", code.intrinsic("fabs", product), code.like(x, _MODERATE))
    return exp_of_sum(code, product, code.select(moderate, rest, code.like(x, 0)))


def _logarithm(code: Code, x: Operand) -> tuple[Operand, Operand]:
    """log(x) as a sum of two numbers, for x positive and finite."""
    whole, f = log_parts(code, x)
    two = code.like(x, 2)
    below = code.add(f, two)
    below_lost = code.sub(f, code.sub(below, two))
    s = code.div(f, below)
    s_low = code.div(code.sub(code.fma(code.neg(s), below, f), code.mul(s, below_lost)), below)
    square = code.mul(s, s)
    square_low = code.fma(s, code.add(s_low, s_low), code.fma(s, s, code.neg(square)))
    # 2 s + s³ (2/3 + s² (…)), each factor as a sum of two numbers.
    tail = code.mul(square, code.polynomial(square, _LOG))
    third, third_low = _added(code, code.like(x, _TWO_THIRDS[0]), tail)
    third_low = code.add(third_low, code.like(x, _TWO_THIRDS[1]))
    cube, cube_low = _multiplied(code, (square, square_low), (s, s_low))
    bent, bent_low = _multiplied(code, (cube, cube_low), (third, third_low))
    high, low = _added(code, code.add(s, s), bent)
    low = code.add(low, code.add(code.add(s_low, s_low), bent_low))
    exact = code.mul(whole, code.like(x, _LOG2[0]))
    exact_low = code.fma(whole, code.like(x, _LOG2[1]), code.fma(whole, code.like(x, _LOG2[0]), code.neg(exact)))
    total, total_low = _added(code, exact, high)
    low = code.add(total_low, code.add(exact_low, low))
    result = code.add(total, low)
    return result, code.sub(low, code.sub(result, total))


def _added(code: Code, a: Operand, b: Operand) -> tuple[Operand, Operand]:
    """a + b and what rounding took from it."""
    total = code.add(a, b)
    back = code.sub(total, a)
    return total, code.add(code.sub(a, code.sub(total, back)), code.sub(b, back))


def _multiplied(code: Code, a: tuple[Operand, Operand], b: tuple[Operand, Operand]) -> tuple[Operand, Operand]:
    """The product of two sums of two numbers, as such a sum."""
    product = code.mul(a[0], b[0])
    crossed = code.fma(a[0], b[1], code.mul(a[1], b[0]))
    return product, code.add(crossed, code.fma(a[0], b[0], code.neg(product)))

"""Functions of floats as vector code, within 4 units in the last place over all of float32.

Each brings its argument into a short interval, and has a polynomial there; the coefficients are least-squares fits of
the relative error, weighted until it is even. NaN, infinities, zeros and subnormal numbers come out as in NumPy.
float64, and functions without a polynomial here, go to the C library lane by lane.
"""

from __future__ import annotations

import math

from varigrad.backends.native.code import F32, I32, Code, Operand

__all__ = ["erf", "exp", "expm1", "library", "log", "log1p", "maximum", "minimum", "sigmoid", "tanh"]

# (exp(r) - 1 - r) / r² for |r| up to log(2) / 2.
_EXP = (0.4999999334, 0.16666519, 0.04166840717, 0.008368914011, 0.001381419202)
# (log(1 + f) - f + f² / 2) / f³ for 1 + f from √½ to √2.
_LOG = (
    *(0.3333331254, -0.2500000952, 0.2000212356, -0.1666800481, 0.1421945098),
    *(-0.1240534536, 0.1188871616, -0.1167749237, 0.06747661354),
)
# erf(x) / x - 1 as a polynomial of x², for |x| up to 1.
_ERF_SMALL = (
    *(0.1283791657, -0.3761262582, 0.1128358515, -0.02685381184, 0.005188327499, -0.0008010191983),
    7.853855929e-05,
)
# log(1 - erf(x)) for x from 1 to 4.
_ERF_LARGE = (
    *(0.000188486102, -1.129580394, -0.6332162412, -0.1084222601, 0.0252104371, -0.004205319453),
    *(0.0004413793796, -2.169816141e-05),
)
_LOG2_HIGH = 0.693145751953125  # few enough digits that its product with an exponent is exact
_LOG2_LOW = math.log(2) - _LOG2_HIGH
_ROUNDING = 12582912.0  # 3 · 2²²: added to a small number, it leaves the nearest integer in the last bits


def library(code: Code, name: str, *operands: Operand) -> Operand:
    """A function of the C library, lane by lane; `name` is that for float64."""
    first = operands[0]
    symbol = f"{name}f" if first.kind is F32 else name
    number = first.kind.llvm
    code.declare(symbol, number, [number] * len(operands))
    if first.lanes == 1:
        arguments = ", ".join([f"{number} {x.name}" for x in operands])
        return Operand(code.pure(f"call {number} @{symbol}({arguments})"), first.kind, 1)
    result = "poison"
    for lane in range(first.lanes):
        one = library(code, name, *[code.lane(x, lane) for x in operands])
        result = code.pure(f"insertelement {first.type} {result}, {number} {one.name}, i64 {lane}")
    return Operand(result, first.kind, first.lanes)


def _power_of_two(code: Code, exponent: Operand) -> Operand:
    """2 to the power of an integer from -126 to 127."""
    biased = code.add(exponent, code.like(exponent, 127))
    return code.convert("bitcast", code.bits("shl", biased, code.like(biased, 23)), F32)


def _clamp(code: Code, x: Operand, low: float, high: float) -> Operand:
    """x between two limits; NaN stays NaN."""
    x = code.select(code.compare("olt", x, code.like(x, low)), code.like(x, low), x)
    return code.select(code.compare("ogt", x, code.like(x, high)), code.like(x, high), x)


def _reduce_exponent(code: Code, x: Operand) -> tuple[Operand, Operand]:
    """An integer n and exp(r) - 1 - r, r, summed up as exp(r) - 1, for x = n log(2) + r."""
    shifted = code.fma(x, code.like(x, 1 / math.log(2)), code.like(x, _ROUNDING))
    whole = code.sub(shifted, code.like(x, _ROUNDING))
    r = code.fma(whole, code.like(x, -_LOG2_HIGH), x)
    r = code.fma(whole, code.like(x, -_LOG2_LOW), r)
    rest = code.fma(code.mul(r, r), code.polynomial(r, _EXP), r)
    integer = code.convert("bitcast", shifted, I32)
    return code.sub(integer, code.like(integer, 0x4B400000)), rest


def _halves(code: Code, exponent: Operand) -> tuple[Operand, Operand]:
    """Two powers of two whose product is 2 to the exponent, which may be out of range for one."""
    half = code.bits("ashr", exponent, code.like(exponent, 1))
    return _power_of_two(code, half), _power_of_two(code, code.sub(exponent, half))


def exp(code: Code, x: Operand) -> Operand:
    """e to the power of x."""
    if x.kind is not F32:
        return library(code, "exp", x)
    exponent, rest = _reduce_exponent(code, _clamp(code, x, -104.0, 89.0))
    first, second = _halves(code, exponent)
    return code.mul(code.mul(code.add(rest, code.like(x, 1)), first), second)


def expm1(code: Code, x: Operand) -> Operand:
    """exp(x) - 1 with its digits near 0."""
    if x.kind is not F32:
        return library(code, "expm1", x)
    # Half of the power is taken first, for that of the largest numbers has no float.
    exponent, rest = _reduce_exponent(code, _clamp(code, x, -40.0, 89.0))
    power = _power_of_two(code, code.sub(exponent, code.like(exponent, 1)))
    half = code.fma(power, rest, code.sub(power, code.like(x, 0.5)))
    # Where x is so small that it is its own result, this keeps the sign of 0.
    tiny = code.compare("olt", code.intrinsic("fabs", x), code.like(x, 1e-10))
    return code.select(tiny, x, code.add(half, half))


def log(code: Code, x: Operand) -> Operand:
    """The natural logarithm."""
    if x.kind is not F32:
        return library(code, "log", x)
    subnormal = code.compare("olt", x, code.like(x, 2.0**-126))
    scaled = code.select(subnormal, code.mul(x, code.like(x, 2.0**23)), x)
    bits = code.convert("bitcast", scaled, I32)
    exponent = code.bits("ashr", code.sub(bits, code.like(bits, 0x3F3504F3)), code.like(bits, 23))  # that is √½
    mantissa = code.convert("bitcast", code.sub(bits, code.bits("shl", exponent, code.like(bits, 23))), F32)
    f = code.sub(mantissa, code.like(x, 1))
    whole = code.convert("sitofp", exponent, F32)
    whole = code.sub(whole, code.select(subnormal, code.like(x, 23), code.like(x, 0)))
    square = code.mul(f, f)
    tail = code.mul(code.mul(square, f), code.polynomial(f, _LOG))
    tail = code.fma(whole, code.like(x, _LOG2_LOW), tail)
    tail = code.fma(square, code.like(x, -0.5), tail)
    result = code.fma(whole, code.like(x, _LOG2_HIGH), code.add(f, tail))
    infinity = code.like(x, math.inf)
    result = code.select(code.compare("oeq", x, infinity), infinity, result)
    result = code.select(code.compare("oeq", x, code.like(x, 0)), code.like(x, -math.inf), result)
    return code.select(code.compare("ult", x, code.like(x, 0)), code.like(x, math.nan), result)


def log1p(code: Code, x: Operand) -> Operand:
    """log(1 + x) with its digits near 0."""
    if x.kind is not F32:
        return library(code, "log1p", x)
    one = code.like(x, 1)
    u = code.add(x, one)
    lost = code.sub(x, code.sub(u, one))
    result = code.add(log(code, u), code.div(lost, u))
    # Where 1 + x is 1, x itself is right; where it is infinite or 0, nothing was lost.
    result = code.select(code.compare("oeq", u, code.like(x, math.inf)), u, result)
    result = code.select(code.compare("oeq", u, code.like(x, 0)), code.like(x, -math.inf), result)
    return code.select(code.compare("oeq", u, one), x, result)


def _with_sign(code: Code, magnitude: Operand, sign: Operand) -> Operand:
    return code.intrinsic("copysign", magnitude, sign)


def tanh(code: Code, x: Operand) -> Operand:
    """The hyperbolic tangent."""
    if x.kind is not F32:
        return library(code, "tanh", x)
    size = _clamp(code, code.intrinsic("fabs", x), 0.0, 10.0)
    grown = expm1(code, code.add(size, size))
    return _with_sign(code, code.div(grown, code.add(grown, code.like(x, 2))), x)


def sigmoid(code: Code, x: Operand) -> Operand:
    """1 / (1 + exp(-x)): where exp overflows, the reciprocal of infinity is the right 0."""
    one = code.like(x, 1)
    return code.div(one, code.add(exp(code, code.neg(x)), one))


def erf(code: Code, x: Operand) -> Operand:
    """The error function."""
    if x.kind is not F32:
        return library(code, "erf", x)
    small = code.fma(code.polynomial(code.mul(x, x), _ERF_SMALL), x, x)
    size = _clamp(code, code.intrinsic("fabs", x), 0.0, 4.0)
    rest = exp(code, code.polynomial(size, _ERF_LARGE))
    large = _with_sign(code, code.sub(code.like(x, 1), rest), x)
    return code.select(code.compare("ogt", size, code.like(x, 1)), large, small)


def maximum(code: Code, a: Operand, b: Operand) -> Operand:
    """The larger, or NaN if one is NaN."""
    if not a.kind.is_float:
        return code.bits("or", a, b) if a.kind.char == "?" else code.intrinsic("smax", a, b)
    larger = code.select(code.compare("ogt", a, b), a, b)
    return code.select(code.compare("uno", a, a), a, larger)


def minimum(code: Code, a: Operand, b: Operand) -> Operand:
    """The smaller, or NaN if one is NaN."""
    if not a.kind.is_float:
        return code.bits("and", a, b) if a.kind.char == "?" else code.intrinsic("smin", a, b)
    smaller = code.select(code.compare("olt", a, b), a, b)
    return code.select(code.compare("uno", a, a), a, smaller)

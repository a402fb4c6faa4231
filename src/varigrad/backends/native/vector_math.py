"""Functions of floats as vector code, within 4 units in the last place over all of float32 and float64.

Each brings its argument into a short interval, and has a polynomial there; the coefficients are least-squares fits of
the relative error, weighted until it is even. NaN, infinities, zeros and subnormal numbers come out as in NumPy.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from varigrad.backends.native.code import F32, F64, I32, I64, Code, Kind, Operand

__all__ = [
    "beyond",
    "erf",
    "exp",
    "exp_of_sum",
    "expm1",
    "half_exp",
    "is_positive",
    "library",
    "log",
    "log1p",
    "log1p_of_part",
    "log_parts",
    "maximum",
    "minimum",
    "power_of_two",
    "sigmoid",
    "split_exponent",
    "tanh",
]


class _Format(NamedTuple):
    """What is special to float32 or float64."""

    integer: Kind  # as wide
    fraction: int  # bits of the fraction
    bias: int  # of the exponent
    lowest: float  # exp of less is 0
    highest: float  # exp of more is infinite, but half of it is not
    without_one: float  # from here down, exp(x) - 1 is -1
    tiny: float  # below, x is sin(x), exp(x) - 1 and the like
    one_as_tanh: float  # from here on, tanh is 1
    log2_high: float  # few enough digits that its product with an exponent is exact
    exp: tuple[float, ...]  # (exp(r) - 1 - r) / r² for |r| up to log(2) / 2
    erf_small: tuple[float, ...]  # erf(x) / x - 1 as a polynomial of x², for |x| up to 1
    erf_large: tuple[float, ...]  # of 1 - erf(x), for x from 1 on: a polynomial of x - erf_middle
    erf_root: int  # which root of it that is, a power of two; 0: its logarithm
    erf_middle: float
    one_as_erf: float  # from here on, erf is 1

    @property
    def rounding(self) -> float:
        """Added to a small number, it leaves the nearest integer in the last bits."""
        return 1.5 * 2.0**self.fraction

    @property
    def rounding_bits(self) -> int:
        """The bits of that number."""
        return (self.bias + self.fraction << self.fraction) + (1 << self.fraction - 1)

    @property
    def root_bits(self) -> int:
        """The bits of √½."""
        return 0x3F3504F3 if self.integer is I32 else 0x3FE6A09E667F3BCD


_FORMATS = {
    F32: _Format(
        integer=I32,
        fraction=23,
        bias=127,
        lowest=-104.0,
        highest=89.0,
        without_one=-40.0,
        tiny=1e-10,
        one_as_tanh=10.0,
        log2_high=0.693145751953125,
        exp=(0.4999999334, 0.16666519, 0.04166840717, 0.008368914011, 0.001381419202),
        erf_small=(
            *(0.1283791657, -0.3761262582, 0.1128358515, -0.02685381184, 0.005188327499, -0.0008010191983),
            7.853855929e-05,
        ),
        erf_large=(
            *(1.0008347, -0.1450605356, -0.06142644167, -0.01137347391, 0.01292582121, -0.002469720449),
            0.0001498482013,
        ),
        erf_root=8,
        erf_middle=0.0,
        one_as_erf=4.0,
    ),
    F64: _Format(
        integer=I64,
        fraction=52,
        bias=1023,
        lowest=-746.0,
        highest=710.0,
        without_one=-40.0,
        tiny=1e-17,
        one_as_tanh=20.0,
        log2_high=6.93147180369123816490e-01,
        exp=(
            *(0.5, 0.16666666666666684, 0.041666666666666088, 0.008333333333316906, 0.0013888888889117472),
            *(0.00019841269896703803, 2.4801586924314395e-5, 2.7557234539167926e-6, 2.7557582982650935e-7),
            *(2.5112150503682703e-8, 2.0826490858265477e-9),
        ),
        erf_small=(
            *(0.12837916709551257, -0.37612638903183748, 0.11283791670954884, -0.026866170645077833),
            *(0.0052239776248280371, -0.00085483269814035651, 0.00012055331132176348, -1.4925595753953468e-5),
            *(1.6461008193079296e-6, -1.6350393281791194e-7, 1.4660309436965982e-8, -1.137488302090247e-9),
            5.9605652930658543e-11,
        ),
        erf_large=(
            *(-5.3649412646166362, -4.4181608059944134, -0.92375084182394397, -0.016465118137392237),
            *(0.00357075634781977, -0.00073239937796224007, 0.0001353093308113704, -2.0706470572834616e-5),
            *(1.9521867843254105e-6, 2.0372707360613877e-7, -1.7317156735683381e-7, 5.7696359927563077e-8),
            *(-1.3990095635029678e-8, 2.6095082248721419e-9, -2.5683420846333969e-10, -7.1538338260088776e-11),
            *(3.6613105243479794e-11, -4.8632062498322158e-12),
        ),
        erf_root=0,
        erf_middle=2.0,
        one_as_erf=6.0,
    ),
}
# (log(1 + f) - f + f² / 2) / f³ for 1 + f from √½ to √2, for float32.
_LOG_32 = (
    *(0.3333331254, -0.2500000952, 0.2000212356, -0.1666800481, 0.1421945098),
    *(-0.1240534536, 0.1188871616, -0.1167749237, 0.06747661354),
)
# (2 atanh(s) / s - 2) / s² as a polynomial of s², for s = f / (2 + f), for float64.
_LOG_64 = (
    *(0.66666666666667351, 0.39999999999410151, 0.28571428743436308, 0.22222198460573829),
    *(0.18183570451939979, 0.15313886735458572, 0.14797659546655826),
)


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


def beyond(code: Code, name: str, x: Operand, limit: float, result: Operand) -> Operand:
    """The result, but that of the C library where any lane of x is larger than a limit, which hardly ever happens."""
    memory = code.allocate(x.kind, 1, x.lanes)
    code.store(result, memory, 0)
    large = code.compare("ogt", code.intrinsic("fabs", x), code.like(x, limit))
    with code.when(code.any(large)):
        code.store(code.select(large, library(code, name, x), result), memory, 0)
    return code.load(memory, 0, x.kind, x.lanes)


def power_of_two(code: Code, exponent: Operand, kind: Kind) -> Operand:
    """2 to the power of an integer that is the exponent of a normal number."""
    form = _FORMATS[kind]
    biased = code.add(exponent, code.like(exponent, form.bias))
    return code.convert("bitcast", code.bits("shl", biased, code.like(biased, form.fraction)), kind)


def _clamp(code: Code, x: Operand, low: float, high: float) -> Operand:
    """x between two limits; NaN stays NaN."""
    return _at_most(code, code.select(code.compare("olt", x, code.like(x, low)), code.like(x, low), x), high)


def _at_most(code: Code, x: Operand, high: float) -> Operand:
    """x or a limit, if that is less; NaN stays NaN."""
    return code.select(code.compare("ogt", x, code.like(x, high)), code.like(x, high), x)


def split_exponent(code: Code, x: Operand) -> tuple[Operand, Operand]:
    """An integer n and r, for x = n log(2) + r, of which r is the shortest."""
    form = _FORMATS[x.kind]
    shifted = code.fma(x, code.like(x, 1 / math.log(2)), code.like(x, form.rounding))
    whole = code.sub(shifted, code.like(x, form.rounding))
    r = code.fma(whole, code.like(x, -form.log2_high), x)
    r = code.fma(whole, code.like(x, -_log2_low(x.kind)), r)
    integer = code.convert("bitcast", shifted, form.integer)
    return code.sub(integer, code.like(integer, form.rounding_bits)), r


def _reduce_exponent(code: Code, x: Operand, low: Operand | None = None) -> tuple[Operand, Operand]:
    """An integer n and exp(r) - 1 for x + low = n log(2) + r."""
    exponent, r = split_exponent(code, x)
    if low is not None:
        r = code.add(r, low)
    return exponent, code.fma(code.mul(r, r), code.polynomial(r, _FORMATS[x.kind].exp), r)


def _log2_low(kind: Kind) -> float:
    """What log(2) has beyond its high part."""
    return 1.90821492927058770002e-10 if kind is F64 else math.log(2) - _FORMATS[kind].log2_high


def _scaled(code: Code, x: Operand, exponent: Operand) -> Operand:
    """x times 2 to an exponent that may be out of range for one power of two, but not for two."""
    half = code.bits("ashr", exponent, code.like(exponent, 1))
    first, second = (power_of_two(code, n, x.kind) for n in (half, code.sub(exponent, half)))
    return code.mul(code.mul(x, first), second)


def exp(code: Code, x: Operand) -> Operand:
    """e to the power of x."""
    return exp_of_sum(code, x, None)


def exp_of_sum(code: Code, x: Operand, low: Operand | None) -> Operand:
    """e to the power of x + low, of which low is tiny: 0 where x is infinite or NaN."""
    form = _FORMATS[x.kind]
    vanishes, zero = code.compare("olt", x, code.like(x, form.lowest)), code.like(x, 0)
    # Not by way of a product that is too small for a float: many processors take long for those.
    exponent, rest = _reduce_exponent(code, _at_most(code, code.select(vanishes, zero, x), form.highest), low)
    return code.select(vanishes, zero, _scaled(code, code.add(rest, code.like(x, 1)), exponent))


def half_exp(code: Code, x: Operand) -> Operand:
    """Half of e to the power of x, where x is not negative: infinite where that is."""
    exponent, rest = _reduce_exponent(code, _clamp(code, x, 0.0, _FORMATS[x.kind].highest + 1))
    return _scaled(code, code.add(rest, code.like(x, 1)), code.sub(exponent, code.like(exponent, 1)))


def expm1(code: Code, x: Operand) -> Operand:
    """exp(x) - 1 with its digits near 0."""
    form = _FORMATS[x.kind]
    # Half of the power is taken first, for that of the largest numbers has no float.
    exponent, rest = _reduce_exponent(code, _clamp(code, x, form.without_one, form.highest))
    power = power_of_two(code, code.sub(exponent, code.like(exponent, 1)), x.kind)
    half = code.fma(power, rest, code.sub(power, code.like(x, 0.5)))
    # Where x is so small that it is its own result, this keeps the sign of 0.
    tiny = code.compare("olt", code.intrinsic("fabs", x), code.like(x, form.tiny))
    return code.select(tiny, x, code.add(half, half))


def log_parts(code: Code, x: Operand) -> tuple[Operand, Operand]:
    """n and f, for x = 2ⁿ (1 + f) with 1 + f from √½ to √2; n is a float. x is positive and finite."""
    form = _FORMATS[x.kind]
    subnormal = code.compare("olt", x, code.like(x, 2.0 ** (1 - form.bias)))
    scaled = code.select(subnormal, code.mul(x, code.like(x, 2.0**form.fraction)), x)
    bits = code.convert("bitcast", scaled, form.integer)
    fraction = code.like(bits, form.fraction)
    exponent = code.bits("ashr", code.sub(bits, code.like(bits, form.root_bits)), fraction)
    mantissa = code.convert("bitcast", code.sub(bits, code.bits("shl", exponent, fraction)), x.kind)
    if x.kind is F64:
        # Where vectors have no 64-bit integers to convert, 32 bits hold the exponent as well.
        exponent = code.convert("trunc", exponent, I32)
    whole = code.convert("sitofp", exponent, x.kind)
    whole = code.sub(whole, code.select(subnormal, code.like(x, form.fraction), code.like(x, 0)))
    return whole, code.sub(mantissa, code.like(x, 1))


def _joined_log(code: Code, whole: Operand, f: Operand) -> Operand:
    """whole * log(2) + log(1 + f), for 1 + f from √½ to √2."""
    square = code.mul(f, f)
    low, high = code.like(f, _log2_low(f.kind)), code.like(f, _FORMATS[f.kind].log2_high)
    if f.kind is F32:
        tail = code.mul(code.mul(square, f), code.polynomial(f, _LOG_32))
        tail = code.fma(square, code.like(f, -0.5), code.fma(whole, low, tail))
        result = code.fma(whole, high, code.add(f, tail))
    else:
        s = code.div(f, code.add(f, code.like(f, 2)))
        z = code.mul(s, s)
        half = code.mul(square, code.like(f, 0.5))
        tail = code.fma(s, code.add(half, code.mul(z, code.polynomial(z, _LOG_64))), code.mul(whole, low))
        result = code.fma(whole, high, code.sub(f, code.sub(half, tail)))
    return result


def log(code: Code, x: Operand) -> Operand:
    """The natural logarithm."""
    result = _joined_log(code, *log_parts(code, x))
    infinity = code.like(x, math.inf)
    result = code.select(code.compare("oeq", x, infinity), infinity, result)
    result = code.select(code.compare("oeq", x, code.like(x, 0)), code.like(x, -math.inf), result)
    return code.select(code.compare("ult", x, code.like(x, 0)), code.like(x, math.nan), result)


def log1p(code: Code, x: Operand) -> Operand:
    """log(1 + x) with its digits near 0."""
    one = code.like(x, 1)
    u = code.add(x, one)
    lost = code.sub(x, code.sub(u, one))
    result = code.add(log(code, u), code.div(lost, u))
    # Where 1 + x is 1, x itself is right; where it is infinite or 0, nothing was lost.
    result = code.select(code.compare("oeq", u, code.like(x, math.inf)), u, result)
    result = code.select(code.compare("oeq", u, code.like(x, 0)), code.like(x, -math.inf), result)
    return code.select(code.compare("oeq", u, one), x, result)


def log1p_of_part(code: Code, x: Operand) -> Operand:
    """log(1 + x) for x from 0 to 1."""
    large = code.compare("ogt", x, code.like(x, math.sqrt(2) - 1))
    one, zero = code.like(x, 1), code.like(x, 0)
    f = code.select(large, code.mul(code.sub(x, one), code.like(x, 0.5)), x)
    return _joined_log(code, code.select(large, one, zero), f)


def _with_sign(code: Code, magnitude: Operand, sign: Operand) -> Operand:
    return code.intrinsic("copysign", magnitude, sign)


def tanh(code: Code, x: Operand) -> Operand:
    """The hyperbolic tangent."""
    size = _clamp(code, code.intrinsic("fabs", x), 0.0, _FORMATS[x.kind].one_as_tanh)
    grown = expm1(code, code.add(size, size))
    return _with_sign(code, code.div(grown, code.add(grown, code.like(x, 2))), x)


def sigmoid(code: Code, x: Operand) -> Operand:
    """1 / (1 + exp(-x)), by the exponential that cross entropies of logits take as well: of -|x|."""
    one = code.like(x, 1)
    power = exp(code, code.neg(code.intrinsic("fabs", x)))
    return code.div(code.select(code.compare("olt", x, code.like(x, 0)), power, one), code.add(power, one))


def erf(code: Code, x: Operand) -> Operand:
    """The error function."""
    form = _FORMATS[x.kind]
    small = code.fma(code.polynomial(code.mul(x, x), form.erf_small), x, x)
    size = _clamp(code, code.intrinsic("fabs", x), 0.0, form.one_as_erf)
    rest = code.polynomial(code.sub(size, code.like(x, form.erf_middle)), form.erf_large)
    rest = _power(code, rest, form.erf_root) if form.erf_root else exp(code, rest)
    large = _with_sign(code, code.sub(code.like(x, 1), rest), x)
    return code.select(code.compare("ogt", size, code.like(x, 1)), large, small)


def _power(code: Code, x: Operand, exponent: int) -> Operand:
    """x to the power of a power of two."""
    return x if exponent == 1 else _power(code, code.mul(x, x), exponent // 2)


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


def is_positive(code: Code, x: Operand) -> Operand:
    """Whether x is above 0: not where it is NaN."""
    return code.compare("ogt" if x.kind.is_float else "sgt", x, code.like(x, 0))

"""Functions of single numbers: powers, exponentials, rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import kind_of
from varigrad.engine import run_kernel
from varigrad.ops.arguments import NUMERIC, REAL, TensorLike, accept, common_shape, floating_unary, unary
from varigrad.ops.arithmetic import maximum, minimum
from varigrad.ops.options import number
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "abs",
    "ceil",
    "clip_by_value",
    "erf",
    "exp",
    "expm1",
    "floor",
    "is_finite",
    "is_inf",
    "is_nan",
    "log",
    "log1p",
    "neg",
    "reciprocal",
    "round",
    "rsqrt",
    "sign",
    "sqrt",
    "square",
    "step",
]

# Powers and exponentials


def neg(x: TensorLike) -> Tensor:
    """The negative -x; bools become int32. Mirrors `tf.neg`; also `-x` on tensors.

    >>> import varigrad as vg
    >>> vg.neg([1, -2]).tolist()
    [-1.0, 2.0]
    """
    return unary("Neg", "neg", x, kinds=NUMERIC)


def square(x: TensorLike) -> Tensor:
    """The square x². Mirrors `tf.square`.

    >>> import varigrad as vg
    >>> vg.square([2, -3]).tolist()
    [4.0, 9.0]
    """
    return unary("Square", "square", x, kinds=NUMERIC)


def sqrt(x: TensorLike) -> Tensor:
    """The square root, NaN for negative numbers. Mirrors `tf.sqrt`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.sqrt([4, 9]).tolist()
    [2.0, 3.0]
    """
    return floating_unary("Sqrt", "sqrt", x)


def rsqrt(x: TensorLike) -> Tensor:
    """The reciprocal 1 / √x of the square root. Mirrors `tf.rsqrt`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.rsqrt([4, 0]).tolist()
    [0.5, inf]
    """
    return floating_unary("Rsqrt", "rsqrt", x)


def reciprocal(x: TensorLike) -> Tensor:
    """The reciprocal 1 / x; of integers, too, as float32. Mirrors `tf.reciprocal`.

    >>> import varigrad as vg
    >>> vg.reciprocal([4, 0]).tolist()
    [0.25, inf]
    """
    return unary("Reciprocal", "reciprocal", x)


def exp(x: TensorLike) -> Tensor:
    """The exponential e^x. Mirrors `tf.exp`.

    >>> import varigrad as vg
    >>> vg.exp([0, -float("inf")]).tolist()
    [1.0, 0.0]
    """
    return unary("Exp", "exp", x)


def expm1(x: TensorLike) -> Tensor:
    """The power e^x minus 1, which keeps its digits for `x` near 0. Mirrors `tf.expm1`.

    >>> import varigrad as vg
    >>> f"{vg.expm1(1e-10).item():.3g}"
    '1e-10'
    """
    return unary("Expm1", "expm1", x, kinds="f")


def log(x: TensorLike) -> Tensor:
    """The natural logarithm: -inf at 0, NaN for negative numbers. Mirrors `tf.log`.

    An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.log([1, 0]).tolist()
    [0.0, -inf]
    """
    return floating_unary("Log", "log", x)


def log1p(x: TensorLike) -> Tensor:
    """The logarithm of 1 + x, which keeps its digits for `x` near 0. Mirrors `tf.log1p`.

    >>> import varigrad as vg
    >>> f"{vg.log1p(1e-10).item():.3g}"
    '1e-10'
    """
    return unary("Log1p", "log1p", x, kinds="f")


def erf(x: TensorLike) -> Tensor:
    """The error function, 2/√π times the integral of exp(-t²) from 0 to `x`. Mirrors `tf.erf`.

    >>> import varigrad as vg
    >>> vg.erf([0, float("inf")]).tolist()
    [0.0, 1.0]
    """
    return unary("Erf", "erf", x, kinds="f")


# Size, sign and rounding


def abs(x: TensorLike) -> Tensor:
    """The absolute value; of complex numbers the length, as float32. Mirrors `tf.abs`; also `abs(x)` on tensors.

    >>> import varigrad as vg
    >>> vg.abs([-1.5, 2]).tolist()
    [1.5, 2.0]
    """
    x = accept(x, "abs", "x", NUMERIC)
    return run_kernel("ComplexAbs" if x.storage.dtype.kind == "c" else "Abs", (x,))


def sign(x: TensorLike) -> Tensor:
    """-1, 0 or 1 with the sign of `x`; 0 for NaN, as in TensorFlow.js. Its gradient is 0. Mirrors `tf.sign`.

    >>> import varigrad as vg
    >>> vg.sign([-2, 0, 5]).tolist()
    [-1.0, 0.0, 1.0]
    """
    return unary("Sign", "sign", x, kinds=REAL)


def step(x: TensorLike, alpha: float = 0.0) -> Tensor:
    """1 where x > 0 and `alpha` elsewhere; NaN stays. Its gradient is 0. Mirrors `tf.step`.

    >>> import varigrad as vg
    >>> vg.step([-2, 0, 5]).tolist()
    [0.0, 0.0, 1.0]
    """
    return unary("Step", "step", x, {"alpha": number("step", "alpha", alpha)}, REAL)


def ceil(x: TensorLike) -> Tensor:
    """The least whole number not below `x`. Its gradient is 0. Mirrors `tf.ceil`.

    An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.ceil([0.6, -0.6]).tolist()
    [1.0, -0.0]
    """
    return floating_unary("Ceil", "ceil", x, kinds="f")


def floor(x: TensorLike) -> Tensor:
    """The greatest whole number not above `x`. Its gradient is 0. Mirrors `tf.floor`.

    An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.floor([0.6, -0.6]).tolist()
    [0.0, -1.0]
    """
    return floating_unary("Floor", "floor", x, kinds="f")


def round(x: TensorLike) -> Tensor:
    """The nearest whole number, the even one of two; integers stay. Its gradient is 0.

    Mirrors `tf.round`; also `round(x)` on tensors.

    >>> import varigrad as vg
    >>> vg.round([0.5, 1.5, 2.6]).tolist()
    [0.0, 2.0, 3.0]
    """
    x = accept(x, "round", "x", REAL)
    return run_kernel("Round" if kind_of(x.storage.dtype) == "f" else "Identity", (x,))


def clip_by_value(x: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike) -> Tensor:
    """The values of `x`, but no less than `clip_value_min` and no more than `clip_value_max`.

    Mirrors `tf.clipByValue`. The gradient passes where `x` lies between the limits or on one.

    Args:
        x: Real, any shape; integers stay integers.
        clip_value_min: A number; or, unlike in TensorFlow.js, a tensor that broadcasts with `x`, which gets a gradient.
        clip_value_max: Likewise.

    Raises:
        ValueError: `clip_value_min` is greater than `clip_value_max`.

    >>> import varigrad as vg
    >>> vg.clip_by_value([-3, 0.5, 3], -1, 1).tolist()
    [-1.0, 0.5, 1.0]
    """
    if not _is_number(clip_value_min) or not _is_number(clip_value_max):
        op = "clip_by_value"
        x = accept(x, op, "x", REAL)
        low = _limit(x, "clip_value_min", clip_value_min)
        high = _limit(x, "clip_value_max", clip_value_max)
        return minimum(maximum(x, low), high)
    if clip_value_min > clip_value_max:
        raise ValueError(
            f"clip_by_value: clip_value_min ({clip_value_min}) must not be greater than clip_value_max "
            f"({clip_value_max})"
        )
    limits = {"clip_value_min": clip_value_min, "clip_value_max": clip_value_max}
    return unary("ClipByValue", "clip_by_value", x, limits, REAL)


def _limit(x: Tensor, argument: str, value: TensorLike) -> TensorLike:
    if _is_number(value):
        return value
    limit = accept(value, "clip_by_value", argument, REAL)
    if common_shape(x.shape, limit.shape) is None:
        raise ValueError(
            f"clip_by_value: {argument} and x cannot be broadcast together "
            f"({argument}: {format_shape(limit.shape)}, x: {format_shape(x.shape)})"
        )
    return limit


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number))


def is_nan(x: TensorLike) -> Tensor:
    """Whether each number is NaN, as bools. Mirrors `tf.isNaN`.

    >>> import varigrad as vg
    >>> vg.is_nan([1, float("nan")]).tolist()
    [False, True]
    """
    return unary("IsNan", "is_nan", x, kinds=NUMERIC)


def is_inf(x: TensorLike) -> Tensor:
    """Whether each number is infinite, as bools. Mirrors `tf.isInf`.

    >>> import varigrad as vg
    >>> vg.is_inf([1, -float("inf")]).tolist()
    [False, True]
    """
    return unary("IsInf", "is_inf", x, kinds=NUMERIC)


def is_finite(x: TensorLike) -> Tensor:
    """Whether each number is neither infinite nor NaN, as bools. Mirrors `tf.isFinite`.

    >>> import varigrad as vg
    >>> vg.is_finite([1, float("nan")]).tolist()
    [True, False]
    """
    return unary("IsFinite", "is_finite", x, kinds=NUMERIC)


# For gradient rules, not exported.


def conj(x: Tensor) -> Tensor:
    """The complex conjugate; real numbers come back as they are."""
    return run_kernel("Conj", (x,)) if x.storage.dtype.kind == "c" else x

"""Functions of single numbers with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varigrad.backends.numpy.constants import constant
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _sign(x: Array) -> Array:
    # Unlike np.sign, 0 for NaN.
    return np.subtract(x > 0, x < 0, dtype=x.dtype)


def _rsqrt(x: Array) -> Array:
    return np.reciprocal(np.sqrt(x))


def _step(x: Array, alpha: float) -> Array:
    if 0 <= alpha <= 1:
        return np.maximum(np.sign(x), constant(alpha, x.dtype))
    return np.where(x > 0, constant(1, x.dtype), np.where(x <= 0, constant(alpha, x.dtype), x))


def _clip_by_value(x: Array, clip_value_min: float, clip_value_max: float) -> Array:
    if x.dtype.kind == "i":
        limits = np.iinfo(x.dtype)
        clip_value_min = math.ceil(max(clip_value_min, limits.min))
        clip_value_max = math.floor(min(clip_value_max, limits.max))
    return np.minimum(np.maximum(x, constant(clip_value_min, x.dtype)), constant(clip_value_max, x.dtype))


def _erf(x: Array) -> Array:
    from scipy.special import erf  # SciPy loads when it is first needed

    return np.asarray(erf(x), x.dtype)


KERNELS: dict[str, Any] = {
    "Abs": np.absolute,
    "Ceil": np.ceil,
    "ClipByValue": _clip_by_value,
    "ComplexAbs": np.absolute,
    "Conj": np.conjugate,
    "Erf": _erf,
    "Exp": np.exp,
    "Expm1": np.expm1,
    "Floor": np.floor,
    "IsFinite": np.isfinite,
    "IsInf": np.isinf,
    "IsNan": np.isnan,
    "Log": np.log,
    "Log1p": np.log1p,
    "Neg": np.negative,
    "Reciprocal": np.reciprocal,
    "Round": np.rint,
    "Rsqrt": _rsqrt,
    "Sign": _sign,
    "Sqrt": np.sqrt,
    "Square": np.square,
    "Step": _step,
}

"""Trigonometric and hyperbolic functions with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.constants import constant
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _tanh_grad(dy: Array, y: Array) -> Array:
    # (1 - y)(1 + y) keeps the digits that 1 - y² loses near 1.
    one = constant(1, y.dtype)
    slope = np.subtract(one, y)
    slope *= np.add(one, y)
    slope *= dy
    return slope


def _tan(x: Array) -> Array:
    # NumPy's tangent of float32 is a unit in the last place off where it is large.
    if x.dtype == np.float32:
        return np.tan(x, dtype=np.float64).astype(np.float32)
    return np.tan(x)


KERNELS: dict[str, Any] = {
    "Acos": np.arccos,
    "Acosh": np.arccosh,
    "Asin": np.arcsin,
    "Asinh": np.arcsinh,
    "Atan": np.arctan,
    "Atanh": np.arctanh,
    "Cos": np.cos,
    "Cosh": np.cosh,
    "Sin": np.sin,
    "Sinh": np.sinh,
    "Tan": _tan,
    "Tanh": np.tanh,
    "TanhGrad": _tanh_grad,
}

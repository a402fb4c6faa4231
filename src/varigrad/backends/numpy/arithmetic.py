"""Binary arithmetic with NumPy."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from varigrad.backends.numpy.comparison import keep_where
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _scale(x: Array, factor: float) -> Array:
    return np.multiply(x, x.dtype.type(factor))


def _multiply_no_nan(x: Array, weight: Array) -> Array:
    product = np.multiply(x, weight)
    # One pass of BLAS tells whether anything needs mending; it hardly ever does.
    if not isfinite(np.vdot(product, product).real):
        product = np.where(weight == 0, product.dtype.type(0), product)
    return product


def _div_no_nan(a: Array, b: Array) -> Array:
    quotient = np.divide(a, b)
    by_zero = np.equal(b, b.dtype.type(0))
    if np.logical_or.reduce(by_zero, axis=None):
        quotient = np.where(by_zero, quotient.dtype.type(0), quotient)
    return quotient


def _pow(base: Array, exp: Array) -> Array:
    if base.dtype.kind in "fc":
        return np.power(base, exp)
    # A negative power of an integer is 0, except of 1 and -1, which are their own reciprocals.
    whole = np.power(base, np.absolute(exp))
    return np.where((exp < 0) & (np.absolute(base) != 1), base.dtype.type(0), whole)


def _squared_difference(a: Array, b: Array) -> Array:
    return np.square(np.subtract(a, b))


def _maximum_grad(dy: Array, a: Array, b: Array) -> Array:
    kept = keep_where(dy, np.greater_equal(a, b))
    ties = np.equal(a, b)
    if np.logical_or.reduce(ties, axis=None):
        np.multiply(kept, dy.dtype.type(0.5), out=kept, where=ties)
    return kept


def _add_n(*tensors: Array) -> Array:
    if len(tensors) == 1:
        return tensors[0].copy()
    total = np.add(tensors[0], tensors[1])
    for x in tensors[2:]:
        total += x
    return total


KERNELS: dict[str, Any] = {
    "Add": np.add,
    "AddN": _add_n,
    "Atan2": np.arctan2,
    "DivNoNan": _div_no_nan,
    "FloorDiv": np.floor_divide,
    "Maximum": np.maximum,
    "MaximumGrad": _maximum_grad,
    "Minimum": np.minimum,
    "Mod": np.remainder,
    "Multiply": np.multiply,
    "MultiplyNoNan": _multiply_no_nan,
    "Pow": _pow,
    "RealDiv": np.divide,
    "Scale": _scale,
    "SquaredDifference": _squared_difference,
    "Sub": np.subtract,
}

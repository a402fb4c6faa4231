"""Binary arithmetic with NumPy."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from varigrad.backends.numpy.constants import constant
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _scale(x: Array, factor: float) -> Array:
    return np.multiply(x, constant(factor, x.dtype))


def _multiply_no_nan(x: Array, weight: Array, factor: float = 1.0) -> Array:
    product = np.multiply(x, weight)
    if factor != 1.0:
        product *= constant(factor, product.dtype)
    # One pass of BLAS tells whether anything needs mending; it hardly ever does.
    if not isfinite(np.vdot(product, product).real):
        product = np.where(weight == 0, product.dtype.type(0), product)
    return product


def _div_no_nan(a: Array, b: Array) -> Array:
    quotient = np.divide(a, b)
    by_zero = np.equal(b, constant(0, b.dtype))
    if np.logical_or.reduce(by_zero, axis=None):
        quotient = np.where(by_zero, quotient.dtype.type(0), quotient)
    return quotient


def _cube(x: Array) -> Array:
    return np.multiply(np.square(x), x)


def _sqrt(x: Array) -> Array:
    # + 0 makes a 0 of -0, whose powers are positive.
    return np.sqrt(np.add(x, constant(0, x.dtype)))


def _rsqrt(x: Array) -> Array:
    return np.reciprocal(_sqrt(x))


# Functions many times faster than np.power; the operator of NumPy's own arrays takes most of them too.
_POWERS: dict[Any, Any] = {
    -1.0: np.reciprocal,
    -0.5: _rsqrt,
    0.5: _sqrt,
    1.0: np.positive,
    2.0: np.square,
    3.0: _cube,
}


def _pow(base: Array, exp: Array) -> Array:
    if base.dtype.kind in "fc":
        shortcut = _POWERS.get(exp.item()) if exp.size == 1 and exp.ndim <= base.ndim else None
        return np.power(base, exp) if shortcut is None else shortcut(base)
    # A negative power of an integer is 0, except of 1 and -1, which are their own reciprocals.
    whole = np.power(base, np.absolute(exp))
    return np.where((exp < 0) & (np.absolute(base) != 1), base.dtype.type(0), whole)


def _squared_difference(a: Array, b: Array) -> Array:
    return np.square(np.subtract(a, b))


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

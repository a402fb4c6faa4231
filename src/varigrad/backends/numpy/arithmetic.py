"""Binary arithmetic with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array


def _scale(x: Array, factor: float) -> Array:
    return np.multiply(x, x.dtype.type(factor))


def _multiply_no_nan(x: Array, weight: Array) -> Array:
    product = np.multiply(x, weight)
    # One pass of BLAS tells whether anything needs mending; it hardly ever does.
    if not np.isfinite(np.vdot(product, product)):
        product = np.where(weight == 0, product.dtype.type(0), product)
    return product


KERNELS: dict[str, Any] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Multiply": np.multiply,
    "MultiplyNoNan": _multiply_no_nan,
    "Scale": _scale,
}

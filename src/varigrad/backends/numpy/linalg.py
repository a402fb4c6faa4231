"""Linear algebra with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.reduction import max_reduce, sum_axes
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _norm(x: Array, order: float, axis: tuple[int, ...], keep_dims: bool) -> Array:
    if order == 2:
        if len(axis) == x.ndim:
            length = np.sqrt(np.vdot(x, x))
            return length.reshape((1,) * x.ndim) if keep_dims else length
        return np.sqrt(sum_axes(np.square(x), axis, keep_dims))
    size = np.abs(x)
    # Relative to the largest, no power overflows.
    largest: Array = max_reduce(size, axis, None, None, True, 0)
    scale: Array = np.where((largest > 0) & np.isfinite(largest), largest, x.dtype.type(1))
    powers = np.power(size / scale, x.dtype.type(order))
    total = sum_axes(powers, axis, keep_dims)
    return np.power(total, x.dtype.type(1 / order)) * scale.reshape(total.shape)


KERNELS: dict[str, Any] = {
    "Norm": _norm,
}

"""Linear algebra with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.reduction import max_reduce, sum_axes
from varigrad.dtypes import Array

__all__ = ["KERNELS"]

_or_reduce: Any = np.logical_or.reduce


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


def _norm_grad(dy: Array, x: Array, y: Array, order: float) -> Array:
    """dy and y are the norm's, their axes kept. A zero vector gets zeros, and so does one that dy is 0 for."""
    none = (dy == 0) | (y == 0)
    if order == 2:
        output = np.multiply(x, dy / y)
    else:
        output = np.sign(x) * np.power(np.abs(x) / y, x.dtype.type(order - 1)) * dy
    if _or_reduce(none, None):
        output[np.broadcast_to(none, x.shape)] = 0
    return output


KERNELS: dict[str, Any] = {
    "Norm": _norm,
    "NormGrad": _norm_grad,
}

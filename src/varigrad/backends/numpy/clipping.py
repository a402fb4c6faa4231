"""Norms and clipping of many gradients at once, with NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _global_norm(*gradients: Array) -> Array:
    dtype = np.result_type(*gradients)
    total = 0.0
    for gradient in gradients:
        if gradient.dtype.itemsize < 4:
            gradient = gradient.astype(np.float32)
        total += float(np.vdot(gradient, gradient))
    if not math.isfinite(total):  # perhaps only the squares are too large for the dtype
        total = sum(float(np.vdot(wide, wide)) for wide in (g.astype(np.float64) for g in gradients))
    return np.array(math.sqrt(total), dtype)


def _scale_to_norm(*inputs: Array) -> tuple[Array, ...]:
    *gradients, norm, limit = inputs
    if not np.isfinite(norm):
        factor: Any = np.asarray(np.nan)
    else:
        factor = np.asarray(limit / np.maximum(norm, limit))
    return tuple([np.multiply(gradient, factor.astype(gradient.dtype)) for gradient in gradients])


KERNELS: dict[str, Any] = {
    "GlobalNorm": _global_norm,
    "ScaleToNorm": _scale_to_norm,
}

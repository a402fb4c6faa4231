"""Reductions with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _sum(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    return np.asarray(np.add.reduce(x, axis=axis, keepdims=keep_dims, dtype=x.dtype))


KERNELS: dict[str, Any] = {
    "Sum": _sum,
}

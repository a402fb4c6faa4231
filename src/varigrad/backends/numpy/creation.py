"""Arrays from nothing, and new values for variables, with NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import Array, numpy_dtype

__all__ = ["KERNELS", "UPDATES"]


def _fill(shape: tuple[int, ...], value: Any, dtype: str) -> Array:
    if value == 0:
        return np.zeros(shape, numpy_dtype(dtype))
    return np.full(shape, value, numpy_dtype(dtype))


def _zeros_like(x: Array) -> Array:
    return np.full(x.shape, "", object) if x.dtype.kind == "O" else np.zeros(x.shape, x.dtype)


def _ones_like(x: Array) -> Array:
    return np.ones(x.shape, x.dtype)


def _one_hot(indices: Array, depth: int, on_value: float, off_value: float, dtype: str) -> Array:
    output = np.empty((indices.size, depth), numpy_dtype(dtype))
    output.fill(off_value)
    flat = indices.reshape(-1)
    rows = np.flatnonzero((flat >= 0) & (flat < depth))
    output[rows, flat[rows]] = on_value
    return output.reshape(*indices.shape, depth)


def _assign(targets: Sequence[Array], inputs: Sequence[Array], state: Sequence[Array]) -> None:
    targets[0][...] = inputs[0]


KERNELS: dict[str, Any] = {
    "Fill": _fill,
    "OneHot": _one_hot,
    "OnesLike": _ones_like,
    "ZerosLike": _zeros_like,
}

UPDATES: dict[str, Any] = {
    "Assign": _assign,
}

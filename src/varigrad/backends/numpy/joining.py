"""Joining and splitting with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _concat(*parts: Array, axis: int) -> Array:
    return np.concatenate(parts, axis)


def _pack(*parts: Array, axis: int) -> Array:
    place = (slice(None),) * axis + (None,)
    return np.concatenate([part[place] for part in parts], axis)


def _split(x: Array, sizes: tuple[int, ...], axis: int) -> tuple[Array, ...]:
    before = (slice(None),) * axis
    parts: list[Array] = []
    start = 0
    for size in sizes:
        parts.append(x[(*before, slice(start, start + size))].copy())
        start += size
    return tuple(parts)


def _unpack(x: Array, axis: int) -> tuple[Array, ...]:
    before = (slice(None),) * axis
    # The ellipsis makes an element of a vector an array too.
    return tuple([x[(*before, row, ...)].copy() for row in range(x.shape[axis])])


KERNELS: dict[str, Any] = {
    "Concat": _concat,
    "Pack": _pack,
    "SplitV": _split,
    "Unpack": _unpack,
}

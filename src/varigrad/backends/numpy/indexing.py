"""Taking parts of arrays, and putting them back, with NumPy."""

from __future__ import annotations

from typing import Any

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _slice(x: Array, begin: tuple[int, ...], size: tuple[int, ...]) -> Array:
    return x[tuple([slice(b, b + n) for b, n in zip(begin, size, strict=True)])].copy()


KERNELS: dict[str, Any] = {
    "Slice": _slice,
}

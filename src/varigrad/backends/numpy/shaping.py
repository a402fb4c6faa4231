"""Shapes and dtypes with NumPy."""

from __future__ import annotations

from typing import Any

from varigrad.dtypes import Array, numpy_dtype

__all__ = ["KERNELS"]


def _identity(x: Array) -> Array:
    return x


def _reshape(x: Array, shape: tuple[int, ...]) -> Array:
    return x.reshape(shape)


def _cast(x: Array, dtype: str) -> Array:
    target = numpy_dtype(dtype)
    if target.kind != "c" and x.dtype.kind == "c":
        x = x.real
    return x.astype(target, order="C")


KERNELS: dict[str, Any] = {
    "Cast": _cast,
    "Identity": _identity,
    "Reshape": _reshape,
}

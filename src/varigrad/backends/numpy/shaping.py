"""Shapes, layout and dtypes with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

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


def _transpose(x: Array, perm: tuple[int, ...]) -> Array:
    return x.transpose(perm).copy()


def _broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    output = np.empty(shape, x.dtype)
    output[...] = x
    return output


def _pad(x: Array, paddings: tuple[tuple[int, int], ...], constant_value: float) -> Array:
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, paddings, strict=True)])
    output = np.zeros(shape, x.dtype)
    if constant_value != 0:
        output.fill(constant_value)
    output[tuple([slice(before, before + n) for n, (before, _) in zip(x.shape, paddings, strict=True)])] = x
    return output


KERNELS: dict[str, Any] = {
    "BroadcastTo": _broadcast_to,
    "Cast": _cast,
    "Identity": _identity,
    "PadV2": _pad,
    "Reshape": _reshape,
    "Transpose": _transpose,
}

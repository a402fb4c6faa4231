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


def _reverse(x: Array, dims: tuple[int, ...]) -> Array:
    backwards, forwards = slice(None, None, -1), slice(None)
    return x[(..., *[backwards if axis in dims else forwards for axis in range(x.ndim)])].copy()


def _tile(x: Array, reps: tuple[int, ...]) -> Array:
    output = np.empty([n for pair in zip(reps, x.shape, strict=True) for n in pair], x.dtype)
    output[...] = x.reshape([n for length in x.shape for n in (1, length)])
    return output.reshape([n * length for n, length in zip(reps, x.shape, strict=True)])


def _broadcast_args(s0: Array, s1: Array) -> Array:
    # Not NumPy's own: a length may be -1, for unknown.
    rank = max(s0.size, s1.size)
    a, b = np.ones((2, rank), np.result_type(s0, s1))
    a[rank - s0.size :], b[rank - s1.size :] = s0, s1
    if not ((a == b) | (a == 1) | (b == 1)).all():
        raise ValueError(f"{s0.tolist()} and {s1.tolist()} do not broadcast")
    return np.where(a == 1, b, a)


KERNELS: dict[str, Any] = {
    "BroadcastArgs": _broadcast_args,
    "BroadcastTo": _broadcast_to,
    "Cast": _cast,
    "Identity": _identity,
    "Reshape": _reshape,
    "Reverse": _reverse,
    "Tile": _tile,
    "Transpose": _transpose,
}

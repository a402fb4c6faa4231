"""Arrays from nothing, and new values for variables, with NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import Array, numpy_dtype

__all__ = ["KERNELS", "UPDATES"]


def _fill(shape: tuple[int, ...], value: Any, dtype: str) -> Array:
    target = numpy_dtype(dtype)
    if target.kind == "O":
        return np.full(shape, "", target)
    return np.full(shape, value, target) if value else np.zeros(shape, target)


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


def _linspace(start: float, stop: float, num: int) -> Array:
    numbers: Array = np.linspace(start, stop, num)
    return numbers.astype(np.float32)


def _range(start: float, stop: float, step: float, dtype: str) -> Array:
    count = max(0, math.ceil((stop - start) / step))
    numbers: Array = start + step * np.arange(count)
    return numbers.astype(numpy_dtype(dtype), copy=False)


def _eye(rows: int, columns: int, dtype: str) -> Array:
    return np.eye(rows, columns, dtype=numpy_dtype(dtype))


def _diag(x: Array) -> Array:
    output: Array = np.zeros(x.size * x.size, x.dtype)
    output[:: x.size + 1] = x.reshape(-1)
    return output.reshape(x.shape + x.shape)


def _diag_part(x: Array) -> Array:
    shape = x.shape[: x.ndim // 2]
    diagonal: Array = x.reshape(-1)[:: math.prod(shape) + 1]
    return diagonal.copy().reshape(shape)


def _complex(real: Array, imag: Array) -> Array:
    output = np.empty(real.shape, np.complex64)
    output.real = real
    output.imag = imag
    return output


def _real(x: Array) -> Array:
    return x.real.copy()


def _imag(x: Array) -> Array:
    return x.imag.copy()


def _assign(targets: Sequence[Array], inputs: Sequence[Array], state: Sequence[Array]) -> None:
    targets[0][...] = inputs[0]


KERNELS: dict[str, Any] = {
    "Complex": _complex,
    "Diag": _diag,
    "DiagPart": _diag_part,
    "Eye": _eye,
    "Fill": _fill,
    "Imag": _imag,
    "LinSpace": _linspace,
    "OneHot": _one_hot,
    "OnesLike": _ones_like,
    "Range": _range,
    "Real": _real,
    "ZerosLike": _zeros_like,
}

UPDATES: dict[str, Any] = {
    "Assign": _assign,
}

"""Norms and clipping of many gradients at once, with NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _norm(gradient: Array) -> float:
    """The Euclidean norm; of float64 where the squares are too large for the dtype."""
    flat = gradient.reshape(-1)
    if flat.dtype.itemsize < 4:
        flat = flat.astype(np.float32)
    square = flat.dot(flat).item()
    if not math.isfinite(square):
        flat = flat.astype(np.float64)
        square = flat.dot(flat).item()
    return math.sqrt(square)


def _common_dtype(gradients: Sequence[Array]) -> np.dtype[Any]:
    first = gradients[0].dtype
    if all(gradient.dtype == first for gradient in gradients):
        return first
    # Not np.result_type, which knows none for float16 and bfloat16.
    return np.dtype(np.float64 if any(gradient.dtype == np.float64 for gradient in gradients) else np.float32)


def _global_norm(*gradients: Array) -> Array:
    return np.array(math.hypot(*map(_norm, gradients)), _common_dtype(gradients))


def _each_norm(*gradients: Array) -> Array:
    return np.array([_norm(gradient) for gradient in gradients], _common_dtype(gradients))


def _scale_to_norm(*inputs: Array) -> tuple[Array, ...]:
    *gradients, norm, limit = inputs
    lengths, most = norm.tolist(), limit.item()
    if not norm.ndim:
        lengths = [lengths] * len(gradients)
    scaled: list[Array] = []
    for gradient, length in zip(gradients, lengths, strict=True):
        factor = most / max(length, most) if math.isfinite(length) else math.nan
        scaled.append(np.multiply(gradient, np.array(factor, gradient.dtype)))
    return tuple(scaled)


KERNELS: dict[str, Any] = {
    "EachNorm": _each_norm,
    "GlobalNorm": _global_norm,
    "ScaleToNorm": _scale_to_norm,
}

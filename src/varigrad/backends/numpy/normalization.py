"""Softmax and normalization with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.reduction import sum_rows
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _softmax(logits: Array, dim: int) -> Array:
    if dim != logits.ndim - 1:
        return np.ascontiguousarray(_softmax(logits.swapaxes(dim, -1).copy(), logits.ndim - 1).swapaxes(dim, -1))
    if not logits.size:
        return logits.copy()
    output = np.subtract(logits, np.maximum.reduce(logits, -1, None, None, True))
    np.exp(output, output)
    output /= sum_rows(output)
    return output


def _softmax_grad(dy: Array, y: Array, dim: int) -> Array:
    weighted = np.multiply(dy, y)
    if dim == y.ndim - 1:
        total = sum_rows(weighted)
    else:
        total = np.add.reduce(weighted, dim, None, None, True)
    weighted -= total * y
    return weighted


def _log_softmax(logits: Array, axis: int) -> Array:
    if axis != logits.ndim - 1:
        return np.ascontiguousarray(_log_softmax(logits.swapaxes(axis, -1).copy(), logits.ndim - 1).swapaxes(axis, -1))
    if not logits.size:
        return logits.copy()
    output = np.subtract(logits, np.maximum.reduce(logits, -1, None, None, True))
    total = sum_rows(np.exp(output))
    output -= np.log(total, total)
    return output


def _log_softmax_grad(dy: Array, y: Array, axis: int) -> Array:
    output = np.exp(y)
    output *= sum_rows(dy) if axis == y.ndim - 1 else np.add.reduce(dy, axis, None, None, True)
    return np.subtract(dy, output, output)


KERNELS: dict[str, Any] = {
    "LogSoftmax": _log_softmax,
    "LogSoftmaxGrad": _log_softmax_grad,
    "Softmax": _softmax,
    "SoftmaxGrad": _softmax_grad,
}

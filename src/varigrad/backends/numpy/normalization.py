"""Softmax and normalization with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from varigrad.backends.numpy.reduction import add_reduce, max_rows, sum_rows
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _softmax_rows(logits: Array) -> Array:
    output = np.subtract(logits, max_rows(logits))  # so that nothing overflows
    np.exp(output, output)
    output /= sum_rows(output)
    return output


def _log_softmax_rows(logits: Array) -> Array:
    output = np.subtract(logits, max_rows(logits))
    total = sum_rows(np.exp(output))
    output -= np.log(total, total)
    return output


def _along(axis: int, function: Callable[[Array], Array], x: Array) -> Array:
    """A function of rows along any axis."""
    if not x.size:
        return x.copy()
    if axis == x.ndim - 1:
        return function(x)
    return np.ascontiguousarray(function(x.swapaxes(axis, -1).copy()).swapaxes(axis, -1))


def _softmax(logits: Array, dim: int) -> Array:
    return _along(dim, _softmax_rows, logits)


def _log_softmax(logits: Array, axis: int) -> Array:
    return _along(axis, _log_softmax_rows, logits)


def _sum_along(x: Array, axis: int) -> Array:
    return sum_rows(x) if axis == x.ndim - 1 else add_reduce(x, axis, None, None, True)


def _softmax_grad(dy: Array, y: Array, dim: int) -> Array:
    weighted = np.multiply(dy, y)
    weighted -= y * _sum_along(weighted, dim)
    return _unless_zero(weighted, dy, dim)


def _log_softmax_grad(dy: Array, y: Array, axis: int) -> Array:
    output = np.exp(y)
    output *= _sum_along(dy, axis)
    return _unless_zero(np.subtract(dy, output, output), dy, axis)


def _unless_zero(output: Array, dy: Array, axis: int) -> Array:
    """A gradient with zeros along the axis wherever dy is zero all along it, even for logits that are NaN."""
    if not np.isfinite(np.vdot(output, output)):
        unused = np.logical_not(dy.any(axis, keepdims=True))
        output[np.broadcast_to(unused, output.shape)] = 0
    return output


def _batch_norm(
    x: Array,
    mean: Array,
    variance: Array,
    *offset_and_scale: Array,
    has_offset: bool,
    has_scale: bool,
    variance_epsilon: float,
) -> Array:
    factor = np.sqrt(variance + variance.dtype.type(variance_epsilon))
    factor = np.divide(offset_and_scale[-1] if has_scale else x.dtype.type(1), factor)
    output = np.subtract(x, mean)
    output *= factor
    if has_offset:
        output += offset_and_scale[0]
    return output


@lru_cache(maxsize=16)
def _band(channels: int, radius: int, dtype: np.dtype[Any]) -> Array:
    """The matrix by which a row of channels is multiplied to sum each with its neighbours."""
    position = np.arange(channels)
    band = (abs(position - position[:, None]) <= radius).astype(dtype)
    band.flags.writeable = False
    return band


def _window_sum(x: Array, depth_radius: int) -> Array:
    return x.dot(_band(x.shape[-1], depth_radius, x.dtype))


def _local_response_normalization(x: Array, depth_radius: int, bias: float, alpha: float, beta: float) -> Array:
    kind = x.dtype.type
    divisor = _window_sum(np.square(x), depth_radius)
    divisor *= kind(alpha)
    divisor += kind(bias)
    return np.multiply(x, np.power(divisor, kind(-beta), divisor), divisor)


KERNELS: dict[str, Any] = {
    "FusedBatchNorm": _batch_norm,
    "LRN": _local_response_normalization,
    "LogSoftmax": _log_softmax,
    "LogSoftmaxGrad": _log_softmax_grad,
    "Softmax": _softmax,
    "SoftmaxGrad": _softmax_grad,
    "WindowSum": _window_sum,
}

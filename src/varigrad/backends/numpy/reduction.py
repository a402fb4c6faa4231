"""Reductions with NumPy.

`axis` is a tuple of axes counted from the front, in increasing order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from varigrad.backends.numpy.constants import constant
from varigrad.dtypes import Array

__all__ = ["KERNELS", "add_reduce", "max_reduce", "max_rows", "sum_axes", "sum_rows"]

# (x, axis, dtype, out, keepdims, initial); NumPy's types know these only by keyword, which is slower.
add_reduce: Any = np.add.reduce
max_reduce: Any = np.maximum.reduce
_min_reduce: Any = np.minimum.reduce
_multiply_reduce: Any = np.multiply.reduce
_and_reduce: Any = np.logical_and.reduce
_or_reduce: Any = np.logical_or.reduce

# Sums this long or shorter go to BLAS; NumPy's pairwise summation keeps more digits of longer ones.
_LONGEST_DOT = 1 << 14


@lru_cache(maxsize=64)
def _ones(length: int, dtype: np.dtype[Any]) -> Array:
    ones = np.ones(length, dtype)
    ones.flags.writeable = False
    return ones


@lru_cache(maxsize=64)
def _ones_column(length: int, dtype: np.dtype[Any]) -> Array:
    return _ones(length, dtype).reshape(length, 1)


def sum_axes(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    """The sum along axes: the kernel `Sum`."""
    summed = len(axis)
    kept = x.ndim - summed
    if not kept:
        return add_reduce(x, None, x.dtype, None, keep_dims)
    if axis == (0,) and kept == 1 and not keep_dims and x.dtype.char in "fd" and 0 < x.shape[0] <= _LONGEST_DOT:
        return _ones(x.shape[0], x.dtype).dot(x)
    # Along the first axes or the last ones, a product with ones is three times as fast as NumPy's loop.
    if summed and x.size and x.dtype.char in "fd":
        if axis[-1] == summed - 1:
            shape = (1,) * summed + x.shape[summed:] if keep_dims else x.shape[summed:]
            length = prod(x.shape[:summed])
            if length <= _LONGEST_DOT:
                total = _ones(length, x.dtype).dot(x.reshape(length, -1))
                return total if total.shape == shape else total.reshape(shape)
        elif axis[0] == kept:
            shape = x.shape[:kept] + (1,) * summed if keep_dims else x.shape[:kept]
            length = prod(x.shape[kept:])
            if length <= _LONGEST_DOT:
                total = x.reshape(-1, length).dot(_ones(length, x.dtype))
                return total if total.shape == shape else total.reshape(shape)
    return add_reduce(x, axis, x.dtype, None, keep_dims)


def sum_rows(x: Array) -> Array:
    """The sum along the last axis, which stays with length 1."""
    if x.ndim == 2 and x.dtype.char in "fd" and x.size and x.shape[1] <= _LONGEST_DOT:
        return x.dot(_ones_column(x.shape[1], x.dtype))
    return sum_axes(x, (x.ndim - 1,), True)


def _mean(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    total = sum_axes(x, axis, keep_dims)
    count = x.size if len(axis) == x.ndim else prod([x.shape[a] for a in axis])
    return np.divide(total, constant(count, x.dtype))


def _spread(x: Array, shape: tuple[int, ...], factor: float) -> Array:
    """x times a number, broadcast: the gradient of a sum or a mean."""
    output = np.empty(shape, x.dtype)
    if x.ndim:
        np.multiply(x, constant(factor, x.dtype), output)
    else:
        output.fill(x.item() * factor)
    return output


# A maximum of nothing is the value that changes no other maximum, as in NumPy's `initial`.
def _lowest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return -np.inf
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "f":
        return np.inf
    return True if dtype.kind == "b" else np.iinfo(dtype).max


@lru_cache(maxsize=64)
def _row_numbers(rows: int) -> Array:
    return np.arange(rows)


def max_rows(x: Array) -> Array:
    """The maximum along the last axis, which stays with length 1 and is not empty."""
    shape = x.shape
    rows = x if x.ndim == 2 else x.reshape(-1, shape[-1])
    # NumPy's own reduction of rows goes element by element; both of these go by several at once.
    if shape[-1] <= 16:
        largest = max_reduce(rows.T.copy(), 0)
    else:
        largest = rows[_row_numbers(len(rows)), rows.argmax(1)]
    return largest.reshape((*shape[:-1], 1))


def _max(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    if not x.size:
        return max_reduce(x, axis, None, None, keep_dims, _lowest(x.dtype))
    if axis == (x.ndim - 1,) and x.ndim > 1:
        largest = max_rows(x)
        return largest if keep_dims else largest.reshape(x.shape[:-1])
    return max_reduce(x, axis, None, None, keep_dims)


def _min(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    if not x.size:
        return _min_reduce(x, axis, None, None, keep_dims, _highest(x.dtype))
    return _min_reduce(x, axis, None, None, keep_dims)


def _extremum_share(x: Array, extremum: Array, axis: tuple[int, ...]) -> Array:
    """How much of the extremum along `axis` (kept, with length 1) each element is: 1 / n for each of n ties, else 0."""
    ties = np.equal(x, extremum)
    missing = np.isnan(extremum)
    if _or_reduce(missing, None):
        ties |= missing & np.isnan(x)
    share = ties.astype(x.dtype)
    share /= add_reduce(share, axis, None, None, True)
    return share


def _prod(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    return _multiply_reduce(x, axis, x.dtype, None, keep_dims)


def _all(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    return _and_reduce(x, axis, None, None, keep_dims)


def _any(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    return _or_reduce(x, axis, None, None, keep_dims)


def _arg_max(x: Array, axis: int) -> Array:
    if x.dtype.kind == "f" and x.size and np.isnan(max_reduce(x, None)):
        x = np.where(np.isnan(x), x.dtype.type(-np.inf), x)
    return x.argmax(axis).astype(np.int32)


def _arg_min(x: Array, axis: int) -> Array:
    if x.dtype.kind == "f" and x.size and np.isnan(_min_reduce(x, None)):
        x = np.where(np.isnan(x), x.dtype.type(np.inf), x)
    return x.argmin(axis).astype(np.int32)


def _log_sum_exp(x: Array, axis: tuple[int, ...], keep_dims: bool) -> Array:
    largest = _max(x, axis, True)
    # An infinite maximum is the result; subtracting it would be NaN.
    shift = np.where(np.isfinite(largest), largest, x.dtype.type(0))
    total = sum_axes(np.exp(x - shift), axis, True)
    result = np.log(total) + shift
    return result if keep_dims else result.reshape([n for a, n in enumerate(x.shape) if a not in axis])


def _accumulate(ufunc: np.ufunc, nothing: int) -> Callable[[Array, int, bool, bool], Array]:
    """The running sum or product along an axis; `exclusive` leaves each element itself out."""

    def kernel(x: Array, axis: int, exclusive: bool, reverse: bool) -> Array:
        output = np.empty_like(x)
        source, target = x.swapaxes(0, axis), output.swapaxes(0, axis)
        if reverse:
            source, target = source[::-1], target[::-1]
        if not exclusive:
            ufunc.accumulate(source, 0, None, target)
        elif len(source):
            target[0] = nothing
            ufunc.accumulate(source[:-1], 0, None, target[1:])
        return output

    return kernel


def _exclusive_recurrence(a: Array, b: Array, axis: int, reverse: bool) -> Array:
    """u[0] = 0, u[k] = b[k - 1] + a[k - 1] * u[k - 1] along an axis; `reverse` runs it from the end."""
    output = np.zeros_like(b)
    a, b, u = (array.swapaxes(0, axis) for array in (a, b, output))
    if reverse:
        a, b, u = a[::-1], b[::-1], u[::-1]
    for k in range(len(u) - 1):
        np.multiply(a[k], u[k], u[k + 1, ...])
        u[k + 1] += b[k]
    return output


KERNELS: dict[str, Any] = {
    "All": _all,
    "Any": _any,
    "ArgMax": _arg_max,
    "ArgMin": _arg_min,
    "Cumprod": _accumulate(np.multiply, 1),
    "Cumsum": _accumulate(np.add, 0),
    "ExclusiveRecurrence": _exclusive_recurrence,
    "ExtremumShare": _extremum_share,
    "LogSumExp": _log_sum_exp,
    "Max": _max,
    "Mean": _mean,
    "Min": _min,
    "Prod": _prod,
    "Spread": _spread,
    "Sum": sum_axes,
}

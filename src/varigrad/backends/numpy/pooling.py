"""Pooling with NumPy, over any number of spatial axes.

What lies under one place in the window, for all outputs at once, is a strided view of the input.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from varigrad.backends.numpy.windows import Pads, interior, output_lengths, padded, padded_shape, positions, steps
from varigrad.dtypes import Array

__all__ = ["KERNELS"]

Lengths = tuple[int, ...]


def _lowest(dtype: np.dtype[Any]) -> float:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def _combine(ufunc: np.ufunc, x: Array, filter_size: Lengths, strides: Lengths, dilations: Lengths) -> Array:
    """Windows over a padded array brought down to one value each, one axis after the other."""
    output = output_lengths(x.shape[1:-1], filter_size, strides, dilations, ((0, 0),) * len(strides))
    for axis, (window, length, stride, dilation) in enumerate(zip(filter_size, output, strides, dilations), 1):
        before = (slice(None),) * axis
        first, *others = [(*before, under) for under in steps(window, length, stride, dilation)]
        y = x[first].copy()
        for under in others:
            ufunc(y, x[under], out=y)
        x = y
    return x


def _max_pool(x: Array, filter_size: Lengths, strides: Lengths, dilations: Lengths, pads: Pads) -> Array:
    # Unlike maximum, fmax passes over NaN.
    return _combine(np.fmax, padded(x, pads, _lowest(x.dtype)), filter_size, strides, dilations)


def _winners(
    x: Array, y: Array, filter_size: Lengths, strides: Lengths, dilations: Lengths, pads: Pads
) -> Iterator[tuple[tuple[slice, ...], Array]]:
    """For each place in the window, what comes under it, and for which outputs that is the first of the largest."""
    x = padded(x, pads, _lowest(x.dtype))
    free = np.ones(y.shape, np.bool_)
    for _, under in positions(filter_size, y.shape[1:-1], strides, dilations):
        won = np.equal(x[under], y)
        won &= free
        free ^= won
        yield under, won


def _max_pool_grad(
    dy: Array, x: Array, y: Array, filter_size: Lengths, strides: Lengths, dilations: Lengths, pads: Pads
) -> Array:
    dx = np.zeros(padded_shape(x.shape, pads), dy.dtype)
    # Taken as integers, 0 times anything is 0, where infinity times 0 is NaN.
    integers = np.dtype(f"i{dy.itemsize}")
    dx_bits, dy_bits = dx.view(integers), dy.view(integers)
    apart = all(s >= (w - 1) * d + 1 for w, s, d in zip(filter_size, strides, dilations))
    for under, won in _winners(x, y, filter_size, strides, dilations, pads):
        if apart:
            np.multiply(dy_bits, won, out=dx_bits[under])
        else:
            dx[under] += np.multiply(dy_bits, won).view(dy.dtype)
    return dx if dx.shape == x.shape else dx[interior(x.shape, pads)].copy()


def _max_pool_grad_grad(
    ddx: Array, x: Array, y: Array, filter_size: Lengths, strides: Lengths, dilations: Lengths, pads: Pads
) -> Array:
    """The values of `ddx` where x is largest."""
    ddx = padded(ddx, pads)
    taken = np.zeros(y.shape, ddx.dtype)
    for under, won in _winners(x, y, filter_size, strides, dilations, pads):
        np.copyto(taken, ddx[under], where=won)
    return taken


def _max_pool_with_argmax(
    x: Array,
    filter_size: Lengths,
    strides: Lengths,
    dilations: Lengths,
    pads: Pads,
    include_batch_in_index: bool,
) -> tuple[Array, Array]:
    y = _max_pool(x, filter_size, strides, dilations, pads)
    image = prod(x.shape[1:])
    places = np.arange(image, dtype=np.int32).reshape(1, *x.shape[1:])
    if include_batch_in_index:
        places = places + np.arange(0, x.shape[0] * image, image, dtype=np.int32).reshape(-1, 1, 1, 1)
    places = padded(places, pads, -1)
    indexes = np.full(y.shape, -1, np.int32)
    for under, won in _winners(x, y, filter_size, strides, dilations, pads):
        np.copyto(indexes, places[under], where=won)
    return y, indexes


def _divide(
    y: Array,
    lengths: Lengths,
    filter_size: Lengths,
    strides: Lengths,
    dilations: Lengths,
    pads: Pads,
    count_padding: str,
) -> Array:
    """Divides in place, for each window, by how many values of the input it holds."""
    if count_padding == "always" or not any(before or after for before, after in pads):
        y /= y.dtype.type(prod(filter_size))
    else:
        inside = padded(np.ones((1, *lengths, 1), y.dtype), pads)
        y /= np.maximum(_combine(np.add, inside, filter_size, strides, dilations), y.dtype.type(1))
    return y


def _avg_pool(
    x: Array, filter_size: Lengths, strides: Lengths, dilations: Lengths, pads: Pads, count_padding: str
) -> Array:
    total = _combine(np.add, padded(x, pads), filter_size, strides, dilations)
    return _divide(total, x.shape[1:-1], filter_size, strides, dilations, pads, count_padding)


def _avg_pool_grad(
    dy: Array,
    input_shape: Lengths,
    filter_size: Lengths,
    strides: Lengths,
    dilations: Lengths,
    pads: Pads,
    count_padding: str,
) -> Array:
    dx = _divide(dy.copy(), input_shape[1:-1], filter_size, strides, dilations, pads, count_padding)
    whole = padded_shape(input_shape, pads)
    for axis, (window, stride, dilation) in enumerate(zip(filter_size, strides, dilations), 1):
        share = dx
        dx = np.zeros((*share.shape[:axis], whole[axis], *share.shape[axis + 1 :]), dy.dtype)
        for under in steps(window, share.shape[axis], stride, dilation):
            spread = dx[(slice(None),) * axis + (under,)]
            spread += share
    return dx if dx.shape == input_shape else dx[interior(input_shape, pads)].copy()


KERNELS: dict[str, Any] = {
    "AvgPool": _avg_pool,
    "AvgPool3D": _avg_pool,
    "AvgPool3DGrad": _avg_pool_grad,
    "AvgPoolGrad": _avg_pool_grad,
    "MaxPool": _max_pool,
    "MaxPool3D": _max_pool,
    "MaxPool3DGrad": _max_pool_grad,
    "MaxPool3DGradGrad": _max_pool_grad_grad,
    "MaxPoolGrad": _max_pool_grad,
    "MaxPoolGradGrad": _max_pool_grad_grad,
    "MaxPoolWithArgmax": _max_pool_with_argmax,
}

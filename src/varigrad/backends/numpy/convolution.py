"""Convolution with NumPy: the values under the window, laid out as a matrix, times the filter.

One code for any number of spatial axes. Each of the three kernels of a family is linear in both inputs, and is the
transpose of the others in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from varigrad.backends.numpy.matmul import product_of
from varigrad.backends.numpy.windows import Pads, interior, output_lengths, padded, padded_shape, positions
from varigrad.dtypes import Array

__all__ = ["KERNELS", "conv", "depthwise_conv"]

Lengths = tuple[int, ...]

# Elements worked on at a time: few enough to stay in cache and to have their memory reused.
_CHUNK = 1 << 18
# A run of fewer adjacent values under the window than this is copied faster across the images than along the window.
_SHORT_RUN = 12


def _chunks(images: int, elements: int) -> list[slice]:
    """The images in chunks, where each takes so many elements."""
    step = max(1, _CHUNK // max(1, elements))
    return [slice(start, start + step) for start in range(0, images, step)]


def _columns(
    x: Array, window: Lengths, strides: Lengths, dilations: Lengths, pads: Pads, output: Lengths
) -> Iterator[tuple[slice, Array]]:
    """The values under the window as matrices `[places, window * channels]`, some images at a time."""
    channels = x.shape[-1]
    width = prod(window) * channels
    if width == channels and output == x.shape[1:-1] and max(strides) == 1:
        yield slice(None), x.reshape(-1, channels)
        return
    short = (window[-1] if dilations[-1] == 1 else 1) * channels < _SHORT_RUN
    for images in _chunks(x.shape[0], prod(output) * width):
        chunk = padded(x[images], pads)
        if short:
            transposed = np.empty((*window, channels, chunk.shape[0], *output), x.dtype)
            for place, under in positions(window, output, strides, dilations):
                transposed[place] = np.moveaxis(chunk[under], -1, 0)
            yield images, transposed.reshape(width, -1).T
        else:
            batch, *along, channel = chunk.strides
            view = as_strided(
                chunk,
                (chunk.shape[0], *output, *window, channels),
                (
                    batch,
                    *[step * s for step, s in zip(along, strides)],
                    *[step * d for step, d in zip(along, dilations)],
                    channel,
                ),
            )
            yield images, view.reshape(-1, width)


def conv(x: Array, filter: Array, strides: Lengths, dilations: Lengths, pads: Pads) -> Array:
    """The products of x at every place with the filter, `[*window, channels, filters]`: `[batch, *output, filters]`."""
    *window, _, filters = filter.shape
    output = output_lengths(x.shape[1:-1], tuple(window), strides, dilations, pads)
    y = np.empty((x.shape[0], *output, filters), x.dtype)
    matrix = filter.reshape(-1, filters)
    for images, columns in _columns(x, tuple(window), strides, dilations, pads, output):
        product_of(columns, matrix, y[images].reshape(-1, filters))
    return y


def _conv_backprop_filter(
    x: Array, dy: Array, filter_shape: Lengths, strides: Lengths, dilations: Lengths, pads: Pads
) -> Array:
    *window, _, filters = filter_shape
    total: Array | None = None
    for images, columns in _columns(x, tuple(window), strides, dilations, pads, dy.shape[1:-1]):
        part = product_of(columns.T, dy[images].reshape(-1, filters))
        total = part if total is None else np.add(total, part, out=total)
    if total is None:
        return np.zeros(filter_shape, x.dtype)
    return total.reshape(filter_shape)


def _conv_backprop_input(
    dy: Array, filter: Array, input_shape: Lengths, strides: Lengths, dilations: Lengths, pads: Pads
) -> Array:
    *window, channels, filters = filter.shape
    rows = dy.reshape(-1, filters)
    dx = np.zeros(padded_shape(input_shape, pads), dy.dtype)
    # The products of one place in the window at a time are contiguous, and so quick to add.
    for place, under in positions(tuple(window), dy.shape[1:-1], strides, dilations):
        dx[under] += product_of(rows, filter[place].T).reshape(*dy.shape[:-1], channels)
    return dx if dx.shape == input_shape else dx[interior(input_shape, pads)].copy()


def depthwise_conv(x: Array, filter: Array, strides: Lengths, dilations: Lengths, pads: Pads) -> Array:
    """The products of each channel with its own filters, `[*window, channels, multiplier]`."""
    *window, channels, multiplier = filter.shape
    output = output_lengths(x.shape[1:-1], tuple(window), strides, dilations, pads)
    y = np.zeros((x.shape[0], *output, channels, multiplier), x.dtype)
    x, total = padded(x, pads), y
    if multiplier == 1:
        filter, total = filter[..., 0], y[..., 0]
    else:
        x = x[..., None]
    for images in _chunks(len(x), prod(y.shape[1:])):
        chunk, part = x[images], total[images]
        product = np.empty(part.shape, part.dtype)
        for place, under in positions(tuple(window), output, strides, dilations):
            np.multiply(chunk[under], filter[place], out=product)
            part += product
    return y.reshape(*y.shape[:-2], channels * multiplier)


def _depthwise_backprop_filter(
    x: Array, dy: Array, filter_shape: Lengths, strides: Lengths, dilations: Lengths, pads: Pads
) -> Array:
    *window, channels, multiplier = filter_shape
    output = dy.shape[1:-1]
    dy = dy.reshape(-1, channels, multiplier)
    gradient = np.empty(filter_shape, x.dtype)
    chunk = padded(x, pads)
    for place, under in positions(tuple(window), output, strides, dilations):
        np.einsum("pc,pcm->cm", chunk[under].reshape(-1, channels), dy, out=gradient[place])
    return gradient


def _depthwise_backprop_input(
    dy: Array, filter: Array, input_shape: Lengths, strides: Lengths, dilations: Lengths, pads: Pads
) -> Array:
    *window, channels, multiplier = filter.shape
    output = dy.shape[1:-1]
    dy = dy.reshape(*dy.shape[:-1], channels, multiplier)
    dx = np.zeros(padded_shape(input_shape, pads), dy.dtype)
    for images in _chunks(len(dx), prod(dy.shape[1:])):
        part, given = dx[images], dy[images]
        for place, under in positions(tuple(window), output, strides, dilations):
            for number in range(multiplier):
                part[under] += given[..., number] * filter[place][..., number]
    return dx if dx.shape == input_shape else dx[interior(input_shape, pads)].copy()


def _dilation2d(x: Array, filter: Array, strides: Lengths, dilations: Lengths, pads: Pads) -> Array:
    output = output_lengths(x.shape[1:-1], filter.shape[:-1], strides, dilations, pads)
    chunk = padded(x, pads, -np.inf)
    y = np.full((x.shape[0], *output, x.shape[-1]), -np.inf, x.dtype)
    for place, under in positions(filter.shape[:-1], output, strides, dilations):
        np.fmax(y, chunk[under] + filter[place], out=y)
    return y


def _dilation2d_winners(
    x: Array, filter: Array, strides: Lengths, dilations: Lengths, pads: Pads
) -> Iterator[tuple[Lengths, tuple[slice, ...], Array]]:
    """For each place in the window, what comes under it, and for which outputs that is the first of the largest."""
    y = _dilation2d(x, filter, strides, dilations, pads)
    chunk = padded(x, pads, -np.inf)
    free = np.ones(y.shape, np.bool_)
    for place, under in positions(filter.shape[:-1], y.shape[1:-1], strides, dilations):
        won = (chunk[under] + filter[place] == y) & free
        free ^= won
        yield place, under, won


def _dilation2d_backprop_input(x: Array, filter: Array, dy: Array, *, pads: Pads, **steps: Lengths) -> Array:
    dx = np.zeros(padded_shape(x.shape, pads), x.dtype)
    for _, under, won in _dilation2d_winners(x, filter, pads=pads, **steps):
        dx[under] += np.where(won, dy, dy.dtype.type(0))
    return dx[interior(x.shape, pads)].copy()


def _dilation2d_backprop_filter(x: Array, filter: Array, dy: Array, *, pads: Pads, **steps: Lengths) -> Array:
    gradient = np.empty(filter.shape, filter.dtype)
    for place, _, won in _dilation2d_winners(x, filter, pads=pads, **steps):
        gradient[place] = np.where(won, dy, dy.dtype.type(0)).sum((0, 1, 2))
    return gradient


def _dilation2d_tangent(
    x: Array, filter: Array, x_tangent: Array, filter_tangent: Array, *, pads: Pads, **steps: Lengths
) -> Array:
    """How the result changes as x and the filter change along their tangents."""
    chunk = padded(x_tangent, pads)
    change: Array | None = None
    for place, under, won in _dilation2d_winners(x, filter, pads=pads, **steps):
        here = np.add(chunk[under], filter_tangent[place])
        here[~won] = 0
        change = here if change is None else np.add(change, here, out=change)
    assert change is not None  # a window has at least one place
    return change


KERNELS: dict[str, Any] = {
    "Conv2D": conv,
    "Conv2DBackpropFilter": _conv_backprop_filter,
    "Conv2DBackpropInput": _conv_backprop_input,
    "Conv3D": conv,
    "Conv3DBackpropFilterV2": _conv_backprop_filter,
    "Conv3DBackpropInputV2": _conv_backprop_input,
    "DepthwiseConv2dNative": depthwise_conv,
    "DepthwiseConv2dNativeBackpropFilter": _depthwise_backprop_filter,
    "DepthwiseConv2dNativeBackpropInput": _depthwise_backprop_input,
    "Dilation2D": _dilation2d,
    "Dilation2DBackpropFilter": _dilation2d_backprop_filter,
    "Dilation2DBackpropInput": _dilation2d_backprop_input,
    "Dilation2DTangent": _dilation2d_tangent,
}

"""Lowering of pooling: what lies under each place in the window is a view, and the views are put together as maps.

Large windows go along one axis at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import prod
from typing import Any, NamedTuple

import numpy as np

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.convolution import padded, places, window_lengths
from varigrad.backends.native.operations import Shape, Val, View, whole
from varigrad.dtypes import Array

__all__ = ["RULES"]

Pads = Sequence[tuple[int, int]]
_MOST_PLACES = 16  # of a window, which is written out
_MOST_SHARES = 25  # of a window whose winners are looked for, place by place
_LONGEST = 32  # of a window along one axis


class _Window(NamedTuple):
    size: Shape
    strides: Shape
    dilations: Shape


def _windows(size: Shape, strides: Shape, dilations: Shape) -> Iterator[tuple[_Window, Sequence[int]]]:
    """The window, or windows that do the same one after the other, each with the axes along which it moves."""
    axes = range(len(size))
    if prod(size) <= _MOST_PLACES:
        yield _Window(size, strides, dilations), axes
        return
    for axis in axes:
        along = [tuple([n if at == axis else 1 for at, n in enumerate(all)]) for all in (size, strides, dilations)]
        yield _Window(*along), [axis]


def _combined(b: Builder, name: str, x: View, size: Shape, strides: Shape, dilations: Shape, output: Shape) -> View:
    """What comes under the window, put together."""
    for window, axes in _windows(size, strides, dilations):
        lengths = tuple([output[at] if at in axes else n for at, n in enumerate(x.shape[1:-1])])
        views = [under for _, under in places(x, window.size, lengths, window.strides, window.dilations)]
        x = reduce(lambda a, c: b.map(name, a, c), views)
    return x


def _lowest(x: View) -> float:
    return float("-inf") if x.kind.is_float else -(2**31)


def _max_pool(b: Builder, x: View, filter_size: Shape, strides: Shape, dilations: Shape, pads: Pads) -> View | None:
    if max(filter_size) > _LONGEST:
        return None
    output = window_lengths(x.shape[1:-1], filter_size, strides, dilations, pads)
    return _combined(b, "MaximumNumber", padded(b, x, pads, _lowest(x)), filter_size, strides, dilations, output)


def _max_pool_grad(
    b: Builder, dy: View, x: View, y: View, filter_size: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    if prod(filter_size) > _MOST_SHARES:
        return None
    images = padded(b, x, pads, _lowest(x))
    winners = _winners(b, images, y, filter_size, strides, dilations)
    shares = [b.map("KeepWhere", dy, won, kind=dy.kind) for _, won in winners]
    dx = _put_back(b, shares, images.shape, filter_size, strides, dilations)
    return _inside(dx, x.shape, pads)


def _winners(
    b: Builder, images: View, y: View, filter_size: Shape, strides: Shape, dilations: Shape
) -> Iterator[tuple[Shape, View]]:
    """For each place in the window: for which outputs what is there is the first of the largest."""
    free: View | None = None
    for place, under in places(images, filter_size, y.shape[1:-1], strides, dilations):
        won = b.compare("Equal", under, y)
        if free is not None:
            won = b.map("LogicalAnd", won, free)
        rest = b.compare("LogicalNot", won)
        free = rest if free is None else b.map("LogicalAnd", free, rest)
        yield place, won


def _max_pool_grad_grad(
    b: Builder, ddx: View, x: View, y: View, filter_size: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    """What another array has where x is largest."""
    if prod(filter_size) > _MOST_SHARES:
        return None
    winners = _winners(b, padded(b, x, pads, _lowest(x)), y, filter_size, strides, dilations)
    under = places(padded(b, ddx, pads), filter_size, y.shape[1:-1], strides, dilations)
    taken = b.number(0, ddx.kind).broadcast(y.shape)
    for (_, won), (_, there) in zip(winners, under, strict=True):
        taken = b.map("Select", won, there, taken, kind=ddx.kind)
    return taken


def _avg_pool(
    b: Builder, x: View, filter_size: Shape, strides: Shape, dilations: Shape, pads: Pads, count_padding: str
) -> View | None:
    if max(filter_size) > _LONGEST or not x.kind.is_float:
        return None
    output = window_lengths(x.shape[1:-1], filter_size, strides, dilations, pads)
    total = _combined(b, "Add", padded(b, x, pads), filter_size, strides, dilations, output)
    window = _Window(filter_size, strides, dilations)
    return _shared(b, total, window, x.shape[1:-1], pads, count_padding)


def _shared(b: Builder, x: View, window: _Window, lengths: Shape, pads: Pads, count_padding: str) -> View:
    """Numbers for each window, divided by how many there are of the images in it."""
    if count_padding == "always" or not any(before or after for before, after in pads):
        return b.map("RealDiv", x, float(prod(window.size)))
    counts: Array = np.ones(())
    axes = zip(x.shape[1:-1], lengths, pads, strict=True)
    for (output, length, (before, _)), (size, stride, dilation) in zip(axes, zip(*window, strict=True), strict=True):
        starts: Array = np.arange(output) * stride - before
        at = starts[:, None] + np.arange(size) * dilation
        inside = np.count_nonzero((at >= 0) & (at < length), axis=1)
        counts = counts[..., None] * inside
    return b.map("RealDiv", x, b.cast(b.constant(np.maximum(counts, 1)[..., None]), x.kind))


def _avg_pool_grad(
    b: Builder,
    dy: View,
    input_shape: Shape,
    filter_size: Shape,
    strides: Shape,
    dilations: Shape,
    pads: Pads,
    count_padding: str,
) -> View | None:
    if max(filter_size) > _LONGEST:
        return None
    lengths = [n + before + after for n, (before, after) in zip(input_shape[1:-1], pads, strict=True)]
    window = _Window(filter_size, strides, dilations)
    dx = _shared(b, dy, window, tuple(input_shape[1:-1]), pads, count_padding)
    for part, axes in _windows(*window):
        along = [lengths[at] if at in axes else n for at, n in enumerate(dx.shape[1:-1])]
        dx = _put_back(b, [dx] * prod(part.size), (dx.shape[0], *along, dx.shape[-1]), *part)
    return _inside(dx, tuple(input_shape), pads)


def _put_back(
    b: Builder, shares: Sequence[View], shape: Shape, filter_size: Shape, strides: Shape, dilations: Shape
) -> View:
    """Images in which each window has what is its own, added up: a share for each place in the window."""
    output = shares[0].shape[1:-1]
    root = Val(shape, shares[0].kind)
    targets = [target for _, target in places(whole(root), filter_size, output, strides, dilations)]
    apart = all(d == 1 and s >= w for w, s, d in zip(filter_size, strides, dilations, strict=True))
    covered = tuple([(n - 1) * s + w for n, s, w in zip(output, strides, filter_size, strict=True)])
    parts: list[Val] = []
    if not apart or filter_size != strides or covered != shape[1:-1]:
        parts = [b.full(shape, 0, root.kind, into=whole(root)).val]
    if apart:
        return b.joined(parts + [b.copy(x, into=at).val for x, at in zip(shares, targets, strict=True)], root)
    dx = b.joined(parts, root)
    for x, at in zip(shares, targets, strict=True):
        there = View(dx.val, at.shape, at.strides, at.offset)
        dx = b.joined([dx.val, b.map("Add", there, x, into=at).val], root)
    return dx


def _inside(x: View, shape: Shape, pads: Pads) -> View:
    """Images without what was around them."""
    return x.part([0, *[before for before, _ in pads], 0], shape)


RULES: dict[str, Callable[..., Any]] = {
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
}

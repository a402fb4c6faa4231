"""Lowering of pooling: what lies under each place in the window is a view, and the views are put together as maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.convolution import padded, places, window_lengths
from varigrad.backends.native.operations import Shape, Val, View, whole

__all__ = ["RULES"]

Pads = Sequence[tuple[int, int]]
_MOST_PLACES = 16  # of a window, which is written out


def _lowest(x: View) -> float:
    return float("-inf") if x.kind.is_float else -(2**31)


def _max_pool(b: Builder, x: View, filter_size: Shape, strides: Shape, dilations: Shape, pads: Pads) -> View | None:
    if prod(filter_size) > _MOST_PLACES:
        return None
    output = window_lengths(x.shape[1:-1], filter_size, strides, dilations, pads)
    views = [under for _, under in places(padded(b, x, pads, _lowest(x)), filter_size, output, strides, dilations)]
    y = views[0]
    for under in views[1:]:
        y = b.map("MaximumNumber", y, under)
    return y


def _max_pool_grad(
    b: Builder, dy: View, x: View, y: View, filter_size: Shape, strides: Shape, dilations: Shape, pads: Pads
) -> View | None:
    if prod(filter_size) > _MOST_PLACES:
        return None
    images = padded(b, x, pads, _lowest(x))
    shares: list[View] = []
    free: View | None = None
    for _, under in places(images, filter_size, y.shape[1:-1], strides, dilations):
        won = b.compare("Equal", under, y)
        if free is not None:
            won = b.map("LogicalAnd", won, free)
        rest = b.compare("LogicalNot", won)
        free = rest if free is None else b.map("LogicalAnd", free, rest)
        shares.append(b.map("KeepWhere", dy, won, kind=dy.kind))
    dx = _put_back(b, shares, images.shape, filter_size, strides, dilations)
    return _inside(dx, x.shape, pads)


def _avg_pool(
    b: Builder, x: View, filter_size: Shape, strides: Shape, dilations: Shape, pads: Pads, count_padding: str
) -> View | None:
    if prod(filter_size) > _MOST_PLACES or not x.kind.is_float or not _counts_all(pads, count_padding):
        return None
    output = window_lengths(x.shape[1:-1], filter_size, strides, dilations, pads)
    views = [under for _, under in places(padded(b, x, pads), filter_size, output, strides, dilations)]
    total = views[0]
    for under in views[1:]:
        total = b.map("Add", total, under)
    return b.map("RealDiv", total, float(prod(filter_size)))


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
    if prod(filter_size) > _MOST_PLACES or not _counts_all(pads, count_padding):
        return None
    lengths = [n + before + after for n, (before, after) in zip(input_shape[1:-1], pads, strict=True)]
    share = b.map("RealDiv", dy, float(prod(filter_size)))
    shape = (input_shape[0], *lengths, input_shape[-1])
    dx = _put_back(b, [share] * prod(filter_size), shape, filter_size, strides, dilations)
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


def _counts_all(pads: Pads, count_padding: str) -> bool:
    """Whether every window counts as many numbers."""
    return count_padding == "always" or not any(before or after for before, after in pads)


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
    "MaxPoolGrad": _max_pool_grad,
}

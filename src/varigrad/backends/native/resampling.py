"""Lowering of resizing: along each axis by itself, a new pixel is a sum of old ones with weights known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import F64, I32
from varigrad.backends.native.operations import Shape, View
from varigrad.backends.native.rows import Layout, put_rows, take_rows
from varigrad.backends.numpy.resampling import linear_places, nearest_places
from varigrad.dtypes import Array

__all__ = ["RULES"]

_HEIGHT, _WIDTH = 1, 2  # axes of images [batch, height, width, channels]


def _layout(shape: Shape, axis: int, new: int) -> Layout:
    return Layout(1, prod(shape[:axis]), shape[axis], new, prod(shape[axis + 1 :]))


def _taken(b: Builder, x: View, axis: int, places: Array) -> View:
    """The pixels along an axis at places known beforehand."""
    old, new = x.shape[axis], len(places)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    if new % old == 0 and (places == np.repeat(np.arange(old), new // old)).all():
        repeated = b.reshape(x, (*before, old, 1, *after)).broadcast((*before, old, new // old, *after))
        return b.reshape(repeated, (*before, new, *after))
    indices = b.constant(places.astype(np.int32))
    return b.reshape(take_rows(b, x, indices, _layout(x.shape, axis, new), b.number(0, I32)), (*before, new, *after))


def _put(b: Builder, dy: View, axis: int, places: Array, old: int) -> View:
    """Pixels added up at the places along an axis that they were taken from."""
    new = len(places)
    before, after = dy.shape[:axis], dy.shape[axis + 1 :]
    if new % old == 0 and (places == np.repeat(np.arange(old), new // old)).all():
        return b.reduce("sum", b.reshape(dy, (*before, old, new // old, *after)), [axis + 1])
    shape = (*before, old, *after)
    indices = b.constant(places.astype(np.int32))
    return b.reshape(put_rows(b, dy, indices, _layout(shape, axis, new), b.number(0, I32)), shape)


def _weighted(b: Builder, x: View, axis: int, weights: Array) -> View:
    """Pixels times weights along an axis; a pixel that has no share cannot make a sum NaN."""
    after = [1] * (len(x.shape) - axis - 1)
    return b.map(
        "MultiplyNoNan", x, b.constant(weights.astype(np.float64 if x.kind is F64 else np.float32).reshape(-1, *after))
    )


def _bilinear(b: Builder, images: View, size: tuple[int, int], **centers: bool) -> View | None:
    if not images.kind.is_float:
        return None
    for axis, new in ((_HEIGHT, size[0]), (_WIDTH, size[1])):
        places, shares = linear_places(new, images.shape[axis], **centers)
        lower, upper = (_weighted(b, _taken(b, images, axis, places[:, tap]), axis, shares[:, tap]) for tap in (0, 1))
        images = b.map("Add", lower, upper)
    return images


def _bilinear_grad(b: Builder, dy: View, size: tuple[int, int], **centers: bool) -> View | None:
    if not dy.kind.is_float:
        return None
    for axis, old in ((_WIDTH, size[1]), (_HEIGHT, size[0])):
        places, shares = linear_places(dy.shape[axis], old, **centers)
        lower, upper = (_put(b, _weighted(b, dy, axis, shares[:, tap]), axis, places[:, tap], old) for tap in (0, 1))
        dy = b.map("Add", lower, upper)
    return dy


def _nearest(b: Builder, images: View, size: tuple[int, int], **centers: bool) -> View:
    for axis, new in ((_HEIGHT, size[0]), (_WIDTH, size[1])):
        images = _taken(b, images, axis, nearest_places(new, images.shape[axis], **centers))
    return images


def _nearest_grad(b: Builder, dy: View, size: tuple[int, int], **centers: bool) -> View | None:
    if not dy.kind.is_float:
        return None
    for axis, old in ((_WIDTH, size[1]), (_HEIGHT, size[0])):
        dy = _put(b, dy, axis, nearest_places(dy.shape[axis], old, **centers), old)
    return dy


def _flip(b: Builder, image: View) -> View:
    last = [0, 0, image.shape[_WIDTH] - 1, 0]
    return image.part(last, image.shape, [1, 1, -1, 1])


RULES: dict[str, Callable[..., Any]] = {
    "FlipLeftRight": _flip,
    "ResizeBilinear": _bilinear,
    "ResizeBilinearGrad": _bilinear_grad,
    "ResizeNearestNeighbor": _nearest,
    "ResizeNearestNeighborGrad": _nearest_grad,
}

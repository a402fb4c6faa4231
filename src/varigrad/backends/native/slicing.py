"""Lowering of taking parts by index, and of putting them back."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.checking import checked
from varigrad.backends.native.code import BOOL, I32, KINDS
from varigrad.backends.native.operations import Shape, View
from varigrad.backends.native.rows import Layout, put_rows, take_rows

__all__ = ["RULES"]


def _layout(shape: Shape, indices: Shape, axis: int, batch_dims: int) -> Layout:
    return Layout(
        prod(shape[:batch_dims]),
        prod(shape[batch_dims:axis]),
        shape[axis],
        prod(indices[batch_dims:]),
        prod(shape[axis + 1 :]),
    )


def _gather(b: Builder, x: View, indices: View, axis: int, batch_dims: int) -> View:
    found = checked(b, indices, 1, [x.shape[axis]])
    taken = take_rows(b, x, indices, _layout(x.shape, indices.shape, axis, batch_dims), found)
    return b.reshape(taken, (*x.shape[:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :]))


def _gather_put(b: Builder, dy: View, indices: View, shape: Shape, axis: int, batch_dims: int) -> View | None:
    if dy.kind is BOOL:
        return None
    found = checked(b, indices, 1, [shape[axis]])
    return b.reshape(put_rows(b, dy, indices, _layout(shape, indices.shape, axis, batch_dims), found), tuple(shape))


def _flat_places(b: Builder, indices: View, at: int, shape: Shape) -> tuple[View, Layout, View] | None:
    """Index tuples `[..., depth]` as positions along the first `depth` axes of a shape, taken as one."""
    depth = indices.shape[-1]
    length = prod(shape[:depth])
    if not depth or length >= 2**31:
        return None
    found = checked(b, indices, at, shape[:depth])
    steps = [prod(shape[axis + 1 : depth]) for axis in range(depth)]
    places = indices
    if depth > 1:
        places = b.reduce(
            "sum", b.map("Multiply", indices, b.constant(np.array(steps, np.int32))), [len(indices.shape) - 1]
        )
    return places, Layout(1, 1, length, indices.size // depth, prod(shape[depth:])), found


def _gather_nd(b: Builder, x: View, indices: View) -> View | None:
    flat = _flat_places(b, indices, 1, x.shape)
    if flat is None:
        return None
    places, layout, found = flat
    rest = x.shape[indices.shape[-1] :]
    return b.reshape(take_rows(b, x, places, layout, found), (*indices.shape[:-1], *rest))


def _scatter_nd(b: Builder, indices: View, updates: View, shape: Shape) -> View | None:
    flat = _flat_places(b, indices, 0, shape)
    if flat is None or updates.kind is BOOL:
        return None
    places, layout, found = flat
    return b.reshape(put_rows(b, updates, places, layout, found), tuple(shape))


def _scatter_update(b: Builder, x: View, indices: View, updates: View) -> View | None:
    flat = _flat_places(b, indices, 1, x.shape)
    if flat is None:
        return None
    places, layout, found = flat
    return b.reshape(put_rows(b, updates, places, layout, found, onto=x), x.shape)


def _last_writers(b: Builder, indices: View, shape: Shape, dtype: str) -> View | None:
    """By having each write its number to its place, and looking whose number stays."""
    flat, kind = _flat_places(b, indices, 0, shape), KINDS.get(dtype)
    if flat is None or kind is None:
        return None
    places, layout, found = flat
    layout = layout._replace(width=1)
    turns = b.constant(np.arange(layout.taken, dtype=np.int32))
    writers = put_rows(b, turns, places, layout, found, onto=b.full((layout.length,), 0, I32))
    last = b.compare("Equal", b.reshape(take_rows(b, writers, places, layout, found), turns.shape), turns)
    depth = indices.shape[-1]
    return b.reshape(b.cast(last, kind), (*indices.shape[:-1], *[1] * (len(shape) - depth)))


def _wrap_indices(b: Builder, indices: View, length: int, axis: int) -> View:
    found = checked(b, indices, 0, [length], -length)
    wrapped = b.map("Select", b.compare("Less", indices, 0), b.map("Add", indices, length), indices, kind=I32)
    return _found(b, wrapped, length, found)


def _whole_indices(b: Builder, x: View, owner: str, count: int, argument: str) -> View | None:
    if x.kind is BOOL:
        return None
    return _found(b, b.cast(x, I32), count, checked(b, x, 0, [count]))


def _found(b: Builder, indices: View, limit: int, found: View) -> View:
    """Indices that nobody reads before they have been found to be right."""
    if found.val.literal is None:
        indices = b.map("Add", indices, found)
    b.note_bounds(indices, 0, [limit], found)
    return indices


RULES: dict[str, Callable[..., Any]] = {
    "GatherNd": _gather_nd,
    "GatherV2": _gather,
    "GatherV2Put": _gather_put,
    "LastWriters": _last_writers,
    "ScatterNd": _scatter_nd,
    "TensorScatterUpdate": _scatter_update,
    "WholeIndices": _whole_indices,
    "WrapIndices": _wrap_indices,
}

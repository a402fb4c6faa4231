"""Taking parts of arrays, and putting them back, with NumPy.

Each kernel that takes has a partner that puts: they are each other's derivative.
"""

# NumPy gives these functions types that pyright cannot finish.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import Array, numpy_dtype
from varigrad.errors import OutOfRangeError

__all__ = ["KERNELS", "add_rows", "check_indices", "flat_places"]


# Blocks.


def _slice(x: Array, begin: tuple[int, ...], size: tuple[int, ...]) -> Array:
    return x[tuple([slice(b, b + n) for b, n in zip(begin, size, strict=True)])].copy()


def _progressions(begin: tuple[int, ...], size: tuple[int, ...], strides: tuple[int, ...]) -> tuple[slice, ...]:
    """On each axis, `size` positions from `begin` on, `stride` apart."""
    places: list[slice] = []
    for b, n, stride in zip(begin, size, strides, strict=True):
        stop = b + n * stride
        places.append(slice(b, stop if stop >= 0 else None, stride) if n else slice(0, 0))
    return tuple(places)


def _strided_slice(
    x: Array, begin: tuple[int, ...], size: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...]
) -> Array:
    return x[_progressions(begin, size, strides)].copy().reshape(shape)


def _strided_slice_put(
    dy: Array, begin: tuple[int, ...], size: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...]
) -> Array:
    output = np.zeros(shape, dy.dtype)
    output[_progressions(begin, size, strides)] = dy.reshape(size)
    return output


# Indices.


_least = np.minimum.reduce
_greatest = np.maximum.reduce


def check_indices(op: str, indices: Array, length: int, axis: int, lowest: int = 0) -> None:
    """Raises `OutOfRangeError` where an index is outside an axis of a certain length."""
    if indices.size and (_least(indices, axis=None) < lowest or _greatest(indices, axis=None) >= length):
        place = tuple(np.argwhere((indices < lowest) | (indices >= length))[0].tolist())
        at = f", at {list(place)} of the indices," if place else ""
        raise OutOfRangeError(f"{op}: index {indices[place]}{at} is outside axis {axis}, which is {length} long")


def _whole_indices(x: Array, owner: str, count: int, argument: str) -> Array:
    """Numbers as integers from 0 to `count` - 1, for a layer whose inputs are indices; `argument` is what says so."""
    if x.dtype.kind == "f" and not (x == np.trunc(x)).all():
        place = tuple(np.argwhere(x != np.trunc(x))[0].tolist())
        raise ValueError(
            f"{owner}: its inputs are indices, but {x[place]} at position {list(place)} is not a whole number"
        )
    if x.size and (_least(x, axis=None) < 0 or _greatest(x, axis=None) >= count):
        place = tuple(np.argwhere((x < 0) | (x >= count))[0].tolist())
        raise OutOfRangeError(
            f"{owner}: index {int(x[place])} at position {list(place)} of its inputs is outside of 0..{count - 1} "
            f"({argument}={count})"
        )
    return x.astype(np.int32)


def _wrap_indices(indices: Array, length: int, axis: int) -> Array:
    """Indices of which negative ones count from the back, all counted from the front."""
    check_indices("x[...]", indices, length, axis, -length)
    return np.where(indices < 0, indices + indices.dtype.type(length), indices)


def _batched(indices: Array, axis: int, batch_dims: int) -> tuple[Any, ...]:
    """The key that takes, in each batch, along `axis` by that batch's own indices."""
    batch = indices.shape[:batch_dims]
    rest = indices.ndim - batch_dims
    key: list[Array] = [np.arange(n).reshape((n,) + (1,) * (batch_dims - 1 - at + rest)) for at, n in enumerate(batch)]
    return (*key, *[slice(None)] * (axis - batch_dims), indices)


def _gather(x: Array, indices: Array, axis: int, batch_dims: int) -> Array:
    check_indices("gather", indices, x.shape[axis], axis)
    if not indices.ndim:  # NumPy would give a string, not an array that holds it
        return x.take(indices.reshape(1), axis).reshape(x.shape[:axis] + x.shape[axis + 1 :])
    if not batch_dims:
        return x.take(indices, axis)
    between = axis - batch_dims
    taken = x[_batched(indices, axis, batch_dims)]
    if between:
        # NumPy puts the indexed axes in front; those between the batch and `axis` belong before the new ones.
        taken = np.moveaxis(taken, range(indices.ndim, indices.ndim + between), range(batch_dims, axis))
    return np.ascontiguousarray(taken)


def _gather_put(dy: Array, indices: Array, shape: tuple[int, ...], axis: int, batch_dims: int) -> Array:
    """Zeros in a shape, with what `_gather` would take added where it would take it from."""
    # Axes in the order: the batch, those of the indices, those before `axis`, those after it.
    between = axis - batch_dims
    if between:
        dy = np.moveaxis(dy, range(batch_dims, axis), range(indices.ndim, indices.ndim + between))
    batch, length = math.prod(shape[:batch_dims]), shape[axis]
    rest = shape[batch_dims:axis] + shape[axis + 1 :]
    rows = indices.reshape(-1)
    if batch_dims:
        rows = rows + np.repeat(np.arange(batch, dtype=np.int64) * length, math.prod(indices.shape[batch_dims:]))
    added = add_rows(dy.reshape(indices.size, math.prod(rest)), rows, batch * length)
    added = added.reshape(*shape[:batch_dims], length, *rest)
    return np.ascontiguousarray(np.moveaxis(added, batch_dims, axis)) if between else added


def add_rows(rows: Array, targets: Array, count: int) -> Array:
    """Zeros `[count, width]` with each row of `rows` `[n, width]` added to the row that `targets` names."""
    n, width = rows.shape
    if rows.size > 2048:
        from scipy.sparse import csc_array  # its product is a plain loop over rows, ten times faster than add.at

        ones = np.ones(n, rows.dtype)
        scatter: Any = csc_array((ones, targets, np.arange(n + 1)), shape=(count, n))  # pyright: ignore
        return scatter @ rows
    output = np.zeros((count, width), rows.dtype)
    places: Array = targets.astype(np.intp)[:, None] * width + np.arange(width)
    np.add.at(output.reshape(-1), places.reshape(-1), rows.reshape(-1))
    return output


def flat_places(kernel: str, indices: Array, shape: Sequence[int]) -> Array:
    """The row-major position of each index tuple `[n, depth]` in the first `depth` axes of a shape."""
    places = np.zeros(indices.shape[0], np.intp)
    for axis in range(indices.shape[1]):
        column = indices[:, axis]
        check_indices(kernel, column, shape[axis], axis)
        places *= shape[axis]
        places += column
    return places


def _split_index(indices: Array) -> tuple[Array, tuple[int, ...], int]:
    """Index tuples as `[n, depth]`, the shape they are arranged in, and the depth."""
    outer, depth = indices.shape[:-1], indices.shape[-1]
    return indices.reshape(math.prod(outer), depth), outer, depth


def _gather_nd(x: Array, indices: Array) -> Array:
    index, outer, depth = _split_index(indices)
    places = flat_places("gather_nd", index, x.shape)
    rows = x.reshape((math.prod(x.shape[:depth]), *x.shape[depth:]))
    return rows.take(places, 0).reshape(outer + x.shape[depth:])


def _scatter_nd(indices: Array, updates: Array, shape: tuple[int, ...]) -> Array:
    index, _, depth = _split_index(indices)
    places = flat_places("scatter_nd", index, shape)
    width = math.prod(shape[depth:])
    return add_rows(updates.reshape(len(places), width), places, math.prod(shape[:depth])).reshape(shape)


def _scatter_update(x: Array, indices: Array, updates: Array) -> Array:
    index, _, depth = _split_index(indices)
    places = flat_places("tensor_scatter_update", index, x.shape)
    output = x.copy()
    rows = output.reshape((math.prod(x.shape[:depth]), *x.shape[depth:]))
    rows[places] = updates.reshape((len(places), *x.shape[depth:]))
    return output


def _last_writers(indices: Array, shape: tuple[int, ...], dtype: str) -> Array:
    """1 where an index tuple is the last that names its place, 0 where a later one names it too."""
    index, outer, depth = _split_index(indices)
    places = flat_places("tensor_scatter_update", index, shape)
    writer = np.empty(math.prod(shape[:depth]), np.intp)
    turns = np.arange(len(places))
    writer[places] = turns
    last = (writer[places] == turns).astype(numpy_dtype(dtype))
    return last.reshape(outer + (1,) * (len(shape) - depth))


KERNELS: dict[str, Any] = {
    "GatherNd": _gather_nd,
    "GatherV2": _gather,
    "GatherV2Put": _gather_put,
    "LastWriters": _last_writers,
    "ScatterNd": _scatter_nd,
    "Slice": _slice,
    "StridedSlice": _strided_slice,
    "StridedSlicePut": _strided_slice_put,
    "TensorScatterUpdate": _scatter_update,
    "WholeIndices": _whole_indices,
    "WrapIndices": _wrap_indices,
}

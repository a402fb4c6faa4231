"""Sparse tensors, as index tuples and values, with NumPy."""

# NumPy gives these functions types that pyright cannot finish.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varigrad.backends.numpy.slicing import add_rows, check_indices, flat_places
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _fill_empty_rows(
    indices: Array, values: Array, dense_shape: Array, default: Array
) -> tuple[Array, Array, Array, Array]:
    """The index tuples and values by row, with one value in each row that had none; which rows these are; and where
    each value went."""
    count, rank = indices.shape
    rows = indices[:, 0]
    check_indices("sparse_fill_empty_rows", rows, int(dense_shape[0]), 0)
    empty = np.ones(int(dense_shape[0]), np.bool_)
    empty[rows] = False
    missing = empty.nonzero()[0]
    first_places = np.zeros((missing.size, rank), indices.dtype)
    first_places[:, 0] = missing
    order = np.concatenate((rows, missing)).argsort(kind="stable")
    place_of = np.empty(order.size, np.int32)
    place_of[order] = np.arange(order.size, dtype=np.int32)
    fillers = np.full(missing.size, default[()], values.dtype)
    return (
        np.concatenate((indices, first_places))[order],
        np.concatenate((values, fillers))[order],
        empty,
        place_of[:count].copy(),
    )


def _reshape(indices: Array, shape: Array, new_shape: Array) -> tuple[Array, Array]:
    """The index tuples that name the same places, in row-major order, of a tensor of another shape."""
    lengths = shape.tolist()
    places = flat_places("sparse_reshape", indices, lengths)
    target = new_shape.copy()
    if (unknown := np.flatnonzero(new_shape == -1)).size:
        known = math.prod(n for n in new_shape.tolist() if n != -1)
        target[unknown[0]] = math.prod(lengths) // known
    columns = np.unravel_index(places, target.tolist()) if places.size and target.size else ()
    output = np.zeros((indices.shape[0], target.size), indices.dtype)
    for axis, column in enumerate(columns):
        output[:, axis] = column
    return output, target


def _segment_sum(data: Array, indices: Array, segment_ids: Array) -> Array:
    return _sum_rows("sparse_segment_sum", data, indices, segment_ids)


def _sum_rows(op: str, data: Array, indices: Array, segment_ids: Array) -> Array:
    check_indices(op, indices, data.shape[0], 0)
    count = int(segment_ids[-1]) + 1 if segment_ids.size else 0
    rows = data.take(indices, 0).reshape(indices.size, math.prod(data.shape[1:]))
    return add_rows(rows, segment_ids, count).reshape((count, *data.shape[1:]))


def _segment_mean(data: Array, indices: Array, segment_ids: Array) -> Array:
    sums = _sum_rows("sparse_segment_mean", data, indices, segment_ids)
    counts = np.bincount(segment_ids, minlength=sums.shape[0]).clip(1).astype(sums.dtype)
    counts = counts.reshape((-1,) + (1,) * (data.ndim - 1))
    if sums.dtype.kind != "i":
        return sums / counts
    quotients = sums // counts
    quotients += (sums < 0) & (quotients * counts != sums)  # towards 0
    return quotients


def _to_dense(indices: Array, values: Array, default: Array, shape: tuple[int, ...]) -> Array:
    output = np.full(math.prod(shape), default[()], values.dtype)
    output[flat_places("sparse_to_dense", indices, shape)] = values
    return output.reshape(shape)


KERNELS: dict[str, Any] = {
    "SparseFillEmptyRows": _fill_empty_rows,
    "SparseReshape": _reshape,
    "SparseSegmentMean": _segment_mean,
    "SparseSegmentSum": _segment_sum,
    "SparseToDense": _to_dense,
}

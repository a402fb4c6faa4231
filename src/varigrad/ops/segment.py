"""Values grouped by number, and values found among others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from varigrad.dtypes import Array
from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import (
    ORDERED,
    TensorLike,
    accept,
    convert,
    convert_integers,
    normalize_axis,
    normalize_shape,
    operands,
)
from varigrad.ops.options import one_of
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "ListDiff",
    "Unique",
    "lower_bound",
    "search_sorted",
    "setdiff1d",
    "setdiff1d_async",
    "unique",
    "unsorted_segment_sum",
    "upper_bound",
]


class Unique(NamedTuple):
    """What `vg.unique` finds."""

    values: Tensor
    indices: Tensor


class ListDiff(NamedTuple):
    """What `vg.setdiff1d` finds."""

    values: Tensor
    indices: Tensor


def unsorted_segment_sum(x: TensorLike, segment_ids: TensorLike, num_segments: int) -> Tensor:
    """The sums of the slices of `x` that carry the same number. Mirrors `tf.unsortedSegmentSum`.

    Args:
        x: Numeric, of any shape that begins with the shape of `segment_ids`.
        segment_ids: The number of each slice, integers; slices numbered outside `0 … num_segments - 1` are left out.
        num_segments: How many sums to make.

    Returns:
        Shape `[num_segments, *x.shape[segment_ids.rank:]]`; a number that no slice carries gives zeros.

    Raises:
        ValueError: The shapes don't fit.
        TypeError: The numbers are not integers.

    >>> import varigrad as vg
    >>> vg.unsorted_segment_sum([1, 2, 3, 4], [1, 0, 1, 3], 3).tolist()
    [2.0, 4.0, 0.0]
    """
    x = convert(x, "unsorted_segment_sum", "x")
    ids = convert_integers(segment_ids, "unsorted_segment_sum", "segment_ids")
    if not ids.rank or x.shape[: ids.rank] != ids.shape:
        raise ValueError(
            f"unsorted_segment_sum: x's shape must begin with that of segment_ids "
            f"(x: {format_shape(x.shape)}, segment_ids: {format_shape(ids.shape)})"
        )
    count = normalize_shape("unsorted_segment_sum", (num_segments,), "num_segments")[0]
    return run_kernel("UnsortedSegmentSum", (x, ids), {"num_segments": count})


def search_sorted(sorted_sequence: TensorLike, values: TensorLike, side: str = "left") -> Tensor:
    """Where values would go in sorted sequences to keep them sorted. Mirrors `tf.searchSorted`.

    Args:
        sorted_sequence: Ascending along the last axis: `[*batch, n]`.
        values: `[*batch, m]`.
        side: `"left"` for the place before equal values, `"right"` for the one after them.

    Returns:
        int32, of the shape of `values`: places from 0 to n.

    Raises:
        ValueError: Batches that differ, or an unknown side.

    >>> import varigrad as vg
    >>> vg.search_sorted([1, 3, 3, 5], [0, 3, 9]).tolist()
    [0, 1, 4]
    """
    return _search_sorted("search_sorted", sorted_sequence, values, one_of("search_sorted", "side", side, _SIDES))


_SIDES = ("left", "right")


def _search_sorted(op: str, sorted_sequence: TensorLike, values: TensorLike, side: str) -> Tensor:
    sequence = accept(sorted_sequence, op, "sorted_sequence", ORDERED)
    sequence, sought = operands(op, sequence, accept(values, op, "values", ORDERED))
    if not sequence.rank or not sought.rank or sequence.shape[:-1] != sought.shape[:-1]:
        raise ValueError(
            f"{op}: sorted_sequence and values must agree in all axes but the last "
            f"(sorted_sequence: {format_shape(sequence.shape)}, values: {format_shape(sought.shape)})"
        )
    return run_kernel("SearchSorted", (sequence, sought), {"side": side})


def lower_bound(sorted_sequence: TensorLike, values: TensorLike) -> Tensor:
    """`vg.search_sorted` on the left. Mirrors `tf.lowerBound`.

    >>> import varigrad as vg
    >>> vg.lower_bound([1, 3, 3, 5], [3]).tolist()
    [1]
    """
    return _search_sorted("lower_bound", sorted_sequence, values, "left")


def upper_bound(sorted_sequence: TensorLike, values: TensorLike) -> Tensor:
    """`vg.search_sorted` on the right. Mirrors `tf.upperBound`.

    >>> import varigrad as vg
    >>> vg.upper_bound([1, 3, 3, 5], [3]).tolist()
    [3]
    """
    return _search_sorted("upper_bound", sorted_sequence, values, "right")


def unique(x: TensorLike, axis: int = 0) -> Unique:
    """The different slices of a tensor along an axis, in the order in which they first occur. Mirrors `tf.unique`.

    How many there are depends on the values, so this reads them out.

    Args:
        x: Rank 1 or more, any dtype.
        axis: The axis whose slices are compared.

    Returns:
        `(values, indices)`: the different slices, and for each slice of `x` which of them it is, int32.

    >>> import varigrad as vg
    >>> values, indices = vg.unique([7, 3, 7])
    >>> values.tolist(), indices.tolist()
    ([7.0, 3.0], [0, 1, 0])
    """
    x = convert(x, "unique", "x")
    if not x.rank:
        raise ValueError("unique: x is a scalar, but must have rank 1 or more")
    axis = normalize_axis("unique", axis, x.rank)
    length = x.shape[axis]
    slices = np.moveaxis(np.asarray(x), axis, 0).reshape(length, x.size // max(length, 1))
    numbers, first = _number(slices)
    values = run_kernel("GatherV2", (x, make_tensor(first)), {"axis": axis, "batch_dims": 0})
    return Unique(values, make_tensor(numbers))


def _number(rows: Array) -> tuple[Array, Array]:
    """A number for each row, the same for the same values, counting up as new ones occur; and where each number
    first occurs."""
    if rows.shape[1] == 1:
        _, first, sorted_numbers = np.unique(rows.reshape(-1), return_index=True, return_inverse=True)
        order = np.argsort(first)
        rank = np.empty(len(order), np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        return rank[sorted_numbers.reshape(-1)], first[order].astype(np.int32)
    # Each column's values become numbers; rows are then compared as tuples of them.
    columns = [_number(column[:, None])[0] for column in rows.T]
    seen: dict[tuple[int, ...], int] = {}
    keys = list(zip(*[column.tolist() for column in columns], strict=True)) or [()] * len(rows)
    numbers = [seen.setdefault(key, len(seen)) for key in keys]
    first = {number: place for place, number in reversed(list(enumerate(numbers)))}
    return np.array(numbers, np.int32), np.array([first[number] for number in range(len(seen))], np.int32)


def setdiff1d(x: TensorLike, y: TensorLike) -> ListDiff:
    """The values of one vector that another has not, in their order. Mirrors `tf.setdiff1dAsync`.

    How many there are depends on the values, so this reads them out.

    Args:
        x: A vector.
        y: A vector of the same dtype.

    Returns:
        `(values, indices)`: the values that are in `x` only, and where they are in it, int32.

    Raises:
        ValueError: A tensor that is not a vector.
        TypeError: Tensors of different dtypes.

    >>> import varigrad as vg
    >>> values, indices = vg.setdiff1d([1, 2, 3, 4], [1, 3])
    >>> values.tolist(), indices.tolist()
    ([2.0, 4.0], [1, 3])
    """
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.dtype != y.dtype:
        raise TypeError(f"setdiff1d: x is {x.dtype} but y is {y.dtype}; cast one of them")
    x, y = operands("setdiff1d", x, y)
    if x.rank != 1 or y.rank != 1:
        raise ValueError(f"setdiff1d: needs two vectors (x: {format_shape(x.shape)}, y: {format_shape(y.shape)})")
    places = np.flatnonzero(~np.isin(np.asarray(x), np.asarray(y))).astype(np.int32)
    indices = make_tensor(places)
    return ListDiff(run_kernel("GatherV2", (x, indices), {"axis": 0, "batch_dims": 0}), indices)


async def setdiff1d_async(x: TensorLike, y: TensorLike) -> ListDiff:
    """`setdiff1d` as a coroutine, for code that mirrors TensorFlow.js.

    >>> import asyncio
    >>> import varigrad as vg
    >>> asyncio.run(vg.setdiff1d_async([1, 2, 3], [2])).values.tolist()
    [1.0, 3.0]
    """
    return setdiff1d(x, y)

"""Segments and sorted sequences with NumPy."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from varigrad.backends.numpy.slicing import add_rows
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _unsorted_segment_sum(x: Array, segment_ids: Array, num_segments: int) -> Array:
    rest = x.shape[segment_ids.ndim :]
    ids = segment_ids.reshape(-1)
    rows = x.reshape(ids.size, math.prod(rest))
    inside = (ids >= 0) & (ids < num_segments)
    if not inside.all():
        ids, rows = ids[inside], rows[inside]
    return add_rows(rows, ids, num_segments).reshape(num_segments, *rest)


def _unsorted_segment_take(x: Array, segment_ids: Array) -> Array:
    """The slice of `x` that each number names; zeros for a number that names none."""
    output = np.zeros(segment_ids.shape + x.shape[1:], x.dtype)
    inside = (segment_ids >= 0) & (segment_ids < x.shape[0])
    output[inside] = x[segment_ids[inside]]
    return output


def _search_sorted(sequence: Array, values: Array, side: Literal["left", "right"]) -> Array:
    output = np.empty(values.shape, np.int32)
    for batch in np.ndindex(values.shape[:-1]):
        output[batch] = np.searchsorted(sequence[batch], values[batch], side)
    return output


KERNELS: dict[str, Any] = {
    "SearchSorted": _search_sorted,
    "UnsortedSegmentSum": _unsorted_segment_sum,
    "UnsortedSegmentTake": _unsorted_segment_take,
}

"""Ragged tensors, whose rows differ in length, with NumPy: all rows one after another, and where each begins."""

# NumPy gives these functions types that pyright cannot finish.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]

_LONGEST = 2**31 - 1


def _check_splits(splits: Array, count: int) -> None:
    if splits.ndim != 1 or not splits.size or splits[0] < 0 or splits[-1] > count or (splits[1:] < splits[:-1]).any():
        raise ValueError(
            f"splits must be a vector that ascends from 0 or more to at most {count}, got {splits.tolist()}"
        )


def _ranges(starts: Array, limits: Array) -> Array:
    """The integers from each start up to its limit, one range after another."""
    lengths = limits - starts
    before = lengths.cumsum() - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def _from_lengths(lengths: Array) -> Array:
    splits = np.zeros(lengths.size + 1, np.int32)
    lengths.cumsum(out=splits[1:])
    return splits


def _gather(*inputs: Array, output_ragged_rank: int) -> tuple[Array, ...]:
    *nested_splits, values, indices = inputs
    counts = [splits.size - 1 for splits in nested_splits[1:]] + [values.shape[0]]
    for splits, count in zip(nested_splits, counts, strict=True):
        _check_splits(splits, count)
    rows = nested_splits[0].size - 1
    outside = (indices < 0) | (indices >= rows)
    if outside.any():
        raise ValueError(f"index {indices[outside][0]} is outside the ragged tensor, which has {rows} rows")
    outer = indices.shape
    new_splits = [
        np.arange(math.prod(outer[:axis]) + 1, dtype=np.int32) * np.int32(outer[axis]) for axis in range(1, len(outer))
    ]
    starts = indices.reshape(-1).astype(np.intp)
    limits = starts + 1
    for splits in nested_splits:
        taken = _ranges(starts, limits)
        new_splits.append(_from_lengths(splits[taken + 1] - splits[taken]))
        starts, limits = splits[starts].astype(np.intp), splits[limits].astype(np.intp)
    return (*new_splits[len(new_splits) - output_ragged_rank :], values.take(_ranges(starts, limits), 0))


def _range(starts: Array, limits: Array, deltas: Array) -> tuple[Array, Array]:
    first, last, step = np.broadcast_arrays(starts.reshape(-1), limits.reshape(-1), deltas.reshape(-1))
    if not step.all():
        raise ValueError("deltas must not be 0")
    lengths = np.ceil((last.astype(np.float64) - first) / step).clip(0)
    if not lengths.sum() <= _LONGEST:  # so that NaN is caught too
        raise ValueError(f"the ranges must hold at most {_LONGEST} numbers, but hold {lengths.sum():.0f}")
    splits = _from_lengths(lengths.astype(np.int32))
    row = np.repeat(np.arange(lengths.size), splits[1:] - splits[:-1])
    return splits, (first[row] + (np.arange(row.size) - splits[row]) * step[row]).astype(starts.dtype)


def _places_in_rows(kind: str, partition: Array) -> tuple[Array, Array, int]:
    """The row of each value, its place in that row, and how many rows there are."""
    if partition.ndim != 1:
        raise ValueError(f"a partition by {kind} must be a vector, got rank {partition.ndim}")
    if kind == "row_splits":
        if not partition.size or partition[0] != 0:
            raise ValueError(f"row_splits must begin with 0, got {partition.tolist()}")
        _check_splits(partition, _LONGEST)
        lengths = partition[1:] - partition[:-1]
        rows = np.repeat(np.arange(lengths.size), lengths)
        return rows, np.arange(rows.size) - partition[rows], lengths.size
    if partition.size and (partition[0] < 0 or (partition[1:] < partition[:-1]).any()):
        raise ValueError(f"value_rowids must ascend from 0 or more, got {partition.tolist()}")
    rows = int(partition[-1]) + 1 if partition.size else 0
    return partition, np.arange(partition.size) - partition.searchsorted(partition), rows


def _lengths(wanted: Array, natural: list[int], element: tuple[int, ...]) -> tuple[int, ...]:
    """The output's shape: what is wanted, and the natural length where that is -1."""
    lengths = wanted.reshape(-1).tolist()
    if not wanted.size or (not wanted.ndim and lengths == [-1]):
        return (*natural, *element)
    if not wanted.ndim or len(lengths) != len(natural) + len(element) or min(lengths) < -1:
        raise ValueError(
            f"shape must be -1 or {len(natural) + len(element)} lengths, of which -1 are free, got {wanted.tolist()}"
        )
    merged = [free if length == -1 else length for length, free in zip(lengths, [*natural, *element], strict=True)]
    if tuple(merged[len(natural) :]) != element:
        raise ValueError(f"shape {lengths} must end in the shape of one value, {list(element)}")
    return tuple(merged)


def _to_tensor(
    shape: Array, values: Array, default: Array, *partitions: Array, row_partition_types: tuple[str, ...]
) -> Array:
    first = partitions[0]
    sized = row_partition_types[0] == "first_dim_size"
    if sized and (first.size != 1 or first.reshape(-1)[0] < 0):
        raise ValueError(f"first_dim_size must be one length, got {first.tolist()}")
    count = int(first.reshape(-1)[0]) if sized else first.size - 1
    levels = list(map(_places_in_rows, row_partition_types[sized:], partitions[sized:]))
    natural = [count, *[int(column.max(initial=-1)) + 1 for _, column, _ in levels]]
    lengths = _lengths(shape, natural, values.shape[1:])
    place = np.arange(count)
    place[lengths[0] :] = -1
    for (row, column, rows), length in zip(levels, lengths[1:], strict=False):
        if rows > place.size:
            raise ValueError(f"a partition has {rows} rows, but the one before it has {place.size} values")
        parent = place[row]
        place = np.where((parent >= 0) & (column < length), parent * length + column, -1)
    if place.size != values.shape[0]:
        raise ValueError(f"the last partition is of {place.size} values, but there are {values.shape[0]}")
    output = np.empty((math.prod(lengths[: len(natural)]), *values.shape[1:]), values.dtype)
    output[...] = default
    kept = place >= 0
    output[place[kept]] = values[kept]
    return output.reshape(lengths)


KERNELS: dict[str, Any] = {
    "RaggedGather": _gather,
    "RaggedRange": _range,
    "RaggedTensorToTensor": _to_tensor,
}

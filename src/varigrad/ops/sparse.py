"""Sparse tensors: index tuples `[n, rank]`, a value for each `[n]`, and the dense shape `[rank]`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from varigrad.engine import run_kernel, run_kernel_multi
from varigrad.errors import OutOfRangeError
from varigrad.ops.arguments import (
    NUMERIC,
    TensorLike,
    accept,
    convert,
    convert_integers,
    normalize_shape,
    of_rank,
    reshape_to,
)
from varigrad.ops.options import integers
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "FilledRows",
    "SparseReshaped",
    "sparse_fill_empty_rows",
    "sparse_reshape",
    "sparse_segment_mean",
    "sparse_segment_sum",
    "sparse_to_dense",
]

_MOST_PLACES = 2**63 - 1


class FilledRows(NamedTuple):
    """What `vg.sparse.sparse_fill_empty_rows` returns."""

    output_indices: Tensor
    output_values: Tensor
    empty_row_indicator: Tensor
    reverse_index_map: Tensor


class SparseReshaped(NamedTuple):
    """What `vg.sparse.sparse_reshape` returns."""

    output_indices: Tensor
    output_shape: Tensor


def sparse_to_dense(
    sparse_indices: TensorLike,
    sparse_values: TensorLike,
    output_shape: Sequence[int],
    default_value: TensorLike = 0,
) -> Tensor:
    """A dense tensor with values written at the places that index tuples name. Mirrors `tf.sparseToDense`.

    Where a place is named twice, the later value wins.

    Args:
        sparse_indices: Integers: index tuples `[n, rank]`, or `[n]` or `[]` where the output has rank 1.
        sparse_values: `[n]`, or one value for all places; any dtype.
        output_shape: The shape of the output.
        default_value: The value everywhere else, a scalar of the values' dtype.

    Raises:
        OutOfRangeError: An index is outside its axis.
        ValueError: Shapes that don't fit together.
        TypeError: Indices that are not integers, or a default of another dtype.

    >>> import varigrad as vg
    >>> vg.sparse_to_dense([[0, 1], [1, 0]], [5, 6], [2, 2], -1).tolist()
    [[-1.0, 5.0], [6.0, -1.0]]
    """
    indices = convert_integers(sparse_indices, "sparse_to_dense", "sparse_indices")
    if indices.rank > 2:
        raise ValueError(f"sparse_to_dense: sparse_indices must have rank 2 at most, got {format_shape(indices.shape)}")
    if indices.rank < 2:
        indices = reshape_to(indices, (indices.size, 1))
    shape = normalize_shape("sparse_to_dense", output_shape, "output_shape")
    values = convert(sparse_values, "sparse_to_dense", "sparse_values")
    count, depth = indices.shape
    if depth != len(shape):
        raise ValueError(
            f"sparse_to_dense: the index tuples are {depth} long but the output has {len(shape)} axes "
            f"(output_shape: {format_shape(shape)})"
        )
    if values.rank and values.shape != (count,):
        raise ValueError(
            f"sparse_to_dense: sparse_values must be a scalar or have shape [{count}], one for each index tuple, "
            f"got {format_shape(values.shape)}"
        )
    default = _default("sparse_to_dense", default_value, values)
    return run_kernel("SparseToDense", (indices, values, default), {"shape": shape})


def sparse_fill_empty_rows(
    indices: TensorLike, values: TensorLike, dense_shape: TensorLike, default_value: TensorLike
) -> FilledRows:
    """Puts a value at the beginning of every row that has none. Mirrors `tf.sparse.sparseFillEmptyRows`.

    Args:
        indices: Index tuples, integers `[n, rank]`.
        values: `[n]`, any dtype.
        dense_shape: Integers `[rank]`.
        default_value: What to put into empty rows, a scalar of the values' dtype.

    Returns:
        `(output_indices, output_values, empty_row_indicator, reverse_index_map)`: the tensor ordered by row, with the
        new values; bools `[dense_shape[0]]`, True for the rows that were empty; and int32 `[n]`, where in the output
        each of the values is.

    Raises:
        OutOfRangeError: An index names a row that the shape has not.
        ValueError: Shapes that don't fit together.
        TypeError: Indices that are not integers, or a default of another dtype.

    >>> import varigrad as vg
    >>> filled = vg.sparse.sparse_fill_empty_rows([[0, 2], [2, 1]], [7, 8], [3, 4], 0)
    >>> filled.output_indices.tolist(), filled.output_values.tolist()
    ([[0, 2], [1, 0], [2, 1]], [7.0, 0.0, 8.0])
    >>> filled.empty_row_indicator.tolist(), filled.reverse_index_map.tolist()
    ([False, True, False], [0, 2])
    """
    op = "sparse_fill_empty_rows"
    places = of_rank(op, 2, convert_integers(indices, op, "indices"), "indices")
    values = of_rank(op, 1, values, "values")
    shape = of_rank(op, 1, convert_integers(dense_shape, op, "dense_shape"), "dense_shape")
    if values.size != places.shape[0]:
        raise ValueError(
            f"{op}: there must be one value for each index tuple "
            f"(indices: {format_shape(places.shape)}, values: {format_shape(values.shape)})"
        )
    _check_rank(op, "dense_shape", places, shape)
    if not shape.size:
        raise ValueError(f"{op}: a tensor of rank 0 has no rows")
    default = _default(op, default_value, values)
    return FilledRows(*run_kernel_multi("SparseFillEmptyRows", (places, values, shape, default)))


def sparse_reshape(input_indices: TensorLike, input_shape: TensorLike, new_shape: TensorLike) -> SparseReshaped:
    """The index tuples that name the same places once the dense tensor is reshaped. Mirrors `tf.sparse.sparseReshape`.

    Args:
        input_indices: Index tuples, integers `[n, rank]`.
        input_shape: The dense shape, integers `[rank]`.
        new_shape: Integers `[new_rank]`, with -1 for at most one length, which follows from the others.

    Returns:
        `(output_indices, output_shape)`: integers `[n, new_rank]` and `[new_rank]`.

    Raises:
        OutOfRangeError: An index is outside the input shape.
        ValueError: The two shapes don't hold the same number of values.

    >>> import varigrad as vg
    >>> indices, shape = vg.sparse.sparse_reshape([[0, 0], [1, 2]], [2, 3], [3, -1])
    >>> indices.tolist(), shape.tolist()
    ([[0, 0], [2, 1]], [3, 2])
    """
    op = "sparse_reshape"
    indices = of_rank(op, 2, convert_integers(input_indices, op, "input_indices"), "input_indices")
    shape = of_rank(op, 1, convert_integers(input_shape, op, "input_shape"), "input_shape")
    new = of_rank(op, 1, convert_integers(new_shape, op, "new_shape"), "new_shape")
    _check_rank(op, "input_shape", indices, shape)
    _check_new_shape(integers(op, "input_shape", np.asarray(shape)), np.asarray(new).tolist())
    return SparseReshaped(*run_kernel_multi("SparseReshape", (indices, shape, new)))


def _check_new_shape(shape: tuple[int, ...], new: list[int]) -> None:
    size = math.prod(shape)
    known = math.prod([n for n in new if n != -1])
    unknown = new.count(-1)
    if size > _MOST_PLACES:
        raise ValueError(f"sparse_reshape: a tensor of shape {format_shape(shape)} has more places than can be counted")
    if unknown > 1 or any(n < -1 for n in new):
        raise ValueError(
            f"sparse_reshape: new_shape {format_shape(new)} may hold lengths of 0 and more, and -1 once, "
            "for the length that follows from the others"
        )
    if unknown and not known:
        raise ValueError(f"sparse_reshape: with a length of 0, nothing says what -1 is in {format_shape(new)}")
    if size % known if unknown else size != known:
        raise ValueError(
            f"sparse_reshape: {size} values (input_shape: {format_shape(shape)}) do not fill {format_shape(new)}"
        )


def sparse_segment_sum(data: TensorLike, indices: TensorLike, segment_ids: TensorLike) -> Tensor:
    """Sums of rows of `data`, chosen by `indices` and grouped by `segment_ids`. Mirrors `tf.sparse.sparseSegmentSum`.

    Args:
        data: Numeric `[rows, ...]`.
        indices: Which rows to take, integers `[n]`.
        segment_ids: The sum that each of them goes into, integers `[n]` in ascending order.

    Returns:
        Shape `[segment_ids[-1] + 1, ...]`; zeros for a number that does not occur.

    Raises:
        OutOfRangeError: A row that `data` has not, or a negative segment.
        ValueError: Shapes that don't fit together, or segments out of order.

    >>> import varigrad as vg
    >>> vg.sparse.sparse_segment_sum([[1, 2], [3, 4], [5, 6]], [0, 2, 1], [0, 0, 1]).tolist()
    [[6.0, 8.0], [3.0, 4.0]]
    """
    return _segments("SparseSegmentSum", "sparse_segment_sum", data, indices, segment_ids)


def sparse_segment_mean(data: TensorLike, indices: TensorLike, segment_ids: TensorLike) -> Tensor:
    """Means of rows, otherwise like `vg.sparse.sparse_segment_sum`. Mirrors `tf.sparse.sparseSegmentMean`.

    Means of integers are integers, cut off towards 0.

    >>> import varigrad as vg
    >>> vg.sparse.sparse_segment_mean([[1, 2], [3, 4], [5, 6]], [0, 2, 1], [0, 0, 1]).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    return _segments("SparseSegmentMean", "sparse_segment_mean", data, indices, segment_ids)


def _segments(kernel: str, op: str, data: TensorLike, indices: TensorLike, segment_ids: TensorLike) -> Tensor:
    x = accept(data, op, "data", NUMERIC)
    if not x.rank:
        raise ValueError(f"{op}: data is a scalar, but must have rank 1 or more")
    rows = of_rank(op, 1, convert_integers(indices, op, "indices"), "indices")
    ids = of_rank(op, 1, convert_integers(segment_ids, op, "segment_ids"), "segment_ids")
    if rows.size != ids.size:
        raise ValueError(
            f"{op}: there must be one segment id for each index "
            f"(indices: {format_shape(rows.shape)}, segment_ids: {format_shape(ids.shape)})"
        )
    numbers = np.asarray(ids)
    if (numbers[1:] < numbers[:-1]).any():
        raise ValueError(f"{op}: segment_ids must be in ascending order")
    if numbers.size and numbers[0] < 0:
        raise OutOfRangeError(f"{op}: segment_ids must not be negative, got {numbers[0]}")
    return run_kernel(kernel, (x, rows, ids))


def _check_rank(op: str, argument: str, indices: Tensor, shape: Tensor) -> None:
    if shape.size != indices.shape[1]:
        raise ValueError(
            f"{op}: {argument} must have as many numbers as an index tuple "
            f"(indices: {format_shape(indices.shape)}, {argument}: {format_shape(shape.shape)})"
        )


def _default(op: str, value: TensorLike, values: Tensor) -> Tensor:
    """The default value as a scalar of the values' dtype; a tensor of another dtype is not converted."""
    if isinstance(value, Tensor) and value.dtype != values.dtype:
        raise TypeError(
            f"{op}: the values are {values.dtype} but default_value is {value.dtype}; "
            f"cast it with .cast({values.dtype!r})"
        )
    if values.dtype == "string" and isinstance(value, int):
        value = ""  # what 0 is among strings
    return of_rank(op, 0, convert(value, op, "default_value", values.dtype), "default_value")

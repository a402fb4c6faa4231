"""Ragged tensors: rows of different lengths, held as the values of all rows and the places where rows begin.

Row i of a vector of splits goes from `splits[i]` up to `splits[i + 1]`. Rows of rows have several such vectors, the
outermost first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from varigrad.engine import run_kernel, run_kernel_multi
from varigrad.ops.arguments import REAL, TensorLike, accept, convert, convert_integers
from varigrad.ops.options import integer, items_of
from varigrad.tensor import Tensor, format_shape

__all__ = ["RaggedGathered", "RaggedRange", "ragged_gather", "ragged_range", "ragged_tensor_to_tensor"]

_PARTITIONS = ("first_dim_size", "value_rowids", "row_splits")


class RaggedGathered(NamedTuple):
    """What `vg.ragged_gather` returns."""

    output_nested_splits: tuple[Tensor, ...]
    output_dense_values: Tensor


class RaggedRange(NamedTuple):
    """What `vg.ragged_range` returns."""

    rt_nested_splits: Tensor
    rt_dense_values: Tensor


def ragged_gather(
    params_nested_splits: Sequence[TensorLike],
    params_dense_values: TensorLike,
    indices: TensorLike,
    output_ragged_rank: int | None = None,
) -> RaggedGathered:
    """Takes rows of a ragged tensor. Mirrors `tf.raggedGather`.

    Args:
        params_nested_splits: One or more vectors of splits, integers, the outermost first.
        params_dense_values: The values `[n, ...]`, any dtype.
        indices: Which of the outermost rows to take, integers of any shape.
        output_ragged_rank: How many vectors of splits the result has; it follows from the other arguments.

    Returns:
        `(output_nested_splits, output_dense_values)`: as many vectors as there were, and one for each axis of
        `indices` beyond the first; and the values `[m, ...]`.

    Raises:
        ValueError: Splits that don't divide what they are splits of, or an index outside the rows.

    >>> import varigrad as vg
    >>> splits, values = vg.ragged_gather([[0, 2, 2, 5]], [1, 2, 3, 4, 5], [2, 0])
    >>> splits[0].tolist(), values.tolist()
    ([0, 3, 5], [3.0, 4.0, 5.0, 1.0, 2.0])
    """
    splits = [
        convert_integers(each, "ragged_gather", f"params_nested_splits[{place}]")
        for place, each in enumerate(items_of("ragged_gather", "params_nested_splits", params_nested_splits))
    ]
    values = convert(params_dense_values, "ragged_gather", "params_dense_values")
    taken = convert_integers(indices, "ragged_gather", "indices")
    if not splits or not values.rank:
        raise ValueError("ragged_gather: needs at least one vector of splits, and values of rank 1 or more")
    rank = max(taken.rank - 1 + len(splits), 0)
    if output_ragged_rank is not None and integer("ragged_gather", "output_ragged_rank", output_ragged_rank) != rank:
        raise ValueError(
            f"ragged_gather: output_ragged_rank must be {rank} for indices of shape {format_shape(taken.shape)} and "
            f"{len(splits)} vectors of splits, got {output_ragged_rank}"
        )
    *new_splits, new_values = run_kernel_multi("RaggedGather", (*splits, values, taken), {"output_ragged_rank": rank})
    return RaggedGathered(tuple(new_splits), new_values)


def ragged_range(starts: TensorLike, limits: TensorLike, deltas: TensorLike) -> RaggedRange:
    """A row of evenly spaced numbers for each start, limit and step. Mirrors `tf.raggedRange`.

    Args:
        starts: The first number of each row: real `[n]`, or a scalar for all rows.
        limits: Where each row stops, short of the limit itself: `[n]` or a scalar, of the starts' dtype.
        deltas: The steps, not 0: `[n]` or a scalar, of the starts' dtype.

    Returns:
        `(rt_nested_splits, rt_dense_values)`: int32 `[n + 1]`, and the numbers of all rows, of the starts' dtype.

    Raises:
        ValueError: Vectors of different lengths, a step of 0, or more numbers than int32 can count.

    >>> import varigrad as vg
    >>> splits, values = vg.ragged_range([0, 5, 8], [3, 7, 8], 1)
    >>> splits.tolist(), values.tolist()
    ([0, 3, 5, 5], [0.0, 1.0, 2.0, 5.0, 6.0])
    """
    first = accept(starts, "ragged_range", "starts", REAL)
    inputs = (
        first,
        convert(limits, "ragged_range", "limits", first.dtype),
        convert(deltas, "ragged_range", "deltas", first.dtype),
    )
    shapes = ", ".join(format_shape(x.shape) for x in inputs)
    if any(x.rank > 1 for x in inputs) or len({x.size for x in inputs if x.rank}) > 1:
        raise ValueError(
            f"ragged_range: starts, limits and deltas must be scalars or vectors of one length, got {shapes}"
        )
    return RaggedRange(*run_kernel_multi("RaggedRange", inputs))


def ragged_tensor_to_tensor(
    shape: TensorLike,
    values: TensorLike,
    default_value: TensorLike,
    row_partition_tensors: Sequence[TensorLike],
    row_partition_types: Sequence[str],
) -> Tensor:
    """A ragged tensor as a dense one: short rows filled up, long ones cut off. Mirrors `tf.raggedTensorToTensor`.

    Args:
        shape: The output's shape, integers; -1 for a length that is to fit the longest row. -1 alone, or nothing, means
            that all are to fit.
        values: The values `[n, *element]`, any dtype.
        default_value: What to fill up with, of the values' dtype; broadcasts to `element`.
        row_partition_tensors: How values make rows, the outermost partition first; integers.
        row_partition_types: What each of them is: `"row_splits"`, where rows begin, and the end; `"value_rowids"`, the
            row of each value, ascending; and `"first_dim_size"`, the number of the outermost rows, which comes first
            and only before row ids.

    Raises:
        ValueError: Partitions that don't fit the values or one another, or a shape that doesn't fit them.

    >>> import varigrad as vg
    >>> vg.ragged_tensor_to_tensor([2, -1], [1, 2, 3, 4, 5], 0, [[0, 3, 3, 5]], ["row_splits"]).tolist()
    [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
    """
    op = "ragged_tensor_to_tensor"
    lengths = convert_integers(shape, op, "shape")
    given = convert(values, op, "values")
    default = convert(default_value, op, "default_value", given.dtype)
    element = given.shape[1:]
    if not given.rank or default.rank > len(element) or not _broadcasts(default.shape, element):
        raise ValueError(
            f"{op}: values must have rank 1 or more, and default_value broadcast to one of them "
            f"(values: {format_shape(given.shape)}, default_value: {format_shape(default.shape)})"
        )
    kinds = tuple([str(kind).lower() for kind in items_of(op, "row_partition_types", row_partition_types)])
    partitions = tuple(
        [
            convert_integers(each, op, f"row_partition_tensors[{place}]")
            for place, each in enumerate(items_of(op, "row_partition_tensors", row_partition_tensors))
        ]
    )
    sized = kinds[:1] == ("first_dim_size",)
    if not (set(kinds) <= set(_PARTITIONS) and len(kinds) == len(partitions) > sized) or (
        "first_dim_size" in kinds[1:] or kinds[0] == "value_rowids"
    ):
        raise ValueError(
            f"{op}: there must be a type for each of the {len(partitions)} partitions, 'row_splits' or 'value_rowids', "
            f"with 'first_dim_size' first if row ids come first; got {list(kinds)}"
        )
    return run_kernel("RaggedTensorToTensor", (lengths, given, default, *partitions), {"row_partition_types": kinds})


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return all(n in (1, length) for n, length in zip(reversed(shape), reversed(to), strict=False))

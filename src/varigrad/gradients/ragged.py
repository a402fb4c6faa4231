"""Derivatives of ragged operations: a value gets the gradient of the places it went to.

Where values went is found by sending their numbers the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from varigrad.engine import make_tensor, run_kernel, run_kernel_multi
from varigrad.gradients.rules import sum_to
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import mul
from varigrad.ops.comparison import equal, keep_where
from varigrad.ops.segment import search_sorted, unsorted_segment_sum
from varigrad.tape import Gradient
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]

Shape = tuple[int, ...]


def _numbers(first: int, count: int) -> Tensor:
    return make_tensor(np.arange(first, first + count, dtype=np.int32))


def _count_splits_and_indices(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[-2].storage.shape[0], *inputs[:-2], inputs[-1]


def _gather(dys: Any, count: int, *splits_and_indices: Tensor, output_ragged_rank: int) -> tuple[Any, ...]:
    *splits, indices = splits_and_indices
    inputs = (*splits, _numbers(0, count), indices)
    taken = run_kernel_multi("RaggedGather", inputs, {"output_ragged_rank": output_ragged_rank})[-1]
    dy = dys[-1] if output_ragged_rank else dys  # one output comes bare
    return (*[None] * len(splits), unsorted_segment_sum(dy, taken, count), None)


def _splits_and_shapes(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return outputs[0], inputs[0].storage.shape, inputs[2].storage.shape


def _range(dys: tuple[Tensor, Tensor], splits: Tensor, starts: Shape, deltas: Shape) -> tuple[Any, ...]:
    dy = dys[1]
    places = _numbers(0, dy.size)
    rows = run_kernel("Sub", (search_sorted(splits, places, "right"), make_tensor(np.array(1, np.int32))))
    per_row = splits.size - 1

    def for_starts() -> Tensor:
        return sum_to(unsorted_segment_sum(dy, rows, per_row), starts)

    def for_deltas() -> Tensor:
        begins = run_kernel("GatherV2", (splits, rows), {"axis": 0, "batch_dims": 0})
        steps = run_kernel("Cast", (run_kernel("Sub", (places, begins)),), {"dtype": dy.dtype})
        return sum_to(unsorted_segment_sum(mul(dy, steps), rows, per_row), deltas)

    return for_starts, None, for_deltas


def _count_default_and_partitions(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[1].storage.shape, inputs[2].storage.shape, *inputs[3:]


def _to_tensor(
    dy: Tensor, values: Shape, default: Shape, *partitions: Tensor, row_partition_types: tuple[str, ...]
) -> tuple[Any, ...]:
    rows = dy.shape[: dy.rank - len(values) + 1]
    shape, nothing = make_tensor(np.array(rows, np.int32)), make_tensor(np.array(0, np.int32))
    inputs = (shape, _numbers(1, values[0]), nothing, *partitions)
    sources = run_kernel("RaggedTensorToTensor", inputs, {"row_partition_types": row_partition_types})

    def for_values() -> Tensor:
        ids = run_kernel("Sub", (sources, make_tensor(np.array(1, np.int32))))
        return unsorted_segment_sum(dy, ids, values[0])

    def for_default() -> Tensor:
        filled = reshape_to(equal(sources, nothing), rows + (1,) * (len(values) - 1))
        return sum_to(keep_where(dy, filled), default)

    return (None, for_values, for_default, *[None] * len(partitions))


GRADIENTS: dict[str, Gradient] = {
    "RaggedGather": Gradient(_gather, _count_splits_and_indices),
    "RaggedRange": Gradient(_range, _splits_and_shapes),
    "RaggedTensorToTensor": Gradient(_to_tensor, _count_default_and_partitions),
}

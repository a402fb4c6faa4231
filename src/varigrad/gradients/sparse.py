"""Derivatives of sparse operations: a value gets the gradient of the places it went to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.engine import run_kernel
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import multiply_no_nan
from varigrad.ops.comparison import keep_where
from varigrad.ops.reduction import sum as sum_of
from varigrad.tape import Gradient
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]

_ROWS: dict[str, Any] = {"axis": 0, "batch_dims": 0}


def _filled(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return outputs[0], outputs[2], outputs[3]


def _indices_and_rank(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[0], inputs[1].storage.ndim


def _segments(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[0].storage.shape[0], inputs[1], inputs[2]


def _fill_empty_rows(dys: tuple[Tensor, ...], indices: Tensor, empty: Tensor, place_of: Tensor) -> Any:
    def for_default() -> Tensor:
        rows = run_kernel("Slice", (indices,), {"begin": (0, 0), "size": (indices.shape[0], 1)})
        added = run_kernel("GatherV2", (empty, reshape_to(rows, (rows.size,))), _ROWS)
        return sum_of(keep_where(dys[1], added))

    return None, lambda: run_kernel("GatherV2", (dys[1], place_of), _ROWS), None, for_default


def _to_dense(dy: Tensor, indices: Tensor, values_rank: int, shape: tuple[int, ...]) -> Any:
    def for_values() -> Tensor:
        last = run_kernel("LastWriters", (indices,), {"shape": shape, "dtype": dy.dtype})
        arrived = multiply_no_nan(run_kernel("GatherNd", (dy, indices)), last)
        return arrived if values_rank else sum_of(arrived)

    def for_default() -> Tensor:
        zeros = run_kernel("Fill", (), {"shape": indices.shape[:1], "value": 0, "dtype": dy.dtype})
        return sum_of(run_kernel("TensorScatterUpdate", (dy, indices, zeros)))

    return None, for_values, for_default


def _to_rows(dy: Tensor, count: int, indices: Tensor, segment_ids: Tensor) -> Any:
    given = run_kernel("GatherV2", (dy, segment_ids), _ROWS)
    return run_kernel("UnsortedSegmentSum", (given, indices), {"num_segments": count}), None, None


def _to_rows_of_means(dy: Tensor, count: int, indices: Tensor, segment_ids: Tensor) -> Any:
    ones = run_kernel("Fill", (), {"shape": segment_ids.shape, "value": 1, "dtype": dy.dtype})
    sizes = run_kernel("UnsortedSegmentSum", (ones, segment_ids), {"num_segments": dy.shape[0]})
    sizes = reshape_to(run_kernel("Maximum", (sizes, run_kernel("OnesLike", (sizes,)))), _column(dy))
    return _to_rows(run_kernel("RealDiv", (dy, sizes)), count, indices, segment_ids)


def _column(x: Tensor) -> tuple[int, ...]:
    return (x.shape[0],) + (1,) * (x.rank - 1)


GRADIENTS: dict[str, Gradient] = {
    "SparseFillEmptyRows": Gradient(_fill_empty_rows, _filled),
    "SparseSegmentMean": Gradient(_to_rows_of_means, _segments),
    "SparseSegmentSum": Gradient(_to_rows, _segments),
    "SparseToDense": Gradient(_to_dense, _indices_and_rank),
}

"""Derivatives of sums over segments: each slice takes the gradient of the sum it went into."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.tape import Gradient
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _ids(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Tensor]:
    return inputs[1:]


def _ids_and_count(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Tensor | int]:
    return inputs[1], inputs[0].storage.shape[0]


def _sum(dy: Tensor, segment_ids: Tensor, num_segments: int) -> tuple[Tensor, None]:
    return run_kernel("UnsortedSegmentTake", (dy, segment_ids)), None


def _take(dy: Tensor, segment_ids: Tensor, count: int) -> tuple[Tensor, None]:
    return run_kernel("UnsortedSegmentSum", (dy, segment_ids), {"num_segments": count}), None


GRADIENTS: dict[str, Gradient] = {
    "UnsortedSegmentSum": Gradient(_sum, _ids),
    "UnsortedSegmentTake": Gradient(_take, _ids_and_count),
}

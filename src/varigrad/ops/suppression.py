"""Choosing among boxes that overlap. Part of `vg.image`."""

from __future__ import annotations

import math
from typing import NamedTuple

from varigrad.engine import Attrs, run_kernel, run_kernel_multi
from varigrad.ops.arguments import TensorLike, require_floating
from varigrad.ops.options import flag, integer, number
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "PaddedBoxes",
    "ScoredBoxes",
    "non_max_suppression",
    "non_max_suppression_async",
    "non_max_suppression_padded",
    "non_max_suppression_padded_async",
    "non_max_suppression_with_score",
    "non_max_suppression_with_score_async",
]


class ScoredBoxes(NamedTuple):
    """What `vg.image.non_max_suppression_with_score` returns: boxes that were chosen, best first."""

    selected_indices: Tensor
    selected_scores: Tensor


class PaddedBoxes(NamedTuple):
    """What `vg.image.non_max_suppression_padded` returns: the boxes chosen, and how many of the indices are of such."""

    selected_indices: Tensor
    valid_outputs: Tensor


def non_max_suppression(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
) -> Tensor:
    """The indices of the best boxes, without those that overlap a better one.

    Mirrors `tf.image.nonMaxSuppression`.

    Args:
        boxes: Floating, `[boxes, 4]`, each `[y1, x1, y2, x2]`, any two opposite corners.
        scores: Floating, `[boxes]`. Of equal ones the first comes first.
        max_output_size: How many boxes to choose at most.
        iou_threshold: From 0 to 1: a box is left out if what it has in common with a chosen one is at least this share
            of what both cover together.
        score_threshold: Boxes are left out whose scores are not above it.

    Returns:
        int32, `[chosen]`.

    Raises:
        ValueError: Shapes that do not fit, or a threshold out of range.

    >>> import varigrad as vg
    >>> boxes = vg.tensor([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6]])
    >>> vg.image.non_max_suppression(boxes, vg.tensor([0.5, 0.9, 0.3]), 3).tolist()
    [1, 2]
    """
    op = "non_max_suppression"
    inputs, attrs = _checked(op, boxes, scores, max_output_size, iou_threshold, score_threshold)
    return run_kernel("NonMaxSuppressionV3", inputs, attrs)


def non_max_suppression_padded(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    pad_to_max_output_size: bool = False,
) -> PaddedBoxes:
    """`non_max_suppression`, with as many indices for whatever boxes.

    Mirrors `tf.image.nonMaxSuppressionPadded`, which gives no more indices than there are boxes.

    Args:
        boxes: As in `non_max_suppression`.
        scores: As in `non_max_suppression`.
        max_output_size: As in `non_max_suppression`.
        iou_threshold: As in `non_max_suppression`.
        score_threshold: As in `non_max_suppression`.
        pad_to_max_output_size: Fills the indices up with zeros to `[max_output_size]`.

    Returns:
        `(selected_indices, valid_outputs)`: the indices, and how many of them are chosen boxes, an int32 scalar.

    >>> import varigrad as vg
    >>> indices, valid = vg.image.non_max_suppression_padded(
    ...     vg.tensor([[0, 0, 1, 1], [0, 5, 1, 6]]), vg.tensor([0.5, 0.9]), 4, pad_to_max_output_size=True
    ... )
    >>> indices.tolist(), valid.item()
    ([1, 0, 0, 0], 2)
    """
    op = "non_max_suppression_padded"
    inputs, attrs = _checked(op, boxes, scores, max_output_size, iou_threshold, score_threshold)
    attrs = {**attrs, "pad_to_max_output_size": flag(op, "pad_to_max_output_size", pad_to_max_output_size)}
    return PaddedBoxes(*run_kernel_multi("NonMaxSuppressionV4", inputs, attrs))


def non_max_suppression_with_score(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    soft_nms_sigma: float = 0.0,
) -> ScoredBoxes:
    """`non_max_suppression` that gives the scores too, and can lower scores in place of leaving boxes out.

    Mirrors `tf.image.nonMaxSuppressionWithScore`.

    Args:
        boxes: As in `non_max_suppression`.
        scores: As in `non_max_suppression`.
        max_output_size: As in `non_max_suppression`.
        iou_threshold: As in `non_max_suppression`.
        score_threshold: As in `non_max_suppression`; a box whose score falls to it is left out.
        soft_nms_sigma: From 0 to 1. If positive, each chosen box lowers the scores of those that overlap it, by
            `exp(-overlap² / (2 sigma))` (Soft-NMS, https://arxiv.org/abs/1704.04503).

    Returns:
        `(selected_indices, selected_scores)`, both `[chosen]`.

    >>> import varigrad as vg
    >>> indices, scores = vg.image.non_max_suppression_with_score(
    ...     vg.tensor([[0, 0, 1, 1], [0, 5, 1, 6]]), vg.tensor([0.5, 0.75]), 2
    ... )
    >>> indices.tolist(), scores.tolist()
    ([1, 0], [0.75, 0.5])
    """
    op = "non_max_suppression_with_score"
    inputs, attrs = _checked(op, boxes, scores, max_output_size, iou_threshold, score_threshold)
    attrs = {**attrs, "soft_nms_sigma": _share(op, "soft_nms_sigma", soft_nms_sigma)}
    return ScoredBoxes(*run_kernel_multi("NonMaxSuppressionV5", inputs, attrs))


def _checked(
    op: str,
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
) -> tuple[tuple[Tensor, Tensor], Attrs]:
    boxes, scores = require_floating(boxes, op, "boxes"), require_floating(scores, op, "scores")
    if boxes.rank != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{op}: boxes must have shape [boxes, 4], got {format_shape(boxes.shape)}")
    if scores.shape != boxes.shape[:1]:
        raise ValueError(
            f"{op}: scores must have one number for each box "
            f"(boxes: {format_shape(boxes.shape)}, scores: {format_shape(scores.shape)})"
        )
    attrs: Attrs = {
        "max_output_size": integer(op, "max_output_size", max_output_size),
        "iou_threshold": _share(op, "iou_threshold", iou_threshold),
        "score_threshold": float(number(op, "score_threshold", score_threshold)),
    }
    return (boxes, scores), attrs


def _share(op: str, argument: str, value: float) -> float:
    share = float(number(op, argument, value))
    if not 0 <= share <= 1:
        raise ValueError(f"{op}: {argument} must be from 0 to 1, got {value!r}")
    return share


async def non_max_suppression_async(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
) -> Tensor:
    """`non_max_suppression` as a coroutine, for code that mirrors TensorFlow.js.

    >>> import varigrad as vg
    >>> import asyncio
    >>> boxes, scores = [[0, 0, 1, 1], [0, 5, 1, 6]], [0.5, 0.75]
    >>> asyncio.run(vg.image.non_max_suppression_async(boxes, scores, 2)).tolist()
    [1, 0]
    """
    return non_max_suppression(boxes, scores, max_output_size, iou_threshold, score_threshold)


async def non_max_suppression_padded_async(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    pad_to_max_output_size: bool = False,
) -> PaddedBoxes:
    """`non_max_suppression_padded` as a coroutine, for code that mirrors TensorFlow.js.

    >>> import varigrad as vg
    >>> import asyncio
    >>> boxes, scores = [[0, 0, 1, 1], [0, 5, 1, 6]], [0.5, 0.75]
    >>> asyncio.run(vg.image.non_max_suppression_padded_async(boxes, scores, 2)).valid_outputs.item()
    2
    """
    return non_max_suppression_padded(
        boxes, scores, max_output_size, iou_threshold, score_threshold, pad_to_max_output_size
    )


async def non_max_suppression_with_score_async(
    boxes: TensorLike,
    scores: TensorLike,
    max_output_size: int,
    iou_threshold: float = 0.5,
    score_threshold: float = -math.inf,
    soft_nms_sigma: float = 0.0,
) -> ScoredBoxes:
    """`non_max_suppression_with_score` as a coroutine, for code that mirrors TensorFlow.js.

    >>> import varigrad as vg
    >>> import asyncio
    >>> boxes, scores = [[0, 0, 1, 1], [0, 5, 1, 6]], [0.5, 0.75]
    >>> asyncio.run(vg.image.non_max_suppression_with_score_async(boxes, scores, 2)).selected_indices.tolist()
    [1, 0]
    """
    return non_max_suppression_with_score(
        boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma
    )

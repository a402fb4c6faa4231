"""Images and boxes in them with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _flip_left_right(image: Array) -> Array:
    return image[:, :, ::-1].copy()


def _otsu_threshold(image: Array) -> Array:
    """The level from 0 to 254 that best parts the pixels into darker and lighter ones (Otsu, 1979), or -1 where all are
    alike: the one at which the variance between the two classes is largest."""
    levels = np.rint(image.reshape(-1)).astype(np.int64)
    counts = np.bincount(levels[(levels >= 0) & (levels < 256)], minlength=256).astype(np.float64)
    below = np.cumsum(counts)
    brightness = np.cumsum(counts * np.arange(256))
    above, total = below[-1] - below, brightness[-1]
    both = np.flatnonzero((below > 0) & (above > 0))
    if not both.size:
        return np.array(-1, np.float32)
    darker, lighter = below[both], above[both]
    difference = brightness[both] / darker - (total - brightness[both]) / lighter
    return np.array(both[(darker * lighter * difference * difference).argmax()], np.float32)


def _select(
    boxes: Array, scores: Array, count: int, iou_threshold: float, score_threshold: float, soft_nms_sigma: float = 0.0
) -> tuple[Array, Array]:
    """The indices of up to `count` boxes, best first, and their scores when they were chosen.

    Each box chosen rules out those that overlap it by `iou_threshold` or more, and with `soft_nms_sigma` lowers the
    scores of the others (Bodla et al., 2017, https://arxiv.org/abs/1704.04503).
    """
    left = np.flatnonzero(scores > score_threshold)
    values = scores[left].astype(np.float64)
    corners = boxes[left].astype(np.float64)
    low, high = np.minimum(corners[:, :2], corners[:, 2:]), np.maximum(corners[:, :2], corners[:, 2:])
    area = (high[:, 0] - low[:, 0]) * (high[:, 1] - low[:, 1])
    chosen: list[int] = []
    at: list[float] = []
    while len(chosen) < count and left.size:
        best = int(values.argmax())
        chosen.append(int(left[best]))
        at.append(float(values[best]))
        common = np.maximum(np.minimum(high, high[best]) - np.maximum(low, low[best]), 0)
        shared = common[:, 0] * common[:, 1]
        solid = (area > 0) & (area[best] > 0)
        overlap: Array = np.where(solid, shared / np.where(solid, area + area[best] - shared, 1), 0.0)
        if soft_nms_sigma > 0:
            values = values * np.exp(-0.5 / soft_nms_sigma * overlap * overlap)
        keep = (overlap < iou_threshold) & (values > score_threshold)
        keep[best] = False
        left, values, low, high, area = left[keep], values[keep], low[keep], high[keep], area[keep]
    return np.array(chosen, np.int32), np.array(at, scores.dtype)


def _suppress(boxes: Array, scores: Array, max_output_size: int, iou_threshold: float, score_threshold: float) -> Array:
    return _select(boxes, scores, max_output_size, iou_threshold, score_threshold)[0]


def _suppress_padded(
    boxes: Array,
    scores: Array,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
    pad_to_max_output_size: bool,
) -> tuple[Array, Array]:
    indices, _ = _select(boxes, scores, max_output_size, iou_threshold, score_threshold)
    found = np.array(indices.size, np.int32)
    if pad_to_max_output_size:
        indices = np.concatenate([indices, np.zeros(max_output_size - indices.size, np.int32)])
    return indices, found


def _suppress_with_score(
    boxes: Array,
    scores: Array,
    max_output_size: int,
    iou_threshold: float,
    score_threshold: float,
    soft_nms_sigma: float,
) -> tuple[Array, Array]:
    return _select(boxes, scores, max_output_size, iou_threshold, score_threshold, soft_nms_sigma)


KERNELS: dict[str, Any] = {
    "FlipLeftRight": _flip_left_right,
    "NonMaxSuppressionV3": _suppress,
    "NonMaxSuppressionV4": _suppress_padded,
    "NonMaxSuppressionV5": _suppress_with_score,
    "OtsuThreshold": _otsu_threshold,
}

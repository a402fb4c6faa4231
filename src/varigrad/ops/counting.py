"""Counting and ranking."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from varigrad.engine import make_tensor, run_kernel, run_kernel_multi
from varigrad.ops.arguments import ORDERED, TensorLike, accept, convert, convert_integers, normalize_shape
from varigrad.ops.options import flag, integer
from varigrad.tensor import Tensor, format_shape

__all__ = ["TopK", "bincount", "dense_bincount", "in_top_k", "in_top_k_async", "topk"]


class TopK(NamedTuple):
    """What `vg.topk` returns: the largest values and their places, of one shape."""

    values: Tensor
    indices: Tensor


def topk(x: TensorLike, k: int = 1, sorted: bool = True) -> TopK:
    """The `k` largest values along the last axis, and where they are, as int32.

    Of equal values the first comes first; NaN counts as the largest. Mirrors `tf.topk`; the gradient goes to the
    values picked.

    Args:
        x: Real numbers or bools, `[..., n]`.
        k: How many, from 0 to n.
        sorted: False allows any order; it is the sorted one all the same.

    Returns:
        `(values, indices)`, both `[..., k]`.

    Raises:
        ValueError: `x` is a scalar, or `k` is out of range.

    >>> import varigrad as vg
    >>> values, indices = vg.topk([1, 3, 2], k=2)
    >>> values.tolist(), indices.tolist()
    ([3.0, 2.0], [1, 2])
    """
    x = accept(x, "topk", "x", ORDERED)
    if not x.rank:
        raise ValueError("topk: x must have rank 1 or more, got a scalar")
    k = integer("topk", "k", k, least=None)
    if not 0 <= k <= x.shape[-1]:
        raise ValueError(f"topk: k must be from 0 to {x.shape[-1]}, the length of x's last axis, got {k}")
    attrs = {"k": k, "sorted": flag("topk", "sorted", sorted)}
    values, indices = run_kernel_multi("TopK", (x,), attrs)
    return TopK(values, indices)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int = 1) -> Tensor:
    """Whether each target is among the `k` classes with the largest predictions. Mirrors `tf.inTopKAsync`.

    Of equal predictions the first classes count as the larger ones.

    Args:
        predictions: Real numbers, `[..., classes]`.
        targets: The class of each example, integers, `[...]`.
        k: From 1 to the number of classes.

    Returns:
        Bool, `[...]`.

    >>> import varigrad as vg
    >>> vg.in_top_k([[20, 10, 40, 30], [30, 50, -20, 10]], [2, 0], k=1).tolist()
    [True, False]
    """
    predictions = accept(predictions, "in_top_k", "predictions", "fi")
    targets = accept(targets, "in_top_k", "targets", "fi")
    if predictions.rank < 2 or predictions.shape[:-1] != targets.shape:
        raise ValueError(
            "in_top_k: predictions must have the shape of targets and an axis of classes more "
            f"(predictions: {format_shape(predictions.shape)}, targets: {format_shape(targets.shape)})"
        )
    classes = predictions.shape[-1]
    k = integer("in_top_k", "k", k, least=None)
    if not 0 < k <= classes:
        raise ValueError(f"in_top_k: k must be from 1 to {classes}, the number of classes, got {k}")
    return run_kernel("InTopK", (predictions, targets), {"k": k})


async def in_top_k_async(predictions: TensorLike, targets: TensorLike, k: int = 1) -> Tensor:
    """`in_top_k` as a coroutine, for code that mirrors TensorFlow.js.

    >>> import asyncio
    >>> import varigrad as vg
    >>> asyncio.run(vg.in_top_k_async([[1, 3, 2]], [1])).tolist()
    [True]
    """
    return in_top_k(predictions, targets, k)


def bincount(x: TensorLike, weights: TensorLike, size: int) -> Tensor:
    """How often each of 0, 1, …, `size` - 1 occurs in `x`, or the sum of its weights. Mirrors `tf.bincount`.

    Args:
        x: int32, any shape, none negative; values of `size` and above are left out.
        weights: A weight for each element of `x`; None or empty to count, in float32.
        size: The length of the result.

    Returns:
        `[size]`, of the weights' dtype.

    Raises:
        ValueError: A negative value or size, or weights that are not as many as `x`.

    >>> import varigrad as vg
    >>> vg.bincount([1, 1, 3], None, 5).tolist()
    [0.0, 2.0, 0.0, 1.0, 0.0]
    >>> vg.bincount([1, 1, 3], [0.5, 1, 2], 4).tolist()
    [0.0, 1.5, 0.0, 2.0]
    """
    x, weights = _counted("bincount", x, weights, size)
    return run_kernel("Bincount", (x, weights), {"size": integer("bincount", "size", size)})


def dense_bincount(x: TensorLike, weights: TensorLike, size: int, binary_output: bool = False) -> Tensor:
    """`vg.bincount` of a vector, or of each row of a matrix. Mirrors `tf.denseBincount`.

    Args:
        x: int32, `[length]` or `[rows, length]`, none negative; values of `size` and above are left out.
        weights: A weight for each element of `x`; None or empty to count, in float32.
        size: How many values to count.
        binary_output: Tells with 1 that a value occurs, in place of counting.

    Returns:
        `[size]` or `[rows, size]`, of the weights' dtype.

    >>> import varigrad as vg
    >>> vg.dense_bincount([[1, 1], [3, 2]], None, 4).tolist()
    [[0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
    """
    x, weights = _counted("dense_bincount", x, weights, size)
    if x.rank not in (1, 2):
        raise ValueError(f"dense_bincount: x must have rank 1 or 2, got shape {format_shape(x.shape)}")
    attrs = {
        "size": integer("dense_bincount", "size", size),
        "binary_output": flag("dense_bincount", "binary_output", binary_output),
    }
    return run_kernel("DenseBincount", (x, weights), attrs)


def _counted(op: str, x: TensorLike, weights: TensorLike, size: int) -> tuple[Tensor, Tensor]:
    x = convert_integers(x, op, "x")
    weights = make_tensor(np.zeros(0, np.float32)) if weights is None else accept(weights, op, "weights", ORDERED)
    normalize_shape(op, (integer(op, "size", size),), "size")
    if weights.size not in (0, x.size):
        raise ValueError(
            f"{op}: there must be a weight for each element of x, or none "
            f"(x: {format_shape(x.shape)}, weights: {format_shape(weights.shape)})"
        )
    return x, weights


def confusion_matrix(labels: TensorLike, predictions: TensorLike, num_classes: int) -> Tensor:
    """How often each class was taken for which. Mirrors `tf.math.confusionMatrix`.

    Args:
        labels: The true classes, `[examples]`; floats are cut to integers.
        predictions: The predicted classes, `[examples]`.
        num_classes: How many classes there are; an example with a class outside their range is left out.

    Returns:
        int32, `[num_classes, num_classes]`: a row for each true class, a column for each predicted one.

    >>> import varigrad as vg
    >>> vg.math.confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1], 3).tolist()
    [[1, 0, 0], [0, 1, 1], [0, 0, 1]]
    """
    op = "confusion_matrix"
    labels, predictions = convert(labels, op, "labels", "int32"), convert(predictions, op, "predictions", "int32")
    if labels.rank != 1 or labels.shape != predictions.shape:
        raise ValueError(
            f"{op}: labels and predictions must be vectors of one length "
            f"(labels: {format_shape(labels.shape)}, predictions: {format_shape(predictions.shape)})"
        )
    num_classes = integer(op, "num_classes", num_classes, 1)
    normalize_shape(op, (num_classes, num_classes), "the result's shape")
    return run_kernel("ConfusionMatrix", (labels, predictions), {"num_classes": num_classes})

"""Counting and ranking with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _top_k(x: Array, k: int, sorted: bool) -> tuple[Array, Array]:
    """The k largest values along the last axis and where they are, largest first whether or not `sorted` asks for it.
    NaN counts as the largest; of equal values the first comes first."""
    length = x.shape[-1]
    if k == 1:
        indices = x.argmax(-1)[..., None]
    else:
        # Sorted backwards, a stable ascending sort leaves equal values in the order wanted here.
        ascending = x[..., ::-1].argsort(-1, kind="stable")
        indices = (length - 1) - ascending[..., ::-1][..., :k]
    return np.take_along_axis(x, indices, -1), indices.astype(np.int32, order="C")


def _top_k_take(x: Array, indices: Array) -> Array:
    return np.take_along_axis(x, indices.astype(np.intp), -1)


def _top_k_grad(dy: Array, indices: Array, length: int) -> Array:
    output = np.zeros((*dy.shape[:-1], length), dy.dtype)
    np.put_along_axis(output, indices.astype(np.intp), dy, -1)
    return output


def _in_top_k(predictions: Array, targets: Array, k: int) -> Array:
    indices = _top_k(predictions, k, True)[1]
    return np.logical_or.reduce(np.equal(indices, targets[..., None]), -1)


def _bincount(x: Array, weights: Array, size: int) -> Array:
    return _dense_bincount(x.reshape(x.size), weights, size, False)


def _dense_bincount(x: Array, weights: Array, size: int, binary_output: bool) -> Array:
    """Counts each row of `x`: `[rows, length]` or `[length]`; values of `size` and above are left out."""
    if x.size and x.min() < 0:
        raise ValueError(f"x must not be negative, got {x.min()}")
    rows = x if x.ndim == 2 else x.reshape(1, x.size)
    counted = rows < size
    places = (rows + size * np.arange(len(rows))[:, None])[counted]
    counts = np.zeros((len(rows) * size,), weights.dtype)
    if binary_output:
        counts[places] = 1
    elif weights.size:
        np.add.at(counts, places, weights.reshape(rows.shape)[counted])
    else:
        counts += np.bincount(places, minlength=counts.size).astype(counts.dtype)
    return counts.reshape((*x.shape[:-1], size))


def _dense_bincount_grad(dy: Array, x: Array) -> Array:
    """What was counted of each element of `x`: its value's place in dy, or 0 where it was left out."""
    zeros = np.zeros((*dy.shape[:-1], 1), dy.dtype)
    return np.take_along_axis(np.concatenate((dy, zeros), -1), np.minimum(x, dy.shape[-1]).astype(np.intp), -1)


def _confusion_matrix(labels: Array, predictions: Array, num_classes: int) -> Array:
    known = (labels >= 0) & (labels < num_classes) & (predictions >= 0) & (predictions < num_classes)
    places = labels[known].astype(np.intp) * num_classes + predictions[known]
    counts = np.bincount(places, minlength=num_classes * num_classes)
    return counts.astype(np.int32).reshape(num_classes, num_classes)


KERNELS: dict[str, Any] = {
    "Bincount": _bincount,
    "ConfusionMatrix": _confusion_matrix,
    "DenseBincount": _dense_bincount,
    "DenseBincountGrad": _dense_bincount_grad,
    "InTopK": _in_top_k,
    "TopK": _top_k,
    "TopKGrad": _top_k_grad,
    "TopKTake": _top_k_take,
}

"""Cross entropies with NumPy: the logarithm and what it is taken of in one go, so that neither overflows."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.normalization import exp_rows, log_softmax_rows
from varigrad.backends.numpy.reduction import add_reduce, sum_rows
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _softmax_cross_entropy(labels: Array, logits: Array) -> Array:
    """-sum(labels * log_softmax(logits)) along the last axis."""
    terms = log_softmax_rows(logits)
    terms *= labels
    loss = sum_rows(terms)
    if not np.isfinite(add_reduce(loss, None)):
        terms[labels == 0] = 0  # a logit of -inf whose label is 0 adds nothing
        loss = sum_rows(terms)
    return np.negative(loss, loss).reshape(logits.shape[:-1])


def _softmax_cross_entropy_grad(dy: Array, labels: Array, logits: Array) -> Array:
    """dy * (softmax(logits) * sum(labels) - labels)."""
    dy = dy[..., None]
    output = exp_rows(logits)
    share = sum_rows(labels)
    share /= sum_rows(output)
    output *= share
    output -= labels
    output *= dy
    if not np.isfinite(np.vdot(output, output)):
        output[np.broadcast_to(dy == 0, output.shape)] = 0
    return output


def _sigmoid_cross_entropy(labels: Array, logits: Array) -> Array:
    """max(x, 0) - x * labels + log(1 + exp(-|x|))."""
    output = np.abs(logits)
    np.negative(output, output)
    np.exp(output, output)
    np.log1p(output, output)
    output += np.maximum(logits, logits.dtype.type(0))
    output -= np.multiply(logits, labels)
    return output


KERNELS: dict[str, Any] = {
    "SigmoidCrossEntropyWithLogits": _sigmoid_cross_entropy,
    "SoftmaxCrossEntropyWithLogits": _softmax_cross_entropy,
    "SoftmaxCrossEntropyWithLogitsGrad": _softmax_cross_entropy_grad,
}

"""Cross entropies with NumPy: the logarithm and what it is taken of in one go, so that neither overflows."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.reduction import max_rows, sum_rows
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _softmax_cross_entropy(labels: Array, logits: Array) -> tuple[Array, Array]:
    """log(sum(exp(logits))) * sum(labels) - sum(labels * logits) along the last axis, all relative to the largest
    logit; and the softmax, for the gradient."""
    shifted = np.subtract(logits, max_rows(logits))
    softmax = np.exp(shifted)
    total = sum_rows(softmax)
    softmax /= total
    loss = np.log(total, total)
    loss *= sum_rows(labels)
    shifted *= labels
    picked = sum_rows(shifted)
    if not np.isfinite(np.vdot(picked, picked)):
        shifted[labels == 0] = 0  # a logit of -inf whose label is 0 adds nothing
        picked = sum_rows(shifted)
    loss -= picked
    return loss.reshape(logits.shape[:-1]), softmax


def _softmax_cross_entropy_grad(dy: Array, labels: Array, logits: Array, softmax: Array) -> Array:
    """dy * (softmax * sum(labels) - labels); `logits` are for the gradient of this."""
    dy = dy[..., None]
    output = np.multiply(softmax, sum_rows(labels))
    output -= labels
    output *= dy
    if not np.isfinite(np.vdot(output, output)):
        output[np.broadcast_to(dy == 0, output.shape)] = 0
    return output


def _sigmoid_cross_entropy(labels: Array, logits: Array) -> Array:
    """max(x, 0) - x * labels + log(1 + exp(-|x|))."""
    output = np.abs(logits, np.empty_like(logits))
    np.negative(output, output)
    np.exp(output, output)
    np.log1p(output, output)
    # The difference first: it is 0 where the label is right, and leaves the logarithm all its digits.
    rest = np.maximum(logits, logits.dtype.type(0))
    rest -= np.multiply(logits, labels)
    output += rest
    return output


KERNELS: dict[str, Any] = {
    "SigmoidCrossEntropyWithLogits": _sigmoid_cross_entropy,
    "SoftmaxCrossEntropyWithLogits": _softmax_cross_entropy,
    "SoftmaxCrossEntropyWithLogitsGrad": _softmax_cross_entropy_grad,
}

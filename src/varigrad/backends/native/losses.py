"""Lowering of cross entropies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.normalization import shifted
from varigrad.backends.native.operations import View

__all__ = ["RULES"]


def _softmax_cross_entropy(b: Builder, labels: View, logits: View) -> tuple[View, View]:
    axis = len(logits.shape) - 1
    relative = shifted(b, logits, axis)
    powers = b.map("Exp", relative)
    total = b.reduce("sum", powers, (axis,), True)
    # A logit of -inf whose label is 0 adds nothing.
    picked = b.reduce("sum", b.map("MultiplyNoNan", relative, labels), (axis,), True)
    weight = b.reduce("sum", labels, (axis,), True)
    loss = b.map("Sub", b.map("Multiply", b.map("Log", total), weight), picked)
    return b.reshape(loss, logits.shape[:-1]), b.map("RealDiv", powers, total)


def _softmax_cross_entropy_grad(b: Builder, dy: View, labels: View, logits: View, softmax: View) -> View:
    dy = b.reshape(dy, (*dy.shape, 1))
    weight = b.reduce("sum", labels, (len(logits.shape) - 1,), True)
    return b.map("MultiplyNoNan", b.map("Sub", b.map("Multiply", softmax, weight), labels), dy)


RULES: dict[str, Callable[..., Any]] = {
    "SoftmaxCrossEntropyWithLogits": _softmax_cross_entropy,
    "SoftmaxCrossEntropyWithLogitsGrad": _softmax_cross_entropy_grad,
}

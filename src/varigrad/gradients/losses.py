"""Derivatives of cross entropies."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from varigrad.engine import run_kernel
from varigrad.gradients.rules import by_formula
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import mul, multiply_no_nan, scale, sub
from varigrad.ops.normalization import log_softmax, softmax
from varigrad.ops.reduction import sum as sum_of
from varigrad.tape import Gradient, inputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _rows(dy: Tensor) -> Tensor:
    """The gradient of one number a row, in a shape that broadcasts with the rows."""
    return reshape_to(dy, (*dy.shape, 1))


def _softmax(dy: Tensor, labels: Tensor, logits: Tensor) -> tuple[Any, ...]:
    return (
        lambda: multiply_no_nan(scale(log_softmax(logits), -1.0), _rows(dy)),
        lambda: run_kernel("SoftmaxCrossEntropyWithLogitsGrad", (dy, labels, logits)),
    )


def _softmax_grad(dy: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
    total = sum_of(labels, -1, keep_dims=True)
    return multiply_no_nan(sub(mul(softmax(logits), total), labels), _rows(dy))


def _sigmoid(dy: Tensor, labels: Tensor, logits: Tensor) -> tuple[Any, ...]:
    return (
        lambda: multiply_no_nan(scale(logits, -1.0), dy),
        lambda: multiply_no_nan(sub(run_kernel("Sigmoid", (logits,)), labels), dy),
    )


GRADIENTS: dict[str, Gradient] = {
    "SigmoidCrossEntropyWithLogits": Gradient(_sigmoid, inputs),
    "SoftmaxCrossEntropyWithLogits": Gradient(_softmax, inputs),
    "SoftmaxCrossEntropyWithLogitsGrad": Gradient(by_formula(_softmax_grad), inputs),
}

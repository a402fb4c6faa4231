"""Derivatives of cross entropies."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

from varigrad.engine import run_kernel
from varigrad.gradients.rules import by_formula
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import mul, multiply_no_nan, scale, sub
from varigrad.ops.normalization import log_softmax
from varigrad.ops.normalization import softmax as softmax_of
from varigrad.ops.reduction import sum as sum_of
from varigrad.tape import Gradient, inputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _rows(dy: Tensor) -> Tensor:
    """The gradient of one number a row, in a shape that broadcasts with the rows."""
    return reshape_to(dy, (*dy.shape, 1))


def _softmax(dys: tuple[Tensor, Tensor], labels: Tensor, logits: Tensor, softmax: Tensor) -> tuple[Any, ...]:
    """The kernel gives the softmax along for this rule alone: no gradient comes back through it."""
    dy = dys[0]
    return (
        lambda: multiply_no_nan(scale(log_softmax(logits), -1.0), _rows(dy)),
        lambda: run_kernel("SoftmaxCrossEntropyWithLogitsGrad", (dy, labels, logits, softmax)),
    )


def _softmax_grad(ddy: Tensor, dy: Tensor, labels: Tensor, logits: Tensor, softmax: Tensor) -> tuple[Any, ...]:
    return (*by_formula(_softmax_grad_formula)(ddy, dy, labels, logits), None)


def _softmax_grad_formula(dy: Tensor, labels: Tensor, logits: Tensor) -> Tensor:
    total = sum_of(labels, -1, keep_dims=True)
    return multiply_no_nan(sub(mul(softmax_of(logits), total), labels), _rows(dy))


def _sigmoid(dy: Tensor, labels: Tensor, logits: Tensor) -> tuple[Any, ...]:
    return (
        lambda: multiply_no_nan(scale(logits, -1.0), dy),
        lambda: multiply_no_nan(sub(run_kernel("Sigmoid", (logits,)), labels), dy),
    )


GRADIENTS: dict[str, Gradient] = {
    "SigmoidCrossEntropyWithLogits": Gradient(_sigmoid, inputs),
    "SoftmaxCrossEntropyWithLogits": Gradient(_softmax, lambda inputs, outputs: (*inputs, outputs[1])),
    "SoftmaxCrossEntropyWithLogitsGrad": Gradient(_softmax_grad, inputs),
}

"""Derivatives of softmax and normalization."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.gradients.rules import by_formula
from varigrad.ops.arithmetic import mul, sub
from varigrad.ops.reduction import sum as sum_of
from varigrad.tape import Gradient, inputs, outputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _softmax(dy: Tensor, y: Tensor, dim: int) -> Tensor:
    return run_kernel("SoftmaxGrad", (dy, y), {"dim": dim})


def _softmax_grad(dy: Tensor, y: Tensor, dim: int) -> Tensor:
    weighted = mul(dy, y)
    return sub(weighted, mul(sum_of(weighted, dim, keep_dims=True), y))


def _log_softmax(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    return run_kernel("LogSoftmaxGrad", (dy, y), {"axis": axis})


def _log_softmax_grad(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    return sub(dy, mul(sum_of(dy, axis, keep_dims=True), run_kernel("Exp", (y,))))


GRADIENTS: dict[str, Gradient] = {
    "LogSoftmax": Gradient(_log_softmax, outputs),
    "LogSoftmaxGrad": Gradient(by_formula(_log_softmax_grad), inputs),
    "Softmax": Gradient(_softmax, outputs),
    "SoftmaxGrad": Gradient(by_formula(_softmax_grad), inputs),
}

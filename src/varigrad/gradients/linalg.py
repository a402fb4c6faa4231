"""Derivatives of linear algebra."""

from __future__ import annotations

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.gradients.reduction import keep_axes
from varigrad.gradients.rules import by_formula
from varigrad.ops.arithmetic import mul, multiply_no_nan
from varigrad.tape import Gradient, inputs, inputs_and_outputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _norm(dy: Tensor, x: Tensor, y: Tensor, order: float, axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    """The norm has no derivative at the zero vector; the gradient there is the smallest one possible, zero."""
    y = keep_axes(y, x.shape, axis, keep_dims)
    return run_kernel("NormGrad", (keep_axes(dy, x.shape, axis, keep_dims), x, y), {"order": order})


def _norm_grad(dy: Tensor, x: Tensor, y: Tensor, order: float) -> Tensor:
    if order == 2:
        return multiply_no_nan(x, run_kernel("DivNoNan", (dy, y)))
    ratio = run_kernel("DivNoNan", (run_kernel("Abs", (x,)), y))
    power = run_kernel("Pow", (ratio, make_tensor(np.array(order - 1, x.storage.dtype))))
    return multiply_no_nan(mul(run_kernel("Sign", (x,)), power), dy)


GRADIENTS: dict[str, Gradient] = {
    "Norm": Gradient(_norm, inputs_and_outputs),
    "NormGrad": Gradient(by_formula(_norm_grad), inputs),
}

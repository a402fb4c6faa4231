"""Derivatives of softmax and normalization."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.gradients.rules import by_formula, sum_to
from varigrad.ops.arithmetic import add, mul, multiply_no_nan, scale, sub
from varigrad.ops.reduction import sum as sum_of
from varigrad.tape import Gradient, inputs, nothing, outputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _softmax(dy: Tensor, y: Tensor, dim: int) -> Tensor:
    return run_kernel("SoftmaxGrad", (dy, y), {"dim": dim})


def _softmax_grad(dy: Tensor, y: Tensor, dim: int) -> Tensor:
    weighted = multiply_no_nan(y, dy)
    return sub(weighted, multiply_no_nan(y, sum_of(weighted, dim, keep_dims=True)))


def _log_softmax(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    return run_kernel("LogSoftmaxGrad", (dy, y), {"axis": axis})


def _log_softmax_grad(dy: Tensor, y: Tensor, axis: int) -> Tensor:
    return sub(dy, multiply_no_nan(run_kernel("Exp", (y,)), sum_of(dy, axis, keep_dims=True)))


def _batch_norm(
    dy: Tensor,
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    *offset_and_scale: Tensor,
    has_offset: bool,
    has_scale: bool,
    variance_epsilon: float,
) -> tuple[Any, ...]:
    """Two sums over the batch, of dy and of dy * (x - mean), are all that the statistics' gradients need of it."""
    parameters = (mean, variance, *offset_and_scale)
    shape = np.broadcast_shapes(*[p.shape for p in parameters])
    epsilon = make_tensor(np.array(variance_epsilon, variance.storage.dtype))
    inverse = run_kernel("Rsqrt", (add(variance, epsilon),))
    factor = mul(inverse, offset_and_scale[-1]) if has_scale else inverse
    sum_dy = cache(lambda: sum_to(dy, shape))
    sum_product = cache(lambda: sum_to(multiply_no_nan(sub(x, mean), dy), shape))

    def d_mean() -> Tensor:
        return sum_to(multiply_no_nan(scale(factor, -1.0), sum_dy()), mean.shape)

    def d_variance() -> Tensor:
        derivative = scale(mul(factor, mul(inverse, inverse)), -0.5)
        return sum_to(multiply_no_nan(derivative, sum_product()), variance.shape)

    gradients: list[Any] = [lambda: multiply_no_nan(factor, dy), d_mean, d_variance]
    if has_offset:
        gradients.append(lambda: sum_to(sum_dy(), offset_and_scale[0].shape))
    if has_scale:
        gradients.append(lambda: sum_to(multiply_no_nan(inverse, sum_product()), offset_and_scale[-1].shape))
    return tuple(gradients)


def _local_response_normalization(x: Tensor, depth_radius: int, bias: float, alpha: float, beta: float) -> Tensor:
    window = run_kernel("WindowSum", (mul(x, x),), {"depth_radius": depth_radius})
    dtype = x.storage.dtype
    divisor = add(scale(window, alpha), make_tensor(np.array(bias, dtype)))
    return mul(x, run_kernel("Pow", (divisor, make_tensor(np.array(-beta, dtype)))))


GRADIENTS: dict[str, Gradient] = {
    "FusedBatchNorm": Gradient(_batch_norm, inputs),
    "LRN": Gradient(by_formula(_local_response_normalization), inputs),
    "LogSoftmax": Gradient(_log_softmax, outputs),
    "LogSoftmaxGrad": Gradient(by_formula(_log_softmax_grad), inputs),
    "Softmax": Gradient(_softmax, outputs),
    "SoftmaxGrad": Gradient(by_formula(_softmax_grad), inputs),
    "WindowSum": Gradient(
        lambda dy, depth_radius: run_kernel("WindowSum", (dy,), {"depth_radius": depth_radius}), nothing
    ),
}

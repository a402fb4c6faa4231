"""Activations with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.comparison import keep_where
from varigrad.backends.numpy.constants import constant
from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _relu(x: Array) -> Array:
    return np.maximum(x, constant(0, x.dtype))


def _relu6(x: Array) -> Array:
    return np.minimum(np.maximum(x, constant(0, x.dtype)), constant(6, x.dtype))


def _relu_grad(dy: Array, y: Array) -> Array:
    return keep_where(dy, np.greater(y, constant(0, y.dtype)))


def _leaky_relu(x: Array, alpha: float) -> Array:
    lower = np.multiply(x, constant(alpha, x.dtype))
    return np.maximum(x, lower) if 0 <= alpha <= 1 else np.where(x > 0, x, lower)


def _prelu(x: Array, alpha: Array) -> Array:
    zero = constant(0, x.dtype)
    output = np.add(np.maximum(x, zero), np.multiply(alpha, np.minimum(x, zero)))
    if not np.isfinite(np.vdot(output, output)):  # a slope that is not finite does not count where it is not used
        return np.where(np.less(x, zero), np.multiply(alpha, x), x)
    return output


def _elu(x: Array, alpha: float = 1.0, scale: float = 1.0) -> Array:
    # exp(x) - 1 by the tangent of half of x, which keeps its digits near 0 as expm1 does, in a third of the time.
    zero = constant(0, x.dtype)
    half = np.tanh(np.multiply(np.minimum(x, zero), constant(0.5, x.dtype)))
    below = np.divide(np.multiply(half, constant(2 * alpha, x.dtype)), np.subtract(constant(1, x.dtype), half))
    result = np.add(below, np.maximum(x, zero))
    return result if scale == 1 else np.multiply(result, constant(scale, x.dtype))


def _elu_grad(dy: Array, y: Array, alpha: float = 1.0, scale: float = 1.0) -> Array:
    below = np.add(np.minimum(y, constant(0, y.dtype)), constant(scale * alpha, y.dtype))
    slope = below if alpha == 1 else np.where(y > 0, constant(scale, y.dtype), below)
    return np.multiply(slope, dy)


def _sigmoid(x: Array) -> Array:
    # Where exp overflows, the reciprocal of infinity is the right 0.
    denominator = np.exp(np.negative(x))
    denominator += constant(1, x.dtype)
    return np.reciprocal(denominator)


def _sigmoid_grad(dy: Array, y: Array) -> Array:
    slope = np.subtract(constant(1, y.dtype), y)
    slope *= y
    slope *= dy
    return slope


def _softplus(x: Array) -> Array:
    result = np.log1p(np.exp(np.negative(np.absolute(x))))
    result += np.maximum(x, constant(0, x.dtype))
    return result


KERNELS: dict[str, Any] = {
    "Elu": _elu,
    "EluGrad": _elu_grad,
    "LeakyRelu": _leaky_relu,
    "Prelu": _prelu,
    "Relu": _relu,
    "Relu6": _relu6,
    "ReluGrad": _relu_grad,
    "Selu": _elu,
    "Sigmoid": _sigmoid,
    "SigmoidGrad": _sigmoid_grad,
    "Softplus": _softplus,
}

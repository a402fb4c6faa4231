"""Matrix products with NumPy: each ends in as few BLAS calls as its shapes allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["ACTIVATE", "KERNELS"]


def _batch_mat_mul(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    if b.ndim == 2:
        if transpose_b:
            b = b.T
        if a.ndim == 2:
            return (a.T if transpose_a else a).dot(b)
        if not transpose_a and a.shape[-1] == b.shape[0]:
            # One matrix for the whole batch: the batch is just more rows.
            product = np.empty((*a.shape[:-1], b.shape[1]), a.dtype)
            np.dot(a.reshape(-1, b.shape[0]), b, out=product.reshape(-1, b.shape[1]))
            return product
    elif transpose_b:
        b = b.swapaxes(-1, -2)
    return np.matmul(a.swapaxes(-1, -2) if transpose_a else a, b)


# Activations that write over their argument. Each has a derivative that its result tells.


def _relu(x: Array, leakyrelu_alpha: float) -> None:
    np.maximum(x, _constant(0, x), out=x)


def _relu6(x: Array, leakyrelu_alpha: float) -> None:
    np.maximum(x, _constant(0, x), out=x)
    np.minimum(x, _constant(6, x), out=x)


def _elu(x: Array, leakyrelu_alpha: float) -> None:
    negative = np.expm1(np.minimum(x, _constant(0, x)))
    np.maximum(x, _constant(0, x), out=x)
    x += negative


def _leakyrelu(x: Array, leakyrelu_alpha: float) -> None:
    np.multiply(x, x.dtype.type(leakyrelu_alpha), out=x, where=x < 0)


def _sigmoid(x: Array, leakyrelu_alpha: float) -> None:
    np.negative(x, out=x)
    np.exp(x, out=x)
    x += _constant(1, x)
    np.reciprocal(x, out=x)


ACTIVATE: dict[str, Callable[[Array, float], None]] = {
    "elu": _elu,
    "leakyrelu": _leakyrelu,
    "relu": _relu,
    "relu6": _relu6,
    "sigmoid": _sigmoid,
}

_constants: dict[tuple[int, np.dtype[Any]], Array] = {}


def _constant(value: int, like: Array) -> Array:
    """A number as a 0-d array, which ufuncs take up faster than a scalar."""
    found = _constants.get((value, like.dtype))
    if found is None:
        found = _constants[value, like.dtype] = np.array(value, like.dtype)
    return found


def _fused_mat_mul(
    a: Array,
    b: Array,
    bias: Array | None = None,
    *,
    transpose_a: bool,
    transpose_b: bool,
    activation: str,
    leakyrelu_alpha: float,
) -> Array:
    if a.ndim == 2 == b.ndim and not (transpose_a or transpose_b):
        y = a.dot(b)
    else:
        y = _batch_mat_mul(a, b, transpose_a, transpose_b)
    if bias is not None:
        y += bias
    if activation != "linear":
        ACTIVATE[activation](y, leakyrelu_alpha)
    return y


def _fused_activation_grad(dy: Array, y: Array, activation: str, leakyrelu_alpha: float) -> Array:
    """dy times the derivative of the activation, found from its result `y`."""
    if activation == "relu":
        return np.multiply(dy, np.greater(y, _constant(0, y)).astype(y.dtype))
    if activation == "relu6":
        return np.multiply(dy, ((y > 0) & (y < _constant(6, y))).astype(y.dtype))
    one = _constant(1, y)
    if activation == "sigmoid":
        slope = one - y
        slope *= y
    elif activation == "elu":
        slope = np.minimum(y, _constant(0, y))
        slope += one
    else:
        slope = np.where(y < 0, y.dtype.type(leakyrelu_alpha), one)
    slope *= dy
    return slope


KERNELS: dict[str, Any] = {
    "BatchMatMul": _batch_mat_mul,
    "_FusedActivationGrad": _fused_activation_grad,
    "_FusedMatMul": _fused_mat_mul,
}

"""Products with their bias and activation, written over the product itself, with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varigrad.backends.numpy.activations import KERNELS as ACTIVATIONS
from varigrad.backends.numpy.constants import constant
from varigrad.backends.numpy.convolution import conv, depthwise_conv
from varigrad.backends.numpy.matmul import batch_mat_mul, product_of
from varigrad.dtypes import Array

__all__ = ["KERNELS"]

_ACTIVATE: dict[str, Callable[[Array], Array]] = {
    "elu": ACTIVATIONS["Elu"],
    "sigmoid": ACTIVATIONS["Sigmoid"],
}


def _finish(y: Array, bias: Array | None, activation: str) -> Array:
    if bias is not None:
        y += bias
    if activation == "relu":
        return np.maximum(y, constant(0, y.dtype), out=y)
    return y if activation == "linear" else _ACTIVATE[activation](y)


def _fused_mat_mul(
    a: Array, b: Array, bias: Array | None = None, *, transpose_a: bool, transpose_b: bool, activation: str
) -> Array:
    if a.ndim == 2 == b.ndim and not (transpose_a or transpose_b):
        y = product_of(a, b)
    else:
        y = batch_mat_mul(a, b, transpose_a, transpose_b)
    return _finish(y, bias, activation)


def _fused_conv2d(x: Array, filter: Array, bias: Array | None = None, *, activation: str, **geometry: Any) -> Array:
    return _finish(conv(x, filter, **geometry), bias, activation)


def _fused_depthwise_conv2d(
    x: Array, filter: Array, bias: Array | None = None, *, activation: str, **geometry: Any
) -> Array:
    return _finish(depthwise_conv(x, filter, **geometry), bias, activation)


KERNELS: dict[str, Any] = {
    "FusedConv2D": _fused_conv2d,
    "FusedDepthwiseConv2D": _fused_depthwise_conv2d,
    "_FusedMatMul": _fused_mat_mul,
}

"""Lowering of softmax and normalization, as maps and reductions that are fused afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import F64
from varigrad.backends.native.matmul import product
from varigrad.backends.native.operations import View

__all__ = ["RULES", "shifted"]


def shifted(b: Builder, logits: View, axis: int) -> View:
    """The logits less the largest of them, so that no exponential overflows; NaN comes out where one is NaN."""
    return b.map("Sub", logits, b.reduce("largest", logits, (axis,), True))


def _softmax(b: Builder, logits: View, dim: int) -> View:
    powers = b.map("Exp", shifted(b, logits, dim))
    return b.map("RealDiv", powers, b.reduce("sum", powers, (dim,), True))


def _log_softmax(b: Builder, logits: View, axis: int) -> View:
    relative = shifted(b, logits, axis)
    total = b.reduce("sum", b.map("Exp", relative), (axis,), True)
    return b.map("Sub", relative, b.map("Log", total))


def _unless_zero(b: Builder, output: View, dy: View, axis: int) -> View:
    """Zeros along the axis wherever dy is zero all along it, even for logits that are NaN."""
    used = b.reduce("or", b.compare("NotEqual", dy, 0), (axis,), True)
    return b.map("KeepWhere", output, used)


def _softmax_grad(b: Builder, dy: View, y: View, dim: int) -> View:
    weighted = b.map("Multiply", dy, y)
    total = b.reduce("sum", weighted, (dim,), True)
    return _unless_zero(b, b.map("Sub", weighted, b.map("Multiply", y, total)), dy, dim)


def _log_softmax_grad(b: Builder, dy: View, y: View, axis: int) -> View:
    total = b.reduce("sum", dy, (axis,), True)
    return _unless_zero(b, b.map("Sub", dy, b.map("Multiply", b.map("Exp", y), total)), dy, axis)


def _batch_norm(
    b: Builder,
    x: View,
    mean: View,
    variance: View,
    *offset_and_scale: View,
    has_offset: bool,
    has_scale: bool,
    variance_epsilon: float,
) -> View:
    root = b.map("Sqrt", b.map("Add", variance, variance_epsilon))
    factor = b.map("RealDiv", offset_and_scale[-1] if has_scale else b.number(1, x.kind), root)
    output = b.map("Multiply", b.map("Sub", x, mean), factor)
    return b.map("Add", output, offset_and_scale[0]) if has_offset else output


def _window_sum(b: Builder, x: View, depth_radius: int) -> View | None:
    """Each channel with its neighbours: a product with a band, as in eager mode, where NaN reaches all channels."""
    if not x.kind.is_float:
        return None
    position = np.arange(x.shape[-1])
    band = abs(position - position[:, None]) <= depth_radius
    return product(b, x, b.constant(band.astype(np.float64 if x.kind is F64 else np.float32)))


def _local_response_normalization(
    b: Builder, x: View, depth_radius: int, bias: float, alpha: float, beta: float
) -> View | None:
    total = _window_sum(b, b.map("Square", x), depth_radius)
    if total is None:
        return None
    divisor = b.map("Add", b.map("Multiply", total, alpha), bias)
    return b.map("Multiply", x, b.map("Pow", divisor, -beta))


RULES: dict[str, Callable[..., Any]] = {
    "FusedBatchNorm": _batch_norm,
    "LRN": _local_response_normalization,
    "LogSoftmax": _log_softmax,
    "LogSoftmaxGrad": _log_softmax_grad,
    "Softmax": _softmax,
    "SoftmaxGrad": _softmax_grad,
    "WindowSum": _window_sum,
}

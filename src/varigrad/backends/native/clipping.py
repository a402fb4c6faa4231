"""Lowering of norms and of clipping by them. Sums of squares are float64, so that they never overflow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import F32, F64, Kind
from varigrad.backends.native.operations import View

__all__ = ["RULES"]


def _square_sum(b: Builder, x: View) -> View:
    wide = b.cast(b.reshape(x, (x.size,)), F64)
    return b.reduce("sum", b.map("Multiply", wide, wide), (0,))


def _common(gradients: Sequence[View]) -> Kind | None:
    kinds = {x.kind for x in gradients}
    if any(not kind.is_float for kind in kinds):
        return None
    return F64 if F64 in kinds else F32


def _global_norm(b: Builder, *gradients: View) -> View | None:
    kind = _common(gradients)
    if kind is not F32:
        return None  # squares of float64 overflow in float64 as well
    sums = [_square_sum(b, x) for x in gradients]
    norm = b.map("Sqrt", reduce(lambda x, y: b.map("Add", x, y), sums))
    # Beside an infinite gradient, a NaN does not count, as in math.hypot.
    infinite = reduce(lambda x, y: b.map("LogicalOr", x, y), [b.compare("IsInf", x) for x in sums])
    return b.cast(b.map("Select", infinite, math.inf, norm, kind=F64), F32)


def _each_norm(b: Builder, *gradients: View) -> View | None:
    if _common(gradients) is not F32:
        return None
    return b.cast(b.pack([b.map("Sqrt", _square_sum(b, x)) for x in gradients]), F32)


def _scale_to_norm(b: Builder, *inputs: View) -> list[View] | None:
    *gradients, norm, limit = inputs
    if _common(gradients) is None or not (norm.kind.is_float and limit.kind.is_float):
        return None
    scaled: list[View] = []
    most = b.cast(b.reshape(limit, ()), F64)
    for at, gradient in enumerate(gradients):
        length = b.cast(b.reshape(norm.part((at,), (1,)), ()) if norm.shape else norm, F64)
        factor = b.map("RealDiv", most, b.map("Maximum", length, most))
        factor = b.map("Select", b.compare("IsFinite", length), factor, math.nan, kind=F64)
        scaled.append(b.map("Multiply", gradient, b.cast(factor, gradient.kind)))
    return scaled


RULES: dict[str, Callable[..., Any]] = {
    "EachNorm": _each_norm,
    "GlobalNorm": _global_norm,
    "ScaleToNorm": _scale_to_norm,
}

"""Lowering of norms along axes, and of bands of matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import BOOL
from varigrad.backends.native.operations import View

__all__ = ["RULES"]


def _norm(b: Builder, x: View, order: float, axis: Sequence[int], keep_dims: bool) -> View | None:
    if not x.kind.is_float:
        return None
    if order == 2:
        return b.map("Sqrt", b.reduce("sum", b.map("Square", x), axis, keep_dims))
    size = b.map("Abs", x)
    # Relative to the largest, no power overflows.
    largest = b.reduce("max", size, axis, True)
    usable = b.map("LogicalAnd", b.compare("Greater", largest, 0.0), b.compare("IsFinite", largest))
    scale = b.map("Select", usable, largest, b.number(1, x.kind), kind=x.kind)
    total = b.reduce("sum", b.map("Pow", b.map("RealDiv", size, scale), order), axis, keep_dims)
    return b.map("Multiply", b.map("Pow", total, 1 / order), b.reshape(scale, total.shape))


def _norm_grad(b: Builder, dy: View, x: View, y: View, order: float) -> View | None:
    if not x.kind.is_float:
        return None
    none = b.map("LogicalOr", b.compare("Equal", dy, 0.0), b.compare("Equal", y, 0.0))
    if order == 2:
        slope = b.map("Multiply", x, b.map("RealDiv", dy, y))
    else:
        power = b.map("Pow", b.map("RealDiv", b.map("Abs", x), y), order - 1)
        slope = b.map("Multiply", b.map("Multiply", b.map("Sign", x), power), dy)
    return b.map("KeepWhere", slope, b.compare("LogicalNot", none))


def _band_part(b: Builder, x: View, num_lower: View, num_upper: View) -> View | None:
    lower, upper = num_lower.val.literal, num_upper.val.literal
    if lower is None or upper is None:
        return None
    rows, columns = x.shape[-2:]
    inside = np.tri(rows, columns, columns if upper < 0 else int(upper), np.bool_)
    if lower >= 0:
        inside &= ~np.tri(rows, columns, -1 - int(lower), np.bool_)
    return b.map("LogicalAnd" if x.kind is BOOL else "KeepWhere", x, b.constant(inside))


RULES: dict[str, Callable[..., Any]] = {
    "MatrixBandPart": _band_part,
    "Norm": _norm,
    "NormGrad": _norm_grad,
}

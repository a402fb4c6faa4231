"""Lowering of reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.operations import Shape, View

__all__ = ["RULES", "log_sum_exp"]


def _plain(how: str) -> Callable[[Builder, View, Sequence[int], bool], View]:
    return lambda b, x, axis, keep_dims: b.reduce(how, x, axis, keep_dims)


def _mean(b: Builder, x: View, axis: Sequence[int], keep_dims: bool) -> View | None:
    if not x.kind.is_float:
        return None
    return b.map("RealDiv", b.reduce("sum", x, axis, keep_dims), math.prod([x.shape[a] for a in axis]))


def _spread(b: Builder, x: View, shape: Shape, factor: float) -> View | None:
    if not x.kind.is_float:
        return None
    return b.map("Scale", x, factor=factor).broadcast(tuple(shape))


def log_sum_exp(b: Builder, x: View, axis: Sequence[int], keep_dims: bool) -> View:
    """The logarithm of the sum of exponentials, of which none overflows."""
    largest = b.reduce("max", x, axis, True)
    # An infinite maximum is the result; subtracting it would be NaN.
    shift = b.map("Select", b.compare("IsFinite", largest), largest, 0.0, kind=x.kind)
    total = b.reduce("sum", b.map("Exp", b.map("Sub", x, shift)), axis, True)
    result = b.map("Add", b.map("Log", total), shift)
    shape = tuple(n for a, n in enumerate(x.shape) if a not in axis)
    return result if keep_dims else b.reshape(result, shape)


def _extremum_share(b: Builder, x: View, extremum: View, axis: Sequence[int]) -> View:
    both_nan = b.map("LogicalAnd", b.compare("IsNan", extremum), b.compare("IsNan", x))
    ties = b.cast(b.map("LogicalOr", b.compare("Equal", x, extremum), both_nan), x.kind)
    return b.map("RealDiv", ties, b.reduce("sum", ties, axis, True))


RULES: dict[str, Callable[..., Any]] = {
    "All": _plain("and"),
    "Any": _plain("or"),
    "ExtremumShare": _extremum_share,
    "LogSumExp": log_sum_exp,
    "Max": _plain("max"),
    "Mean": _mean,
    "Min": _plain("min"),
    "Prod": _plain("product"),
    "Spread": _spread,
    "Sum": _plain("sum"),
}

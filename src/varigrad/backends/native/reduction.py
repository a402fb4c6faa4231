"""Lowering of reductions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import BOOL
from varigrad.backends.native.operations import Shape, View

__all__ = ["RULES", "log_sum_exp"]

_TERMS = 16  # of a sum of many arrays that are added up in one operation


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


def _add_n(b: Builder, *terms: View) -> View | None:
    """A sum of many arrays, some at a time: one operation would be as long as there are of them."""
    if any(x.kind is not terms[0].kind or x.shape != terms[0].shape for x in terms) or terms[0].kind is BOOL:
        return None
    total = terms[0]
    for at in range(1, len(terms), _TERMS):
        total = b.map("AddN", total, *terms[at : at + _TERMS])
    return total if len(terms) > 1 else b.map("AddN", total)


RULES: dict[str, Callable[..., Any]] = {
    "AddN": _add_n,
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

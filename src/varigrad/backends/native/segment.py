"""Lowering of sums over segments: a number that names no segment counts for nothing."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import BOOL, I32
from varigrad.backends.native.operations import View
from varigrad.backends.native.rows import Layout, put_rows, take_rows

__all__ = ["RULES"]


def _sum(b: Builder, x: View, segment_ids: View, num_segments: int) -> View | None:
    if x.kind is BOOL or segment_ids.kind is not I32:
        return None
    rest = x.shape[len(segment_ids.shape) :]
    layout = Layout(1, 1, num_segments, segment_ids.size, prod(rest))
    return b.reshape(put_rows(b, x, segment_ids, layout, b.number(0, I32)), (num_segments, *rest))


def _take(b: Builder, x: View, segment_ids: View) -> View | None:
    if segment_ids.kind is not I32:
        return None
    layout = Layout(1, 1, x.shape[0], segment_ids.size, prod(x.shape[1:]))
    taken = take_rows(b, x, segment_ids, layout, b.number(0, I32), fills=True)
    return b.reshape(taken, (*segment_ids.shape, *x.shape[1:]))


RULES: dict[str, Callable[..., Any]] = {
    "UnsortedSegmentSum": _sum,
    "UnsortedSegmentTake": _take,
}

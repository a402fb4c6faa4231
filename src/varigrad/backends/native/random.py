"""Lowering of random masks: the host draws the numbers, so that they are eager mode's; the rest is machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import KINDS
from varigrad.backends.native.operations import Shape, Val, View, whole
from varigrad.jit.graph import Node

__all__ = ["RULES"]


def _dropout_mask(b: Builder, shape: Shape, rate: float, dtype: str, seed: Any) -> View | None:
    kind = KINDS.get(dtype)
    if kind is None or not kind.is_float:
        return None
    drawn = Val(shape, kind)
    attrs = {"shape": shape, "minval": 0.0, "maxval": 1.0, "dtype": dtype, "seed": seed}
    b.call_host(Node("RandomUniform", [], attrs, b.origin.site), [], [drawn])
    keep = 1 - rate
    return b.map("RealDiv", b.map("Floor", b.map("Add", whole(drawn), keep)), keep)


RULES: dict[str, Callable[..., Any]] = {
    "DropoutMask": _dropout_mask,
}

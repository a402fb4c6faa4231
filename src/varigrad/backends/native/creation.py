"""Lowering of arrays with a pattern."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import I32, KINDS
from varigrad.backends.native.operations import View

__all__ = ["RULES"]


def _one_hot(b: Builder, indices: View, depth: int, on_value: float, off_value: float, dtype: str) -> View | None:
    kind = KINDS.get(dtype)
    if kind is None or indices.kind is not I32:
        return None
    column = b.reshape(indices, (*indices.shape, 1))
    on = b.compare("Equal", column, b.constant(np.arange(depth, dtype=np.int32)))
    return b.map("Select", on, b.number(on_value, kind), b.number(off_value, kind), kind=kind)


def _diag(b: Builder, x: View) -> View:
    flat = b.reshape(x, (x.size,))
    squared = b.padded(flat, [0], (x.size * x.size,), 0, [x.size + 1])
    return b.reshape(squared, (*x.shape, *x.shape))


def _diag_part(b: Builder, x: View) -> View:
    shape = x.shape[: len(x.shape) // 2]
    flat = b.reshape(x, (x.size,))
    return b.reshape(flat.part([0], (prod(shape),), [prod(shape) + 1]), shape)


RULES: dict[str, Callable[..., Any]] = {
    "Diag": _diag,
    "DiagPart": _diag_part,
    "OneHot": _one_hot,
}

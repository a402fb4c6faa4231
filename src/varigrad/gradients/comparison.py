"""Derivatives of choice. Comparisons and logic have none: their bools end the path."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.gradients.rules import no_slope, sum_to
from varigrad.ops.arguments import cast_to
from varigrad.ops.comparison import keep_where, logical_not
from varigrad.tape import Gradient
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _condition_and_shapes(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    condition, a, b = inputs
    return condition, a.storage.shape, b.storage.shape


def _mask(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[1:]


GRADIENTS: dict[str, Gradient] = {
    "KeepWhere": Gradient(lambda dy, mask: (keep_where(dy, mask), None), _mask),
    "Select": Gradient(
        lambda dy, condition, a, b: (
            lambda: no_slope(cast_to(condition, "float32")),
            lambda: sum_to(keep_where(dy, condition), a),
            lambda: sum_to(keep_where(dy, logical_not(condition)), b),
        ),
        _condition_and_shapes,
    ),
}

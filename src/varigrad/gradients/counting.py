"""Derivatives of ranking: what was picked gets the gradient."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.engine import run_kernel
from varigrad.tape import Gradient
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _length_and_indices(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[0].shape[-1], outputs[1]


def _second_input(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[1:]


def _length_and_second_input(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[0].shape[-1], inputs[1]


def _put(dy: Tensor, length: int, indices: Tensor) -> Tensor:
    return run_kernel("TopKGrad", (dy, indices), {"length": length})


GRADIENTS: dict[str, Gradient] = {
    "TopK": Gradient(lambda dys, length, indices, k, sorted: _put(dys[0], length, indices), _length_and_indices),
    "TopKGrad": Gradient(
        lambda dy, indices, length: (lambda: run_kernel("TopKTake", (dy, indices)), None), _second_input
    ),
    "TopKTake": Gradient(lambda dy, length, indices: (_put(dy, length, indices), None), _length_and_second_input),
}

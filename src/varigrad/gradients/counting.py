"""Derivatives of ranking and counting: what was picked, or counted, gets the gradient."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.engine import run_kernel
from varigrad.ops.arguments import reshape_to
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


def _weights(dy: Tensor, x: Tensor, weights: tuple[int, ...], size: int, binary_output: bool = False) -> Any:
    """The gradient for the weights of a count; `binary_output` pays them no heed."""
    if binary_output or 0 in weights:
        return None, None
    flat = x if x.rank == dy.rank else reshape_to(x, (x.size,))
    return None, lambda: reshape_to(run_kernel("DenseBincountGrad", (dy, flat)), weights)


def _input_and_weights_shape(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[0], inputs[1].shape


def _recount(dy: Tensor, size: int, x: Tensor) -> tuple[Tensor, None]:
    return run_kernel("DenseBincount", (x, dy), {"size": size, "binary_output": False}), None


GRADIENTS: dict[str, Gradient] = {
    "Bincount": Gradient(_weights, _input_and_weights_shape),
    "DenseBincount": Gradient(_weights, _input_and_weights_shape),
    "DenseBincountGrad": Gradient(_recount, _length_and_second_input),
    "TopK": Gradient(lambda dys, length, indices, k, sorted: _put(dys[0], length, indices), _length_and_indices),
    "TopKGrad": Gradient(
        lambda dy, indices, length: (lambda: run_kernel("TopKTake", (dy, indices)), None), _second_input
    ),
    "TopKTake": Gradient(lambda dy, length, indices: (_put(dy, length, indices), None), _length_and_second_input),
}

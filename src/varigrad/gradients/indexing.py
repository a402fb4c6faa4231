"""Derivatives of taking parts: what was taken goes back to its place."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.tape import Gradient, input_shapes
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _slice(dy: Tensor, x: tuple[int, ...], begin: tuple[int, ...], size: tuple[int, ...]) -> Tensor:
    paddings = tuple([(b, n - b - count) for n, b, count in zip(x, begin, size, strict=True)])
    return run_kernel("PadV2", (dy,), {"paddings": paddings, "constant_value": 0.0})


GRADIENTS: dict[str, Gradient] = {
    "Slice": Gradient(_slice, input_shapes),
}

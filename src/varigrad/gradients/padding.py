"""Derivatives of margins: the margin is cut off."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.tape import Gradient, input_shapes
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _pad(dy: Tensor, x: tuple[int, ...], paddings: tuple[tuple[int, int], ...], constant_value: float) -> Tensor:
    return run_kernel("Slice", (dy,), {"begin": tuple([before for before, _ in paddings]), "size": x})


GRADIENTS: dict[str, Gradient] = {
    "PadV2": Gradient(_pad, input_shapes),
}

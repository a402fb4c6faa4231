"""Derivatives of joining and splitting: each undoes the other."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.engine import run_kernel, run_kernel_multi
from varigrad.tape import Gradient, input_shapes, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _concat(dy: Tensor, *shapes: tuple[int, ...], axis: int) -> tuple[Tensor, ...]:
    return run_kernel_multi("SplitV", (dy,), {"sizes": tuple([shape[axis] for shape in shapes]), "axis": axis})


def _parts(dys: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The gradients of the parts; of a single part the tape gives the gradient bare."""
    return dys if isinstance(dys, tuple) else (dys,)


GRADIENTS: dict[str, Gradient] = {
    "Concat": Gradient(_concat, input_shapes),
    "Pack": Gradient(lambda dy, axis: run_kernel_multi("Unpack", (dy,), {"axis": axis}), nothing),
    "SplitV": Gradient(lambda dys, sizes, axis: run_kernel("Concat", _parts(dys), {"axis": axis}), nothing),
    "Unpack": Gradient(lambda dys, axis: run_kernel("Pack", _parts(dys), {"axis": axis}), nothing),
}

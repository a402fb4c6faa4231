"""Derivatives of changes of shape, layout and dtype."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.dtypes import is_differentiable, numpy_dtype
from varigrad.engine import run_kernel
from varigrad.gradients.rules import sum_to
from varigrad.ops.arguments import cast_to
from varigrad.ops.backend_util.axes import get_undo_axes_permutation
from varigrad.tape import Gradient, input_dtypes, input_shapes, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _transpose(dy: Tensor, perm: tuple[int, ...]) -> Tensor:
    return run_kernel("Transpose", (dy,), {"perm": get_undo_axes_permutation(perm)})


def _tile(dy: Tensor, x: tuple[int, ...], reps: tuple[int, ...]) -> Tensor:
    apart = tuple([n for pair in zip(reps, x, strict=True) for n in pair])
    copies = run_kernel("Reshape", (dy,), {"shape": apart})
    return run_kernel("Sum", (copies,), {"axis": tuple(range(0, len(apart), 2)), "keep_dims": False})


def _cast(dy: Tensor, x_dtype: str, dtype: str) -> Tensor:
    # The gradient for integers is no integer: it stays what it is.
    return cast_to(dy, x_dtype) if is_differentiable(numpy_dtype(x_dtype)) else dy


GRADIENTS: dict[str, Gradient] = {
    "BroadcastTo": Gradient(lambda dy, x, shape: sum_to(dy, x), input_shapes),
    "Cast": Gradient(_cast, input_dtypes),
    "Identity": Gradient(lambda dy: dy, nothing),
    "Reshape": Gradient(lambda dy, x, shape: run_kernel("Reshape", (dy,), {"shape": x}), input_shapes),
    "Reverse": Gradient(lambda dy, dims: run_kernel("Reverse", (dy,), {"dims": dims}), nothing),
    "Tile": Gradient(_tile, input_shapes),
    "Transpose": Gradient(_transpose, nothing),
}

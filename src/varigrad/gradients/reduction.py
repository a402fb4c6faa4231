"""Derivatives of reductions."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from math import prod

from varigrad.engine import run_kernel
from varigrad.ops.arithmetic import multiply_no_nan, scale
from varigrad.tape import Gradient, input_shapes, inputs_and_outputs, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS", "keep_axes"]


def keep_axes(dy: Tensor, shape: tuple[int, ...], axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    """The gradient of a reduction of a tensor of shape `shape`, in a shape that broadcasts with it."""
    # What is left after reducing the first axes broadcasts as it is.
    if keep_dims or not axis or axis[-1] == len(axis) - 1:
        return dy
    kept = tuple([1 if a in axis else n for a, n in enumerate(shape)])
    return run_kernel("Reshape", (dy,), {"shape": kept})


def _spread(dy: Tensor, shape: tuple[int, ...], axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    return run_kernel("BroadcastTo", (keep_axes(dy, shape, axis, keep_dims),), {"shape": shape})


def _mean(dy: Tensor, shape: tuple[int, ...], axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    # Where nothing is averaged there is no element to have a gradient.
    count = prod([shape[a] for a in axis]) or 1
    return _spread(scale(dy, 1 / count), shape, axis, keep_dims)


def _extremum(dy: Tensor, x: Tensor, y: Tensor, axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    """Ties share the gradient evenly."""
    extremum = keep_axes(y, x.shape, axis, keep_dims)
    share = run_kernel("ExtremumShare", (x, extremum), {"axis": axis})
    return multiply_no_nan(share, keep_axes(dy, x.shape, axis, keep_dims))


GRADIENTS: dict[str, Gradient] = {
    "ExtremumShare": Gradient(lambda dy, axis: (None, None), nothing),  # piecewise constant
    "Max": Gradient(_extremum, inputs_and_outputs),
    "Mean": Gradient(_mean, input_shapes),
    "Min": Gradient(_extremum, inputs_and_outputs),
    "Sum": Gradient(_spread, input_shapes),
}

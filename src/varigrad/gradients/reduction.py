"""Derivatives of reductions."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.gradients.rules import chain, sum_to
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import add, mul, multiply_no_nan, scale, sub
from varigrad.ops.backend_util.axes import get_undo_axes_permutation
from varigrad.ops.elementwise import conj
from varigrad.tape import Gradient, input_shapes, inputs, inputs_and_outputs, nothing
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS", "keep_axes"]


def keep_axes(dy: Tensor, shape: tuple[int, ...], axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    """The gradient of a reduction of a tensor of shape `shape`, in a shape that broadcasts with it."""
    # What is left after reducing the first axes broadcasts as it is.
    if keep_dims or not axis or axis[-1] == len(axis) - 1:
        return dy
    kept = tuple([1 if a in axis else n for a, n in enumerate(shape)])
    return run_kernel("Reshape", (dy,), {"shape": kept})


def _sum(dy: Tensor, shape: tuple[int, ...], axis: tuple[int, ...], keep_dims: bool, factor: float = 1.0) -> Tensor:
    return run_kernel("Spread", (keep_axes(dy, shape, axis, keep_dims),), {"shape": shape, "factor": factor})


def _mean(dy: Tensor, shape: tuple[int, ...], axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    # Where nothing is averaged there is no element to have a gradient.
    count = prod([shape[a] for a in axis]) or 1
    return _sum(dy, shape, axis, keep_dims, 1 / count)


def _extremum(dy: Tensor, x: Tensor, y: Tensor, axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    """Ties share the gradient evenly."""
    extremum = keep_axes(y, x.shape, axis, keep_dims)
    share = run_kernel("ExtremumShare", (x, extremum), {"axis": axis})
    return multiply_no_nan(keep_axes(dy, x.shape, axis, keep_dims), share)


def _log_sum_exp(dy: Tensor, x: Tensor, y: Tensor, axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    y = keep_axes(y, x.shape, axis, keep_dims)
    # Where all of x is -inf so is y; -inf less a finite number still has the exponential 0, and not NaN.
    number = y.storage.dtype.type
    lowest = make_tensor(np.array(np.nextafter(number(-np.inf), number(0))))
    softmax = run_kernel("Exp", (sub(x, run_kernel("Maximum", (y, lowest))),))
    return multiply_no_nan(softmax, keep_axes(dy, x.shape, axis, keep_dims))


def _prod(dy: Tensor, x: Tensor, axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    """Each element's derivative is the product of those before it and of those after it, zeros or not."""
    perm = tuple([a for a in range(x.rank) if a not in axis]) + axis
    kept = x.rank - len(axis)
    last = _transposed(x, perm)
    row = reshape_to(last, (*last.shape[:kept], prod(last.shape[kept:])))
    before = run_kernel("Cumprod", (row,), {"axis": kept, "exclusive": True, "reverse": False})
    after = run_kernel("Cumprod", (row,), {"axis": kept, "exclusive": True, "reverse": True})
    others = reshape_to(mul(before, after), last.shape)
    others = _transposed(others, get_undo_axes_permutation(perm))
    return chain(others, keep_axes(dy, x.shape, axis, keep_dims))


def _transposed(x: Tensor, perm: tuple[int, ...]) -> Tensor:
    return x if perm == tuple(range(x.rank)) else run_kernel("Transpose", (x,), {"perm": perm})


def _cumprod(dy: Tensor, x: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    """Every product that has an element in it is, but for that element, the product of those before it times what
    comes after it: the first a running product, the sum over the second a recurrence. No division, so zeros are fine.
    """
    x = conj(x)
    attrs = {"axis": axis, "reverse": not reverse}
    before = run_kernel("Cumprod", (x,), {"axis": axis, "exclusive": True, "reverse": reverse})
    if exclusive:
        after = run_kernel("ExclusiveRecurrence", (x, dy), attrs)
    else:
        after = add(dy, run_kernel("ExclusiveRecurrence", (x, mul(x, dy)), attrs))
    return mul(before, after)


def _exclusive_recurrence(dy: Tensor, a: Tensor, u: Tensor, axis: int, reverse: bool) -> tuple[Any, ...]:
    db = run_kernel("ExclusiveRecurrence", (conj(a), dy), {"axis": axis, "reverse": not reverse})
    return lambda: mul(db, conj(u)), db


def _cumsum(dy: Tensor, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    return run_kernel("Cumsum", (dy,), {"axis": axis, "exclusive": exclusive, "reverse": not reverse})


GRADIENTS: dict[str, Gradient] = {
    "Cumprod": Gradient(_cumprod, inputs),
    "Cumsum": Gradient(_cumsum, nothing),
    "ExclusiveRecurrence": Gradient(_exclusive_recurrence, lambda inputs, outputs: (inputs[0], outputs[0])),
    "ExtremumShare": Gradient(lambda dy, axis: (None, None), nothing),  # piecewise constant
    "LogSumExp": Gradient(_log_sum_exp, inputs_and_outputs),
    "Max": Gradient(_extremum, inputs_and_outputs),
    "Mean": Gradient(_mean, input_shapes),
    "Min": Gradient(_extremum, inputs_and_outputs),
    "Prod": Gradient(_prod, inputs),
    "Spread": Gradient(lambda dy, x, shape, factor: scale(sum_to(dy, x), factor), input_shapes),
    "Sum": Gradient(_sum, input_shapes),
}

"""What gradient rules share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from varigrad.autodiff import grads
from varigrad.engine import run_kernel
from varigrad.ops.arguments import convert
from varigrad.ops.broadcast_util import broadcast_axes
from varigrad.ops.comparison import keep_where, not_equal
from varigrad.ops.elementwise import conj
from varigrad.tape import Rule
from varigrad.tensor import Tensor

__all__ = ["by_formula", "chain", "no_slope", "sum_to", "used"]


def by_formula(formula: Callable[..., Tensor]) -> Rule:
    """The rule of a kernel that computes in one go what `formula(*inputs, **attrs)` computes with ops.

    Needs all of the kernel's inputs saved, and all of them differentiable. For kernels that are the gradient of another
    one: their own is seldom wanted, so that it need not be as fast.
    """

    def rule(dy: Tensor, *inputs: Tensor, **attrs: Any) -> tuple[Tensor, ...]:
        return tuple(grads(lambda *xs: formula(*xs, **attrs))(inputs, dy))

    return rule


def chain(derivative: Tensor, dy: Tensor, factor: float = 1.0) -> Tensor:
    """The chain rule: factor times derivative times `dy`; 0 where `dy` is 0, even if the derivative has no value there.

    A gradient of complex numbers is that for the real parts plus i times that for the imaginary ones; with the
    conjugate this product is right for it.
    """
    if derivative.storage.dtype.kind == "i":  # beside which NumPy would make float64 of float32
        derivative = convert(derivative, "chain", "derivative", dy.dtype)
    if factor == 1.0:
        return run_kernel("MultiplyNoNan", (conj(derivative), dy))
    return run_kernel("MultiplyNoNan", (conj(derivative), dy), {"factor": factor})


def used(dy: Tensor, ddy: Tensor, factor: float = 1.0) -> Tensor:
    """The product of a gradient and the gradient of what was made of it, 0 where either is 0.

    The chain rule for a kernel that multiplies a gradient: a place that was not used gives nothing at second order
    either, whatever comes back from it.
    """
    return keep_where(chain(dy, ddy, factor), not_equal(dy, 0.0))


def no_slope(x: Tensor) -> Tensor:
    """The gradient, 0, of a function that is constant wherever it is smooth, for an input of the shape of `x`."""
    return run_kernel("ZerosLike", (x,))


def sum_to(dy: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sums a gradient over the axes along which its tensor, of shape `shape`, was broadcast."""
    given = dy.storage.shape
    if given == shape:
        return dy
    summed = run_kernel("Sum", (dy,), {"axis": broadcast_axes(shape, given), "keep_dims": False})
    return summed if summed.storage.shape == shape else run_kernel("Reshape", (summed,), {"shape": shape})

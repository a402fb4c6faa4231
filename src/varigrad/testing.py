"""Checking gradients against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varigrad.autodiff import grads, value_and_grads
from varigrad.dtypes import Array
from varigrad.engine import make_tensor
from varigrad.ops.arithmetic import mul
from varigrad.ops.reduction import sum as sum_of
from varigrad.scopes import tidy
from varigrad.tensor import Tensor, format_shape

__all__ = ["check_gradients"]


def check_gradients(
    f: Callable[..., Tensor],
    *args: Any,
    order: int = 2,
    step: float = 1e-5,
    relative: float = 1e-5,
    absolute: float = 1e-7,
    seed: int = 0,
) -> None:
    """Compares the gradients of `f(*args)` with central differences in float64.

    The outputs are weighted with random numbers, so that every element counts; the second order differentiates the
    first gradient, weighted likewise. Choose arguments away from kinks.

    Args:
        f: A function of tensors that returns a tensor of any shape.
        args: Arrays of any shape, taken as float64; every one is differentiated.
        order: 1, or 2 to check the gradient of the gradient too.
        step: The half-width of the difference.
        relative: The relative tolerance.
        absolute: The absolute tolerance.
        seed: Seeds the random weights.

    Raises:
        AssertionError: A gradient is wrong; the message names the order, the argument, the element and both numbers.

    >>> import varigrad as vg
    >>> vg.testing.check_gradients(lambda x, y: x * x * y, [1.0, 2.0], [3.0, 4.0])
    """
    if order not in (1, 2):
        raise ValueError(f"check_gradients: order must be 1 or 2, got {order}")
    points = [np.array(a.numpy() if isinstance(a, Tensor) else a, np.float64) for a in args]
    random = np.random.default_rng(seed)
    output = f(*[make_tensor(p.copy()) for p in points])
    if output.dtype != "float64":
        raise AssertionError(f"float64 arguments gave an output of dtype {output.dtype}")
    weights = random.normal(size=output.shape)

    def weighted(*xs: Tensor) -> Tensor:
        return sum_of(mul(f(*xs), make_tensor(weights.copy())))

    _compare(weighted, points, step, relative, absolute, "first")
    if order == 1:
        return
    directions = [random.normal(size=p.shape) for p in points]

    def directional(*xs: Tensor) -> Tensor:
        gradients = grads(weighted)(list(xs))
        terms = [sum_of(mul(g, make_tensor(d.copy()))) for g, d in zip(gradients, directions, strict=True)]
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        return total

    _compare(directional, points, step, relative, absolute, "second")


def _compare(
    f: Callable[..., Tensor], points: list[Array], step: float, relative: float, absolute: float, order: str
) -> None:
    def value(at: list[Array]) -> float:
        return float(tidy(lambda: f(*[make_tensor(p.copy()) for p in at])).item())

    found = _gradients_or_zero(f, points)
    for number, point in enumerate(points):
        gradient = found[number]
        if gradient.shape != point.shape:
            raise AssertionError(
                f"{order} order: the gradient for argument {number} has shape {format_shape(gradient.shape)}, "
                f"the argument {format_shape(point.shape)}"
            )
        for index in np.ndindex(point.shape):
            at = [p.copy() for p in points]
            at[number][index] += step
            above = value(at)
            at[number][index] -= 2 * step
            difference = (above - value(at)) / (2 * step)
            if not abs(gradient[index] - difference) <= absolute + relative * max(1.0, abs(difference)):
                raise AssertionError(
                    f"{order} order: the gradient for argument {number} at {index} is {gradient[index]:.9g}, "
                    f"by differences {difference:.9g}"
                )


def _gradients_or_zero(f: Callable[..., Tensor], points: list[Array]) -> list[Array]:
    """The gradients, with zeros for arguments that the value does not depend on, as in a second derivative of a
    function that is linear in one of them."""

    # Adding 0 * x keeps every argument connected and changes nothing else.
    def connected(*xs: Tensor) -> Tensor:
        total = f(*xs)
        for x in xs:
            total = total + sum_of(x * 0.0)
        return total

    gradients = value_and_grads(connected)([make_tensor(p.copy()) for p in points]).grads
    return [g.numpy() for g in gradients]

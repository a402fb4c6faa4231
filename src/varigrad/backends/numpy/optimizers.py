"""Optimizer updates with NumPy: each is one fused kernel over the variables of a slot group.

A rule sees flat arrays: the gradient, the slots (written in place), two scratch arrays and the step's numbers as
arrays of rank 0, which ufuncs take at half the cost of Python's numbers. It leaves in `delta` what is to be subtracted
from the variables. Several small variables are worked on side by side, as one array; a large one in blocks that stay
in the cache from the first ufunc to the last.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from threading import get_ident
from typing import Any, NamedTuple

import numpy as np

from varigrad.dtypes import Array

__all__ = ["BLOCK", "KERNELS", "UPDATES", "Rule", "fused"]

BLOCK = 32768  # elements worked on at a time: a few arrays of them fit a core's own cache

# (gradient, slots, delta, work, *numbers)
Rule = Callable[..., None]


def _blend(average: Array, keep: Array, value: Array, take: Array, work: Array) -> None:
    """average = keep * average + take * value."""
    np.multiply(average, keep, average)
    np.multiply(value, take, work)
    np.add(average, work, average)


def _gradient_descent(g: Array, slots: list[Array], delta: Array, work: Array, rate: Array) -> None:
    np.multiply(g, rate, delta)


def _momentum(g: Array, slots: list[Array], delta: Array, work: Array, rate: Array, momentum: Array) -> None:
    (velocity,) = slots
    np.multiply(velocity, momentum, velocity)
    np.add(velocity, g, velocity)
    np.multiply(velocity, rate, delta)


def _nesterov(g: Array, slots: list[Array], delta: Array, work: Array, rate: Array, momentum: Array) -> None:
    (velocity,) = slots
    np.multiply(velocity, momentum, velocity)
    np.add(velocity, g, velocity)
    np.multiply(velocity, momentum, delta)
    np.add(delta, g, delta)
    np.multiply(delta, rate, delta)


def _adagrad(g: Array, slots: list[Array], delta: Array, work: Array, rate: Array, epsilon: Array) -> None:
    (accumulator,) = slots
    np.multiply(g, g, work)
    np.add(accumulator, work, accumulator)
    np.add(accumulator, epsilon, work)
    np.sqrt(work, work)
    np.divide(g, work, delta)
    np.multiply(delta, rate, delta)


def _adadelta(
    g: Array, slots: list[Array], delta: Array, work: Array, rate: Array, keep: Array, take: Array, epsilon: Array
) -> None:
    gradients, updates = slots
    np.add(updates, epsilon, delta)
    np.sqrt(delta, delta)
    np.add(gradients, epsilon, work)
    np.sqrt(work, work)
    np.divide(delta, work, delta)
    np.multiply(delta, g, delta)
    np.multiply(g, g, work)
    _blend(gradients, keep, work, take, work)
    np.multiply(delta, delta, work)
    _blend(updates, keep, work, take, work)
    np.multiply(delta, rate, delta)


def _adam(
    g: Array,
    slots: list[Array],
    delta: Array,
    work: Array,
    rate: Array,
    keep1: Array,
    take1: Array,
    keep2: Array,
    take2: Array,
    epsilon: Array,
) -> None:
    first, second = slots
    _blend(first, keep1, g, take1, work)
    np.multiply(g, g, work)
    _blend(second, keep2, work, take2, work)
    np.sqrt(second, delta)
    np.add(delta, epsilon, delta)
    np.divide(first, delta, delta)
    np.multiply(delta, rate, delta)


def _adamax(
    g: Array,
    slots: list[Array],
    delta: Array,
    work: Array,
    rate: Array,
    keep1: Array,
    take1: Array,
    keep2: Array,
    epsilon: Array,
) -> None:
    first, largest = slots
    _blend(first, keep1, g, take1, work)
    np.multiply(largest, keep2, largest)
    np.absolute(g, work)
    np.maximum(largest, work, out=largest)
    np.add(largest, epsilon, delta)
    np.divide(first, delta, delta)
    np.multiply(delta, rate, delta)


def _rmsprop(
    g: Array,
    slots: list[Array],
    delta: Array,
    work: Array,
    rate: Array,
    keep: Array,
    take: Array,
    momentum: Array,
    epsilon: Array,
) -> None:
    squares, moments = slots
    np.multiply(g, g, work)
    _blend(squares, keep, work, take, work)
    np.add(squares, epsilon, work)
    _add_to_moments(g, moments, delta, work, rate, momentum)


def _centered_rmsprop(
    g: Array,
    slots: list[Array],
    delta: Array,
    work: Array,
    rate: Array,
    keep: Array,
    take: Array,
    momentum: Array,
    epsilon: Array,
) -> None:
    squares, moments, means = slots
    np.multiply(g, g, work)
    _blend(squares, keep, work, take, work)
    _blend(means, keep, g, take, work)
    np.multiply(means, means, work)
    np.subtract(squares, work, work)
    # Rounding can make the variance of a gradient that hardly changes negative.
    np.maximum(work, np.zeros((), work.dtype), out=work)
    np.add(work, epsilon, work)
    _add_to_moments(g, moments, delta, work, rate, momentum)


def _add_to_moments(g: Array, moments: Array, delta: Array, square: Array, rate: Array, momentum: Array) -> None:
    """moments = momentum * moments + rate * g / sqrt(square), and delta the same."""
    np.sqrt(square, square)
    np.divide(g, square, delta)
    np.multiply(delta, rate, delta)
    np.multiply(moments, momentum, moments)
    np.add(moments, delta, delta)
    np.copyto(moments, delta)


class _Workspace(NamedTuple):
    """The memory that the update of a slot group needs besides its own, kept from step to step."""

    numbers: Array  # the step's, [count]
    scalars: list[Array]  # each of them, as a view of rank 0
    delta: Array
    work: Array
    parts: list[Array]  # each variable's part of `delta`, as a view of the variable's shape


@lru_cache(maxsize=64)
def _workspace(thread: int, dtype: str, count: int, shapes: tuple[tuple[int, ...], ...]) -> _Workspace:
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)]).tolist()
    numbers = np.empty(count, dtype)
    scalars = [numbers[i, ...] for i in range(count)]
    if len(shapes) == 1 and ends[-1] > BLOCK:
        return _Workspace(numbers, scalars, np.empty(BLOCK, dtype), np.empty(BLOCK, dtype), [])
    delta, work = np.empty(ends[-1], dtype), np.empty(ends[-1], dtype)
    parts = [delta[a:b].reshape(shape) for (a, b), shape in zip(pairwise(ends), shapes, strict=True)]
    return _Workspace(numbers, scalars, delta, work, parts)


def fused(rule: Rule) -> Callable[..., None]:
    """The update kernel of a rule: `inputs` are the gradients, one for each target, and the step's numbers; `state` are
    the flat slots, each of all targets side by side."""

    def update(targets: list[Array], inputs: list[Array], state: list[Array]) -> None:
        gradients, numbers = inputs[:-1], inputs[-1]
        shapes = tuple([target.shape for target in targets])
        space = _workspace(get_ident(), numbers.dtype.char, numbers.size, shapes)
        space.numbers[...] = numbers
        if not space.parts:
            _update_in_blocks(rule, targets[0].reshape(-1), gradients[0].reshape(-1), state, space)
            return
        # Joining bytes costs a quarter of np.concatenate.
        gradient = np.frombuffer(b"".join(gradients), numbers.dtype)  # pyright: ignore[reportArgumentType]
        rule(gradient, state, space.delta, space.work, *space.scalars)
        for target, part in zip(targets, space.parts):
            np.subtract(target, part, target)

    return update


def _update_in_blocks(rule: Rule, target: Array, gradient: Array, state: list[Array], space: _Workspace) -> None:
    for start in range(0, target.size, BLOCK):
        block = slice(start, start + BLOCK)
        values = target[block]
        delta, work = space.delta[: values.size], space.work[: values.size]
        rule(gradient[block], [slot[block] for slot in state], delta, work, *space.scalars)
        np.subtract(values, delta, values)


def _accumulate_gradients(targets: list[Array], inputs: list[Array], state: list[Array]) -> None:
    *gradients, weight = inputs
    for total, gradient in zip(state, gradients, strict=True):
        np.add(total, gradient if weight == 1 else gradient * weight.astype(gradient.dtype), total)


def _clear(targets: list[Array], inputs: list[Array], state: list[Array]) -> None:
    for values in state:
        values.fill(0)


def _moving_average(targets: list[Array], inputs: list[Array], state: list[Array]) -> None:
    *values, take = inputs
    for average, value in zip(state, values, strict=True):
        change = value - average
        np.add(average, change * take.astype(change.dtype), average)


KERNELS: dict[str, Any] = {}  # optimizers only write

UPDATES: dict[str, Any] = {
    "ApplyGradientDescent": fused(_gradient_descent),
    "ApplyMomentum": fused(_momentum),
    "ApplyNesterovMomentum": fused(_nesterov),
    "ApplyAdagrad": fused(_adagrad),
    "ApplyAdadelta": fused(_adadelta),
    "ApplyAdam": fused(_adam),
    "ApplyAdaMax": fused(_adamax),
    "ApplyRMSProp": fused(_rmsprop),
    "ApplyCenteredRMSProp": fused(_centered_rmsprop),
    "AccumulateGradients": _accumulate_gradients,
    "Clear": _clear,
    "MovingAverage": _moving_average,
}

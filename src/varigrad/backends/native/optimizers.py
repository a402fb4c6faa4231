"""Lowering of updates: each optimizer's rule once for each variable, written over its memory and that of its slots.

A rule sees views of the gradient, of the slots and of the step's numbers; it gives what is to be subtracted from the
variable and what the slots hold afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.operations import Join, Val, View, whole

__all__ = ["UPDATES", "Updated"]

Views: TypeAlias = Sequence[View]
# (builder, gradient, slots, numbers) -> (what is subtracted, slots)
Rule: TypeAlias = Callable[[Builder, View, Views, Views], tuple[View, Views]]


class Updated(NamedTuple):
    """What an update works on: the values of targets, inputs and state; `places` is the memory of targets and state."""

    targets: Views
    inputs: Views
    state: Views
    places: Views


# Gives the new values of targets and state; None where the kinds do not fit.
Update: TypeAlias = Callable[[Builder, Updated], list[View] | None]


def _blend(b: Builder, average: View, keep: View, value: View, take: View) -> View:
    """keep * average + take * value."""
    return b.map("Add", b.map("Multiply", average, keep), b.map("Multiply", value, take))


def _square(b: Builder, x: View) -> View:
    return b.map("Multiply", x, x)


def _root(b: Builder, x: View, epsilon: View) -> View:
    return b.map("Sqrt", b.map("Add", x, epsilon))


def _gradient_descent(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    return b.map("Multiply", g, numbers[0]), []


def _momentum(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    rate, momentum = numbers
    velocity = b.map("Add", b.map("Multiply", slots[0], momentum), g)
    return b.map("Multiply", velocity, rate), [velocity]


def _nesterov(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    rate, momentum = numbers
    velocity = b.map("Add", b.map("Multiply", slots[0], momentum), g)
    return b.map("Multiply", b.map("Add", b.map("Multiply", velocity, momentum), g), rate), [velocity]


def _adagrad(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    rate, epsilon = numbers
    total = b.map("Add", slots[0], _square(b, g))
    return b.map("Multiply", b.map("RealDiv", g, _root(b, total, epsilon)), rate), [total]


def _adadelta(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    rate, keep, take, epsilon = numbers
    gradients, updates = slots
    delta = b.map("RealDiv", _root(b, updates, epsilon), _root(b, gradients, epsilon))
    delta = b.map("Multiply", delta, g)
    gradients = _blend(b, gradients, keep, _square(b, g), take)
    updates = _blend(b, updates, keep, _square(b, delta), take)
    return b.map("Multiply", delta, rate), [gradients, updates]


def _adam(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    rate, keep1, take1, keep2, take2, epsilon = numbers
    first = _blend(b, slots[0], keep1, g, take1)
    second = _blend(b, slots[1], keep2, _square(b, g), take2)
    delta = b.map("RealDiv", first, b.map("Add", b.map("Sqrt", second), epsilon))
    return b.map("Multiply", delta, rate), [first, second]


def _adamax(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    rate, keep1, take1, keep2, epsilon = numbers
    first = _blend(b, slots[0], keep1, g, take1)
    largest = b.map("Maximum", b.map("Multiply", slots[1], keep2), b.map("Abs", g))
    delta = b.map("RealDiv", first, b.map("Add", largest, epsilon))
    return b.map("Multiply", delta, rate), [first, largest]


def _moments(b: Builder, g: View, moments: View, square: View, numbers: Views) -> View:
    """momentum * moments + rate * g / sqrt(square)."""
    rate, _, _, momentum, _ = numbers
    delta = b.map("Multiply", b.map("RealDiv", g, b.map("Sqrt", square)), rate)
    return b.map("Add", b.map("Multiply", moments, momentum), delta)


def _rmsprop(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    _, keep, take, _, epsilon = numbers
    squares = _blend(b, slots[0], keep, _square(b, g), take)
    moments = _moments(b, g, slots[1], b.map("Add", squares, epsilon), numbers)
    return moments, [squares, moments]


def _centered_rmsprop(b: Builder, g: View, slots: Views, numbers: Views) -> tuple[View, Views]:
    _, keep, take, _, epsilon = numbers
    squares = _blend(b, slots[0], keep, _square(b, g), take)
    means = _blend(b, slots[2], keep, g, take)
    # Rounding can make the variance of a gradient that hardly changes negative.
    variance = b.map("Maximum", b.map("Sub", squares, _square(b, means)), 0.0)
    moments = _moments(b, g, slots[1], b.map("Add", variance, epsilon), numbers)
    return moments, [squares, moments, means]


def _optimizer(rule: Rule) -> Update:
    def update(b: Builder, x: Updated) -> list[View] | None:
        *gradients, numbers = x.inputs
        kind = numbers.kind
        if not kind.is_float or any(v.kind is not kind for v in (*x.targets, *x.inputs, *x.state)):
            return None
        known = [b.reshape(numbers.part((j,), (1,)), ()) for j in range(numbers.shape[0])]
        count = len(x.targets)
        after: list[View] = []
        parts: list[list[Val]] = [[] for _ in x.state]
        start = 0
        for target, gradient, place in zip(x.targets, gradients, x.places):
            flat = (target.size,)
            slots = [slot.part((start,), flat) for slot in x.state]
            delta, slots_after = rule(b, b.reshape(gradient, flat), slots, known)
            new = b.map("Sub", b.reshape(target, flat), delta, into=_flat(place))
            after.append(_whole_of(b, place, [new.val]))
            for part, memory, value in zip(parts, x.places[count:], slots_after, strict=True):
                part.append(b.copy(value, into=memory.part((start,), flat)).val)
            start += target.size
        return after + [_whole_of(b, place, part) for place, part in zip(x.places[count:], parts, strict=True)]

    return update


def _flat(place: View) -> View:
    return View(place.val, (place.size,), (1,))


def _whole_of(b: Builder, place: View, parts: Sequence[Val]) -> View:
    """What memory holds once its parts are written."""
    output = Val(place.shape, place.kind, home=place)
    b.add(Join(parts, output))
    return whole(output)


def _accumulate_gradients(b: Builder, x: Updated) -> list[View] | None:
    *gradients, weight = x.inputs
    return _added(b, x, [b.map("Multiply", g, b.cast(weight, g.kind)) for g in gradients])


def _moving_average(b: Builder, x: Updated) -> list[View] | None:
    *values, take = x.inputs
    if any(value.kind is not average.kind for value, average in zip(values, x.state, strict=True)):
        return None
    changes = [b.map("Sub", value, average) for value, average in zip(values, x.state, strict=True)]
    return _added(b, x, [b.map("Multiply", change, b.cast(take, change.kind)) for change in changes])


def _added(b: Builder, x: Updated, changes: Views) -> list[View] | None:
    """The state with something added to each."""
    if x.targets or any(old.kind is not change.kind for old, change in zip(x.state, changes, strict=True)):
        return None
    after: list[View] = []
    for old, change, place in zip(x.state, changes, x.places):
        flat = (old.size,)
        new = b.map("Add", b.reshape(old, flat), b.reshape(change, flat), into=_flat(place))
        after.append(_whole_of(b, place, [new.val]))
    return after


def _clear(b: Builder, x: Updated) -> list[View] | None:
    if x.targets:
        return None
    cleared = [b.full((place.size,), 0, place.kind, into=_flat(place)) for place in x.places]
    return [_whole_of(b, place, [zeros.val]) for place, zeros in zip(x.places, cleared, strict=True)]


def _assign(b: Builder, x: Updated) -> list[View] | None:
    (value,), (place,) = x.inputs, x.places
    if value.kind is not place.kind:
        return None
    b.copy(b.reshape(value, (value.size,)), into=_flat(place))
    return []


UPDATES: dict[str, Update] = {
    "AccumulateGradients": _accumulate_gradients,
    "ApplyAdaMax": _optimizer(_adamax),
    "ApplyAdadelta": _optimizer(_adadelta),
    "ApplyAdagrad": _optimizer(_adagrad),
    "ApplyAdam": _optimizer(_adam),
    "ApplyCenteredRMSProp": _optimizer(_centered_rmsprop),
    "ApplyGradientDescent": _optimizer(_gradient_descent),
    "ApplyMomentum": _optimizer(_momentum),
    "ApplyNesterovMomentum": _optimizer(_nesterov),
    "ApplyRMSProp": _optimizer(_rmsprop),
    "Assign": _assign,
    "Clear": _clear,
    "MovingAverage": _moving_average,
}

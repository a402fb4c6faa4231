"""Lowering of updates: each optimizer's rule once for each variable, written over its memory and that of its slots.

A rule sees the gradient, the slots and the step's numbers; it gives what is to be subtracted from the variable and what
the slots hold afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.formulas import Formula, Term, formulas
from varigrad.backends.native.operations import Join, Shape, Val, View, whole

__all__ = ["UPDATES", "Updated"]

Views: TypeAlias = Sequence[View]
Terms: TypeAlias = Sequence[Term]
# (gradient, slots, numbers) -> (what is subtracted, slots)
Rule: TypeAlias = Callable[[Term, Terms, Terms], tuple[Term, Terms]]


class Updated(NamedTuple):
    """What an update works on: the values of targets, inputs and state; `places` is the memory of targets and state."""

    targets: Views
    inputs: Views
    state: Views
    places: Views


# Gives the new values of targets and state; None where the kinds do not fit.
Update: TypeAlias = Callable[[Builder, Updated], list[View] | None]


def _gradient_descent(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    return g * numbers[0], []


def _momentum(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, momentum = numbers
    velocity = slots[0] * momentum + g
    return velocity * rate, [velocity]


def _nesterov(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, momentum = numbers
    velocity = slots[0] * momentum + g
    return (velocity * momentum + g) * rate, [velocity]


def _adagrad(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, epsilon = numbers
    total = slots[0] + g * g
    return g / (total + epsilon).sqrt() * rate, [total]


def _adadelta(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, keep, take, epsilon = numbers
    gradients, updates = slots
    delta = (updates + epsilon).sqrt() / (gradients + epsilon).sqrt() * g
    return delta * rate, [gradients * keep + g * g * take, updates * keep + delta * delta * take]


def _adam(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, keep1, take1, keep2, take2, epsilon = numbers
    first = slots[0] * keep1 + g * take1
    second = slots[1] * keep2 + g * g * take2
    return first / (second.sqrt() + epsilon) * rate, [first, second]


def _adamax(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, keep1, take1, keep2, epsilon = numbers
    first = slots[0] * keep1 + g * take1
    largest = (slots[1] * keep2).at_least(abs(g))
    return first / (largest + epsilon) * rate, [first, largest]


def _rmsprop(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, keep, take, momentum, epsilon = numbers
    squares = slots[0] * keep + g * g * take
    moments = slots[1] * momentum + g / (squares + epsilon).sqrt() * rate
    return moments, [squares, moments]


def _centered_rmsprop(g: Term, slots: Terms, numbers: Terms) -> tuple[Term, Terms]:
    rate, keep, take, momentum, epsilon = numbers
    squares = slots[0] * keep + g * g * take
    means = slots[2] * keep + g * take
    # Rounding can make the variance of a gradient that hardly changes negative.
    variance = (squares - means * means).at_least(0.0)
    moments = slots[1] * momentum + g / (variance + epsilon).sqrt() * rate
    return moments, [squares, moments, means]


def _optimizer(kernel: str, rule: Rule, slots: int, numbers: int) -> Update:
    """The update by a rule: one map for the variable and one for each slot."""

    def results(given: Terms) -> list[Term]:
        variable, gradient, *rest = given
        delta, slots_after = rule(gradient, rest[:slots], rest[slots:])
        return [variable - delta, *slots_after]

    order = _without_overwriting(formulas(kernel, results, 2 + slots + numbers))

    def update(b: Builder, x: Updated) -> list[View] | None:
        *gradients, known = x.inputs
        kind = known.kind
        if not kind.is_float or any(v.kind is not kind for v in (*x.targets, *x.inputs, *x.state)):
            return None
        at_step = [b.reshape(known.part((j,), (1,)), ()) for j in range(numbers)]
        along: dict[Shape, list[View]] = {}  # the step's numbers as long as a variable: most are as long as others
        of_slots = x.places[len(x.targets) :]
        after: list[View] = []
        parts: list[list[Val]] = [[] for _ in x.state]
        start = 0
        for target, gradient, place in zip(x.targets, gradients, x.places):
            flat = (target.size,)
            given = [b.reshape(target, flat), b.reshape(gradient, flat)]
            if flat not in along:
                along[flat] = [number.broadcast(flat) for number in at_step]
            given += [*[slot.part((start,), flat) for slot in x.state], *along[flat]]
            for result, formula in order:
                memory = of_slots[result - 1].part((start,), flat) if result else _flat(place)
                views = [given[at] for at in formula.reads]
                made = b.map("Formula", *views, into=memory, formula=formula).val
                if result:
                    parts[result - 1].append(made)
                else:
                    after.append(_whole_of(b, place, [made]))
            start += target.size
        return after + [_whole_of(b, place, part) for place, part in zip(of_slots, parts, strict=True)]

    return update


def _without_overwriting(results: Sequence[Formula]) -> list[tuple[int, Formula]]:
    """The variable's formula, 0, and those of the slots, each before what it reads is written to."""
    left = dict(enumerate(results))
    order: list[tuple[int, Formula]] = []
    while left:
        # A slot's number among the results is one less than among what formulas read, behind the gradient.
        read_by_others = {at: {n for n, f in left.items() if n != at and at + bool(at) in f.reads} for at in left}
        at = next(at for at in left if not read_by_others[at])
        order.append((at, left.pop(at)))
    return order


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


# Of each optimizer: its rule, and how many slots and numbers of the step it has.
_RULES: dict[str, tuple[Rule, int, int]] = {
    "ApplyAdaMax": (_adamax, 2, 5),
    "ApplyAdadelta": (_adadelta, 2, 4),
    "ApplyAdagrad": (_adagrad, 1, 2),
    "ApplyAdam": (_adam, 2, 6),
    "ApplyCenteredRMSProp": (_centered_rmsprop, 3, 5),
    "ApplyGradientDescent": (_gradient_descent, 0, 1),
    "ApplyMomentum": (_momentum, 1, 2),
    "ApplyNesterovMomentum": (_nesterov, 1, 2),
    "ApplyRMSProp": (_rmsprop, 2, 5),
}

UPDATES: dict[str, Update] = {
    "AccumulateGradients": _accumulate_gradients,
    "Assign": _assign,
    "Clear": _clear,
    "MovingAverage": _moving_average,
    **{kernel: _optimizer(kernel, *row) for kernel, row in _RULES.items()},
}

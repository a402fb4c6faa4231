"""Whether what a function was compiled for still holds."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from varigrad.changes import COUNT
from varigrad.jit.contents import contents_of
from varigrad.jit.paths import Path
from varigrad.jit.signature import PLAIN
from varigrad.jit.surroundings import Place, Surroundings, cell_contents
from varigrad.tensor import Tensor

__all__ = ["GONE", "Guards", "changes"]

_MISSING = object()
GONE = (AttributeError, KeyError, IndexError, ValueError, TypeError)


class Guards:
    """The places that a compiled function looked at, and what stood in them.

    `hold` runs before each call. So it is written as one expression that compares identities; only where one differs,
    `failure` compares values. Places whose changes are counted are looked at only when the count has moved.
    """

    def __init__(self, surroundings: Surroundings, more: Iterable[Place] = ()) -> None:
        self.places = [*surroundings.places, *more]
        self._surroundings = surroundings
        self._contents = surroundings.contents
        self._names: dict[str, Any] = {"COUNT": COUNT, "count": COUNT.all}  # what the expression refers to
        terms = ["COUNT.all == count"]
        inside: dict[int, list[int]] = {}  # the places of each container, by its identity
        for number, place in enumerate(self.places):
            if not place.counted:
                inside.setdefault(id(place.container), []).append(number)
        for numbers in inside.values():
            container = f"c{numbers[0]}"
            self._names[container] = self.places[numbers[0]].container
            if len(numbers) > 1:
                container = f"(c := {container})"
            for number in numbers:
                terms.append(f"{_looked_up(container, number, self.places[number], self._names)} is v{number}")
                self._names[f"v{number}"] = self.places[number].value
                container = "c"
        for number, (container, length, _, counted) in enumerate(surroundings.containers):
            if not counted:
                self._names[f"l{number}"] = container
                terms.append(f"len(l{number}) == {length}")
        if self._contents:
            self._names["contents_hold"] = partial(_hold, self._contents)
            terms.append("contents_hold()")
        # Whether nothing has changed, not even the identity of a number. May raise what looking things up may.
        self.same: Callable[[], bool] = eval(f"lambda: {' and '.join(terms)}", self._names)

    def hold(self) -> bool:
        """Whether all is as it was."""
        try:
            return self.same() or self.failure() is None
        except GONE:
            return False

    def failure(self) -> str | None:
        """What has changed, in words; None if nothing has but the identity of equal numbers."""
        for position, place in enumerate(self.places):
            now = _look(place)
            if now is place.value:
                continue
            if not _equal(now, place.value):
                path, was, this = str(place.path) or "something", _short(place.value), _short(now)
                return f"{path} was {was} and is {this if this != was else f'another {type(now).__name__}'}"
            self.places[position] = place._replace(value=now)
            if not place.counted:
                self._names[f"v{position}"] = now
        for container, length, path, _ in self._surroundings.containers:
            if len(container) != length:
                return f"{path} had {length} items and has {len(container)}"
        for value, contents, path in self._contents:
            if contents_of(value) != contents:
                return f"{path} holds other values"
        self._names["count"] = COUNT.all
        return None

    def differences(self) -> tuple[Any, ...]:
        """What has changed and what is there now; equal whenever the same stands in the same places again."""
        looked_at = ((number, place.value, _look(place)) for number, place in enumerate(self.places))
        found: list[Any] = [
            (number, _told_apart(now))
            for number, value, now in looked_at
            if now is not value and not _equal(now, value)
        ]
        lengths = [(len(container), length, path) for container, length, path, _ in self._surroundings.containers]
        found += [(id(path), now) for now, length, path in lengths if now != length]
        contents = [(contents_of(value), held, path) for value, held, path in self._contents]
        found += [(id(path), hash(repr(now))) for now, held, path in contents if now != held]
        return tuple(found)


def _hold(contents: Iterable[tuple[Any, Any, Path]]) -> bool:
    return all(contents_of(value) == held for value, held, _ in contents)


def _looked_up(container: str, number: int, place: Place, names: dict[str, Any]) -> str:
    """How a place of a container is looked up; a key that cannot be written down gets a name by its number."""
    if place.get is cell_contents:
        return f"{container}.cell_contents"
    if place.get not in (getattr, operator.getitem):
        names[f"g{number}"] = place.get
        return f"g{number}({container}, None)"
    if place.get is not operator.getitem and str(place.key).isidentifier():
        return f"{container}.{place.key}"
    key = repr(place.key)
    if type(place.key) not in (str, int):
        key = f"k{number}"
        names[key] = place.key
    return f"{container}[{key}]" if place.get is operator.getitem else f"getattr({container}, {key})"


def changes(before: Surroundings, after: Surroundings) -> list[str]:
    """Which places hold something else after a call than before it, or came or went: what the function changed."""
    known = {place.identity for place in before.places}
    found = [
        f"{place.path} from {_short(place.value)} to {_short(now)}"
        for place in before.places
        if not place.vouched and (now := _look(place)) is not place.value and not _equal(now, place.value)
    ]
    found += [
        f"{place.path} from nothing to {_short(place.value)}"
        for place in after.places
        if place.identity not in known and id(place.container) in before.seen and not place.vouched
    ]
    found += [f"the length of {path}" for container, length, path, _ in before.containers if len(container) != length]
    found += [str(path) for path, read, state in before.streams if read() != state]
    found += [f"the values in {path}" for value, contents, path in before.contents if contents_of(value) != contents]
    return found


def _look(place: Place) -> Any:
    try:
        return place.get(place.container, place.key)
    except GONE:
        return _MISSING


def _equal(a: Any, b: Any) -> bool:
    """Whether plain values are the same in every respect: 1 is not 1.0, and 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    return isinstance(a, PLAIN) and a == b


def _told_apart(value: Any) -> Any:
    """What tells a value from others: numbers and texts by what they are, tensors by number, objects by identity."""
    if isinstance(value, (*PLAIN, float)):
        return type(value), repr(value)
    return (Tensor, value.id) if isinstance(value, Tensor) else (type(value), id(value))


def _short(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    if isinstance(value, (*PLAIN, float)):
        return repr(value)[:60]
    return f"a {type(value).__name__}"

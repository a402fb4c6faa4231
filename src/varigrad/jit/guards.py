"""Whether what a function was compiled for still holds."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from varigrad.changes import COUNT
from varigrad.jit.signature import PLAIN
from varigrad.jit.surroundings import Place, Surroundings, cell_contents, contents_of

__all__ = ["Guards", "changes"]

_MISSING = object()
_GONE = (AttributeError, KeyError, IndexError, ValueError, TypeError)


class Guards:
    """The places that a compiled function looked at, and what stood in them.

    `hold` runs before each call, so it compares identities, in C; only where one differs, `failure` compares values.
    Places whose changes are counted are looked at only when the count has moved.
    """

    def __init__(self, surroundings: Surroundings, more: Iterable[Place] = ()) -> None:
        self.places = [*surroundings.places, *more]
        self._surroundings = surroundings
        uncounted = [item for item in surroundings.containers if not item[-1]]
        self._containers = [container for container, _, _, _ in uncounted]
        self._lengths = [length for _, length, _, _ in uncounted]
        self._contents = surroundings.contents
        self._sort()

    def _sort(self) -> None:
        self._count = COUNT.all
        places = [place for place in self.places if not place.counted]
        items, attributes, cells = (
            [place for place in places if place.get is kind] for kind in (operator.getitem, getattr, cell_contents)
        )
        self._item_containers = [p.container for p in items]
        self._item_keys = [p.key for p in items]
        self._item_values = [p.value for p in items]
        self._owners = [p.container for p in attributes]
        self._names = [p.key for p in attributes]
        self._attribute_values = [p.value for p in attributes]
        self._cell_containers = [p.container for p in cells]
        self._cell_values = [p.value for p in cells]

    def hold(self) -> bool:
        """Whether all is as it was."""
        same = operator.is_
        try:
            return (
                self._count == COUNT.all
                and all(map(same, map(operator.getitem, self._item_containers, self._item_keys), self._item_values))
                and all(map(same, map(getattr, self._owners, self._names), self._attribute_values))
                and all(map(same, map(_contents_of_cell, self._cell_containers), self._cell_values))
                and list(map(len, self._containers)) == self._lengths
                and (not self._contents or self._contents_hold())
            ) or self.failure() is None
        except _GONE:
            return False

    def _contents_hold(self) -> bool:
        return all(contents_of(value) == contents for value, contents, _ in self._contents)

    def failure(self) -> str | None:
        """What has changed, in words; None if nothing has but the identity of equal numbers."""
        for position, place in enumerate(self.places):
            now = _look(place)
            if now is place.value:
                continue
            if not _equal(now, place.value):
                return f"{place.path or 'something'} was {_short(place.value)} and is {_short(now)}"
            self.places[position] = place._replace(value=now)
        for container, length, path, _ in self._surroundings.containers:
            if len(container) != length:
                return f"{path} had {length} items and has {len(container)}"
        for value, contents, path in self._contents:
            if contents_of(value) != contents:
                return f"{path} holds other values"
        self._sort()
        return None


_contents_of_cell = operator.attrgetter("cell_contents")


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
    found += [path for path, read, state in before.streams if read() != state]
    found += [f"the values in {path}" for value, contents, path in before.contents if contents_of(value) != contents]
    return found


def _look(place: Place) -> Any:
    try:
        return place.get(place.container, place.key)
    except _GONE:
        return _MISSING


def _equal(a: Any, b: Any) -> bool:
    """Whether plain values are the same in every respect: 1 is not 1.0, and 0.0 is not -0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    return isinstance(a, PLAIN) and a == b


def _short(value: Any) -> str:
    if value is _MISSING:
        return "missing"
    if isinstance(value, (*PLAIN, float)):
        return repr(value)[:60]
    return f"a {type(value).__name__}"

"""Calls that come again: of a function that meets ever new ones, only these are worth compiling."""

from __future__ import annotations

from collections.abc import Hashable

__all__ = ["Repeats"]

_REMEMBERED = 1024


class Repeats:
    """The kinds of calls that have come once, as far as they were asked about; the oldest are forgotten.

    >>> repeats = Repeats()
    >>> [repeats.has_come(kind) for kind in ("a", "b", "a", "c")]
    [False, False, True, False]
    >>> repeats.new
    3
    """

    def __init__(self) -> None:
        self.new = 0  # calls that were the first of their kind
        self._once: dict[Hashable, None] = {}

    def has_come(self, kind: Hashable) -> bool:
        """Whether a call of this kind has come before; the next one is the first again then."""
        if kind in self._once:
            del self._once[kind]
            return True
        self.new += 1
        self._once[kind] = None
        if len(self._once) > _REMEMBERED:
            del self._once[next(iter(self._once))]
        return False

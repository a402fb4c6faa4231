"""The memory plan: where in one arena each intermediate value lies, so that those never alive together share it."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

__all__ = ["ALIGNMENT", "Interval", "Plan", "plan"]

ALIGNMENT = 64  # bytes: a cache line, and the widest vector


class Interval(NamedTuple):
    """A value's life: from the node that makes it to the last that reads it, both included."""

    start: int
    end: int
    size: int


class Plan(NamedTuple):
    """Where each value begins in the arena, and the arena's size, in bytes."""

    offsets: list[int]
    size: int


def plan(intervals: Sequence[Interval]) -> Plan:
    """Places values in the order in which they are made, each in the smallest gap that fits.

    >>> plan([Interval(0, 1, 64), Interval(1, 2, 64), Interval(2, 3, 64)])
    Plan(offsets=[0, 64, 0], size=128)
    """
    offsets = [0] * len(intervals)
    gaps = _Gaps()
    size = 0
    alive: list[tuple[int, int, int]] = []  # (end, offset, size), a heap
    for index in sorted(range(len(intervals)), key=lambda i: intervals[i].start):
        interval = intervals[index]
        while alive and alive[0][0] < interval.start:
            _, offset, length = heappop(alive)
            gaps.add(offset, length)
        needed = -(-interval.size // ALIGNMENT) * ALIGNMENT
        offset = gaps.take(needed)
        if offset is None:
            offset = gaps.take_at_end(size)  # a gap at the arena's end grows
            size = offset + needed
        offsets[index] = offset
        heappush(alive, (interval.end, offset, needed))
    return Plan(offsets, size)


class _Gaps:
    """Gaps that do not touch, found by their size, their beginning and their end."""

    def __init__(self) -> None:
        self._by_size: list[tuple[int, int]] = []  # (size, offset), in order
        self._sizes: dict[int, int] = {}  # by offset
        self._starts: dict[int, int] = {}  # the offset of the gap that ends at a place

    def add(self, offset: int, size: int) -> None:
        """Adds a gap, as one with those that it touches."""
        if not size:
            return
        if offset + size in self._sizes:
            size += self._remove(offset + size)
        if offset in self._starts:
            offset = self._starts[offset]
            size += self._remove(offset)
        self._insert(offset, size)

    def take(self, size: int) -> int | None:
        """The offset of a part of the smallest gap that fits, the first of several; None if none does."""
        at = bisect_left(self._by_size, (size, 0))
        if at == len(self._by_size):
            return None
        length, offset = self._by_size[at]
        self._remove(offset)
        if length > size:
            self._insert(offset + size, length - size)
        return offset

    def take_at_end(self, end: int) -> int:
        """The offset of the gap that ends at a place, which is one no longer; the place itself if there is none."""
        offset = self._starts.get(end, end)
        if offset != end:
            self._remove(offset)
        return offset

    def _insert(self, offset: int, size: int) -> None:
        insort(self._by_size, (size, offset))
        self._sizes[offset] = size
        self._starts[offset + size] = offset

    def _remove(self, offset: int) -> int:
        size = self._sizes.pop(offset)
        del self._starts[offset + size]
        del self._by_size[bisect_left(self._by_size, (size, offset))]
        return size

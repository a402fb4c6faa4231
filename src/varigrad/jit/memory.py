"""The memory plan: where in one arena each intermediate value lies, so that those never alive together share it."""

from __future__ import annotations

from bisect import bisect_left
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
    free: list[tuple[int, int]] = []  # (offset, size) of gaps that do not touch, in order
    size = 0
    alive: list[tuple[int, int, int]] = []  # (end, offset, size), a heap
    for index in sorted(range(len(intervals)), key=lambda i: intervals[i].start):
        interval = intervals[index]
        while alive and alive[0][0] < interval.start:
            _, offset, length = heappop(alive)
            _give_back(free, offset, length)
        needed = -(-interval.size // ALIGNMENT) * ALIGNMENT
        at = min((at for at, gap in enumerate(free) if gap[1] >= needed), key=lambda at: free[at][1], default=None)
        if at is not None:
            offset, length = free.pop(at)
            if length > needed:
                free.insert(at, (offset + needed, length - needed))
        else:
            # A gap at the arena's end grows.
            offset = free.pop()[0] if free and sum(free[-1]) == size else size
            size = offset + needed
        offsets[index] = offset
        heappush(alive, (interval.end, offset, needed))
    return Plan(offsets, size)


def _give_back(free: list[tuple[int, int]], offset: int, size: int) -> None:
    """Adds a gap, as one with those that it touches."""
    at = bisect_left(free, (offset, 0))
    if at < len(free) and offset + size == free[at][0]:
        size += free.pop(at)[1]
    if at and sum(free[at - 1]) == offset:
        at -= 1
        before, length = free.pop(at)
        offset, size = before, length + size
    free.insert(at, (offset, size))

"""The memory plan: where in one arena each intermediate value lies, so that those never alive together share it."""

from __future__ import annotations

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
    free: list[tuple[int, int]] = []  # (offset, size) of gaps, in order
    size = 0
    alive: list[tuple[int, int, int]] = []  # (end, offset, size), a heap
    for index in sorted(range(len(intervals)), key=lambda i: intervals[i].start):
        interval = intervals[index]
        ended: list[tuple[int, int]] = []
        while alive and alive[0][0] < interval.start:
            ended.append(heappop(alive)[1:])
        if ended:
            free = _merged([*free, *ended])
        needed = -(-interval.size // ALIGNMENT) * ALIGNMENT
        fitting = [gap for gap in free if gap[1] >= needed]
        if fitting:
            offset, length = min(fitting, key=lambda gap: gap[1])
            free.remove((offset, length))
            if length > needed:
                free.append((offset + needed, length - needed))
        else:
            # A gap at the arena's end grows.
            last = next(((o, n) for o, n in free if o + n == size), None)
            offset = size if last is None else last[0]
            if last is not None:
                free.remove(last)
            size = offset + needed
        offsets[index] = offset
        heappush(alive, (interval.end, offset, needed))
    return Plan(offsets, size)


def _merged(gaps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Gaps that touch, as one."""
    merged: list[tuple[int, int]] = []
    for offset, size in sorted(gaps):
        if merged and merged[-1][0] + merged[-1][1] == offset:
            merged[-1] = merged[-1][0], merged[-1][1] + size
        else:
            merged.append((offset, size))
    return merged

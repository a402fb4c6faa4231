"""The memory that one call at a time works in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from varigrad.backends.native.kernels import Segment
from varigrad.backends.native.operations import View
from varigrad.backends.native.places import Places
from varigrad.backends.native.runtime import STATE_SIZE, STEP_SIZE
from varigrad.dtypes import Array

__all__ = ["DTYPES", "State"]

DTYPES = {"f": np.dtype(np.float32), "d": np.dtype(np.float64), "i": np.dtype(np.int32), "?": np.dtype(np.bool_)}


class State:
    """The memory of one call at a time: the arena and the table of addresses."""

    def __init__(self, places: Places, segments: Sequence[Segment], pool: int) -> None:
        """`pool` is the pool of threads for what is worth sharing, or 0."""
        self._places = places
        raw = np.empty(places.arena.size + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.arena = raw[start : start + places.arena.size]
        numbers = np.zeros(1 + places.count, np.int64)
        self.failed, self.table = numbers[:1], numbers[1:]  # the number of the check that failed, if one did
        self.table[0] = raw.ctypes.data + start
        self._memory: list[Array] = []
        self.alone: list[int] = []  # how each segment is entered by one thread
        self.shared: list[int] = []  # and by several
        for number, segment in enumerate(segments):
            written = places.first_written if number == 0 else segment.last
            ways = (self.alone, segment.steps, 0), (self.shared, segment.jobs, pool if segment.is_large else 0)
            for entries, rows, threads in ways:
                steps = np.array(rows, np.int64)
                self._memory.append(steps)
                head = [self.table.ctypes.data, segment.first, segment.last, steps.ctypes.data, len(steps) // STEP_SIZE]
                entry = np.array([*head, threads, written], np.int64)
                assert len(entry) == STATE_SIZE
                self._memory.append(entry)
                entries.append(entry.ctypes.data)

    def single_steps(self, segment: Segment) -> Iterator[int]:
        """How each step of a segment is entered by itself, once the table is filled."""
        steps = np.array(segment.steps, np.int64)
        for at in range(0, len(steps), STEP_SIZE):
            entry = np.array([self.table.ctypes.data, 0, 0, steps[at:].ctypes.data, 1, 0, 0], np.int64)
            yield entry.ctypes.data

    def array(self, view: View, arrays: Sequence[Any]) -> Array:
        """A value that is whole, as NumPy sees it."""
        val = view.val
        slot = self._places.slot.get(val.root)
        if slot is not None:
            return arrays[slot].reshape(view.shape)
        _, offset = self._places.of(val.root, val.start)
        return np.ndarray(view.shape, DTYPES[val.kind.char], self.arena, offset)

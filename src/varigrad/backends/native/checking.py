"""Checks of indices: native code stops where eager mode would raise an error, and Python raises that very error.

A check leaves 0, which whoever reads the indices takes in as well, so that it runs first; or it writes its number
before the first entry of the table of addresses, and the program stops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import BOOL, I32, Code, Kind, Operand
from varigrad.backends.native.machine import lanes_of
from varigrad.backends.native.operations import View

__all__ = ["IndexCheck", "checked"]


def checked(b: Builder, indices: View, at: int, limits: Sequence[int], lowest: int = 0) -> View:
    """0, once indices have been found to be whole numbers from `lowest` up to below a limit.

    `at` is the place of the indices among the inputs of the kernel that is being lowered. There is one limit for all,
    or one for each place along their last axis.
    """
    found = b.found_within(indices, lowest, limits)
    if found is None:
        whole = b.whole(indices)
        lanes, number = lanes_of(whole.kind.size), b.new_check(whole, at)
        code = IndexCheck(whole.size, tuple(limits), lowest, whole.kind, lanes, number)
        found = b.routine(code, [whole], (), I32, first=whole.val.source is not None)
        b.note_bounds(indices, lowest, limits, found)
    return found


class IndexCheck(NamedTuple):
    """Whether numbers, side by side, are whole and from `lowest` up to below limits, which they take by turns."""

    size: int
    limits: tuple[int, ...]
    lowest: int
    kind: Kind
    lanes: int
    check: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("check", *self[:-1])

    @property
    def numbers(self) -> Sequence[int]:
        """The number of the check."""
        return (self.check,)

    @property
    def work(self) -> int:
        """Not shared: one thread calls the whole program off."""
        return 0

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the search, vector by vector where there is one limit."""
        indices, result = pointers
        lanes = self.lanes if len(self.limits) == 1 else 1
        found = code.allocate(BOOL, 1, lanes)
        code.store(code.constant(0, BOOL, lanes), found, 0)
        rest = self.size % lanes

        def look(place: str | int, limit: int, active: int | None = None) -> None:
            wrong = self._wrong(code, code.load(indices, place, self.kind, lanes, active), limit)
            if active is not None:
                wrong = code.bits("and", wrong, _first_lanes(lanes, active))
            code.store(code.bits("or", code.load(found, 0, BOOL, lanes), wrong), found, 0)

        if lanes > 1:
            with code.loop(0, self.size - rest, lanes) as place:
                look(place, self.limits[0])
            if rest:
                look(self.size - rest, self.limits[0], rest)
        else:
            with code.loop(0, self.size, len(self.limits)) as place:
                for at, limit in enumerate(self.limits):
                    look(code.plus(place, at), limit)
        code.store(code.constant(0, I32), result, 0)
        with code.when(code.any(code.load(found, 0, BOOL, lanes))):
            status = code.pure("getelementptr i64, ptr %table, i64 -1")
            code.run(f"store i64 {code.argument(2 * len(pointers))}, ptr {status}")

    def _wrong(self, code: Code, x: Operand, limit: int) -> Operand:
        below, above, is_float = code.like(x, self.lowest), code.like(x, limit), self.kind.is_float
        wrong = code.bits(
            "or",
            code.compare("ult" if is_float else "slt", x, below),
            code.compare("uge" if is_float else "sge", x, above),
        )
        return code.bits("or", wrong, code.compare("une", x, code.intrinsic("trunc", x))) if is_float else wrong


def _first_lanes(lanes: int, active: int) -> Operand:
    return Operand(f"<{', '.join([f'i1 {int(lane < active)}' for lane in range(lanes)])}>", BOOL, lanes)

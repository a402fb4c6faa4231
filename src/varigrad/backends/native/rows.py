"""Rows taken by index, and rows put or added where indices say: the machine code of gathering and scattering.

Arrays are [batch, between, length, width]: `between` are axes in front of the indexed one that the indices know nothing
of. The indices are int32 [batch, taken].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import I32, Code, Index, Kind, Operand
from varigrad.backends.native.machine import lanes_of
from varigrad.backends.native.operations import View

__all__ = ["Layout", "put_rows", "take_rows"]

_PARTS = 16  # that the targets of one scatter are divided into, at most: each part reads all indices
_SMALLEST_PART = 1 << 12  # elements


class Layout(NamedTuple):
    """How many of each there are: arrays [batch, between, length, width] and indices [batch, taken]."""

    batch: int
    between: int
    length: int
    taken: int
    width: int


def take_rows(b: Builder, x: View, indices: View, layout: Layout, found: View, fills: bool = False) -> View:
    """[batch, between, taken, width]: rows of x. Where an index may be outside, as `fills` says, there are zeros."""
    code = Taking(layout, x.kind, lanes_of(x.kind.size), fills)
    shape = (layout.batch, layout.between, layout.taken, layout.width)
    return b.routine(code, [b.whole(x), b.whole(indices), *_after(found)], shape, x.kind, code.parts)


def put_rows(b: Builder, rows: View, indices: View, layout: Layout, found: View, onto: View | None = None) -> View:
    """[batch, between, length, width]: zeros with rows added to those that indices name, in their order; or what they
    are put `onto`, with those replaced. An index outside names none."""
    lanes = lanes_of(rows.kind.size)
    parts = layout.batch * layout.between
    if parts == 1:
        parts = max(1, min(_PARTS, layout.length, layout.length * layout.width // _SMALLEST_PART))
    code = Putting(layout, rows.kind, lanes, parts, onto is not None)
    inputs = [b.whole(rows), b.whole(indices), *([] if onto is None else [b.whole(onto)]), *_after(found)]
    return b.routine(code, inputs, (layout.batch, layout.between, layout.length, layout.width), rows.kind, parts)


def _after(found: View) -> list[View]:
    """What must be there first, if anything."""
    return [found] if found.val.literal is None else []


class Taking(NamedTuple):
    """Copies the rows that indices name."""

    layout: Layout
    kind: Kind
    lanes: int
    fills: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("taking", *self)

    @property
    def numbers(self) -> Sequence[int]:
        """None."""
        return ()

    @property
    def parts(self) -> int:
        """Into how many parts the work may be divided: arrays, or the rows of the only one."""
        arrays = self.layout.batch * self.layout.between
        return arrays if arrays > 1 else self.layout.taken

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        return self.layout.batch * self.layout.between * self.layout.taken * self.layout.width

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the loops, for the part of the work from `begin` to `end`."""
        if self.layout.batch * self.layout.between == 1:
            self._array(code, pointers, 0, begin, end)
        else:
            with code.loop(begin, end) as array:
                self._array(code, pointers, array, 0, self.layout.taken)

    def _array(self, code: Code, pointers: Sequence[str], array: Index, begin: Index, end: Index) -> None:
        x, indices, *_, result = pointers
        layout = self.layout
        first = code.times(_batch_of(code, array, layout), layout.taken)
        source, target = (code.times(array, n * layout.width) for n in (layout.length, layout.taken))
        with code.loop(begin, end) as row:
            index = code.load(indices, code.plus(first, row), I32)
            inside: Operand | None = None
            if self.fills:
                inside = code.compare("ult", index, code.like(index, layout.length))
                index = code.select(inside, index, code.like(index, 0))
            start = code.plus(source, code.times(_wide(code, index), layout.width))
            at = code.plus(target, code.times(row, layout.width))

            def copy(
                place: Index, active: int, start: Index = start, at: Index = at, inside: Operand | None = inside
            ) -> None:
                lanes = self.lanes if layout.width > 1 else 1
                value = code.load(x, code.plus(start, place), self.kind, lanes, active)
                if inside is not None:
                    value = code.select(inside, value, code.like(value, 0))
                code.store(value, result, code.plus(at, place), active)

            _along(code, layout.width, self.lanes, copy)


class Putting(NamedTuple):
    """Adds rows to those that indices name, or puts them there. A part has its own targets and reads all indices, so
    that no two threads write to one place, and every target takes its rows in order."""

    layout: Layout
    kind: Kind
    lanes: int
    parts: int
    replaces: bool

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("putting", *self)

    @property
    def numbers(self) -> Sequence[int]:
        """None."""
        return ()

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        return self.layout.batch * self.layout.between * (self.layout.taken + self.layout.length) * self.layout.width

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the loops, for the part of the work from `begin` to `end`."""
        length = self.layout.length
        if self.layout.batch * self.layout.between == 1:
            # A run of targets: part p begins at p * length / parts.
            low, high = (code.pure(f"udiv i64 {code.times(p, length)}, {self.parts}") for p in (begin, end))
            self._array(code, pointers, 0, low, high)
        else:
            with code.loop(begin, end) as array:
                self._array(code, pointers, array, 0, length)

    def _array(self, code: Code, pointers: Sequence[str], array: Index, low: Index, high: Index) -> None:
        rows, indices, *others, result = pointers
        onto = others[0] if self.replaces else None
        layout = self.layout
        target = code.times(array, layout.length * layout.width)
        with code.loop(low, high) as row:
            self._start(code, onto, result, code.plus(target, code.times(row, layout.width)))
        first = code.times(_batch_of(code, array, layout), layout.taken)
        source = code.times(array, layout.taken * layout.width)
        own = code.pure(f"sub i64 {high}, {low}")
        with code.loop(0, layout.taken) as row:
            index = _wide(code, code.load(indices, code.plus(first, row), I32))
            inside = code.pure(f"icmp ult i64 {code.pure(f'sub i64 {index}, {low}')}, {own}")
            with code.when(inside):
                start = code.plus(source, code.times(row, layout.width))
                at = code.plus(target, code.times(index, layout.width))

                def put(place: Index, active: int, start: Index = start, at: Index = at) -> None:
                    lanes = self.lanes if layout.width > 1 else 1
                    value = code.load(rows, code.plus(start, place), self.kind, lanes, active)
                    to = code.plus(at, place)
                    if not self.replaces:
                        value = code.add(code.load(result, to, self.kind, lanes, active), value)
                    code.store(value, result, to, active)

                _along(code, layout.width, self.lanes, put)

    def _start(self, code: Code, onto: str | None, result: str, at: Index) -> None:
        """What a row of the result is at first."""

        def write(place: Index, active: int) -> None:
            lanes = self.lanes if self.layout.width > 1 else 1
            to = code.plus(at, place)
            value = (
                code.constant(0, self.kind, lanes) if onto is None else code.load(onto, to, self.kind, lanes, active)
            )
            code.store(value, result, to, active)

        _along(code, self.layout.width, self.lanes, write)


def _along(code: Code, width: int, lanes: int, each: Callable[[Index, int], None]) -> None:
    """Does something for each vector of a row: from a place on, so many numbers."""
    if width == 1:
        each(0, 1)
        return
    rest = width % lanes
    if width >= lanes:
        with code.loop(0, width - rest, lanes) as place:
            each(place, lanes)
    if rest:
        each(width - rest, rest)


def _batch_of(code: Code, array: Index, layout: Layout) -> Index:
    """The batch that an array belongs to."""
    if layout.between == 1:
        return array
    return 0 if layout.batch == 1 else code.pure(f"udiv i64 {array}, {layout.between}")


def _wide(code: Code, index: Operand) -> str:
    return code.pure(f"sext i32 {index.name} to i64")

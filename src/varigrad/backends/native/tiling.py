"""The loops of a sum of products: tiles that stay in registers, over strips that stay in the cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from varigrad.backends.native.accumulation import Accumulator
from varigrad.backends.native.code import Code, Index, Operand
from varigrad.backends.native.contraction_plan import Inner, Plan, Row
from varigrad.backends.native.packing import pack_strip

__all__ = ["TileFinish", "TileWriter"]

# Where a tile is in a, b and c, and in what finishes it.
Places: TypeAlias = Sequence[Index]

_UNROLLED = 4  # an innermost sum this long or shorter is written out


class TileFinish(Protocol):
    """What is done to the vectors of a tile instead of storing them."""

    def strides(self, suffix: int) -> list[int]:
        """How far its places in memory move along the axis whose elements are so far apart in the result."""
        ...

    def prefetch(self, places: Sequence[Index], down: int, rows: int, width: int) -> None:
        """Has what a tile will read come while its sums run: so many rows, `down` apart in the result, so wide."""
        ...

    def store(self, x: Operand, places: Sequence[Index], active: int | None) -> None:
        """Takes a vector at these places, or its first lanes."""
        ...


class TileWriter:
    """Writes the loops of a plan over pointers to a, b and c; tiles go to memory, or to what finishes them."""

    def __init__(self, plan: Plan, code: Code, pointers: Sequence[str], finish: TileFinish | None) -> None:
        self.plan = plan
        self.code = code
        self.a, self.b, self.c = pointers
        self.lanes = min(plan.lanes, 1 << (plan.n - 1).bit_length())
        self.most, self.strip = plan.tile
        self.strip_index: Index = 0
        self.finish = finish
        self.start: Places = [0, 0, 0, *(finish.strides(0) if finish else ())]
        longest = plan.inner[-1].size
        if plan.across:
            self.pitch = self.lanes * self.strip
            self.packed = code.allocate(plan.kind, longest * self.pitch * plan.group)
        if plan.gathered:
            self.line = -(-plan.rows[-1].size // plan.lanes) * plan.lanes
            self.near = code.allocate(plan.kind, longest * self.line)
        self.sum_along(plan.inner[-1])

    def sum_along(self, axis: Inner) -> None:
        """Has sums run along this axis at last, in the memory that factors are brought to."""
        plan = self.plan
        self.along = axis
        near = axis._replace(a=self.line) if plan.gathered else axis
        self.inner = (*plan.inner[plan.repeats : -1], near._replace(b=self.pitch) if plan.across else near)

    def run(self, begin: Index, end: Index) -> None:
        """Writes them for the part of the work from `begin` to `end`."""
        plan = self.plan
        if not plan.repeats:
            self.pass_over(self.start, begin, end)
            return
        self.clear(begin, end)
        self.repeat(plan.inner[: plan.repeats], self.start, begin, end)
        if plan.rest:
            (parts,) = plan.inner[: plan.repeats]
            self.sum_along(self.along._replace(size=plan.rest))
            self.pass_over(self.moved(self.start, Row(1, parts.a, parts.b, 0), parts.size), begin, end)

    def repeat(self, inner: Sequence[Inner], places: Places, begin: Index, end: Index) -> None:
        if not inner:
            self.pass_over(places, begin, end)
            return
        axis = inner[0]
        with self.code.loop(0, axis.size) as index:
            at = self.moved(places, Row(axis.size, axis.a, axis.b, 0), index)
            self.repeat(inner[1:], at, begin, end)

    def pass_over(self, places: Places, begin: Index, end: Index) -> None:
        plan = self.plan
        *outer, last = plan.rows
        if outer:
            with self.code.loop(begin, end) as index:
                places = self.moved(places, outer[0], index)
                if plan.gathered:
                    self.gather(places[0], last.size)
                    places = [0, *places[1:]]
                if plan.across:
                    self.over(outer[1:], places, lambda at: self.packed_groups(at, last, 0, plan.groups))
                    return
                self.strips(
                    0, None, lambda n, width: self.over(outer[1:], places, lambda at: self.tiles(at, last, n, width))
                )
        elif plan.across:
            self.packed_groups(places, last, begin, end)
        else:
            self.strips(begin, end, lambda n, width: self.tiles(places, last, n, width))

    def gather(self, a: Index, rows: int) -> None:
        """Brings the numbers of so many rows, from a place on, into memory that is near."""
        code, kind, lanes = self.code, self.plan.kind, self.plan.lanes
        with code.loop(0, self.along.size) as k:
            source, target = code.plus(a, code.times(k, self.along.a)), code.times(k, self.line)
            for first in range(0, rows, lanes):
                x = code.load(self.a, code.plus(source, first), kind, lanes, min(lanes, rows - first))
                code.store(x, self.near, code.plus(target, first))

    def packed_groups(self, places: Places, last: Row, begin: Index, end: Index) -> None:
        """Groups of strips: packed, and gone through by all tiles."""
        code = self.code
        group = self.plan.group
        with code.loop(begin, end) as index:
            first = code.times(index, group)
            following = code.plus(first, group)
            self.pack(places[1], first, following)

            def strip(n: Index, width: int) -> None:
                self.tiles([places[0], self.place_in_packed(first), *places[2:]], last, n, width)

            self.strips(first, following, strip)

    def place_in_packed(self, first: Index) -> Index:
        """Where the strip that is being gone through lies, in a group that begins with the `first`."""
        code, size = self.code, self.pitch * self.along.size
        if isinstance(self.strip_index, int) and isinstance(first, int):
            return (self.strip_index - first) * size
        return code.times(code.pure(f"sub i64 {self.strip_index}, {first}"), size)

    def pack(self, b: Index, first: Index, following: Index) -> None:
        """Packs strips, from the first to the one before the following."""
        plan, code, along = self.plan, self.code, self.along
        steps, width = (along.b, plan.across), self.lanes * self.strip

        def strip(n: Index, width: int) -> None:
            source = code.plus(b, code.times(n, plan.across))
            places = source, self.place_in_packed(first)
            pointers = self.b, self.packed
            pack_strip(code, pointers, places, (along.size, width), steps, self.pitch, plan.kind, self.lanes)

        if plan.across != 1:
            self.strips(first, following, strip)
            return
        count = plan.n // width
        if count:
            last = code.least(following, count)
            with code.loop(0, along.size) as row, code.loop(first, last) as self.strip_index:
                place = code.plus(code.plus(b, code.times(row, along.b)), code.times(self.strip_index, width))
                target = code.plus(self.place_in_packed(first), code.times(row, self.pitch))
                for vector in range(0, width, self.lanes):
                    x = code.load(self.b, code.plus(place, vector), plan.kind, self.lanes)
                    code.store(x, self.packed, code.plus(target, vector))
        self.strips(first, following, strip, rest_only=True)

    def moved(self, places: Places, row: Row, index: Index) -> Places:
        code = self.code
        strides = (row.a, row.b, row.c, *(self.finish.strides(row.c) if self.finish else ()))
        return [code.plus(place, code.times(index, s)) for place, s in zip(places, strides, strict=True)]

    def over(
        self,
        rows: Sequence[Row],
        places: Places,
        body: Callable[[Places], None],
    ) -> None:
        if not rows:
            body(places)
            return
        with self.code.loop(0, rows[0].size) as index:
            self.over(rows[1:], self.moved(places, rows[0], index), body)

    def strips(
        self, begin: Index, end: Index | None, body: Callable[[Index, int], None], rest_only: bool = False
    ) -> None:
        """Strips of n, from one to another or all of them; `rest_only` is for the one that may be narrower."""
        code = self.code
        width = self.lanes * self.strip
        count, rest = divmod(self.plan.n, width)
        last = count if end is None else code.least(end, count)
        if count and not rest_only:
            with code.loop(begin, last) as index:
                self.strip_index = index
                body(code.times(index, width), width)
        self.strip_index = count
        if rest and (end is None or (isinstance(end, int) and end > count)):
            body(count * width, rest)
        elif rest and not isinstance(end, int):
            with code.when(code.pure(f"icmp sgt i64 {end}, {count}")):
                body(count * width, rest)

    def tiles(self, places: Places, row: Row, n: Index, width: int) -> None:
        """The last axis of rows, in tiles whose sizes differ by one at most."""
        count = -(-row.size // self.most)
        size, larger = divmod(row.size, count)
        first = 0
        for rows, number in ((size + 1, larger), (size, count - larger)):
            if number:
                with self.code.loop(first, first + rows * number, rows) as index:
                    self.tile(self.moved(places, row, index), row, rows, n, width)
                first += rows * number

    def place_in_b(self, n: Index) -> Index:
        """Where a strip of n begins."""
        plan, code = self.plan, self.code
        if plan.across:
            return 0
        return code.times(self.strip_index, plan.strip) if plan.strip else n

    def tile(self, places: Places, row: Row, rows: int, n: Index, width: int) -> None:
        """One tile: the sum, and its result to memory."""
        code, kind, lanes = self.code, self.plan.kind, self.lanes
        vectors = range(0, width, lanes)
        a, b, c, *_ = places
        if self.finish:
            along = self.finish.strides(1)
            at = [code.plus(place, code.times(n, s)) for place, s in zip(places[3:], along, strict=True)]
            self.finish.prefetch(at, row.c, rows, width)
        sums = [[Accumulator(code, "dot", kind, lanes, 1) for _ in vectors] for _ in range(rows)]
        for line in sums:
            for accumulator in line:
                accumulator.start()
        self.sum(self.inner, a, code.plus(b, self.place_in_b(n)), row, sums, width)
        if self.finish:
            self.finish_tile(self.finish, places, row, n, width, sums)
            return
        for r, line in enumerate(sums):
            for first, accumulator in zip(vectors, line, strict=True):
                place, active = code.plus(code.plus(c, n), r * row.c + first), min(lanes, width - first)
                total = accumulator.vector()
                if self.plan.repeats:  # added last: a sum of sums keeps more digits than a long one
                    total = code.add(code.load(self.c, place, kind, lanes, active), total)
                code.store(total, self.c, place, active)

    def finish_tile(
        self, finish: TileFinish, places: Places, row: Row, n: Index, width: int, sums: list[list[Accumulator]]
    ) -> None:
        """Hands the vectors of a tile over one by one."""
        code, lanes = self.code, self.lanes
        along, down = finish.strides(1), finish.strides(row.c)
        for r, line in enumerate(sums):
            for vector, accumulator in enumerate(line):
                column = code.plus(n, vector * lanes)
                moved = [
                    code.plus(code.plus(place, code.times(column, s)), r * d)
                    for place, s, d in zip(places[3:], along, down, strict=True)
                ]
                finish.store(accumulator.vector(), moved, min(lanes, width - vector * lanes))

    def sum(
        self, inner: Sequence[Inner], a: Index, b: Index, row: Row, sums: list[list[Accumulator]], width: int
    ) -> None:
        code = self.code
        if inner:
            first, *rest = inner
            if not rest and first.size <= _UNROLLED:
                for k in range(first.size):
                    self.sum(rest, code.plus(a, k * first.a), code.plus(b, k * first.b), row, sums, width)
                return
            with code.loop(0, first.size) as k:
                here = code.plus(a, code.times(k, first.a)), code.plus(b, code.times(k, first.b))
                self.sum(rest, *here, row, sums, width)
            return
        kind, lanes = self.plan.kind, self.lanes
        firsts = range(0, width, lanes)
        source = self.near if self.plan.gathered else self.a
        if self.plan.across:
            strip = [code.load(self.packed, code.plus(b, first), kind, lanes) for first in firsts]
        else:
            strip = [code.load(self.b, code.plus(b, f), kind, lanes, min(lanes, width - f)) for f in firsts]
        for r, line in enumerate(sums):
            x = code.splat(code.load(source, code.plus(a, r * row.a), kind), lanes)
            for y, accumulator in zip(strip, line, strict=True):
                accumulator.take_product(x, y)

    def clear(self, begin: Index, end: Index) -> None:
        """Zeros where the result will be."""
        code, plan = self.code, self.plan
        zero = code.constant(0, plan.kind, self.lanes)
        *outer, last = plan.rows

        def strip(places: Places, n: Index, width: int) -> None:
            with code.loop(0, last.size) as index:
                c = self.moved(places, last, index)[2]
                for first in range(0, width, self.lanes):
                    place = code.plus(code.plus(c, n), first)
                    code.store(zero, self.c, place, min(self.lanes, width - first))

        if outer:
            with code.loop(begin, end) as index:
                here = self.moved(self.start, outer[0], index)
                self.strips(0, None, lambda n, width: self.over(outer[1:], here, lambda at: strip(at, n, width)))
        else:
            first, following = (code.times(group, plan.group) for group in (begin, end))
            self.strips(first, following, lambda n, width: strip(self.start, n, width))

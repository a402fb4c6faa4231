"""What follows a sum of products number by number is done to each tile of it, before the tile goes to memory.

A bias, an activation, a mask: in a pass of its own it would read again, from a cache that is far away, what the product
has just written. The product waits until that pass would have run, and takes its place, if nobody else has read its
result by then. That pays where there is little to do and to read along: an optimizer's update, which goes through
weights and slots as well, takes longer in the order of tiles than in that of memory, and so do long formulas, of which
a pass has several under way at a time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from varigrad.backends.native.code import Code, Index, Operand
from varigrad.backends.native.contraction import Contraction
from varigrad.backends.native.fusion import Step, last_reads, reads_of, results_of
from varigrad.backends.native.groups import Group
from varigrad.backends.native.loops import PassWriter
from varigrad.backends.native.machine import lanes_of
from varigrad.backends.native.operations import Map, Origin, Routine, Val, View
from varigrad.backends.native.passes import Pass

__all__ = ["Finished", "finish"]

_MOST_OPERATIONS = 4
_MOST_READ = 1  # arrays as large as the product that are read along with it
_WIDE = 4  # vectors from which on it does not matter that the last may be filled in part
_GIVEN = "Given"  # the operation that stands for the product in the group that finishes it


class Finished:
    """A sum of products whose tiles go through a pass: code of a routine."""

    def __init__(self, contraction: Contraction, plan: _TilePass) -> None:
        self.contraction = contraction
        self.plan = plan

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("finished", self.contraction.key, self.plan.key)

    @property
    def numbers(self) -> Sequence[int]:
        """None."""
        return ()

    @property
    def pointers(self) -> list[tuple[Val, int]]:
        """What the pass reads and writes, as a value and an offset in elements; the factors come before it."""
        return self.plan.pointers

    @property
    def parts(self) -> int:
        """Into how many parts the work may be divided."""
        return self.contraction.parts

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        return self.contraction.work + self.plan.work

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the loops, for the part of the work from `begin` to `end`."""
        a, b, *others = pointers
        self.contraction.write(code, (a, b, ""), begin, end, _TileWriter(self.plan, code, others))


class _TilePass(Pass):
    """A pass whose axes are those of a product's result."""

    def __init__(self, group: Group, read_outside: Callable[[Val], bool], lanes: int, cuts: set[int]) -> None:
        self._boundaries = cuts
        super().__init__(group, read_outside, lanes)

    def fits(self, contraction: Contraction) -> bool:
        """Whether each array is gone through by one stride along each axis of the product's result."""
        axes = {row.c: row.size for row in contraction.rows if row.size > 1} | {1: contraction.n}
        return dict(zip(self._suffixes, self.sizes, strict=True)) == axes

    def strides(self, suffix: int) -> list[int]:
        """How far each access moves along the axis whose elements are so far apart in the result."""
        if suffix not in self._suffixes:
            return [0] * len(self.accesses())
        d = self._suffixes.index(suffix)
        return [access.strides[d] for access in self.accesses()]

    def is_kept(self, d: int) -> bool:
        """Whether an axis ends where one of the product's does."""
        return self._suffixes[d] in self._boundaries


class _TileWriter(PassWriter):
    """Writes what is done to one vector of a tile."""

    def __init__(self, plan: _TilePass, code: Code, pointers: Sequence[str]) -> None:
        super().__init__(plan, code, pointers)
        self.tile_plan = plan
        self._given: Operand | None = None

    def strides(self, suffix: int) -> list[int]:
        """How far each place moves along the axis whose elements are so far apart in the result."""
        return self.tile_plan.strides(suffix)

    def store(self, x: Operand, places: Sequence[Index], active: int | None) -> None:
        """Does everything there is to do for a vector of sums at these places."""
        self._given = x
        self.vector(self.group.operations, list(places), active, {})

    def prefetch(self, places: Sequence[Index], down: int, rows: int, width: int) -> None:
        """Has what a tile will read on its way to memory come while its sums run."""
        row, along = self.strides(down), self.strides(1)
        for access, place, step, s in zip(self.accesses, places, row, along, strict=True):
            if step == 0 or s != 1:
                continue
            for r in range(rows):
                for last in (0, width - 1):
                    self.code.prefetch(
                        self.pointers[access.pointer], self.code.plus(place, r * step + last), access.kind
                    )

    def computed(self, op: Map, operands: Sequence[Operand]) -> Operand:
        """The result of a map; the product's is there already."""
        if op.name == _GIVEN:
            assert self._given is not None
            return self._given
        return super().computed(op, operands)


def finish(steps: Sequence[Step], outputs: Sequence[View]) -> list[Step]:
    """The steps, with each product that can be finished by a pass put in that pass's place."""
    result: list[Step | None] = list(steps)
    returned = {view.val.root for view in outputs}
    first = {val: at for at, step in reversed(list(enumerate(steps))) for val in reads_of(step)}
    last = last_reads(steps)
    written = _writers(steps)
    for at, step in enumerate(steps):
        if not isinstance(step, Routine) or not isinstance(step.code, Contraction) or step.code.repeats:
            continue
        (product,) = step.outputs
        then = first.get(product)
        following = result[then] if then is not None else None
        if then is None or not isinstance(following, Group):
            continue

        def lasts(val: Val, then: int = then) -> bool:
            return last.get(val, -1) > then or val in returned

        finished = _finished(step, following, lasts)
        if finished is not None and _may_wait(step, at, then, written):
            result[at], result[then] = None, finished
    return [step for step in result if step is not None]


def _finished(step: Routine, group: Group, lasts: Callable[[Val], bool]) -> Routine | None:
    """A product and the group that follows it as one; None where the group does more than go number by number."""
    contraction, (product,) = step.code, step.outputs
    assert isinstance(contraction, Contraction)
    boundaries = {1, contraction.n, *[row.c * size for row in contraction.rows for size in (1, row.size)]}
    simple = all(isinstance(op, Map) for op in group.operations) and len(group.operations) <= _MOST_OPERATIONS
    simple = simple and not group.per_row and group.size == product.size
    views = [view for op in group.operations for view in op.inputs if view.val is product]
    nested = all(b % a == 0 for a, b in pairwise(sorted(group.cuts | boundaries)))
    n, lanes = contraction.n, lanes_of(4)
    full = contraction.lanes == lanes and (n % lanes == 0 or n == lanes // 2 or n >= _WIDE * lanes)
    if not simple or not nested or not full or not all(view.is_whole for view in views):
        return None
    whole = Group(group.size)
    given = Map(_GIVEN, [], product, {})
    given.origin = step.origin
    whole.operations = [given, *group.operations]
    whole.made = {product: given, **group.made}
    whole.stages = {product: 0, **group.stages}
    whole.cuts = group.cuts | boundaries
    plan = _TilePass(whole, lasts, min(lanes, n), boundaries)
    if not plan.fits(contraction):
        return None
    outside = [view for op in group.operations for view in op.inputs if view.val not in whole.made]
    if len({view.val.root for view in outside if view.val.size >= product.size}) > _MOST_READ:
        return None
    code = Finished(contraction, plan)
    made = [val for val in whole.made if val in plan.stored]
    routine = Routine(code, [*step.inputs, *[v for v in outside if v.val.literal is None]], made, step.parts)
    origins = [op.origin for op in whole.operations]
    routine.origin = Origin(", ".join(dict.fromkeys([origin.kernel for origin in origins])), step.origin.site)
    return routine


def _writers(steps: Sequence[Step]) -> dict[Val, list[int]]:
    """Which steps write to each value's memory, in order."""
    found: dict[Val, list[int]] = {}
    for at, step in enumerate(steps):
        for val in results_of(step):
            found.setdefault(val.root, []).append(at)
    return found


def _may_wait(step: Routine, at: int, then: int, written: Mapping[Val, list[int]]) -> bool:
    """Whether what a routine, the step `at`, reads stays as it is until it runs in the place of the step `then`."""
    for view in step.inputs:
        writers = written.get(view.val.root, [])
        if bisect_right(writers, at) != bisect_right(writers, then):
            return False
    return True

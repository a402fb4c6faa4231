"""Which operations run together: the groups, in the order in which they run.

A group is one pass over `size` elements in row-major order. Its operations work on all of them, or, once they are
taken as rows of `cols` elements, on one number a row: what a reduction of rows leaves, and what is computed from that.
The last axes of one shape may be split or merged in another: only where the axes end matters (`cuts`, counted in
elements from the back). A group with a reduction of its first axes walks down columns instead, and has no reductions of
rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import TypeAlias

from varigrad.backends.llvm.operations import (
    HostCall,
    Join,
    Map,
    Operation,
    Reduce,
    Routine,
    Shape,
    Val,
    View,
)

__all__ = ["Group", "Step", "fuse"]

_MOST_OPERATIONS = 48
_CANDIDATES = 8  # readers of the same value that are looked at for company
_LONGEST_ROW = 4096  # elements: rows that are gone through again must still be in the first cache

Step: TypeAlias = "Group | Routine | HostCall"


class Group:
    """Operations that run in one pass."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.cuts: set[int] = {1, size}
        self.cols: int | None = None  # the length of a row, once there is one
        self.by_columns = False
        self.operations: list[Map | Reduce] = []
        self.made: dict[Val, Map | Reduce] = {}
        self.stages: dict[Val, int] = {}
        self.per_row: set[Val] = set()

    def add(self, op: Map | Reduce, role: Role) -> None:
        """Takes an operation in."""
        self.cuts = role.cuts
        self.cols = role.cols
        self.operations.append(op)
        self.made[op.output] = op
        if isinstance(op, Reduce):
            self.by_columns |= not op.rows
        if role.per_row:
            self.per_row.add(op.output)
        self.stages[op.output] = self.stage(op) + (isinstance(op, Reduce) and op.rows)

    def stage(self, op: Map | Reduce) -> int:
        """In which turn over the row an operation runs; it waits for what earlier turns leave."""
        return max([self.stages.get(view.val, 0) for view in op.inputs], default=0)

    def inside(self, view: View, per_row: bool, cols: int | None) -> bool:
        """Whether what an operation reads is at hand when it gets to the same place of the pass."""
        if not _same_memory_order(view, 1):
            return bool(
                cols
                and not per_row
                and view.val in self.per_row
                and _same_memory_order(view, cols)
                and cols <= _LONGEST_ROW
            )
        return per_row == (view.val in self.per_row) and view.size == view.val.size

    def role(self, op: Map | Reduce) -> Role | None:
        """How an operation would take part; None if it cannot."""
        if len(self.operations) >= _MOST_OPERATIONS:
            return None
        shape = op.inputs[0].shape if isinstance(op, Reduce) else op.output.shape
        size, cols = prod(shape), self.cols
        per_row = False
        scale = 1
        if isinstance(op, Reduce):
            if size != self.size or (self.by_columns and op.rows):
                return None
            length = size // op.output.size if op.rows else op.output.size
            if (cols or length) != length or (not op.rows and (self.has_rows or self.per_row)):
                return None
            cols = length
        elif size != self.size:
            if self.by_columns or cols is None or size * cols != self.size:
                return None
            per_row, scale = True, cols
        cuts = _joined(self.cuts | {cols or 1}, shape, scale)
        if cuts is None:
            return None
        for view in op.inputs:
            if view.val in self.made and not self.inside(view, per_row, cols):
                return None
        if per_row and not any(view.val in self.made for view in op.inputs):
            return None
        return Role(per_row or (isinstance(op, Reduce) and op.rows), cols, cuts)

    @property
    def has_rows(self) -> bool:
        """Whether it has a reduction of rows."""
        return any(isinstance(op, Reduce) and op.rows for op in self.operations)


class Role:
    """How an operation takes part in a group: on one number a row, or on all; what the group is then like."""

    __slots__ = ("cols", "cuts", "per_row")

    def __init__(self, per_row: bool, cols: int | None, cuts: set[int]) -> None:
        self.per_row = per_row
        self.cols = cols
        self.cuts = cuts


def _joined(cuts: set[int], shape: Shape, scale: int) -> set[int] | None:
    """The cuts together with those of a shape, if each divides the next."""
    joined = set(cuts)
    step = scale
    for n in reversed(shape):
        joined.add(step)
        step *= n
    joined.add(step)
    ordered = sorted(joined)
    return joined if all(b % a == 0 for a, b in pairwise(ordered)) else None


def _same_memory_order(view: View, repeats: int) -> bool:
    """Whether going through a view in order goes through its value in order, staying at each element so often."""
    if view.offset:
        return False
    step = 1
    for n, s in zip(reversed(view.shape), reversed(view.strides)):
        if n == 1:
            continue
        if step < repeats:
            if s or repeats % (step * n):
                return False
        elif s != step // repeats:
            return False
        step *= n
    return True


class _Fusion:
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.position: dict[Val, int] = {}
        self.readers: dict[Val, list[tuple[int, View, Operation]]] = {}  # by root
        self.writers: dict[Val, list[tuple[int, View]]] = {}  # of memory that several operations write to, by root

    def add(self, op: Operation) -> None:
        if isinstance(op, Join):
            self.position[op.outputs[0]] = max([self.position[part] for part in op.parts])
            return
        earliest = max([self.position.get(view.val, -1) for view in op.inputs], default=-1)
        if isinstance(op, (Map, Reduce)):
            at = self.join(op, earliest)
        else:
            at = len(self.steps)
            self.steps.append(op)
        for val in op.outputs:
            self.position[val] = at
            if val.home is not None:
                self.writers.setdefault(val.root, []).append((at, val.home))
        for view in op.inputs:
            if view.val.literal is None:
                self.readers.setdefault(view.val.root, []).append((at, view, op))

    def join(self, op: Map | Reduce, earliest: int) -> int:
        """Puts an operation into a group: that of what it reads, or one that reads the same, or a new one."""
        writes = op.output.home
        if writes is not None:
            earliest = max(
                [earliest, *[at + 1 for at, place in self.writers.get(writes.val, ()) if _overlap(place, writes)]]
            )
            earliest = max([earliest, *[at for at, view, _ in self._reads_under(writes)]])
        near = {earliest} if earliest >= 0 else set[int]()
        for view in op.inputs:
            if view.val.size == view.size > 1 or op.output.size == 1:
                near.update([at for at, _, _ in self.readers.get(view.val.root, ())[-_CANDIDATES:] if at >= earliest])
        for at in sorted(near):
            group = self.steps[at] if at < len(self.steps) else None
            if not isinstance(group, Group):
                continue
            if any(self.position.get(view.val) == at and view.val not in group.made for view in op.inputs):
                continue  # parts of it are written by the group itself
            role = group.role(op)
            if role is not None and (writes is None or self._may_write(group, at, op, writes)):
                group.add(op, role)
                return at
        group = Group(prod(op.inputs[0].shape) if isinstance(op, Reduce) else op.output.size)
        role = group.role(op)
        assert role is not None
        group.add(op, role)
        self.steps.append(group)
        return len(self.steps) - 1

    def _reads_under(self, writes: View) -> Iterable[tuple[int, View, Operation]]:
        return [(at, view, op) for at, view, op in self.readers.get(writes.val, ()) if _overlap(_in_root(view), writes)]

    def _may_write(self, group: Group, at: int, op: Map | Reduce, writes: View) -> bool:
        """Whether all that the group reads of the memory is read before, at the very place that is written."""
        stage = group.stage(op)
        for position, view, reader in self._reads_under(writes):
            if position != at:
                continue
            assert isinstance(reader, (Map, Reduce))
            place = _in_root(view)
            same = place.offset == writes.offset and place.size == writes.size == group.size and place.is_dense
            if not same or not writes.is_dense or group.stage(reader) > stage:
                return False
        return True


def _in_root(view: View) -> View:
    """A view as one of the root's memory."""
    return View(view.val.root, view.shape, view.strides, view.offset + view.val.start)


def _overlap(a: View, b: View) -> bool:
    """Whether two views of one value's memory may touch the same element."""
    first, second = a.span(), b.span()
    return first[0] < second[1] and second[0] < first[1]


def _needed(operations: Sequence[Operation], outputs: Sequence[View]) -> list[Operation]:
    """Without the operations whose results nobody reads."""
    read = {view.val for view in outputs}
    kept: list[Operation] = []
    for op in reversed(operations):
        lasting = isinstance(op, HostCall) or any(val.root.source is not None for val in op.outputs)
        if lasting or any(val in read for val in op.outputs):
            read.update([view.val for view in op.inputs])
            kept.append(op)
    return kept[::-1]


def fuse(operations: Sequence[Operation], outputs: Sequence[View]) -> list[Step]:
    """The steps in which operations run, in order."""
    fusion = _Fusion()
    for op in _needed(operations, outputs):
        fusion.add(op)
    return fusion.steps

"""Groups: operations that run together, in one pass over memory.

A pass goes over `size` elements in row-major order. Its operations work on all of them, or, once they are taken as rows
of `cols` elements, on one number a row: what a reduction of rows leaves, and what is computed from that. The last axes
of one shape may be split or merged in another: only where axes end matters (`cuts`, counted in elements from the back).
A group with a reduction of its first axes walks down columns instead, and has no reductions of rows.
"""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import TypeAlias

from varigrad.backends.native.operations import Map, Reduce, Shape, Val, View

__all__ = ["Group", "Layout", "Role", "in_order"]

# How a group goes through its elements: where axes end, the length of a row, blocks of rows.
Layout: TypeAlias = tuple[set[int], int | None, int]

_MOST_OPERATIONS = 48
_MOST_INPUTS = 96  # read by them all: LLVM's time grows with the square of a function's length
_LONGEST_ROW = 4096  # elements, 16 KiB of float32: rows that are gone through again must still be in the first cache


class Group:
    """Operations that run in one pass."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.cuts: set[int] = {1, size}
        self.cols: int | None = None  # the length of a row, once there is one
        self.blocks = 0  # of rows, that it walks down columns in; 0 if it does not
        self.operations: list[Map | Reduce] = []
        self.inputs = 0  # how many they have together
        self.made: dict[Val, Map | Reduce] = {}
        self.stages: dict[Val, int] = {}
        self.per_row: set[Val] = set()

    def add(self, op: Map | Reduce, role: Role) -> None:
        """Takes an operation in."""
        self.cuts = role.cuts
        self.cols = role.cols
        self.operations.append(op)
        self.inputs += len(op.inputs)
        self.made[op.output] = op
        if isinstance(op, Reduce):
            self.blocks = self.blocks if op.rows else op.blocks
        if role.per_row:
            self.per_row.add(op.output)
        self.stages[op.output] = self.stage(op) + (isinstance(op, Reduce) and op.rows)

    def take_back(self, op: Map | Reduce, before: Layout) -> None:
        """Takes the last operation out again; `before` is what `layout` was."""
        self.operations.pop()
        self.inputs -= len(op.inputs)
        del self.made[op.output], self.stages[op.output]
        self.per_row.discard(op.output)
        self.cuts, self.cols, self.blocks = before

    @property
    def layout(self) -> Layout:
        """How it goes through its elements."""
        return self.cuts, self.cols, self.blocks

    def stage(self, op: Map | Reduce) -> int:
        """In which turn over the row an operation runs; it waits for what earlier turns leave."""
        stages = self.stages
        return max([stages.get(view.val, 0) for view in op.inputs], default=0) if stages else 0

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
        is_full = len(self.operations) >= _MOST_OPERATIONS or self.inputs + len(op.inputs) > _MOST_INPUTS
        if is_full and self.operations:
            return None
        is_reduce = isinstance(op, Reduce)
        shape = op.inputs[0].shape if is_reduce else op.output.shape
        size, cols = prod(shape) if is_reduce else op.output.size, self.cols
        per_row = False
        scale = 1
        if isinstance(op, Reduce):
            if size != self.size or (self.blocks and (op.rows or op.blocks != self.blocks)):
                return None
            length = size // op.output.size if op.rows else op.output.size // op.blocks
            if (cols or length) != length or (not op.rows and (self.has_rows or self.per_row)):
                return None
            cols = length
        elif size != self.size:
            if self.blocks or cols is None or size * cols != self.size:
                return None
            per_row, scale = True, cols
        blocks = op.blocks if isinstance(op, Reduce) else 1
        cuts = _joined(self.cuts, (cols or 1, self.size // blocks), shape, scale)
        if cuts is None:
            return None
        for view in op.inputs:
            if view.val in self.made and not self.inside(view, per_row, cols):
                return None
        return Role(per_row or (isinstance(op, Reduce) and op.rows), cols, cuts)

    @property
    def by_columns(self) -> bool:
        """Whether it walks down columns."""
        return self.blocks > 0

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


def _joined(cuts: set[int], others: Shape, shape: Shape, scale: int) -> set[int] | None:
    """The cuts together with others and those of a shape, if each divides the next."""
    step = scale
    ends = [*others, step, *[step := step * n for n in reversed(shape)]]
    if cuts.issuperset(ends):  # as for most operations of a group
        return cuts
    joined = cuts.union(ends)
    return joined if all(b % a == 0 for a, b in pairwise(sorted(joined))) else None


def in_order(view: View) -> bool:
    """Whether a view goes once through its value in order, staying at each element equally long."""
    return _same_memory_order(view, max(1, view.size // view.val.size))


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

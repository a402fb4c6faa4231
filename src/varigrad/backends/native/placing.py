"""Where arrays are put together, each part is made at its place, if it lies side by side there: no copy is needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from varigrad.backends.native.operations import Join, Map, Operation, Routine, Val, View, dense

__all__ = ["make_in_place"]


def make_in_place(operations: Sequence[Operation], outputs: Sequence[View]) -> list[Operation]:
    """The operations without the copies that put a whole value to a place in memory of its own: it is made there."""
    return _Placing(operations, outputs).run()


class _Placing:
    def __init__(self, operations: Sequence[Operation], outputs: Sequence[View]) -> None:
        self.operations = operations
        self.fixed = {view.val.root for view in outputs}  # what stays where it is
        self.members: defaultdict[Val, list[Val]] = defaultdict(list)  # what lies in the memory of a root
        self.read: set[Val] = set()
        writers: defaultdict[Val, list[Val]] = defaultdict(list)  # what is written to places in it
        for op in operations:
            for val in op.outputs:
                self.members[val.root].append(val)
                if not isinstance(op, (Map, Routine, Join)):
                    self.fixed.add(val.root)
                elif val.home is not None and not isinstance(op, Join):
                    writers[val.root].append(val)
            if not isinstance(op, Join):
                self.read.update([view.val for view in op.inputs])
        self.crowded = {val for vals in writers.values() for val in _overlapping(vals)}

    def run(self) -> list[Operation]:
        """All operations that remain."""
        kept: list[Operation] = []
        moved: dict[Val, Val] = {}  # what takes the place of a copy
        for op in self.operations:
            if isinstance(op, Map) and self.can_move(op):
                moved[op.output] = op.inputs[0].val
                self.move(op.inputs[0].val.root, op.output)
                continue
            if isinstance(op, Join):
                op.parts = [moved.get(part, part) for part in op.parts]
            kept.append(op)
        return kept

    def can_move(self, op: Map) -> bool:
        """Whether an operation does no more than copy what could be made where the copy is."""
        place = op.output.home
        if op.name != "Copy" or place is None or op.output in self.read:
            return False
        (view,) = op.inputs
        root, target = view.val.root, op.output.root
        if root in self.fixed or root.source is not None or root.literal is not None or root.home is not None:
            return False
        whole = view.val.start + view.offset == 0 and view.size == root.size and view.is_dense
        side_by_side = all(n == 1 or s == d for n, s, d in zip(place.shape, place.strides, dense(place.shape)))
        if not whole or not side_by_side or target is root or target.source is not None or root.kind is not target.kind:
            return False
        return op.output not in self.crowded

    def move(self, root: Val, copy: Val) -> None:
        """Gives a value, and all that lies in its memory, a place in the memory of another."""
        target, offset = copy.root, copy.start
        for val in self.members.pop(root):
            home = View(target, val.shape, dense(val.shape), offset)
            if val.home is not None:
                home = View(target, val.home.shape, val.home.strides, offset + val.home.offset)
            val.home, val.root, val.start = home, target, home.offset
            self.members[target].append(val)


def _overlapping(vals: Sequence[Val]) -> Iterator[Val]:
    """Those of the values in one memory that may share elements with others."""
    spans = sorted([(val.home.span(), at, val) for at, val in enumerate(vals) if val.home is not None])
    reach, owner = 0, None
    for (start, end), _, val in spans:
        if owner is not None and start < reach:
            yield from (owner, val)
        if end > reach:
            reach, owner = end, val

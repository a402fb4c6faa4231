"""Which operations run together, and the order in which groups run.

An operation joins the group that makes what it reads, or one that reads the same. A map that finds no company waits
until somebody reads its result, and then goes where that goes.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias

from varigrad.backends.native.groups import Group, Layout
from varigrad.backends.native.operations import HostCall, Join, Map, Operation, Reduce, Routine, Val, View

__all__ = ["Step", "fuse"]

_CANDIDATES = 8  # readers of the same value that are looked at for company

Step: TypeAlias = "Group | Routine | HostCall"


class _Uses:
    """Who reads or writes parts of one value's memory; found by place."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._uses: list[tuple[int, int, View, Operation]] = []
        self._longest = 0

    def add(self, at: int, view: View, op: Operation) -> None:
        """Notes that an operation of the step `at` uses a view of the memory."""
        start, end = view.span()
        place = bisect_right(self._starts, start)
        self._starts.insert(place, start)
        self._uses.insert(place, (end, at, view, op))
        self._longest = max(self._longest, end - start)

    def under(self, view: View) -> Iterator[tuple[int, View, Operation]]:
        """The uses of what may be the same elements."""
        start, end = view.span()
        first = bisect_left(self._starts, start - self._longest)
        for stop, at, other, op in self._uses[first : bisect_left(self._starts, end)]:
            if stop > start:
                yield at, other, op


class _Fusion:
    """`written` is the memory that operations write to: only who reads that has to be known."""

    def __init__(self, written: set[Val]) -> None:
        self.written = written
        self.steps: list[Step] = []
        self.position: dict[Val, int] = {}
        self.waiting: dict[Val, Map] = {}
        self.waiting_for: defaultdict[Val, dict[Val, None]] = defaultdict(dict)  # what of it will read written memory
        self.recent: dict[Val, list[int]] = {}  # the steps that last read a value, by root
        self.reads: defaultdict[Val, _Uses] = defaultdict(_Uses)  # by root
        self.writes: defaultdict[Val, _Uses] = defaultdict(_Uses)  # of memory that several operations write to

    def add(self, op: Operation) -> None:
        """Puts an operation into a step."""
        if isinstance(op, (Map, Reduce)):
            self.add_to_group(op)
            return
        for val in op.parts if isinstance(op, Join) else [view.val for view in op.inputs]:
            self.place_waiting(val)
        if isinstance(op, Join):
            self.position[op.outputs[0]] = max([self.position[part] for part in op.parts])
            return
        for val in op.outputs:
            self.place_readers(val)
        self.steps.append(op)
        self.note(op, len(self.steps) - 1)

    def add_to_group(self, op: Map | Reduce) -> None:
        """Puts an operation into a group, together with what it reads that has been waiting."""
        if op.output.home is not None:
            self.place_readers(op.output)
        company = [self.waiting[view.val] for view in op.inputs if view.val in self.waiting]
        company = list(dict.fromkeys(company))
        earliest = self.earliest(op)
        for at in self.candidates([op, *company], earliest):
            if self.enter(at, [*company, op]):
                return
        if isinstance(op, Map) and not company and op.output.home is None and self.may_wait(op):
            self.wait(op)
            return
        size = prod(op.inputs[0].shape) if isinstance(op, Reduce) else op.output.size
        self.steps.append(Group(size))
        if self.enter(len(self.steps) - 1, [*company, op]):
            return
        self.steps.pop()
        assert company, "an operation can be a group by itself"
        for other in company:
            self.place_waiting(other.output)
        self.add_to_group(op)

    def wait(self, op: Map) -> None:
        """Leaves an operation until somebody reads its result."""
        self.waiting[op.output] = op
        for view in op.inputs:
            if view.val.root in self.written:
                self.waiting_for[view.val.root][op.output] = None

    def may_wait(self, op: Map) -> bool:
        """Whether nothing is lost if it runs later: what it reads must still be there."""
        return all(view.val not in self.waiting for view in op.inputs)

    def earliest(self, op: Map | Reduce) -> int:
        """The first step in which it can run."""
        first = max([self.position.get(view.val, -1) for view in op.inputs], default=-1)
        writes = op.output.home
        if writes is not None:
            first = max([first, *[at + 1 for at, _, _ in self.writes[writes.val].under(writes)]])
            first = max([first, *[at for at, _, _ in self.reads[writes.val].under(writes)]])
        return first

    def candidates(self, ops: Sequence[Map | Reduce], earliest: int) -> list[int]:
        """The groups that it may join, by their place in order: those that make or read what it reads."""
        near = {earliest} if 0 <= earliest < len(self.steps) else set[int]()
        for op in ops:
            for view in op.inputs:
                if view.val.size == view.size > 1 or op.output.size == 1:
                    near.update([at for at in self.recent.get(view.val.root, ()) if at >= earliest])
        return sorted(near)

    def enter(self, at: int, ops: Sequence[Map | Reduce]) -> bool:
        """Puts all these operations into a group, or none of them."""
        group = self.steps[at]
        if not isinstance(group, Group):
            return False
        before: list[Layout] = []
        for op in ops:
            layout = group.layout
            if not self.add_if_fit(group, at, op):
                for entered, layout in zip(reversed(ops[: len(before)]), reversed(before), strict=True):
                    group.take_back(entered, layout)
                return False
            before.append(layout)
        for op in ops:
            self.waiting.pop(op.output, None)
            self.note(op, at)
        return True

    def add_if_fit(self, group: Group, at: int, op: Map | Reduce) -> bool:
        """Puts an operation into a group if it can be part of it."""
        for view in op.inputs:
            if view.val in group.made:
                continue
            # What the group writes in part is not whole before it ends, and what comes later is not there yet.
            if view.val in self.waiting or self.position.get(view.val, -1) >= at:
                return False
        role = group.role(op)
        if role is None or (op.output.home is not None and not self.may_write(group, at, op, op.output.home)):
            return False
        group.add(op, role)
        return True

    def may_write(self, group: Group, at: int, op: Map | Reduce, writes: View) -> bool:
        """Whether all that the group reads of the memory is read before, at the very place that is written."""
        stage = group.stage(op)
        inside = [
            (_in_root(view), reader)
            for reader in group.operations
            for view in reader.inputs
            if view.val.root is writes.val and view.val not in group.made
        ]
        for place, reader in inside:
            if not _overlap(place, writes):
                continue
            same = (place.offset, place.shape, place.strides) == (writes.offset, writes.shape, writes.strides)
            if not same or place.size != group.size or group.stage(reader) > stage:
                return False
        return True

    def place_waiting(self, val: Val) -> None:
        """Gives an operation that has been waiting a group of its own."""
        op = self.waiting.pop(val, None)
        if op is not None:
            self.steps.append(Group(op.output.size))
            entered = self.enter(len(self.steps) - 1, [op])
            assert entered

    def place_readers(self, val: Val) -> None:
        """Has those that wait read memory before it is written to."""
        for other in self.waiting_for.pop(val.root, ()):
            self.place_waiting(other)

    def place_all(self) -> None:
        """Ends all waiting."""
        for val in list(self.waiting):
            self.place_waiting(val)

    def note(self, op: Operation, at: int) -> None:
        """Writes down what the operation of a step reads and makes."""
        for val in op.outputs:
            self.position[val] = at
            if val.home is not None:
                self.writes[val.root].add(at, val.home, op)
        for view in op.inputs:
            root = view.val.root
            if root.literal is None:
                if root in self.written:
                    self.reads[root].add(at, _in_root(view), op)
                recent = self.recent.setdefault(root, [])
                recent.append(at)
                del recent[:-_CANDIDATES]


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
    needed = _needed(operations, outputs)
    fusion = _Fusion({val.root for op in needed for val in op.outputs if val.home is not None})
    for op in needed:
        fusion.add(op)
    fusion.place_all()
    return fusion.steps

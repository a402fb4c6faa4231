"""Which operations run together, and the order in which groups run.

A map waits until something reads its result that cannot wait: a reduction, a routine, or a map that writes where it is
told to. It goes there with all the maps between: into the group that makes what they read, or one that reads the same,
or one of their own. So nothing is computed, and kept in memory, sooner than it is needed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias

from varigrad.backends.native.groups import Group, Layout, in_order
from varigrad.backends.native.operations import HostCall, Join, Map, Operation, Reduce, Routine, Val, View, overlap

__all__ = ["Step", "fuse", "last_reads", "reads_of", "results_of"]

_CANDIDATES = 8  # readers of the same value that are looked at for company
_DEEPEST = 24  # maps that wait for each other

Step: TypeAlias = "Group | Routine | HostCall"


def reads_of(step: Step) -> list[Val]:
    """The values that a step reads from memory."""
    if not isinstance(step, Group):
        return [view.val for view in step.inputs]
    return [view.val for op in step.operations for view in op.inputs if view.val not in step.made]


def last_reads(steps: Sequence[Step]) -> dict[Val, int]:
    """The place of the last step that reads each value from memory."""
    return {val: at for at, step in enumerate(steps) for val in reads_of(step)}


def results_of(step: Step) -> list[Val]:
    """The values that a step makes, whether in memory or not."""
    return list(step.made) if isinstance(step, Group) else list(step.outputs)


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
            if stop > start and overlap(view, other):
                yield at, other, op


class _Fusion:
    """`written` is the memory that operations write to: only who reads that has to be known."""

    def __init__(self, written: set[Val]) -> None:
        self.written = written
        self.steps: list[Step] = []
        self.position: dict[Val, int] = {}
        self.waiting: dict[Val, Map] = {}
        self.waiting_for: defaultdict[Val, dict[Map, None]] = defaultdict(dict)  # what of it will read written memory
        self.depth: dict[Val, int] = {}  # how many maps, each reading the one before, have come to wait
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
        self.place_readers(op)
        self.steps.append(op)
        self.note(op, len(self.steps) - 1)

    def add_to_group(self, op: Map | Reduce) -> None:
        """Puts an operation into a group, or has it wait."""
        if op.output.home is not None:
            self.place_readers(op)
        elif isinstance(op, Map):
            if self.enter_as_smaller(op):
                return
            depth = self.depth[op.output] = 1 + max([self.depth.get(view.val, 0) for view in op.inputs], default=0)
            self.wait(op)
            if depth < _DEEPEST:
                return
        self.settle(op)

    def enter_as_smaller(self, op: Map) -> bool:
        """Puts a map at once where there is one number a row, and what it reads is made: little is kept for later."""
        at = self.earliest([op])
        group = self.steps[at] if at >= 0 else None
        if not isinstance(group, Group) or op.output.size >= group.size:
            return False
        return any(view.val in group.made for view in op.inputs) and self.enter(group, at, [op])

    def wait(self, op: Map) -> None:
        """Has a map wait for a reader."""
        self.waiting[op.output] = op
        for view in op.inputs:
            if view.val.root in self.written:
                self.waiting_for[view.val.root][op] = None

    def settle(self, op: Map | Reduce) -> None:
        """Puts an operation into a group, together with what it reads that has been waiting."""
        while not self.settle_together(op, company := self.company(op)):
            assert company, "an operation can be a group by itself"
            others = [other for other in company if other.output.size != _size(op)]
            self.place_waiting((others or company)[-1].output)

    def settle_together(self, op: Map | Reduce, company: Sequence[Map]) -> bool:
        """Puts operations into one group, if they fit any; those that a group fits already that makes what they read
        rather go there."""
        ops = [*company, op]
        if self.join(ops, made_there=False):
            return True
        if company and self.join(company, made_there=True):
            return self.settle_together(op, ())
        group = Group(_size(ops[-1]))
        self.steps.append(group)
        if self.enter(group, len(self.steps) - 1, ops):
            return True
        self.steps.pop()
        return False

    def join(self, ops: Sequence[Map | Reduce], made_there: bool) -> bool:
        """Puts operations into a group that there is, perhaps one that makes something they read, if they fit any."""
        for at in self.candidates(ops):
            group = self.steps[at]
            if not isinstance(group, Group):
                continue
            made = any(view.val in group.made for op in ops for view in op.inputs)
            if (made or (not made_there and _size(ops[-1]) == group.size)) and self.enter(group, at, ops):
                return True
        return False

    def company(self, op: Map | Reduce) -> list[Map]:
        """The maps that wait for an operation, in order. Those that it, or one of them, does not read in the order in
        which they are made get groups first."""
        while True:
            found: dict[Map, None] = {}
            apart: list[Val] = []
            self._follow(op, found, apart)
            if not apart:
                return list(found)
            for val in apart:
                self.place_waiting(val)

    def _follow(self, reader: Map | Reduce, found: dict[Map, None], apart: list[Val]) -> None:
        for view in reader.inputs:
            other = self.waiting.get(view.val)
            if other is None or other in found:
                continue
            if in_order(view):
                self._follow(other, found, apart)
                found[other] = None
            else:
                apart.append(view.val)

    def earliest(self, ops: Sequence[Map | Reduce]) -> int:
        """The first step in which operations can run."""
        first = max([self.position.get(view.val, -1) for op in ops for view in op.inputs], default=-1)
        writes = ops[-1].output.home
        if writes is not None:
            first = max([first, *[at + 1 for at, _, _ in self.writes[writes.val].under(writes)]])
            first = max([first, *[at for at, _, _ in self.reads[writes.val].under(writes)]])
        return first

    def candidates(self, ops: Sequence[Map | Reduce]) -> list[int]:
        """The groups that they may join, by their place in order: those that make or read what they read."""
        earliest = self.earliest(ops)
        near = {earliest} if 0 <= earliest < len(self.steps) else set[int]()
        for op in ops:
            for view in op.inputs:
                if view.val.size == view.size > 1 or op.output.size == 1:
                    near.update([at for at in self.recent.get(view.val.root, ()) if at >= earliest])
        return sorted(near)

    def enter(self, group: Group, at: int, ops: Sequence[Map | Reduce]) -> bool:
        """Puts all these operations into the group of a step, or none of them."""
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
            if not overlap(place, writes):
                continue
            same = (place.offset, place.shape, place.strides) == (writes.offset, writes.shape, writes.strides)
            if not same or place.size != group.size or group.stage(reader) > stage:
                return False
        return True

    def place_waiting(self, val: Val) -> None:
        """Ends the waiting of an operation."""
        op = self.waiting.get(val)
        if op is not None:
            self.settle(op)

    def place_readers(self, writer: Operation) -> None:
        """Has those that wait read memory before it is written to; but those that wait for the writer go with it."""
        for val in writer.outputs:
            if val.home is None:
                continue
            waiting = [op for op in self.waiting_for.get(val.root, ()) if op.output in self.waiting]
            self.waiting_for[val.root] = dict.fromkeys(waiting)
            readers = [op for op in waiting if any(_reads(view, val.home) for view in op.inputs)]
            along = self.company(writer) if readers and isinstance(writer, (Map, Reduce)) else ()
            for other in readers:
                if other not in along:
                    self.place_waiting(other.output)

    def place_all(self) -> None:
        """Ends all waiting; the last take along what they have been waiting for."""
        for val in reversed(list(self.waiting)):
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


def _size(op: Map | Reduce) -> int:
    """How many elements it goes through."""
    return prod(op.inputs[0].shape) if isinstance(op, Reduce) else op.output.size


def _reads(view: View, place: View) -> bool:
    """Whether a view may show some of a place in the memory of a value."""
    return view.val.root is place.val and overlap(_in_root(view), place)


def _in_root(view: View) -> View:
    """A view as one of the root's memory."""
    return View(view.val.root, view.shape, view.strides, view.offset + view.val.start)


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

"""Where every value of a program lies: in an array that a call is given or makes, or in the arena."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.backends.native.fusion import Step
from varigrad.backends.native.groups import Group
from varigrad.backends.native.lowering import Lowered
from varigrad.backends.native.operations import HostCall, Val, View
from varigrad.jit.memory import Interval, plan

__all__ = ["Places"]


class Places:
    """Where every value lies: in which array of a call, or where in the arena. Array 0 is the arena."""

    def __init__(self, lowered: Lowered, steps: Sequence[Step]) -> None:
        self.slot: dict[Val, int] = {val: at + 1 for at, val in enumerate(lowered.source_vals)}
        self.outputs: list[int] = []
        self.made: list[View] = []  # what is returned, in memory that the call takes
        self.count = 1 + len(lowered.source_vals)
        hosted = [val for step in steps if isinstance(step, HostCall) for val in step.outputs if val.home is None]
        for view in lowered.outputs:
            if view.val.root not in self.slot and view.val not in hosted:
                self.slot[view.val.root] = self.count
                self.made.append(view)
                self.count += 1
        self.first_hosted = self.count
        for val in hosted:
            self.slot[val] = self.count
            self.count += 1
        self.outputs = [self.slot[view.val.root] for view in lowered.outputs]
        self._plan_arena(steps)

    def _plan_arena(self, steps: Sequence[Step]) -> None:
        lives: dict[Val, list[int]] = {}
        for at, step in enumerate(steps):
            for val in _touched(step):
                if val.root not in self.slot and val.literal is None:
                    lives.setdefault(val.root, []).append(at)
        order = sorted(lives, key=lambda val: lives[val][0])
        self.arena = plan([Interval(lives[v][0], lives[v][-1], v.size * v.kind.size) for v in order])
        self.offsets = dict(zip(order, self.arena.offsets, strict=True))

    def of(self, val: Val, elements: int) -> tuple[int, int]:
        """The place in the table and the offset in bytes of an element of a value's root."""
        slot = self.slot.get(val)
        return (
            (slot, elements * val.kind.size) if slot is not None else (0, self.offsets[val] + elements * val.kind.size)
        )


def _touched(step: Step) -> list[Val]:
    """The values that a step reads from memory or writes there."""
    if not isinstance(step, Group):
        return [*[view.val for view in step.inputs], *step.outputs]
    read = [view.val for op in step.operations for view in op.inputs if view.val not in step.made]
    return [*read, *step.made]

"""Where every value of a program lies: in an array that a call is given or makes, or in the arena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.backends.native.chains import Chain, pooled
from varigrad.backends.native.fusion import Step, reads_of, results_of
from varigrad.backends.native.lowering import Lowered
from varigrad.backends.native.operations import HostCall, Routine, Val, View
from varigrad.jit.memory import Interval, plan

__all__ = ["Places"]


class Places:
    """Where every value lies: in which array of a call, or where in the arena. Array 0 is the arena.

    The arrays are, in order: those that are only read, what is returned, the variables that are written to, and what
    the NumPy kernels make.
    """

    def __init__(self, lowered: Lowered, steps: Sequence[Step]) -> None:
        made_in_place = {val.root for op in lowered.operations for val in op.outputs if val.home is not None}
        known = zip(lowered.sources, lowered.source_vals, strict=True)
        self.variables: list[Any] = []  # those that are written to
        written: dict[Val, None] = {}  # in order, and found at once
        for value, val in known:
            if val in made_in_place and value.source is not None and value.source.kind == "variable":
                self.variables.append(value.source.what)
                written[val] = None
        self.slot: dict[Val, int] = {}
        self.made: list[View] = []  # what is returned, in memory that the call takes
        for val in lowered.source_vals:
            if val not in written:
                self._add(val)
        calls = [step for step in steps if isinstance(step, HostCall)]
        hosted = {val: None for step in calls for val in step.outputs if val.home is None}
        for view in lowered.outputs:
            if view.val.root not in self.slot and view.val not in hosted:
                self._add(view.val.root)
                self.made.append(view)
        self.first_written = len(self.slot) + 1
        for val in written:
            self._add(val)
        self.first_hosted = len(self.slot) + 1
        for val in hosted:
            self._add(val)
        self.count = len(self.slot) + 1
        self.outputs = [self.slot[view.val.root] for view in lowered.outputs]

    def _add(self, val: Val) -> None:
        self.slot[val] = len(self.slot) + 1

    def plan_arena(self, steps: Sequence[Step], chains: Sequence[Chain]) -> None:
        """Gives every value that is in no array a place in the arena. What a chain uses has it all the time, except
        where all its parts are done alike with one value after another."""
        lives: dict[Val, tuple[int, int]] = {}
        read = {val for step in steps for val in reads_of(step)}
        for at, step in enumerate(steps):
            written = [
                val for val in results_of(step) if val in read or val.home is not None or isinstance(step, Routine)
            ]
            for val in [*reads_of(step), *written]:
                if val.root not in self.slot and val.literal is None:
                    lives[val.root] = lives.get(val.root, (at, at))[0], at
        shared = pooled(lives, chains)
        first, last = list(range(len(steps))), list(range(len(steps)))
        for chain in chains:
            first[chain.first : chain.end] = [chain.first] * (chain.end - chain.first)
            last[chain.first : chain.end] = [chain.end - 1] * (chain.end - chain.first)
        owners = [val for val in lives if shared.get(val, val) is val]
        intervals = [Interval(first[lives[v][0]], last[lives[v][1]], v.size * v.kind.size) for v in owners]
        self.lives = dict(zip(owners, intervals, strict=True))
        self.arena = plan(intervals)
        self.offsets = dict(zip(owners, self.arena.offsets, strict=True))
        self.offsets |= {val: self.offsets[owner] for val, owner in shared.items()}

    def of(self, val: Val, elements: int) -> tuple[int, int]:
        """The place in the table and the offset in bytes of an element of a value's root."""
        slot = self.slot.get(val)
        return (
            (slot, elements * val.kind.size) if slot is not None else (0, self.offsets[val] + elements * val.kind.size)
        )

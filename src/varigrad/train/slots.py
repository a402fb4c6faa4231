"""The memory of optimizers: flat arrays in which the slots of several variables lie side by side."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from varigrad.dtypes import Array
from varigrad.scopes import dispose
from varigrad.tensor import Tensor, Variable

__all__ = ["SlotGroup", "slot_groups"]

# One ufunc over many small arrays side by side beats one for each; of a larger array, the work itself is the cost.
_SMALL = 16_384
_GROUP = 32_768


class Member(NamedTuple):
    """A variable of a slot group, referred to weakly: an optimizer keeps no model alive."""

    name: str
    variable: weakref.ref[Variable]
    shape: tuple[int, ...]


class SlotGroup:
    """Variables of one dtype that are updated together; slot `k` of all of them is the flat tensor `slots[k]`."""

    __slots__ = ("_ends", "_parts", "dtype", "members", "slots")

    def __init__(self, variables: Sequence[Variable], fills: Sequence[float]) -> None:
        self.dtype = variables[0].storage.dtype
        self.members = [Member(v.name, weakref.ref(v), v.storage.shape) for v in variables]
        self._ends = [0, *accumulate(v.storage.size for v in variables)]
        # Not announced to observers: slots outlive the tidy scope in which a variable is first trained.
        self.slots = tuple([Tensor(np.full(self._ends[-1], fill, self.dtype)) for fill in fills])
        self._parts: dict[int, tuple[Tensor, ...]] = {}

    def is_alive(self) -> bool:
        """Whether any of the variables is."""
        return any(member.variable() is not None for member in self.members)

    def part(self, position: int) -> tuple[Tensor, ...]:
        """The slots of one variable alone, flat; the same memory and, at each call, the same tensors."""
        if len(self.members) == 1:
            return self.slots
        parts = self._parts.get(position)
        if parts is None:
            start, end = self._ends[position : position + 2]
            parts = self._parts[position] = tuple([Tensor(slot.storage[start:end]) for slot in self.slots])
        return parts

    def arrays(self, position: int) -> list[Array]:
        """The slots of one variable, in its shape; writing to them changes the slots."""
        start, end = self._ends[position : position + 2]
        return [slot.storage[start:end].reshape(self.members[position].shape) for slot in self.slots]

    def dispose(self) -> None:
        """Gives the memory back."""
        dispose([self.slots, self._parts])


def slot_groups(variables: Iterable[Variable], fills: Sequence[float]) -> Iterator[SlotGroup]:
    """Groups for variables that are first seen together, each slot filled with its number in `fills`: small ones share
    a group with those of their dtype, large ones have one alone."""
    open_groups: dict[np.dtype[np.generic], list[Variable]] = {}
    for variable in variables:
        size, dtype = variable.storage.size, variable.storage.dtype
        if size > _SMALL:
            yield SlotGroup([variable], fills)
            continue
        members = open_groups.setdefault(dtype, [])
        if members and sum(v.storage.size for v in members) + size > _GROUP:
            yield SlotGroup(members, fills)
            members = open_groups[dtype] = []
        members.append(variable)
    for members in open_groups.values():
        yield SlotGroup(members, fills)

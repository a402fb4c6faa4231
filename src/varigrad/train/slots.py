"""The memory of optimizers: flat arrays in which the slots of several variables lie side by side."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from varigrad.dtypes import Array
from varigrad.halves import computing_dtype
from varigrad.scopes import dispose
from varigrad.tensor import Tensor, Variable, find_variable, format_shape
from varigrad.train.named import list_names, other_variables

__all__ = ["SlotGroup", "Slots"]

# One ufunc over many small arrays side by side beats one for each; of a larger array, the work itself is the cost.
_SMALL = 16_384
_GROUP = 32_768


class Member(NamedTuple):
    """A variable of a slot group, referred to weakly: an optimizer keeps no model alive."""

    name: str
    variable: weakref.ref[Variable]
    shape: tuple[int, ...]


class SlotGroup:
    """Variables of one dtype that are updated together; slot `k` of all of them is the flat tensor `slots[k]`.

    Slots have the dtype of the variables, but float32 where these are float16 or bfloat16: a mean of squares is out of
    reach of the first, and too near to what is added to it for the second.
    """

    __slots__ = ("_ends", "_parts", "dtype", "members", "slots")

    def __init__(self, variables: Sequence[Variable], fills: Sequence[float]) -> None:
        self.dtype = variables[0].storage.dtype
        self.members = [Member(v.name, weakref.ref(v), v.storage.shape) for v in variables]
        self._ends = [0, *accumulate(v.storage.size for v in variables)]
        # Not announced to observers: slots outlive the tidy scope in which a variable is first trained.
        self.slots = tuple([Tensor(np.full(self._ends[-1], fill, computing_dtype(self.dtype))) for fill in fills])
        self._parts: dict[int, tuple[Tensor, ...]] = {}

    def living(self) -> list[tuple[int, Variable]]:
        """The variables that still are, and their positions."""
        return [
            (position, variable)
            for position, member in enumerate(self.members)
            if (variable := find_variable(member.name)) is not None and variable is member.variable()
        ]

    def is_whole(self) -> bool:
        """Whether all variables still are."""
        return len(self.living()) == len(self.members)

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

    def tensors(self) -> list[tuple[Tensor, ...]]:
        """All tensors over the group's memory."""
        return [self.slots, *self._parts.values()]


class Slots:
    """The slots of every variable that an optimizer has met, and of those for which it was given some.

    `fills` says what the slots of a variable are called and what they are filled with at first.
    """

    compiled_for = ("version",)  # see `Optimizer`

    def __init__(self, owner: str) -> None:
        self.version = 0  # another whenever slots go or move
        self.groups: list[SlotGroup] = []
        self._owner = owner
        self._places: dict[str, tuple[SlotGroup, int]] = {}
        self._given: dict[str, list[Array]] = {}  # restored, of variables that no step has met since
        self._just_restored = False

    def meet(self, variables: Mapping[str, Variable], fills: Mapping[str, float]) -> None:
        """Makes slots for those among the variables that have none: with the values restored for them, if any, or
        filled anew."""
        self._regroup_survivors(fills)
        new = [variable for name, variable in variables.items() if not self._knows(name, variable)]
        if new:
            self._check_restored(variables, new, fills)
            self._add(new, fills, self._given)

    def read(self) -> dict[str, list[Array]]:
        """The slots of each variable alive, in its shape and in the order in which variables were first met."""
        living = {name: group.arrays(position) for name, group, position in self._living()}
        return living | {name: arrays for name, arrays in self._given.items() if find_variable(name) is not None}

    def restore(self, states: Mapping[str, list[Array]], fills: Mapping[str, float]) -> None:
        """Gives every variable the slots that `states` has under its name, and starts the others afresh.

        Raises:
            ValueError: `states` is for other variables or shapes; nothing has changed then.
        """
        op = f"{self._owner}.set_weights"
        found = {name: find_variable(name) for name in states}
        strangers = [name for name, variable in found.items() if variable is None]
        if strangers:
            raise ValueError(
                f"{op}: the state is for other variables: there is none named {list_names(strangers)}; "
                f"{other_variables(states)}"
            )
        for variable in found.values():
            if variable is not None:
                self._check_shapes(op, variable, fills, states[variable.name])
        self._given = dict(states)
        for name, group, position in self._living():
            for array, values in zip(group.arrays(position), self._given.pop(name, fills.values()), strict=True):
                array[...] = values
        self._just_restored = bool(self._given)

    def dispose(self) -> None:
        """Gives the memory back."""
        self.version += 1
        dispose([group.tensors() for group in self.groups])
        self.groups, self._places, self._given = [], {}, {}

    def _add(self, variables: Iterable[Variable], fills: Mapping[str, float], values: dict[str, list[Array]]) -> None:
        """Makes slots, and takes what they hold from `values` where it has some."""
        for group in _groups(variables, list(fills.values())):
            self.groups.append(group)
            for position, member in enumerate(group.members):
                self._places[member.name] = group, position
                for array, value in zip(group.arrays(position), values.pop(member.name, ())):
                    array[...] = value

    def _regroup_survivors(self, fills: Mapping[str, float]) -> None:
        """Drops the slots of variables that are gone; a group with gaps could not be updated in one go any more."""
        broken = [group for group in self.groups if not group.is_whole()]
        if not broken:
            return
        self.version += 1
        survivors: list[Variable] = []
        values: dict[str, list[Array]] = {}
        for group in broken:
            self.groups.remove(group)
            for position, variable in group.living():
                survivors.append(variable)
                values[variable.name] = group.arrays(position)
        self._places = {name: place for name, place in self._places.items() if place[0] not in broken}
        self._add(survivors, fills, values)

    def _knows(self, name: str, variable: Variable) -> bool:
        place = self._places.get(name)
        return place is not None and place[0].members[place[1]].variable() is variable

    def _living(self) -> list[tuple[str, SlotGroup, int]]:
        return [
            (name, group, position)
            for name, (group, position) in self._places.items()
            if (variable := find_variable(name)) is not None and self._knows(name, variable)
        ]

    def _check_restored(
        self, variables: Mapping[str, Variable], new: Sequence[Variable], fills: Mapping[str, float]
    ) -> None:
        op = f"{self._owner}.apply_gradients"
        for variable in new:
            self._check_shapes(op, variable, fills, self._given.get(variable.name, []))
        unknown = [v.name for v in new if v.name not in self._given]
        unused = [
            name
            for name in self._given
            if name not in variables and ((other := find_variable(name)) is None or other.trainable)
        ]
        if self._just_restored and unknown and unused:
            raise ValueError(
                f"{op}: the restored state is for other variables: it has slots for {list_names(unused)}, which got no "
                f"gradient, and none for {list_names(unknown)}"
            )
        self._just_restored = False

    @staticmethod
    def _check_shapes(op: str, variable: Variable, names: Iterable[str], arrays: Sequence[Array]) -> None:
        for slot, values in zip(names, arrays):
            if values.shape != variable.shape:
                raise ValueError(
                    f"{op}: the restored slot '{variable.name}/{slot}' has shape {format_shape(values.shape)} but the "
                    f"variable has {format_shape(variable.shape)}"
                )


def _groups(variables: Iterable[Variable], fills: Sequence[float]) -> Iterator[SlotGroup]:
    """Groups for variables that are first met together: small ones share a group with those of their dtype, a large one
    has a group alone."""
    open_groups: dict[np.dtype[np.generic], list[Variable]] = {}
    sizes: dict[np.dtype[np.generic], int] = {}  # of the open groups
    for variable in variables:
        size, dtype = variable.storage.size, variable.storage.dtype
        if size > _SMALL:
            yield SlotGroup([variable], fills)
            continue
        members = open_groups.setdefault(dtype, [])
        if members and sizes[dtype] + size > _GROUP:
            yield SlotGroup(members, fills)
            members = open_groups[dtype] = []
            sizes[dtype] = 0
        members.append(variable)
        sizes[dtype] = sizes.get(dtype, 0) + size
    for members in open_groups.values():
        yield SlotGroup(members, fills)

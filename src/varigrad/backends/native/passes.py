"""How a group goes through memory: its axes, and where each array lies along them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from varigrad.backends.native.code import Kind
from varigrad.backends.native.groups import Group
from varigrad.backends.native.operations import Map, Reduce, Shape, Val, View, dense

__all__ = ["Access", "Pass"]

_STRIP = 4  # vectors side by side that are gone down together


class Access:
    """How a pass goes through memory: a pointer, and a stride for each of its axes."""

    __slots__ = ("kind", "pointer", "strides")

    def __init__(self, pointer: int, kind: Kind, strides: list[int]) -> None:
        self.pointer = pointer
        self.kind = kind
        self.strides = strides


class Pass:
    """One pass of a group over memory.

    `pointers` are the places that its code is called with, as a value and an offset in elements. `sizes` are the
    lengths of its axes, of which `rows` and `cols` list the numbers, and `blocks` those of rows that count blocks;
    `inner` is the length of the last. `stored` says where results are written that somebody reads from memory. `key` is
    equal for passes whose code is the same.
    """

    def __init__(self, group: Group, read_outside: Callable[[Val], bool], lanes: int) -> None:
        self.group = group
        self.pointers: list[tuple[Val, int]] = []
        self.stored: dict[Val, Access] = {}
        self._accesses: dict[Any, Access] = {}
        self._of_view: dict[int, Access] = {}  # by the view's id
        ordered = sorted(group.cuts)
        self._suffixes = ordered[:-1][::-1] or [1]
        self.sizes = [big // small for big, small in zip(ordered[1:], ordered)][::-1] or [1]
        structure = self._describe(read_outside)
        self._merge_axes()
        boundary = group.cols if group.cols is not None else self.sizes[-1] * self._suffixes[-1]
        self.rows = [d for d, suffix in enumerate(self._suffixes) if suffix >= boundary]
        self.cols = [d for d, suffix in enumerate(self._suffixes) if suffix < boundary]
        block = group.size // max(1, group.blocks)
        self.blocks = [d for d in self.rows if group.blocks > 1 and self._suffixes[d] >= block]
        self.inner = self.sizes[self.cols[-1]] if self.cols else 1
        self.lanes = min(lanes, 1 << (self.inner - 1).bit_length())
        self.strip = min(_STRIP, -(-self.inner // self.lanes))
        self.is_flat = not self.rows and len(self.cols) <= 1 and all(isinstance(op, Map) for op in group.operations)
        self.key = ("pass", *structure, tuple(self.sizes), group.cols, group.blocks, self.lanes)

    @property
    def parts(self) -> int:
        """Into how many parts the work may be divided."""
        if self.blocks:
            return self.sizes[self.blocks[0]]
        if self.group.by_columns:
            return self.sizes[self.cols[0]] if len(self.cols) > 1 else -(-self.inner // (self.lanes * self.strip))
        if self.rows:
            return self.sizes[self.rows[0]]
        return -(-self.inner // self.lanes) if self.is_flat else 1

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        return self.group.size * sum([op.steps for op in self.group.operations])

    def access_of(self, view: View) -> Access:
        """How what a view shows is gone through."""
        return self._of_view[id(view)]

    def accesses(self) -> list[Access]:
        """All of them."""
        return list(self._accesses.values())

    def _describe(self, read_outside: Callable[[Val], bool]) -> tuple[Any, ...]:
        """Finds how memory is gone through; gives what distinguishes this group from others."""
        group = self.group
        numbers = {val: number for number, val in enumerate(group.made)}
        parts: list[Any] = []
        for op in group.operations:
            scale = self._scale(op)
            inputs: list[Any] = []
            for view in op.inputs:
                if view.val.literal is not None:
                    inputs.append((view.kind.char, repr(view.val.literal)))
                elif view.val in group.made:
                    inputs.append(numbers[view.val])
                else:
                    strides = self._strides(view.shape, view.strides, scale)
                    access = self._of_view[id(view)] = self._access(view.val, view.offset + view.val.start, strides)
                    inputs.append((view.kind.char, access.pointer, tuple(access.strides)))
            output = op.output
            stored: Any = None
            if output.home is not None or read_outside(output):
                access = self.stored[output] = self._output(op)
                stored = access.pointer, tuple(access.strides)
            what = (op.name, repr(sorted(op.attrs.items()))) if isinstance(op, Map) else (op.how, op.rows, op.blocks)
            parts.append((what, tuple(inputs), output.kind.char, output in group.per_row, stored))
        return tuple(parts)

    def _scale(self, op: Map | Reduce) -> int:
        """How many elements of the pass each element of what an operation works on stands for."""
        return (self.group.cols or 1) if isinstance(op, Map) and op.output in self.group.per_row else 1

    def _output(self, op: Map | Reduce) -> Access:
        output = op.output
        strides = dense(output.shape) if output.home is None else output.home.strides
        if isinstance(op, Reduce) and op.blocks > 1:
            return self._access(output, output.start, self._strides_of_blocks(output, op.blocks))
        scale = (self.group.cols or 1) if output in self.group.per_row else 1
        return self._access(output, output.start, self._strides(output.shape, strides, scale))

    def _strides(self, shape: Shape, strides: Sequence[int], scale: int) -> list[int]:
        """The strides along the axes of the pass, for an array whose elements each stand for `scale` in a row."""
        return list(_strides_at(tuple(self._suffixes), shape, tuple(strides), scale))

    def _strides_of_blocks(self, output: Val, blocks: int) -> list[int]:
        """The strides for one row of results a block: [block, column]."""
        cols = output.size // blocks
        block = self.group.size // blocks
        return [cols * (at // block) if at >= block else at if at < cols else 0 for at in self._suffixes]

    def _access(self, val: Val, offset: int, strides: list[int]) -> Access:
        key = val.root, offset, tuple(strides)
        access = self._accesses.get(key)
        if access is None:
            place = (val.root, offset)
            if place not in self.pointers:
                self.pointers.append(place)
            access = self._accesses[key] = Access(self.pointers.index(place), val.kind, strides)
        return access

    def is_kept(self, d: int) -> bool:
        """Whether an axis stays apart from the one after it for a reason of its own."""
        return False

    def _merge_axes(self) -> None:
        """Makes one axis of two where all memory is gone through alike."""
        accesses = self._accesses.values()
        block = self.group.size // self.group.blocks if self.group.blocks > 1 else None
        for d in range(len(self.sizes) - 2, -1, -1):
            if self._suffixes[d] in (self.group.cols, block) or self.is_kept(d):
                continue
            following = self.sizes[d + 1]
            if self.sizes[d] == 1 or all(a.strides[d] == a.strides[d + 1] * following for a in accesses):
                self.sizes[d + 1] *= self.sizes[d]
                for a in accesses:
                    del a.strides[d]
                del self.sizes[d], self._suffixes[d]


@lru_cache(maxsize=4096)
def _strides_at(suffixes: Shape, shape: Shape, strides: Shape, scale: int) -> Shape:
    """The strides of an array along axes, which are given by how many elements of the pass follow one another there."""
    axes: list[tuple[int, int, int]] = []
    suffix = scale
    for n, stride in zip(reversed(shape), reversed(strides)):
        axes.append((suffix, suffix * n, stride))
        suffix *= n
    return tuple([next((s * (at // low) for low, high, s in axes if low <= at < high), 0) for at in suffixes])

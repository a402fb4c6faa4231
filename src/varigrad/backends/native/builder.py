"""`Builder`: writes down operations, one after the other; what rules of lowering are written with."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from varigrad.backends.native.code import BOOL, I32, Kind, kind_of
from varigrad.backends.native.operations import (
    Check,
    HostCall,
    Join,
    Map,
    Operation,
    Origin,
    Reduce,
    Routine,
    RoutineCode,
    Shape,
    Val,
    View,
    whole,
)
from varigrad.dtypes import Array

if TYPE_CHECKING:
    from varigrad.jit.graph import Node

__all__ = ["Builder"]

_MANY = 1 << 16  # elements from which reductions of rows are done in blocks
_WIDE = 1024  # columns from which there are enough of them to divide the work by


class Builder:
    """The operations so far. Methods take views and give a view of what is computed."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.origin = Origin("", "")  # what the operations written down next come from
        self.node: Node | None = None  # and the node of the graph that is being lowered
        self.repeats_factor = False  # whether that is a product whose second factor others have too
        self.checks: list[Check] = []
        self.constants: dict[Any, tuple[Val, Array]] = {}
        self._known: dict[Any, Val] = {}  # what has been computed, by how
        self._bounds: dict[Any, tuple[int, Sequence[int], View]] = {}  # of integers: lowest, limits, what found them
        self._draws_late = False  # whether some random numbers are drawn in the midst of machine code
        self._at_start = 0  # how many operations were put in front of all others

    def add(self, op: Operation, first: bool = False) -> None:
        """Writes an operation down, `first` in front of all that are not so themselves."""
        op.origin = self.origin
        self.operations.insert(self._at_start if first else len(self.operations), op)
        self._at_start += first

    def constant(self, array: Array) -> View:
        """An array that is the same at every call."""
        key = array.dtype.str, array.shape, array.tobytes()
        if key not in self.constants:
            kind = kind_of(array.dtype)
            assert kind is not None
            val = Val(array.shape, kind, source=-1)  # the number comes when all sources are known
            self.constants[key] = val, array
            self.note_values(whole(val), array)
        return whole(self.constants[key][0])

    def note_values(self, x: View, array: Array) -> None:
        """Remembers between which integers those of a constant are."""
        if x.kind is I32 and array.size:
            self.note_bounds(x, int(array.min()), [int(array.max()) + 1], self.number(0, I32))

    def note_bounds(self, x: View, lowest: int, limits: Sequence[int], found: View) -> None:
        """Remembers that integers are from `lowest` up to below limits, one for all or for each place along the last
        axis, once `found` is there."""
        self._bounds[x.identity] = lowest, limits, found

    def found_within(self, x: View, lowest: int, limits: Sequence[int]) -> View | None:
        """What has found that integers are between these bounds, if anything has."""
        known = self._bounds.get(x.identity)
        if known is None or known[0] < lowest or not (max(known[1]) <= min(limits) or list(known[1]) == list(limits)):
            return None
        return known[2]

    def new_check(self, x: View, at: int) -> int:
        """The number of a new check, of what is the node's input number `at`."""
        assert self.node is not None
        self.checks.append(Check(self.node, at, x))
        return len(self.checks)

    def map(
        self,
        name: str,
        *inputs: View | float,
        kind: Kind | None = None,
        into: View | None = None,
        **attrs: Any,
    ) -> View:
        """A function of numbers, of inputs that broadcast; `into` says in which memory the result lies."""
        first = next(x for x in inputs if isinstance(x, View))
        of_numbers = next((x for x in inputs if isinstance(x, View) and x.kind is not BOOL), first).kind
        views = [x if isinstance(x, View) else self.number(x, of_numbers) for x in inputs]
        shapes = {x.shape for x in views if x.shape}
        shape = np.broadcast_shapes(*shapes) if len(shapes) > 1 else next(iter(shapes), ())
        output = Val(shape, kind or first.kind, home=into)
        views = [x if x.shape == shape else x.broadcast(shape) for x in views]
        return self._append(Map(name, views, output, attrs), (name, repr(attrs), output.kind))

    def number(self, value: float, kind: Kind) -> View:
        """A constant of rank 0."""
        return whole(Val((), kind, literal=value))

    def cast(self, x: View, kind: Kind) -> View:
        """The same numbers as another kind."""
        if x.kind is kind:
            return x
        output = Val(x.shape, kind)
        return self._append(Map("Cast", [x], output, {"kind": kind}), ("Cast", kind))

    def compare(self, name: str, *inputs: View | float) -> View:
        """A function of numbers that says true or false."""
        return self.map(name, *inputs, kind=BOOL)

    def reduce(self, how: str, x: View, axes: Sequence[int], keep: bool = False) -> View:
        """A sum, product, maximum … along axes."""
        gone = {axis for axis in axes if x.shape[axis] != 1}
        shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape) if keep or a not in axes)
        if not gone:
            return self.reshape(self.map("Copy", x), shape)
        kept = [a for a, n in enumerate(x.shape) if a not in gone and n != 1]
        reduced = sorted(gone)
        rows = not kept or kept[-1] < reduced[-1]
        x = x.permuted([*kept, *reduced] if rows else [*reduced, *kept])
        left = tuple(n for n in shape if n != 1)
        blocks = 1 if rows else _blocks(x, prod(left))
        output = Val(left if blocks == 1 else (blocks, *left), x.kind)
        result = self._append(Reduce(how, x, output, rows, blocks), (how, rows, output.shape))
        if blocks > 1:
            result = self._append(Reduce(how, result, Val(left, x.kind), False), (how, False, left))
        return self.reshape(result, shape)

    def reshape(self, x: View, shape: Shape) -> View:
        """The same numbers in another shape."""
        if x.shape == shape:
            return x
        view = x.reshaped(shape)
        return self.copy(x).reshaped(shape) if view is None else view  # pyright: ignore[reportReturnType]

    def copy(self, x: View, into: View | None = None) -> View:
        """The same numbers side by side in memory."""
        return self.map("Copy", x, into=into)

    def apart(self, x: View) -> View:
        """A copy that is nobody else's, whatever copies there are."""
        output = Val(x.shape, x.kind)
        self.add(Map("Copy", [x], output, {}))
        return whole(output)

    def whole(self, x: View) -> View:
        """The same numbers as all of some value; x itself if it is."""
        return x if x.is_whole and x.val.literal is None else self.copy(x)

    def routine(
        self,
        code: RoutineCode,
        inputs: Sequence[View],
        shape: Shape,
        kind: Kind | None = None,
        parts: int = 1,
        first: bool = False,
    ) -> View:
        """What a routine makes; `first` has it run before all else, if it reads sources only."""
        output = Val(shape, kind or inputs[0].kind)
        routine = Routine(code, [self._in_memory(x) for x in inputs], [output], parts)
        return self._append(routine, (code.key, tuple(code.numbers)), first)

    def routines(
        self, code: RoutineCode, inputs: Sequence[View], outputs: Sequence[tuple[Shape, Kind]], parts: int = 1
    ) -> list[View]:
        """The several arrays that a routine makes."""
        made = [Val(shape, kind) for shape, kind in outputs]
        self.add(Routine(code, [self._in_memory(x) for x in inputs], made, parts))
        return [whole(val) for val in made]

    def call_host(self, node: Node, inputs: Sequence[View], outputs: Sequence[Val]) -> None:
        """Has the NumPy kernel of a node run. One that only draws random numbers runs before all machine code, so that
        it parts nothing; but always in the order of draws."""
        first = node.is_random and not inputs and not self._draws_late
        self._draws_late |= node.is_random and not first
        self.add(HostCall(node, inputs, outputs), first)

    def _append(self, op: Map | Reduce | Routine, what: Any, first: bool = False) -> View:
        """The result of an operation; of one like it, if there was one."""
        (output,) = op.outputs
        if output.home is None:
            key = what, output.kind, output.shape, tuple([x.identity for x in op.inputs])
            known = self._known.setdefault(key, output)
            if known is not output:
                return whole(known)
        self.add(op, first)
        return whole(output)

    def _in_memory(self, x: View) -> View:
        """The same view, of a value that lies in memory where it was a constant."""
        return x if x.val.literal is None else View(self.copy(whole(x.val)).val, x.shape, x.strides, x.offset)

    def full(self, shape: Shape, value: float, kind: Kind, into: View | None = None) -> View:
        """An array with one number everywhere."""
        output = Val(shape, kind, home=into)
        self.add(Map("Copy", [self.number(value, kind).broadcast(shape)], output, {}))
        return whole(output)

    def assemble(self, parts: Sequence[tuple[View, View]], root: Val) -> View:
        """An array of which each part is a copy: pairs of what is copied and where in the memory of `root`."""
        return self.joined([self.copy(x, into=place).val for x, place in parts], root)

    def joined(self, parts: Sequence[Val], root: Val) -> View:
        """All of a value's memory, once its parts are written."""
        output = Val(root.shape, root.kind, home=whole(root))
        self.add(Join(parts, output))
        return whole(output)

    def pack(self, parts: Sequence[View]) -> View:
        """Arrays of one shape as the slices of a new first axis."""
        shape = parts[0].shape
        root = Val((len(parts), *shape), parts[0].kind)
        one = (1, *shape)
        begin = [0] * len(shape)
        pairs = [(self.reshape(x, one), whole(root).part([at, *begin], one)) for at, x in enumerate(parts)]
        return self.assemble(pairs, root)

    def padded(self, x: View, before: Sequence[int], shape: Shape, value: float, steps: Sequence[int]) -> View:
        """An array with one number everywhere, and x in it from `before` on, `steps` apart."""
        root = Val(shape, x.kind)
        background = self.full(shape, value, x.kind, into=whole(root))
        inside = self.copy(x, into=whole(root).part(before, x.shape, steps))
        return self.joined([background.val, inside.val], root)


def _blocks(x: View, cols: int) -> int:
    """In how many blocks many rows are reduced, for several threads to do it, and sums to keep their digits."""
    if x.size < _MANY or cols > _WIDE:
        return 1
    return next((blocks for blocks in (32, 25, 16, 12, 10, 8) if x.shape[0] % blocks == 0), 1)

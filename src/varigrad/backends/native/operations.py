"""What a graph is lowered to: operations on views of values in memory.

A `View` says where the elements of an array are found in the memory of a `Val`: an offset and strides, in elements.
Reshaping, transposing, slicing and broadcasting only make other views. An operation is a `Map` (number by number), a
`Reduce`, a `Routine` (machine code of its own shape, such as a matrix product) or a `HostCall` (a NumPy kernel).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from varigrad.backends.native.code import Code, Kind

if TYPE_CHECKING:
    from varigrad.jit.graph import Node

__all__ = [
    "Check",
    "HostCall",
    "Join",
    "Map",
    "Operation",
    "Origin",
    "Reduce",
    "Routine",
    "RoutineCode",
    "Shape",
    "Val",
    "View",
    "dense",
    "overlap",
    "whole",
]

Shape: TypeAlias = tuple[int, ...]


class Origin(NamedTuple):
    """What an operation comes from: a kernel of the graph, and the line that called it."""

    kernel: str
    site: str


class Val:
    """An array that one operation makes, or that comes from outside (`source`: its number there).

    `home` is where it lies in the memory of another value, if an operation writes it there: the memory of `root`, from
    `start` on, in elements. `literal` is the number, if the array is a constant of one element. `size` is the number of
    elements.
    """

    __slots__ = ("home", "kind", "literal", "number", "root", "shape", "size", "source", "start")
    _numbers = itertools.count()

    def __init__(
        self,
        shape: Shape,
        kind: Kind,
        source: int | None = None,
        home: View | None = None,
        literal: float | None = None,
    ) -> None:
        self.shape = shape
        self.kind = kind
        self.source = source
        self.home = home
        self.literal = literal
        self.number = next(Val._numbers)
        self.size = prod(shape)
        self.root: Val = self if home is None else home.val
        self.start = 0 if home is None else home.offset

    def __repr__(self) -> str:
        return f"%{self.number}"


class View:
    """An array in the memory of a value."""

    __slots__ = ("offset", "shape", "strides", "val")

    def __init__(self, val: Val, shape: Shape, strides: Shape, offset: int = 0) -> None:
        self.val = val
        self.shape = shape
        self.strides = strides
        self.offset = offset

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    @property
    def kind(self) -> Kind:
        """The kind of number."""
        return self.val.kind

    @property
    def identity(self) -> tuple[Any, ...]:
        """Equal for views of the same numbers."""
        val = self.val
        source = val if val.literal is None else (repr(val.literal), val.kind)
        return source, self.shape, self.strides, self.offset

    @property
    def is_dense(self) -> bool:
        """Whether its elements lie side by side, in order."""
        return all(n == 1 or s == d for n, s, d in zip(self.shape, self.strides, dense(self.shape)))

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its value, in order."""
        return self.offset == 0 and self.size == self.val.size and self.is_dense

    def reshaped(self, shape: Shape) -> View | None:
        """The same elements in another shape, or None where no strides lead to them."""
        strides: list[int] = []
        old = [(n, s) for n, s in zip(self.shape, self.strides) if n != 1]
        place = 0
        for n in shape:
            if n == 1:
                strides.append(0)
                continue
            # The axes of the old shape are split and merged from the front.
            if place >= len(old):
                return None
            length, stride = old[place]
            while length % n:
                if place + 1 >= len(old):
                    return None
                following, step = old[place + 1]
                if stride != following * step:
                    return None
                length, stride, place = length * following, step, place + 1
            strides.append(stride * (length // n))
            if length == n:
                place += 1
            else:
                old[place] = (length // n, stride)
        return View(self.val, shape, tuple(strides), self.offset)

    def permuted(self, order: Sequence[int]) -> View:
        """Its axes in another order."""
        return View(self.val, tuple(self.shape[a] for a in order), tuple(self.strides[a] for a in order), self.offset)

    def broadcast(self, shape: Shape) -> View:
        """The same, repeated along axes of length 1 and new ones in front."""
        missing = len(shape) - len(self.shape)
        strides = [0] * missing
        strides += [0 if n == 1 else s for n, s in zip(self.shape, self.strides)]
        return View(self.val, shape, tuple(strides), self.offset)

    def part(self, begin: Sequence[int], size: Shape, steps: Sequence[int] | None = None) -> View:
        """On each axis, `size` elements from `begin` on, a step apart."""
        offset = self.offset + sum([b * s for b, s in zip(begin, self.strides) if b])
        strides = self.strides if steps is None else tuple(s * t for s, t in zip(self.strides, steps))
        return View(self.val, size, strides, offset)

    def span(self) -> tuple[int, int]:
        """The first place in the value's memory that it touches, and the one after the last."""
        low = high = self.offset
        for n, s in zip(self.shape, self.strides):
            if s > 0:
                high += (n - 1) * s
            elif s:
                low += (n - 1) * s
        return low, high + 1


@lru_cache(maxsize=4096)
def dense(shape: Shape) -> Shape:
    """The strides of an array whose elements lie side by side."""
    strides: list[int] = []
    step = 1
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def overlap(a: View, b: View) -> bool:
    """Whether two views of one value's memory may show the same element."""
    (first, last), (start, end) = a.span(), b.span()
    if first >= end or start >= last:
        return False
    for step in {s for n, s in zip(a.shape, a.strides) if n > 1 and s > 1}:
        # Columns of one matrix, `step` apart: which of them does each view show?
        columns = _columns(a, step), _columns(b, step)
        if columns[0] and columns[1] and (columns[0][0] >= columns[1][1] or columns[1][0] >= columns[0][1]):
            return False
    return True


def _columns(view: View, step: int) -> tuple[int, int] | None:
    """Of memory taken as rows of so many elements, the first column a view shows and the one after the last; None if
    they are no range."""
    width = 1
    for n, s in zip(view.shape, view.strides):
        if n == 1 or s % step == 0:
            continue
        if s < 0 or s > step:
            return None
        width += (n - 1) * s
    column = view.offset % step
    return (column, column + width) if column + width <= step else None


def whole(val: Val) -> View:
    """All of a value."""
    return View(val, val.shape, dense(val.shape))


class Map:
    """`name`, a row of `elementwise.LOWERINGS`, of inputs that all have the shape of the output."""

    __slots__ = ("attrs", "inputs", "name", "origin", "output")
    origin: Origin

    def __init__(self, name: str, inputs: Sequence[View], output: Val, attrs: Mapping[str, Any]) -> None:
        self.name = name
        self.inputs = list(inputs)
        self.output = output
        self.attrs = attrs

    @property
    def outputs(self) -> list[Val]:
        """What it makes."""
        return [self.output]

    @property
    def steps(self) -> int:
        """How many functions of numbers it takes, one after the other."""
        return self.attrs["formula"].steps if self.name == "Formula" else 1


class Reduce:
    """A sum, a product … of an input along its last axes (`rows`) or its first ones: all that `output` lacks.

    Down the first axes it may be taken in `blocks` of as many rows each; the output has a result for each then.
    """

    __slots__ = ("blocks", "how", "inputs", "origin", "output", "rows")
    origin: Origin

    def __init__(self, how: str, x: View, output: Val, rows: bool, blocks: int = 1) -> None:
        self.how = how
        self.inputs = [x]
        self.output = output
        self.rows = rows
        self.blocks = blocks

    @property
    def steps(self) -> int:
        """How many functions of numbers it takes."""
        return 1

    @property
    def outputs(self) -> list[Val]:
        """What it makes."""
        return [self.output]


class RoutineCode(Protocol):
    """How a routine is written."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        ...

    @property
    def numbers(self) -> Sequence[int]:
        """Integers that the code finds after its pointers."""
        ...

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        ...

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the code, of pointers to inputs and then to outputs, for the part of the work from begin to end."""
        ...


class Routine:
    """Machine code of its own; `parts` is into how many the work may be divided."""

    __slots__ = ("code", "inputs", "origin", "outputs", "parts")
    origin: Origin

    def __init__(self, code: RoutineCode, inputs: Sequence[View], outputs: Sequence[Val], parts: int = 1) -> None:
        self.code = code
        self.inputs = list(inputs)
        self.outputs = list(outputs)
        self.parts = parts


class Check(NamedTuple):
    """What a routine looks at that may call a program off: it is input number `at` of a node of the graph."""

    node: Node
    at: int
    view: View


class Join:
    """Makes one value of the parts that were written into the memory of its root; nothing runs for it."""

    __slots__ = ("origin", "outputs", "parts")
    origin: Origin

    def __init__(self, parts: Sequence[Val], output: Val) -> None:
        self.parts = list(parts)
        self.outputs = [output]

    @property
    def inputs(self) -> list[View]:
        """What must be there first."""
        return [whole(part) for part in self.parts]


class HostCall:
    """A node of the graph that runs as its NumPy kernel."""

    __slots__ = ("inputs", "node", "origin", "outputs")
    origin: Origin

    def __init__(self, node: Node, inputs: Sequence[View], outputs: Sequence[Val]) -> None:
        self.node = node
        self.inputs = list(inputs)
        self.outputs = list(outputs)


Operation: TypeAlias = "Map | Reduce | Routine | Join | HostCall"

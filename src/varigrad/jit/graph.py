"""The graph of a captured step: values, and the kernel calls that make them from each other.

A value is made once and never changes. What a step does to a variable is therefore a new value, and the variable a
place that starts with one value and ends with another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import Array, dtype_name
from varigrad.randomness import NextSeed
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["HOST", "INPUT", "RANDOM", "Graph", "Node", "Source", "Value", "frozen", "owners"]

# On what a value depends: a bit each. The bits above these stand for the numbers passed as arguments.
INPUT = 1
RANDOM = 2
FIRST_NUMBER = 4

RANDOM_KERNELS = frozenset(
    ["DropoutMask", "Multinomial", "RandomGamma", "RandomNormal", "RandomUniform", "TruncatedNormal"]
)

HOST = "Host"  # the node that asks the host for the numbers of a step, such as an optimizer's rate


class Source:
    """Where a value comes from that no kernel made: `kind` says how to read `what`.

    `argument`: the position among the leaves of the arguments. `number`: a function of those leaves that gives a
    Python number. `constant`: an array. `tensor` and `variable`: a tensor made outside, whose memory is looked up at
    each call.
    """

    __slots__ = ("kind", "label", "what")

    def __init__(self, kind: str, what: Any, label: str) -> None:
        self.kind = kind
        self.what = what
        self.label = label


class Value:
    """An array that exists while a step runs: its shape, its dtype and what made it."""

    __slots__ = ("depends", "dtype", "node", "number", "shape", "source")
    _numbers = itertools.count()

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        node: Node | None = None,
        source: Source | None = None,
        depends: int = 0,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.node = node
        self.source = source
        self.depends = depends
        self.number = next(Value._numbers)

    @property
    def constant(self) -> Array | None:
        """The array, if it is the same at each call."""
        return self.source.what if self.source is not None and self.source.kind == "constant" else None

    def __repr__(self) -> str:
        return f"<Value {self.number} {format_shape(self.shape)} {self.dtype}>"


def _together(values: Iterable[Value]) -> int:
    """On what depends what is made of these values."""
    depends = 0
    for value in values:
        depends |= value.depends
    return depends


class Node:
    """A kernel call.

    `inputs` are the values read. An update node reads, in this order, the values of its `targets`, its inputs and the
    values of its `state`, and gives new ones for targets and state. `site` is the line that called it, and the layers.
    """

    __slots__ = ("attrs", "compute", "inputs", "kernel", "outputs", "site", "state", "targets")

    def __init__(
        self,
        kernel: str,
        inputs: Sequence[Value],
        attrs: Mapping[str, Any],
        site: str = "",
        targets: tuple[Variable, ...] = (),
        state: tuple[Tensor, ...] = (),
        compute: Callable[[], Sequence[Array]] | None = None,
    ) -> None:
        self.kernel = kernel
        self.inputs = list(inputs)
        self.attrs = attrs
        self.site = site
        self.targets = targets
        self.state = state
        self.compute = compute
        self.outputs: list[Value] = []

    def add_output(self, shape: tuple[int, ...], dtype: np.dtype[Any], depends: int | None = None) -> Value:
        """A new value that this node makes."""
        if depends is None:
            depends = self.outputs[0].depends if self.outputs else _together(self.inputs)
        value = Value(shape, dtype, self, depends=depends)
        self.outputs.append(value)
        return value

    @property
    def is_update(self) -> bool:
        """Whether it gives something outside the graph a new value."""
        return bool(self.targets or self.state)

    def drawn_attrs(self) -> Mapping[str, Any]:
        """The attributes for one run of the kernel: a seed that is another one each time is drawn."""
        seed = self.attrs.get("seed")
        return {**self.attrs, "seed": seed.draw()} if isinstance(seed, NextSeed) else self.attrs

    @property
    def is_random(self) -> bool:
        """Whether it gives other values each time it runs."""
        seed = self.attrs.get("seed")
        return self.kernel in RANDOM_KERNELS and (seed is None or isinstance(seed, NextSeed))

    @property
    def has_effect(self) -> bool:
        """Whether it does something besides giving values: updates, host numbers, draws of random numbers."""
        return self.is_update or self.kernel == HOST or self.is_random

    def __repr__(self) -> str:
        return f"<Node {self.kernel}>"


def owners(node: Node) -> Iterator[Any]:
    """The objects whose counters a host node moves on: what its function is a method of or closes over."""
    compute: Any = node.compute
    owner = getattr(compute, "__self__", None)
    if owner is not None:
        yield owner
    for cell in getattr(compute, "__closure__", None) or ():
        if hasattr(cell.cell_contents, "compiled_for"):
            yield cell.cell_contents


class Graph:
    """What a step computes: nodes in the order in which they run, and the values that it returns."""

    def __init__(self, nodes: list[Node], outputs: list[Value], name: str = "step") -> None:
        self.nodes = nodes
        self.outputs = outputs
        self.name = name

    def __del__(self) -> None:
        # Values and nodes refer to each other. What they stand for would stay in memory until garbage is collected.
        for value in [value for node in self.nodes for value in node.outputs]:
            value.node = None

    def sources(self) -> list[Value]:
        """The values that no node makes, in the order of first use."""
        found: dict[Value, None] = {}
        for value in self.reads():
            if value.node is None:
                found.setdefault(value)
        return list(found)

    def reads(self) -> Iterator[Value]:
        """Every value that is read, as often as it is: by nodes in order, then as a result."""
        for node in self.nodes:
            yield from node.inputs
        yield from self.outputs

    def substitute(self, replacements: Mapping[Value, Value]) -> None:
        """Has other values read in place of some."""
        if not replacements:
            return

        def final(value: Value) -> Value:
            while value in replacements:
                value = replacements[value]
            return value

        for node in self.nodes:
            node.inputs = [final(value) for value in node.inputs]
        self.outputs = [final(value) for value in self.outputs]

    def copy(self) -> Graph:
        """The same graph from nodes and values of its own; what they stand for outside is shared."""
        made: dict[Value, Value] = {}
        for value in self.sources():
            made[value] = Value(value.shape, value.dtype, source=value.source, depends=value.depends)
        nodes: list[Node] = []
        for node in self.nodes:
            inputs = [made[value] for value in node.inputs]
            twin = Node(node.kernel, inputs, node.attrs, node.site, node.targets, node.state, node.compute)
            for value in node.outputs:
                made[value] = twin.add_output(value.shape, value.dtype, value.depends)
            nodes.append(twin)
        return Graph(nodes, [made[value] for value in self.outputs], self.name)

    def __str__(self) -> str:
        names = self.names()
        lines = [
            f"{self.name}:",
            *[f"  {names[value]} = {_source_text(value)}" for value in self.sources()],
            *[f"  {self._node_text(node, names)}" for node in self.nodes],
            f"  return {', '.join([names[value] for value in self.outputs]) or 'nothing'}",
        ]
        return "\n".join(lines)

    def names(self) -> dict[Value, str]:
        """A short name for each value: `%0`, `%1` … in the order in which they appear."""
        names: dict[Value, str] = {}
        for value in self.sources():
            names[value] = f"%{len(names)}"
        for node in self.nodes:
            for value in node.outputs:
                names.setdefault(value, f"%{len(names)}")
        for value in self.outputs:
            names.setdefault(value, f"%{len(names)}")
        return names

    @staticmethod
    def _node_text(node: Node, names: Mapping[Value, str]) -> str:
        made = ", ".join([f"{names[value]}: {_type_text(value)}" for value in node.outputs])
        arguments = [names[value] for value in node.inputs]
        arguments += [f"{key}={value!r}" for key, value in node.attrs.items()]
        targets = f" -> {', '.join([repr(v.name) for v in node.targets])}" if node.targets else ""
        site = f"    # {node.site}" if node.site else ""
        return f"{made}{' = ' if made else ''}{node.kernel}({', '.join(arguments)}){targets}{site}"


def frozen(value: Any) -> Any:
    """A hashable copy of an attribute's value, different where the kernel would do something different.

    Raises:
        TypeError: It cannot be hashed.
    """
    if isinstance(value, (list, tuple)):
        return tuple([frozen(item) for item in value])  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Mapping):
        return tuple([(key, frozen(item)) for key, item in sorted(value.items())])  # pyright: ignore
    if isinstance(value, float):
        return "float", repr(value)  # 0.0 and -0.0 are equal, and NaN is not equal to itself
    hash(value)
    return type(value).__name__, value  # 1, 1.0 and True are equal


def _type_text(value: Value) -> str:
    return f"{dtype_name(value.dtype)} {format_shape(value.shape)}"


def _source_text(value: Value) -> str:
    source = value.source
    if source is None:
        return f"? : {_type_text(value)}"
    if source.kind == "constant" and value.shape == ():
        return f"constant {source.what.item()!r}: {_type_text(value)}"
    return f"{source.kind} {source.label}: {_type_text(value)}".replace("  ", " ")

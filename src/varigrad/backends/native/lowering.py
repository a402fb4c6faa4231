"""From a graph of kernels to operations on views: each node by the rule of its kernel, in one table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from varigrad.backends.native import (
    clipping,
    convolution,
    counting,
    creation,
    einsum,
    linalg,
    losses,
    matmul,
    normalization,
    optimizers,
    pooling,
    random,
    reduction,
    resampling,
    scanning,
    segment,
    shaping,
    slicing,
)
from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import BOOL, Kind, kind_of
from varigrad.backends.native.elementwise import LOWERINGS, Lowering
from varigrad.backends.native.operations import Check, HostCall, Operation, Origin, Val, View, whole
from varigrad.backends.native.placing import make_in_place
from varigrad.dtypes import Array
from varigrad.jit.graph import HOST, Graph, Node, Source, Value

__all__ = ["OTHER", "RULES", "Lowered", "lower"]

OTHER = Kind("O", "", "", 0)  # arrays that native code does not touch, such as complex numbers and texts

# Kernel name → function of the builder, views of the inputs and attributes; it gives the outputs, or None to decline.
RULES: dict[str, Callable[..., Any]] = {
    **shaping.RULES,
    **reduction.RULES,
    **normalization.RULES,
    **losses.RULES,
    **matmul.RULES,
    **convolution.RULES,
    **einsum.RULES,
    **clipping.RULES,
    **pooling.RULES,
    **counting.RULES,
    **creation.RULES,
    **linalg.RULES,
    **random.RULES,
    **resampling.RULES,
    **scanning.RULES,
    **segment.RULES,
    **slicing.RULES,
}


class Lowered(NamedTuple):
    """The operations of a graph, where its values come from, and what it returns.

    `hosts` are the nodes that ask the host for numbers, in order, each with the place of its first among the sources.
    `checks` may call the program off; they are numbered from 1.
    """

    operations: list[Operation]
    sources: list[Value]
    source_vals: list[Val]
    outputs: list[View]
    hosts: list[tuple[int, Node]]
    checks: list[Check]


class _Lowering:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.builder = Builder()
        self.views: dict[Value, View] = {}
        self.shown: defaultdict[Val, list[Value]] = defaultdict(list)  # the values that lie in a source's memory
        self.sources: list[Value] = []
        self.source_vals: list[Val] = []
        self.places: dict[int, View] = {}  # the memory of variables and slots, by the tensor's id
        self.hosts: list[tuple[int, Node]] = []
        self.returned: set[Val] = set()
        self.tangled = _tangled(graph)
        self.last_read = {value: at for at, node in enumerate(graph.nodes) for value in node.inputs}
        self.last_read |= dict.fromkeys(graph.outputs, len(graph.nodes))
        self.factors = Counter([node.inputs[1] for node in graph.nodes if node.kernel in matmul.RULES])

    def run(self) -> Lowered:
        for value in self.graph.sources():
            self.show(value, self.source(value))
        for at, node in enumerate(self.graph.nodes):
            self.builder.origin = Origin(node.kernel, node.site)
            self.builder.node = node
            self.builder.repeats_factor = node.kernel in matmul.RULES and self.factors[node.inputs[1]] > 1
            if node.is_update:
                self.keep_overwritten(at, node)
            outputs = self.lowered(node)
            for value, view in zip(node.outputs, outputs, strict=True):
                self.show(value, view)
        self.builder.origin = Origin("Return", "")
        outputs = [self.output(self.views[value]) for value in self.graph.outputs]
        self.number_constants()
        builder = self.builder
        operations = make_in_place(builder.operations, outputs)
        return Lowered(operations, self.sources, self.source_vals, outputs, self.hosts, builder.checks)

    def number_constants(self) -> None:
        """Makes sources of the constants that rules have asked for."""
        for val, array in self.builder.constants.values():
            val.source = len(self.sources)
            self.sources.append(Value(val.shape, array.dtype, source=Source("constant", array, "")))
            self.source_vals.append(val)

    def show(self, value: Value, view: View) -> None:
        """Notes where a value is to be seen."""
        self.views[value] = view
        if view.val.root.source is not None:
            self.shown[view.val.root].append(value)

    def source(self, value: Value) -> View:
        kind = kind_of(value.dtype) or OTHER
        array = value.constant
        if array is not None and array.size == 1 and kind is not OTHER:
            return whole(Val(value.shape, kind, literal=array.item()))
        val = Val(value.shape, kind, source=len(self.sources))
        self.sources.append(value)
        self.source_vals.append(val)
        if array is not None:
            self.builder.note_values(whole(val), array)
        if value.source is not None and value.source.kind in ("variable", "tensor"):
            self.places[value.source.what.id] = whole(val)
        return whole(val)

    def output(self, view: View) -> View:
        """What is returned lies in memory that nobody else writes to."""
        if view.kind is OTHER or view.size == 0:
            return view
        val, root = view.val, view.val.root
        made_here = view.is_whole and val.size == root.size and root.source is None and root.literal is None
        if not made_here or root in self.returned or not self.is_native(root):
            view = self.builder.apart(view)
        self.returned.add(view.val.root)
        return view

    def is_native(self, val: Val) -> bool:
        return not any(isinstance(op, HostCall) and val in op.outputs for op in self.builder.operations)

    def keep_overwritten(self, at: int, node: Node) -> None:
        """Copies what an update overwrites and a later node reads."""
        for tensor in (*node.targets, *node.state):
            shown = self.shown[self.places[tensor.id].val]
            for value in [v for v in shown if self.last_read.get(v, -1) > at]:
                self.views[value] = self.builder.copy(self.views[value])
            shown.clear()

    def lowered(self, node: Node) -> Sequence[View]:
        if node.kernel == HOST:
            return self.numbers_of_host(node)
        inputs = [self.views[value] for value in node.inputs]
        shapes = [value.shape for value in (*node.inputs, *node.outputs)]
        kinds = [kind_of(value.dtype) for value in (*node.inputs, *node.outputs)]
        if None not in kinds and not any(0 in shape for shape in shapes):
            result = self.update(node, inputs) if node.is_update else self.kernel(node, inputs)
            if result is not None:
                return [result] if isinstance(result, View) else result
        return self.host(node, inputs)

    def kernel(self, node: Node, inputs: list[View]) -> Any:
        rule = RULES.get(node.kernel)
        if rule is not None:
            return rule(self.builder, *inputs, **node.attrs)
        lowering = LOWERINGS.get(node.kernel)
        if lowering is None or len(node.outputs) != 1 or not _fits(lowering, inputs):
            return None
        attrs = dict(node.attrs)
        if node.kernel == "Pow" and inputs[1].val.literal is not None and len(inputs[1].shape) <= len(inputs[0].shape):
            attrs["exponent_is"] = inputs[1].val.literal
        kind = kind_of(node.outputs[0].dtype)
        return self.builder.map(node.kernel, *inputs, kind=kind, **attrs)

    def update(self, node: Node, inputs: list[View]) -> Any:
        rule = optimizers.UPDATES.get(node.kernel)
        if rule is None or not self.tangled.isdisjoint([tensor.id for tensor in (*node.targets, *node.state)]):
            return None
        count, slots = len(node.targets), len(node.inputs) - len(node.state)
        places = [self.places[tensor.id] for tensor in (*node.targets, *node.state)]
        return rule(self.builder, optimizers.Updated(inputs[:count], inputs[count:slots], inputs[slots:], places))

    def numbers_of_host(self, node: Node) -> list[View]:
        """Numbers that the host computes at each step: sources, for they depend on nothing here."""
        self.hosts.append((len(self.sources), node))
        made: list[View] = []
        for value in node.outputs:
            val = Val(value.shape, kind_of(value.dtype) or OTHER, source=len(self.sources))
            self.sources.append(value)
            self.source_vals.append(val)
            made.append(whole(val))
        return made

    def host(self, node: Node, inputs: list[View]) -> list[View]:
        ready = [view if view.kind is OTHER or view.size == 0 else self.builder.whole(view) for view in inputs]
        outputs: list[Val] = []
        places = [self.places[tensor.id] for tensor in (*node.targets, *node.state)]
        if node.is_update:
            count, slots = len(node.targets), len(node.inputs) - len(node.state)
            for place, view in zip(places, (*ready[:count], *ready[slots:]), strict=True):
                if place.kind is not OTHER and view.val.root is not place.val:
                    self.builder.copy(view, into=place)
        for at, value in enumerate(node.outputs):
            home = places[at] if node.is_update else None
            outputs.append(Val(value.shape, kind_of(value.dtype) or OTHER, home=home))
        self.builder.call_host(node, ready, outputs)
        return [whole(val) for val in outputs]


def _tangled(graph: Graph) -> set[int]:
    """The ids of tensors that share memory with others, as the slots of one variable do with those of its group: what
    is done to them is done one after the other, by NumPy."""
    found: set[int] = set()
    sources = [value.source for value in graph.sources()]
    tensors = [s.what for s in sources if s is not None and s.kind in ("tensor", "variable")]
    spans = sorted([(*_span(tensor.storage), tensor.id) for tensor in tensors if tensor.storage.nbytes])
    reach, owner = 0, 0
    for start, end, number in spans:
        if start < reach:
            found.update((owner, number))
        if end > reach:
            reach, owner = end, number
    return found


def _span(array: Array) -> tuple[int, int]:
    start: int = array.__array_interface__["data"][0]
    return start, start + array.nbytes


def _fits(lowering: Lowering, inputs: Sequence[View]) -> bool:
    """Whether a kernel is written for numbers of these kinds."""
    numbers = [x for at, x in enumerate(inputs) if at != lowering.mask]
    masks = [x for at, x in enumerate(inputs) if at == lowering.mask]
    kind = numbers[0].kind
    same = all(x.kind is kind for x in numbers) and all(x.kind is BOOL for x in masks)
    return same and kind.char in lowering.kinds


def lower(graph: Graph) -> Lowered:
    """The operations that compute a graph."""
    return _Lowering(graph).run()

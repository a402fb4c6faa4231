"""Graphs of layers in their stored form: which layers, and on what each was called."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, cast

from varigrad.layers.base import Layer
from varigrad.layers.graph import Graph
from varigrad.layers.lists import as_list, one_or_list
from varigrad.layers.model import LayersModel
from varigrad.layers.registry import deserialize
from varigrad.layers.symbolic import Node, SymbolicTensor

__all__ = ["graph_config", "layers_and_ends"]

# A call of a layer of this name, as files refer to a symbolic tensor: name, number of the call, number of the result.
Reference = tuple[str, int, int]


def graph_config(name: str, graph: Graph) -> dict[str, Any]:
    """The stored form of a model of a graph.

    Args:
        name: The model's name.
        graph: Its graph.

    Raises:
        ValueError: A layer was called with an argument that JSON has no form for.
    """
    called = graph.calls()
    numbers = _call_numbers(graph.layers, called)
    stored = [
        {
            "name": layer.name,
            "class_name": layer.class_name,
            "config": layer.get_config(),
            "inbound_nodes": [_stored_call(node, numbers) for node in called[id(layer)] if node.inputs],
        }
        for layer in graph.layers
    ]
    return {
        "name": name,
        "layers": stored,
        "input_layers": [_reference(x, numbers) for x in graph.inputs],
        "output_layers": [_reference(x, numbers) for x in graph.outputs],
    }


def _call_numbers(layers: Sequence[Layer], called: Mapping[int, Sequence[Node]]) -> dict[int, int]:
    """The number of each call among those of its layer that are in the graph.

    The calls of a model inside the graph count from 1: in TensorFlow.js and Keras, number 0 is the model by itself.
    """
    numbers: dict[int, int] = {}
    for layer in layers:
        first = 1 if isinstance(layer, LayersModel) else 0
        numbers.update({id(node): first + place for place, node in enumerate(called[id(layer)])})
    return numbers


def _stored_call(node: Node, numbers: Mapping[int, int]) -> list[list[Any]]:
    arguments = {name: _stored_argument(value, numbers) for name, value in node.arguments.items()}
    try:
        json.dumps(arguments, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{node.layer.name} was called with an argument that files cannot hold: {error}") from None
    return [[*_reference(x, numbers), arguments] for x in node.inputs]


def _stored_argument(value: Any, numbers: Mapping[int, int]) -> Any:
    if isinstance(value, SymbolicTensor):
        return _reference(value, numbers)
    if isinstance(value, (list, tuple)):
        return [_stored_argument(item, numbers) for item in cast("Sequence[Any]", value)]
    return value


def _reference(x: SymbolicTensor, numbers: Mapping[int, int]) -> list[Any]:
    return [x.node.layer.name, numbers[id(x.node)], x.tensor_index]


def layers_and_ends(config: Mapping[str, Any]) -> tuple[list[SymbolicTensor], list[SymbolicTensor]]:
    """Makes the layers of a stored graph, calls them as it says, and returns its inputs and outputs.

    Args:
        config: What `graph_config` gave.

    Raises:
        ValueError: The graph contradicts itself; the message names the layer.
    """
    stored = config.get("layers")
    if not isinstance(stored, (list, tuple)):
        raise ValueError(f"a stored model needs a list of layers, got {stored!r:.200}")
    reader = _Reader()
    for entry in cast("Sequence[Any]", stored):
        reader.add(entry)
    inputs, outputs = (_listed_ends(config.get(f"{what}_layers"), what) for what in ("input", "output"))
    reader.find_first_numbers([*inputs, *outputs])
    reader.connect()
    return reader.ends(inputs, "input"), reader.ends(outputs, "output")


class _Reader:
    """Layers by name, the calls that are still to be made of each, and the symbolic tensors that there are."""

    def __init__(self) -> None:
        self.layers: dict[str, Layer] = {}
        self.waiting: dict[str, list[Sequence[Any]]] = {}
        # Where the calls of a model inside count from, as calls refer to them and as the graph's ends do.
        self.first: dict[str, int] = {}
        self.first_of_ends: dict[str, int] = {}
        self.results: list[Any] = []  # keeps the calls alive

    def add(self, entry: Any) -> None:
        fields: Mapping[str, Any] = cast("Mapping[str, Any]", entry) if isinstance(entry, Mapping) else {}
        layer = deserialize(fields, Layer)
        name, calls = fields.get("name", layer.name), fields.get("inbound_nodes", [])
        if not isinstance(name, str) or not isinstance(calls, (list, tuple)):
            raise ValueError(f"a stored layer needs a name and a list of inbound_nodes, got {fields!r:.200}")
        if name in self.layers:
            raise ValueError(f"a stored model has two layers named {name!r}")
        self.layers[name] = layer
        if not calls:
            self.results.extend(layer.inbound_nodes)
        for call in cast("Sequence[Any]", calls):
            references = as_list(call)
            if not references or not all(map(_is_stored_input, references)):
                raise ValueError(f"layer {name!r} has an inbound node that is no list of references: {call!r:.200}")
            self.waiting.setdefault(name, []).append(references)

    def connect(self) -> None:
        """Calls the layers: of each in the stored order, as soon as what a call needs is there."""
        to_try = deque(self.waiting)
        held_up: dict[str, list[str]] = {}  # layers, by the one whose next call they need
        while to_try:
            name = to_try.popleft()
            calls = self.waiting[name]
            before = len(calls)
            while calls and self._ready(calls[0]):
                self._call(self.layers[name], calls.pop(0))
            if calls:
                held_up.setdefault(self._wanted(calls[0])[0], []).append(name)
            if len(calls) < before:
                to_try.extend(held_up.pop(name, ()))
        for name, calls in self.waiting.items():
            if calls:
                wanted = list(self._wanted(calls[0]))
                raise ValueError(f"layer {name!r} needs {wanted}, which no layer gives: the graph is broken or a cycle")

    def _wanted(self, call: Sequence[Any]) -> Reference:
        """The first thing that a call needs and that is not there."""
        return next(reference for reference in _references(call) if not self._known(reference))

    def find_first_numbers(self, ends: Sequence[Reference]) -> None:
        """Finds where the calls of a model inside count from: 1, unless the numbers in the file contradict that.

        Keras 3 counts from 0; where the ends of the graph are listed, from 0 for stacks alone.
        """
        models = {name: layer for name, layer in self.layers.items() if isinstance(layer, LayersModel)}
        in_calls = [reference for calls in self.waiting.values() for call in calls for reference in _references(call)]
        for name, model in models.items():
            used = {number for layer, number, _ in in_calls if layer == name}
            ended = {number for layer, number, _ in ends if layer == name}
            count = len(self.waiting.get(name, ()))
            # Every call is in the graph because something refers to it.
            self.first[name] = int(0 not in used and (count in used or {*used, *ended} == set(range(1, count + 1))))
            stack_of_keras_3 = self.first[name] == 0 and model.class_name == "Sequential" and count not in ended
            self.first_of_ends[name] = int(0 not in ended and not stack_of_keras_3)

    def _found(self, reference: Reference, first: Mapping[str, int]) -> SymbolicTensor | None:
        """The symbolic tensor that a reference means, if it is there."""
        name, number, place = reference
        layer = self.layers.get(name)
        nodes = layer.inbound_nodes if layer is not None else []
        number -= first.get(name, 0)
        if 0 <= number < len(nodes) and 0 <= place < len(nodes[number].outputs):
            return nodes[number].outputs[place]
        return None

    def _known(self, reference: Reference) -> bool:
        return self._found(reference, self.first) is not None

    def _ready(self, call: Sequence[Any]) -> bool:
        return all(self._known(reference) for reference in _references(call))

    def _call(self, layer: Layer, call: Sequence[Any]) -> None:
        inputs = [self._found(cast("Reference", tuple(reference[:3])), self.first) for reference in call]
        arguments: dict[str, Any] = {}
        for reference in call:
            if len(reference) > 3 and reference[3]:
                arguments.update({str(name): self._argument(value) for name, value in reference[3].items()})
        self.results.append(layer(one_or_list(inputs), **arguments))

    def _argument(self, value: Any) -> Any:
        if _is_reference(value):
            tensor = self._found(value, self.first)
            return list(value) if tensor is None else tensor
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in cast("Sequence[Any]", value)]
        return value

    def ends(self, references: Sequence[Reference], what: str) -> list[SymbolicTensor]:
        """The symbolic tensors that references mean."""
        found: list[SymbolicTensor] = []
        for reference in references:
            tensor = self._found(reference, self.first_of_ends)
            if tensor is None:
                raise ValueError(f"{what}_layers holds {list(reference)!r:.200}, which no layer gives")
            found.append(tensor)
        return found


def _listed_ends(stored: Any, what: str) -> list[Reference]:
    """The inputs or outputs of a stored graph, a list of references or a single one."""
    each = [stored] if _is_reference(stored) else stored
    if not isinstance(each, (list, tuple)) or not each:
        raise ValueError(f"a stored model needs {what}_layers, got {stored!r:.200}")
    for reference in cast("Sequence[Any]", each):
        if not _is_reference(reference):
            raise ValueError(f"{what}_layers holds {reference!r:.200}, which refers to no layer")
    return [cast("Reference", tuple(reference)) for reference in cast("Sequence[Any]", each)]


def _is_reference(value: Any) -> bool:
    """Whether a value of JSON is a layer's name and two numbers."""
    if not isinstance(value, (list, tuple)) or len(cast("Sequence[Any]", value)) != 3:
        return False
    name, number, place = cast("Sequence[Any]", value)
    return isinstance(name, str) and all(isinstance(n, int) and not isinstance(n, bool) for n in (number, place))


def _is_stored_input(value: Any) -> bool:
    """Whether a value of JSON is a reference, perhaps with arguments of the call."""
    if not isinstance(value, (list, tuple)):
        return False
    items = cast("Sequence[Any]", value)
    return _is_reference(items[:3]) and (len(items) == 3 or items[3] is None or isinstance(items[3], Mapping))


def _references(call: Sequence[Any]) -> list[Reference]:
    """The references of a stored call; those among its arguments too."""
    found = [cast("Reference", tuple(reference[:3])) for reference in call]
    for reference in call:
        if len(reference) > 3 and reference[3]:
            for value in reference[3].values():
                found.extend(_references_in(value))
    return found


def _references_in(value: Any) -> list[Reference]:
    if _is_reference(value):
        return [cast("Reference", tuple(value))]
    if isinstance(value, (list, tuple)):
        return [reference for item in cast("Sequence[Any]", value) for reference in _references_in(item)]
    return []

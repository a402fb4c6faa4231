"""The graph between a model's inputs and outputs: which calls of which layers, in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from varigrad.layers.base import Layer
from varigrad.layers.symbolic import Node, SymbolicTensor

__all__ = ["Graph", "trace"]


class Graph(NamedTuple):
    """The calls between a model's inputs and outputs.

    Args:
        inputs: The symbolic tensors that are fed.
        outputs: Those that are asked for.
        nodes: The calls, each after those that it needs.
        layers: The layers in the order of TensorFlow.js: farthest from the outputs first.
        tensors: All symbolic tensors of the calls.
    """

    inputs: list[SymbolicTensor]
    outputs: list[SymbolicTensor]
    nodes: list[Node]
    layers: list[Layer]
    tensors: list[SymbolicTensor]

    def calls(self) -> dict[int, list[Node]]:
        """The calls of each layer, by its id, in the order in which files list and number them.

        It is the order in which they were made, unless TensorFlow.js would make them in another one as it reads the
        file, for it puts off a call that needs what is not there yet, and goes on with the layer's next. The numbers in
        a file count the calls in the order of its reader.
        """
        ours = {id(node) for node in self.nodes}
        calls = {id(layer): [node for node in layer.inbound_nodes if id(node) in ours] for layer in self.layers}
        while any(len(each) > 1 for each in calls.values()):
            read = self._as_read(calls)
            if read == calls:
                break
            calls = read
        return calls

    def _as_read(self, calls: Mapping[int, Sequence[Node]]) -> dict[int, list[Node]]:
        """Calls in the order in which TensorFlow.js makes them, if a file lists them so."""
        made: set[int] = set()
        read: dict[int, list[Node]] = {layer: [] for layer in calls}
        waiting = {layer: list(each) for layer, each in calls.items()}
        while waiting:
            for layer in list(waiting):
                left: list[Node] = []
                for node in waiting[layer]:
                    if all(id(x.node) in made for x in node.sources):
                        made.add(id(node))
                        read[layer].append(node)
                    else:
                        left.append(node)
                waiting[layer] = left
                if not left:
                    del waiting[layer]
        return read


def trace(model: str, inputs: Sequence[SymbolicTensor], outputs: Sequence[SymbolicTensor]) -> Graph:
    """The graph that makes the outputs from the inputs.

    Raises:
        ValueError: An input is listed twice or is a layer's result, an output depends on what is not an input, or two
            layers have one name.
    """
    if not inputs or not outputs:
        raise ValueError(f"{model}: needs at least one input and one output")
    if len(set(inputs)) != len(inputs):
        raise ValueError(f"{model}: an input is listed twice: {', '.join(x.name for x in inputs)}")
    for x in inputs:
        if x.node.sources:
            raise ValueError(f"{model}: the input {x.name!r} is the result of a layer; inputs must come from vg.input")
    nodes, reached = _walk(outputs)
    _check_fed(model, inputs, nodes)
    # What no output needs is an input all the same.
    needed = {id(node) for node in nodes}
    needless = [x.node for x in inputs if id(x.node) not in needed]
    nodes += needless
    layers = _by_depth(nodes, [*reached, *(node.layer for node in needless)])
    _check_names(model, layers)
    tensors = dict.fromkeys([*inputs, *(x for node in nodes for x in node.outputs), *outputs])
    return Graph(list(inputs), list(outputs), nodes, layers, list(tensors))


def _walk(outputs: Sequence[SymbolicTensor]) -> tuple[list[Node], list[Layer]]:
    """The calls that the outputs need, each after those that it needs, and the layers as a walk back meets them."""
    nodes: dict[int, Node] = {}
    reached: dict[int, Layer] = {}
    for output in outputs:
        # A stack, not recursion: models may be thousands of layers deep.
        waiting = [(output.node, False)]
        while waiting:
            node, sources_done = waiting.pop()
            if id(node) in nodes:
                continue
            if sources_done:
                nodes[id(node)] = node
                continue
            reached.setdefault(id(node.layer), node.layer)
            waiting.append((node, True))
            waiting.extend((source.node, False) for source in reversed(node.sources))
    return list(nodes.values()), list(reached.values())


def _check_fed(model: str, inputs: Sequence[SymbolicTensor], nodes: Sequence[Node]) -> None:
    fed = set(inputs)
    for node in nodes:
        if node.sources or fed.issuperset(node.outputs):
            continue
        needed_by = next((n.layer.name for n in nodes if set(n.sources) & set(node.outputs)), "an output")
        raise ValueError(
            f"{model}: the graph is disconnected: {needed_by} needs {node.outputs[0].name!r}, which is not among the "
            f"inputs ({', '.join(x.name for x in inputs)})"
        )


def _by_depth(nodes: Sequence[Node], reached: Sequence[Layer]) -> list[Layer]:
    """The layers, farthest from the outputs first; at one distance, as the walk back met them."""
    made_by = {x: node for node in nodes for x in node.outputs}
    node_depths: dict[int, int] = {}
    layer_depths: dict[int, int] = {}
    for node in reversed(nodes):
        # A layer that is used twice counts where it is farthest.
        depth = max(node_depths.get(id(node), 0), layer_depths.get(id(node.layer), 0))
        node_depths[id(node)] = layer_depths[id(node.layer)] = depth
        for source in node.sources:
            before = made_by.get(source)
            if before is not None:
                node_depths[id(before)] = max(node_depths.get(id(before), 0), depth + 1)
    return sorted(reached, key=lambda layer: -layer_depths[id(layer)])


def _check_names(model: str, layers: Sequence[Layer]) -> None:
    seen: set[str] = set()
    for layer in layers:
        if layer.name in seen:
            raise ValueError(f"{model}: two layers are named {layer.name!r}; give one of them another name")
        seen.add(layer.name)

"""`Functional`: a model of any graph of layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Self, cast

from varigrad.engine import run_kernel
from varigrad.keywords import takes_options
from varigrad.layers.base import Layer
from varigrad.layers.graph import Graph, trace
from varigrad.layers.graph_config import graph_config, layers_and_ends
from varigrad.layers.lists import as_list, one_or_list
from varigrad.layers.model import LayersModel
from varigrad.layers.naming import unique_name
from varigrad.layers.symbolic import Node, SymbolicTensor

__all__ = ["Functional", "model"]


class _Step(NamedTuple):
    """One call of a layer: where its inputs lie, and where its results go."""

    layer: Layer
    sources: tuple[int, ...]
    single: bool
    targets: tuple[int, ...]
    training: bool | None  # pinned by the call
    arguments: Mapping[str, Any]  # the others of the call
    released: tuple[int, ...]  # what nobody needs any more after it


class Functional(LayersModel):
    """A model of any graph of layers. Made by `vg.model`. Mirrors `tf.LayersModel`."""

    class_name = "Model"  # the name that files have for it

    def __init__(
        self,
        *,
        inputs: SymbolicTensor | Sequence[SymbolicTensor],
        outputs: SymbolicTensor | Sequence[SymbolicTensor],
        name: str | None = None,
        trainable: bool = True,
    ) -> None:
        super().__init__(name=name or unique_name("model"), trainable=trainable)
        graph = trace(self.name, _listed(inputs, "inputs"), _listed(outputs, "outputs"))
        self._graph = graph
        self._layers = graph.layers
        self._slots = {tensor: slot for slot, tensor in enumerate(graph.tensors)}
        self._steps = _plan(graph, self._slots)
        self._set_ends(graph.inputs, graph.outputs)
        self._heeds_masks = self.makes_mask or any("mask" in step.arguments for step in self._steps)
        self._ref_count = 1
        if not trainable:
            self._freeze(True)

    def build(self, input_shape: Any) -> None:
        """Nothing: the weights were made with the graph."""

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        if self._heeds_masks:
            return self._run_masked(inputs, None, training)[0]
        values = self._start(inputs)
        for layer, sources, single, targets, pinned, arguments, released in self._steps:
            x = values[sources[0]] if single else [values[source] for source in sources]
            mode = training if pinned is None else pinned
            try:
                if arguments:
                    y = layer._run_with(x, mode, self._filled(arguments, values))
                else:
                    y = layer._run(x, mode)
            except Exception as error:
                self._explain(error, layer, x)
                raise
            if len(targets) == 1:
                values[targets[0]] = y[0] if isinstance(y, list) else y
            else:
                for target, value in zip(targets, y):
                    values[target] = value
            for slot in released:
                values[slot] = None
        return self._results(values, inputs)

    def _run_masked(
        self, inputs: Any, mask: Any, training: bool | None, arguments: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[Any, Any]:
        mask = arguments.get("mask", mask)
        training = arguments.get("training", training)
        values = self._start(inputs)
        masks: list[Any] = [None] * len(values)
        for tensor, each in zip(self.inputs, as_list(mask)):
            masks[self._slots[tensor]] = each
        for layer, sources, single, targets, pinned, others, released in self._steps:
            x = values[sources[0]] if single else [values[source] for source in sources]
            before = masks[sources[0]] if single else [masks[source] for source in sources]
            if not single and all(each is None for each in cast("list[Any]", before)):
                before = None
            mode = training if pinned is None else pinned
            try:
                y, after = layer._run_masked(x, before, mode, self._filled(others, values))
            except Exception as error:
                self._explain(error, layer, x)
                raise
            each_mask = as_list(after) if isinstance(after, (list, tuple)) else [after] * len(targets)
            for target, value, result_mask in zip(targets, as_list(y), each_mask):
                values[target], masks[target] = value, result_mask
            for slot in released:
                values[slot] = None
        return self._results(values, inputs), one_or_list([masks[self._slots[tensor]] for tensor in self.outputs])

    def _start(self, inputs: Any) -> list[Any]:
        values: list[Any] = [None] * len(self._slots)
        for tensor, value in zip(self.inputs, as_list(inputs)):
            values[self._slots[tensor]] = value
        return values

    def _results(self, values: Sequence[Any], inputs: Any) -> Any:
        taken = {id(x) for x in as_list(inputs)}
        results: list[Any] = []
        for tensor in self.outputs:
            value = values[self._slots[tensor]]
            # A result must be a tensor of its own, which can be disposed of.
            results.append(run_kernel("Identity", (value,)) if id(value) in taken else value)
            taken.add(id(value))
        return one_or_list(results)

    def _filled(self, arguments: Mapping[str, Any], values: Sequence[Any]) -> Mapping[str, Any]:
        """The arguments of a call, with values for the symbolic tensors among them."""
        return {name: self._value(argument, values) for name, argument in arguments.items()}

    def _value(self, argument: Any, values: Sequence[Any]) -> Any:
        if isinstance(argument, SymbolicTensor):
            return values[self._slots[argument]]
        if isinstance(argument, (list, tuple)):
            return [self._value(item, values) for item in cast("Sequence[Any]", argument)]
        return argument

    def compute_output_shape(self, input_shape: Any) -> Any:
        shapes: dict[SymbolicTensor, Any] = dict(zip(self.inputs, _shapes(input_shape)))
        for node in self._graph.nodes:
            if not node.sources:
                continue
            shape = node.layer.compute_output_shape(one_or_list([shapes[x] for x in node.inputs]))
            shapes.update(zip(node.outputs, _shapes(shape)))
        return one_or_list([shapes[x] for x in self.outputs])

    def _calls(self) -> Sequence[Node]:
        return self._graph.nodes

    def get_config(self) -> dict[str, Any]:
        config = graph_config(self.name, self._graph)
        return config if self._trainable else {**config, "trainable": False}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        """A model with new weights from what `get_config` returned."""
        inputs, outputs = layers_and_ends(config)
        return cls(inputs=inputs, outputs=outputs, name=config.get("name"), trainable=config.get("trainable", True))


@takes_options
def model(
    *,
    inputs: SymbolicTensor | Sequence[SymbolicTensor],
    outputs: SymbolicTensor | Sequence[SymbolicTensor],
    name: str | None = None,
) -> Functional:
    """A model of the graph between symbolic tensors: several inputs and outputs, branches, shared layers, skips.

    Mirrors `tf.model`.

    Args:
        inputs: What `vg.input` made, or a list of that.
        outputs: What layers made of it, or a list of that.
        name: The model's name; `model1` and so on by default.

    Raises:
        ValueError: An output depends on an input that is not in the list; the message says which.

    >>> import varigrad as vg
    >>> x = vg.input(shape=[8])
    >>> hidden = vg.layers.dense(units=8, activation="relu")(x)
    >>> y = vg.layers.dense(units=1)(vg.layers.dense(units=8)(hidden))
    >>> both = vg.model(inputs=x, outputs=[hidden, y])
    >>> [result.shape for result in both.predict(vg.ones([2, 8]))]
    [(2, 8), (2, 1)]
    """
    return Functional(inputs=inputs, outputs=outputs, name=name)


def _shapes(shape: Any) -> list[Any]:
    """The shapes in a list of them, or the one shape in a list."""
    return as_list(shape) if shape and isinstance(shape[0], (list, tuple)) else [shape]


def _listed(tensors: Any, argument: str) -> list[SymbolicTensor]:
    each = as_list(tensors)
    for tensor in each:
        if not isinstance(tensor, SymbolicTensor):
            raise TypeError(
                f"model: {argument} must be symbolic tensors, as vg.input and layers called on them give, got "
                f"{tensor!r:.100}"
            )
    return each


def _plan(graph: Graph, slots: Mapping[SymbolicTensor, int]) -> list[_Step]:
    """The calls in order, each with the slots that it reads, fills, and is the last to read."""
    calls = [node for node in graph.nodes if node.sources]
    last: dict[SymbolicTensor, Node] = {source: node for node in calls for source in node.sources}
    kept = {*graph.inputs, *graph.outputs}
    steps: list[_Step] = []
    for node in calls:
        released = [slots[x] for x in dict.fromkeys(node.sources) if last[x] is node and x not in kept]
        arguments = {name: value for name, value in node.arguments.items() if name != "training"}
        steps.append(
            _Step(
                node.layer,
                tuple(slots[x] for x in node.inputs),
                len(node.inputs) == 1,
                tuple(slots[x] for x in node.outputs),
                node.arguments.get("training"),
                arguments,
                tuple(released),
            )
        )
    return steps

"""`Sequential`: a stack of layers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self, cast

from varigrad.engine import run_kernel
from varigrad.keywords import takes_options
from varigrad.layers.arguments import Shape
from varigrad.layers.base import Layer
from varigrad.layers.core import InputLayer, input
from varigrad.layers.model import LayersModel
from varigrad.layers.naming import default_layer_name, unique_name
from varigrad.layers.registry import deserialize
from varigrad.layers.symbolic import SymbolicTensor
from varigrad.layers.weights import WeightHolder
from varigrad.tensor import Tensor, format_shape

__all__ = ["Sequential", "sequential"]


class Sequential(LayersModel):
    """A model whose layers each feed the next. Made by `vg.sequential`. Mirrors `tf.Sequential`."""

    class_name = "Sequential"

    def __init__(self, layers: Iterable[Layer] | None = None, name: str | None = None, trainable: bool = True) -> None:
        super().__init__(name=name or unique_name("sequential_"), trainable=trainable)
        self._stack: tuple[Layer, ...] = ()  # the layers that compute
        self._heeds_masks = False
        for layer in layers or ():
            self.add(layer)

    def add(self, layer: Layer) -> None:
        """Puts a layer on top of the stack and makes its weights.

        Raises:
            ValueError: The first layer does not say its input's shape, the layer does not take what the one below
                gives, another layer has its name, or it holds this model.
        """
        if not isinstance(layer, Layer):
            raise TypeError(f"add: needs a layer, got {type(layer).__name__}")
        self._check_name(layer)
        if any(inner is self for inner in _with_sublayers(layer)):
            raise ValueError(f"add: {self.name} cannot be a layer of itself")
        if self._layers:
            below = self.outputs[0]
            if layer.batch_input_shape is not None and not _agree(below.shape, layer.batch_input_shape):
                raise ValueError(
                    f"add: {layer.name} was made for inputs of shape {format_shape(layer.batch_input_shape)}, but "
                    f"{self._layers[-1].name}, the layer below it, gives {format_shape(below.shape)}"
                )
            inputs, output = self.inputs, layer(below)
        else:
            inputs, output = self._first(layer)
        if isinstance(output, list):
            raise ValueError(f"add: {layer.name} has several outputs, a stack takes one; use vg.model")
        if not self._trainable:
            layer._freeze(True)
        self._layers.append(layer)
        self._set_stack(inputs, [output])

    def _first(self, layer: Layer) -> tuple[list[SymbolicTensor], Any]:
        """The symbolic input of the stack and what its first layer makes of it."""
        if isinstance(layer, LayersModel):
            if len(layer.inputs) != 1 or len(layer.outputs) != 1:
                raise ValueError(f"add: {layer.name} must have one input and one output; use vg.model")
        elif layer.inbound_nodes:
            node = layer.inbound_nodes[0]
            if len(layer.inbound_nodes) > 1 or len(node.sources) > 1 or any(x.node.sources for x in node.inputs):
                raise ValueError(f"add: {layer.name} is part of another model; a stack needs a layer of its own")
            return list(node.inputs or node.outputs), layer.output
        shape = layer.batch_input_shape
        if shape is None:
            raise ValueError(
                f"add: {layer.name}, the first layer of {self.name}, must be given input_shape or batch_input_shape"
            )
        dtype = layer.inputs[0].dtype if isinstance(layer, LayersModel) else layer.dtype
        entry = input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input")
        return [entry], layer(entry)

    def pop(self) -> None:
        """Takes the last layer off.

        Raises:
            ValueError: There is none.
        """
        if not self._layers:
            raise ValueError(f"pop: {self.name} has no layers")
        self._layers.pop()
        if not self._layers:
            self._set_stack([], [])
            return
        self._set_stack(self.inputs, [self.outputs[0].node.inputs[0]])

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if self._heeds_masks:
            return self._run_masked(inputs, None, training)[0]
        x = inputs
        layer: Layer = self
        try:
            for layer in self._stack:
                x = layer._run(x, training)
        except Exception as error:
            self._explain(error, layer, x)
            raise
        # The result must be a tensor of its own, which can be disposed of.
        return x if x is not inputs else run_kernel("Identity", (x,))

    def _run_masked(
        self, inputs: Any, mask: Any, training: bool | None, arguments: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[Any, Any]:
        mask = arguments.get("mask", mask)
        x, training = inputs, arguments.get("training", training)
        layer: Layer = self
        try:
            for layer in self._stack:
                x, mask = layer._run_masked(x, mask, training)
        except Exception as error:
            self._explain(error, layer, x)
            raise
        return x if x is not inputs else run_kernel("Identity", (x,)), mask

    def build(self, input_shape: Any) -> None:
        if not self._layers:
            raise ValueError(f"{self.name}: has no layers yet; add some first")

    def compute_output_shape(self, input_shape: Any) -> Any:
        for layer in self._stack:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def get_config(self) -> dict[str, Any]:
        layers = [{"class_name": layer.class_name, "config": layer.get_config()} for layer in self._layers]
        config = {"name": self.name, "layers": layers}
        return config if self._trainable else {**config, "trainable": False}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        """A model with new weights from what `get_config` returned."""
        stored, name, trainable = config.get("layers"), config.get("name"), config.get("trainable", True)
        if not isinstance(stored, (list, tuple)):
            raise ValueError(f"a stored sequential model needs a list of layers, got {stored!r:.200}")
        model = cls(name=name, trainable=trainable)
        for layer in cast("Sequence[Any]", stored):
            model.add(deserialize(layer, Layer))
        return model

    def _check_name(self, layer: Layer) -> None:
        if any(layer is other for other in self._layers):
            raise ValueError(f"add: {layer.name} is in {self.name} already; a stack cannot use a layer twice")
        while any(layer.name == other.name for other in self._layers):
            if layer.built or not layer._has_default_name:
                raise ValueError(f"add: {self.name} has a layer named {layer.name!r} already; choose another name")
            # A layer from a file may have the name that the counter has come to.
            layer.name = default_layer_name(layer.class_name)

    def _set_stack(self, inputs: list[SymbolicTensor], outputs: list[SymbolicTensor]) -> None:
        self._set_ends(inputs, outputs)
        self._stack = tuple(layer for layer in self._layers if not isinstance(layer, InputLayer))
        self._heeds_masks = self.makes_mask


@takes_options
def sequential(layers: Iterable[Layer] | None = None, name: str | None = None) -> Sequential:
    """A model whose layers each feed the next.

    Mirrors `tf.sequential`.

    Args:
        layers: The layers, first to last; the first must be given `input_shape`. `model.add` puts more on top.
        name: The model's name; `sequential_1` and so on by default.

    >>> import varigrad as vg
    >>> model = vg.sequential()
    >>> model.add(vg.layers.dense(units=10, activation="relu", input_shape=[5]))
    >>> model.add(vg.layers.dense(units=1))
    >>> model.predict(vg.ones([2, 5])).shape, model.count_params()
    ((2, 1), 71)
    """
    return Sequential(layers, name)


def _with_sublayers(layer: WeightHolder) -> Generator[WeightHolder]:
    """The layer and those inside it, at any depth."""
    yield layer
    for inner in layer._sublayers():  # pyright: ignore[reportPrivateUsage]
        yield from _with_sublayers(inner)


def _agree(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(m == n or None in (m, n) for m, n in zip(a, b))

"""`Sequential`: a stack of layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, cast

from varigrad.engine import run_kernel
from varigrad.layers.arguments import Shape
from varigrad.layers.base import Layer
from varigrad.layers.core import InputLayer
from varigrad.layers.model import LayersModel
from varigrad.layers.naming import default_layer_name, unique_name
from varigrad.layers.registry import deserialize
from varigrad.layers.symbolic import SymbolicTensor
from varigrad.tensor import Tensor, format_shape

__all__ = ["Sequential", "sequential"]


class Sequential(LayersModel):
    """A model whose layers each feed the next. Made by `vg.sequential`. Mirrors `tf.Sequential`."""

    class_name = "Sequential"

    def __init__(self, layers: Iterable[Layer] | None = None, name: str | None = None, trainable: bool = True) -> None:
        super().__init__(name=name or unique_name("sequential_"), trainable=trainable)
        self._stack: tuple[Layer, ...] = ()  # the layers that compute
        for layer in layers or ():
            self.add(layer)

    def add(self, layer: Layer) -> None:
        """Puts a layer on top of the stack and makes its weights.

        Raises:
            ValueError: The first layer does not say its input's shape, the layer does not take what the one below
                gives, or another layer has its name.
        """
        if not isinstance(layer, Layer):
            raise TypeError(f"add: needs a layer, got {type(layer).__name__}")
        self._check_name(layer)
        before = self.output_shape
        if before is None:
            if layer.batch_input_shape is None:
                raise ValueError(
                    f"add: {layer.name}, the first layer of {self.name}, must be given input_shape or batch_input_shape"
                )
            before = layer.batch_input_shape
        elif layer.batch_input_shape is not None and not _agree(before, layer.batch_input_shape):
            raise ValueError(
                f"add: {layer.name} was made for inputs of shape {format_shape(layer.batch_input_shape)}, but "
                f"{self._layers[-1].name}, the layer below it, gives {format_shape(before)}"
            )
        after = layer._connect(before)
        if not self._layers:
            self._set_input(layer, before)
        if not self._trainable:
            layer._freeze(True)
        self._layers.append(layer)
        self._set_output(after)

    def pop(self) -> None:
        """Takes the last layer off.

        Raises:
            ValueError: There is none.
        """
        if not self._layers:
            raise ValueError(f"pop: {self.name} has no layers")
        self._layers.pop()
        self._set_output(self._layers[-1].output_shape if self._layers else None)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        x = inputs
        layer: Layer = self
        try:
            for layer in self._stack:
                x = layer._run(x, training)
        except Exception as error:
            if isinstance(x, Tensor) and not x.is_disposed:
                layer._check_input(x.shape)  # says it better if the input does not fit
            error.add_note(f"in layer {layer.name} of {self.name}")
            raise
        # The result must be a tensor of its own, which can be disposed of.
        return x if x is not inputs else run_kernel("Identity", (x,))

    def build(self, input_shape: Shape) -> None:
        if not self._layers:
            raise ValueError(f"{self.name}: has no layers yet; add some first")

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        for layer in self._stack:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def get_config(self) -> dict[str, Any]:
        layers = [{"class_name": layer.class_name, "config": layer.get_config()} for layer in self._layers]
        return {"name": self.name, "layers": layers}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
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

    def _set_input(self, first: Layer, shape: Shape) -> None:
        name = first.name if isinstance(first, InputLayer) else f"{first.name}_input"
        self.inputs = [SymbolicTensor(name, shape, first.dtype or "float32")]
        self.batch_input_shape = self.input_shape = shape
        free = len(shape) > 1 and shape[0] is None and None not in shape[1:]
        self._feature_shape = shape[1:] if free else None

    def _set_output(self, shape: Shape | None) -> None:
        self.output_shape = shape
        self.built = shape is not None
        self._stack = tuple(layer for layer in self._layers if not isinstance(layer, InputLayer))
        if shape is None:
            self.inputs, self.outputs = [], []
            self.batch_input_shape = self.input_shape = self._feature_shape = None
        else:
            last = self._layers[-1]
            self.outputs = [SymbolicTensor(f"{last.name}/{last.name}", shape, last.dtype or "float32")]


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


def _agree(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(m == n or None in (m, n) for m, n in zip(a, b))

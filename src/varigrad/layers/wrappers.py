"""Layers around a layer: at every step of time, and in both directions of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

from varigrad.layers.arguments import Shape, choice
from varigrad.layers.base import Layer, LayerOptions
from varigrad.layers.lists import as_list, one_or_list
from varigrad.layers.model import LayersModel
from varigrad.layers.naming import name_scope
from varigrad.layers.normalization import BatchNormalization
from varigrad.layers.options import option, or_none
from varigrad.layers.recurrent.cell import first_shape
from varigrad.layers.recurrent.rnn import RNN, give_dtype, with_states
from varigrad.layers.registry import Serializable, custom_object_scope, deserialize_argument
from varigrad.layers.weights import WeightHolder
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import add, mul
from varigrad.ops.joining import concat, stack, unstack
from varigrad.ops.shaping import reverse
from varigrad.tensor import Tensor, format_shape

__all__ = ["Bidirectional", "TimeDistributed"]


class TimeDistributed(Layer):
    """Runs a layer on every step of time by itself, with the same weights.

    Mirrors `tf.layers.timeDistributed`. Inputs are `[batch, time, …]`, and the layer gets `[batch, …]`. Masks
    `[batch, time]` pass through. Steps are computed together where the layer treats every input of a batch by itself,
    as all layers here do but batch normalization; with that one, and with layers of your own, one after the other.

    Args:
        layer: The layer, or a model of one input and one output.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The inputs have no time.

    >>> import varigrad as vg
    >>> layer = vg.layers.time_distributed(layer=vg.layers.flatten())
    >>> layer(vg.zeros([2, 5, 3, 4])).shape
    (2, 5, 12)
    """

    supports_masking = True

    def __init__(self, *, layer: Layer, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        if not isinstance(layer, Layer):
            raise TypeError(f"time_distributed: layer must be a layer, got {layer!r}")
        self.layer = layer
        give_dtype(self, self.dtype)
        self._freeze(False)

    def build(self, input_shape: Shape) -> None:
        step = self._step(input_shape)
        if not self.layer.built:
            self.layer._make_weights(step)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        self._step(inputs.shape)
        if not _takes_any_batch(self.layer):
            return stack([self.layer(x, training=training) for x in unstack(inputs, 1)], 1)
        batch, time, *lengths = inputs.shape
        y = self.layer(reshape_to(inputs, (batch * time, *lengths)), training=training)
        return reshape_to(y, (batch, time, *y.shape[1:]))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        step = self.layer.compute_output_shape(self._step(input_shape))
        return (step[0], input_shape[1], *step[1:])

    def _step(self, shape: Shape) -> Shape:
        if len(shape) < 3 or shape[1] == 0:
            raise ValueError(
                f"{self.name}: takes inputs [batch, time, …] of rank 3 or more with one step or more, "
                f"got shape {format_shape(shape)}"
            )
        return (shape[0], *shape[2:])

    def get_config(self) -> dict[str, Any]:
        return {"layer": _stored(self.layer), **super().get_config()}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        arguments: dict[str, Any] = {
            **config,
            "layer": deserialize_argument("time_distributed", config, "layer", Layer),
        }
        return cls(**arguments)


def _takes_any_batch(layer: WeightHolder) -> bool:
    """Whether a layer treats every input of a batch by itself, as far as that is known."""
    if isinstance(layer, BatchNormalization) or not type(layer).__module__.startswith("varigrad.layers."):
        return False
    if isinstance(layer, Layer) and layer.stateful:
        return False
    if isinstance(layer, LayersModel) and any(x.shape[0] is not None for x in layer.inputs):
        return False
    return all(_takes_any_batch(inner) for inner in layer._sublayers())  # pyright: ignore[reportPrivateUsage]


MERGE_MODES = ("sum", "mul", "concat", "ave")


class Bidirectional(Layer):
    """Runs a recurrent layer over time from both ends, and merges what comes out.

    Mirrors `tf.layers.bidirectional`. The wrapper makes two copies of the layer, with weights of their own, named
    `forward_…` and `backward_…`. With `return_sequences` the outputs of the second are turned around before they are
    merged, into the order of time. `initial_state` is the states of the first, then those of the
    second; with `return_state` they come back so, after the output. A mask goes to both, and on to the layers after if
    the layer returns sequences.

    Args:
        layer: A recurrent layer, such as `vg.layers.lstm(units=8)`; its config is copied, not its weights.
        merge_mode: `"concat"`, `"sum"`, `"mul"` or `"ave"`; None returns the two outputs in a list.
        backward_layer: Another layer for the second, which goes backwards itself. An option of Keras.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The merge mode is unknown, or the two layers do not fit each other.

    >>> import varigrad as vg
    >>> layer = vg.layers.bidirectional(layer=vg.layers.gru(units=4, return_sequences=True), merge_mode="sum")
    >>> layer(vg.zeros([2, 5, 3])).shape
    (2, 5, 4)
    """

    merge_mode = option(or_none(choice), MERGE_MODES)
    supports_masking = True

    def __init__(
        self,
        *,
        layer: RNN,
        merge_mode: str | None = "concat",
        backward_layer: RNN | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        for each in (layer, layer if backward_layer is None else backward_layer):
            if not isinstance(each, RNN):
                raise TypeError(f"bidirectional: layer must be a recurrent layer, got {each!r}")
        self._take(locals())
        self.layer = layer
        self.backward = backward_layer
        self.forward_layer = _copy(layer, "forward_")
        self.backward_layer = (
            _copy(layer, "backward_", go_backwards=not layer.go_backwards)
            if backward_layer is None
            else _copy(backward_layer, "backward_")
        )
        first, second = self.forward_layer, self.backward_layer
        for argument in ("return_sequences", "return_state", "stateful"):
            if getattr(first, argument) != getattr(second, argument):
                raise ValueError(f"bidirectional: {argument} must be the same in layer and backward_layer")
        if first.go_backwards == second.go_backwards:
            raise ValueError("bidirectional: one of layer and backward_layer must have go_backwards=True")
        give_dtype(self, self.dtype)
        self._freeze(False)

    def _sublayers(self) -> Sequence[WeightHolder]:
        return (self.forward_layer, self.backward_layer)  # `layer` is only what they were copied from

    def build(self, input_shape: Any) -> None:
        shape = first_shape(input_shape)
        for layer in (self.forward_layer, self.backward_layer):
            with name_scope(layer.name):
                layer._make_weights(shape)

    def __call__(
        self, inputs: Any, training: bool | None = None, *, initial_state: Any = None, **arguments: Any
    ) -> Any:
        """The layer's result.

        Args:
            inputs: `[batch, time, …]`; or a list of that and the first states.
            training: Whether dropout is to act as in training.
            initial_state: The first states, tensors or symbolic tensors: those of the forward layer, then the others.
            arguments: `mask`, bools `[batch, time]`, False for the steps to leave out.
        """
        if initial_state is not None:
            inputs = with_states(self, inputs, initial_state, 2)
        return super().__call__(inputs, training, **arguments)

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        x, *states = as_list(inputs)
        half = len(states) // 2
        if len(states) % 2:
            raise ValueError(f"{self.name}: initial_state must be the states of two layers, got {len(states)}")
        mask = as_list(mask)[0]
        arguments = {"mask": mask}
        y, *y_states = as_list(self.forward_layer._run_with([x, *states[:half]], training, arguments))
        z, *z_states = as_list(self.backward_layer._run_with([x, *states[half:]], training, arguments))
        merged = self._merged(y, reverse(z, 1) if self.backward_layer.return_sequences else z)
        return one_or_list([*as_list(merged), *y_states, *z_states])

    def _merged(self, y: Tensor, z: Tensor) -> Any:
        if self.merge_mode is None:
            return [y, z]
        if self.merge_mode == "concat":
            return concat([y, z], -1)
        if self.merge_mode == "mul":
            return mul(y, z)
        return add(y, z) if self.merge_mode == "sum" else mul(add(y, z), 0.5)

    def compute_output_shape(self, input_shape: Any) -> Any:
        shapes = [
            layer.compute_output_shape(first_shape(input_shape)) for layer in (self.forward_layer, self.backward_layer)
        ]
        if not self.forward_layer.return_state:
            shapes = [[shape] for shape in shapes]
        (y, *states), (z, *more) = shapes
        if self.merge_mode is None:
            merged = [y, z]
        else:
            merged = [(*y[:-1], y[-1] + z[-1]) if self.merge_mode == "concat" else y]
        return one_or_list([*merged, *states, *more])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = as_list(self.forward_layer.compute_mask(inputs, mask))[0]
        merged = [mask, mask] if self.merge_mode is None else [mask]
        if self.forward_layer.return_state:
            sizes = (layer.cell.state_size for layer in (self.forward_layer, self.backward_layer))
            merged += [None] * sum(len(as_list(size)) for size in sizes)
        return one_or_list(merged)

    def get_config(self) -> dict[str, Any]:
        config = {"layer": _stored(self.layer), **super().get_config()}
        return config if self.backward is None else {**config, "backward_layer": _stored(self.backward)}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        arguments: dict[str, Any] = {**config, "layer": deserialize_argument("bidirectional", config, "layer", RNN)}
        if config.get("backward_layer") is not None:
            arguments["backward_layer"] = deserialize_argument("bidirectional", config, "backward_layer", RNN)
        return cls(**arguments)


def _copy(layer: RNN, prefix: str, **changed: Any) -> RNN:
    """A layer like this one, with another name and weights of its own."""
    classes = {each.class_name: type(each) for each in _inside(layer)}
    with custom_object_scope(classes):  # whether or not they are registered
        config = {**layer.get_config(), **changed, "name": prefix + layer.name}
        return type(layer).from_config(config)


def _inside(layer: WeightHolder) -> list[WeightHolder]:
    """A layer and all layers in it."""
    inner = layer._sublayers()  # pyright: ignore[reportPrivateUsage]
    return [layer, *(each for one in inner for each in _inside(one))]


def _stored(layer: Serializable) -> dict[str, Any]:
    return {"class_name": layer.class_name, "config": layer.get_config()}

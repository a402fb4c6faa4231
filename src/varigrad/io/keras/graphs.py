"""The calls of layers in a graph, as Keras 3 stores them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from varigrad.io.keras.layout import MODELS, keras_class
from varigrad.io.keras.words import Stored

__all__ = ["Tensors", "call_numbers", "call_of", "is_plain", "keras_tensors", "options_of"]

# From a reference to a symbolic tensor to what Keras 3 stores for it.
Tensors: TypeAlias = Callable[[Sequence[Any]], dict[str, Any]]

# Layers that take the first states after the inputs here, and by keyword in Keras.
_RECURRENT = ("SimpleRNN", "LSTM", "GRU", "ConvLSTM2D", "RNN", "Bidirectional")
# Layers that take their inputs as a list here, and one after the other in Keras.
_SPREAD = ("MultiHeadAttention",)


def call_numbers(layers: Sequence[Stored]) -> dict[str, int]:
    """Where the calls of each layer count from here: those of models from 1."""
    return {layer["name"]: int(keras_class(layer["class_name"]) in MODELS) for layer in layers}


def keras_tensors(model: Any, first: Mapping[str, int], in_keras: Callable[[str, int], int]) -> Tensors:
    """A function from a reference to a tensor as Keras 3 stores it.

    Args:
        model: The model, whose symbolic tensors have shapes.
        first: Where the calls of each layer count from here.
        in_keras: The number of a call in the file, from the layer's name and the number here.
    """
    known: dict[tuple[str, int, int], tuple[list[int | None], str]] = {}
    called = model._graph.calls()
    for layer in model.layers:
        for number, node in enumerate(called[id(layer)]):
            for place, x in enumerate(node.outputs):
                known[layer.name, number, place] = list(x.shape), x.dtype

    def keras_tensor(reference: Sequence[Any]) -> dict[str, Any]:
        name, number, place = reference
        shape, dtype = known[name, number - first[name], place]
        history = {"shape": shape, "dtype": dtype, "keras_history": [name, in_keras(name, number), place]}
        return {"class_name": "__keras_tensor__", "config": history}

    return keras_tensor


def call_of(call: Sequence[Sequence[Any]], tensors: Tensors, class_name: str) -> dict[str, Any]:
    """The arguments of a call of a layer."""
    inputs = [tensors(reference[:3]) for reference in call]
    arguments = {name: _argument(value, tensors) for name, value in options_of(call).items()}
    if class_name in _RECURRENT and len(inputs) > 1:
        inputs, arguments["initial_state"] = inputs[:1], inputs[1:]
    if class_name in _SPREAD:
        return {"args": inputs, "kwargs": arguments}
    return {"args": [inputs[0] if len(inputs) == 1 else inputs], "kwargs": arguments}


def is_plain(call: Sequence[Sequence[Any]], class_name: str) -> bool:
    """Whether Keras 3 reads a call that is stored as a list of references as it is meant."""
    if class_name in _SPREAD or (class_name in _RECURRENT and len(call) > 1):
        return False
    return not any(_holds_reference(value) for value in options_of(call).values())


def options_of(call: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """What a call is given beside its inputs."""
    options: dict[str, Any] = {}
    for reference in call:
        options.update(cast("Stored", reference[3]) if len(reference) > 3 and reference[3] else {})
    return options


def _argument(value: Any, tensors: Tensors) -> Any:
    if _is_reference(value):
        return tensors(value)
    if isinstance(value, (list, tuple)):
        return [_argument(item, tensors) for item in cast("Sequence[Any]", value)]
    return value


def _holds_reference(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return _is_reference(value) or any(_holds_reference(item) for item in cast("Sequence[Any]", value))
    return False


def _is_reference(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or len(cast("Sequence[Any]", value)) != 3:
        return False
    name, number, place = cast("Sequence[Any]", value)
    return isinstance(name, str) and type(number) is int and type(place) is int

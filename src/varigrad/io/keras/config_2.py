"""Models in the stored form of the layers here, as `model_config` of an `.h5` file has them.

The form is that of Keras 2, and nearly that of TensorFlow.js: calls are lists of references. Keras 3 reads it too, but
takes some of it otherwise; where it does, what it would write itself is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from varigrad.io.keras.config_3 import entry_of, layer_of, value_in_keras_3
from varigrad.io.keras.graphs import call_numbers, call_of, ends_of, is_plain, keras_tensors
from varigrad.io.keras.layout import keras_class
from varigrad.io.keras.words import Stored, arguments_of, keras_value

__all__ = ["to_keras_2"]

# The only value of an argument here, which Keras 3 takes for a function.
_DROPPED: dict[str, tuple[str, ...]] = {"Attention": ("score_mode",)}
# Arguments that are layers, or lists of them: Keras 3 looks for these as it does in its own files.
_INNER = frozenset(["layer", "backward_layer", "cell", "cells"])


def to_keras_2(topology: Stored, model: Any) -> dict[str, Any]:
    """A model as an `.h5` file has it.

    Args:
        topology: Its stored form here.
        model: The model, which knows the shapes of its symbolic tensors.

    Raises:
        ValueError: Keras has nothing like one of its activations.
    """
    return _object(topology, model)


def _object(stored: Stored, model: Any = None) -> dict[str, Any]:
    """A layer or other object, with the names of Keras."""
    name = keras_class(stored["class_name"])
    config = cast("Stored", stored["config"])
    if name == "Sequential":
        layers = cast("Sequence[Stored]", config["layers"])
        entry = entry_of(layers)
        stored_layers = [] if entry is None else [{"class_name": "InputLayer", "config": entry}]
        stored_layers += [_object(each, layer_of(model, each)) for each in layers]
        return {"class_name": name, "config": {**config, "layers": stored_layers}}
    if name == "Functional":
        return {"class_name": name, "config": _functional(config, model)}
    owner = f"{name} {config.get('name')!r}"
    arguments = {
        key: value_in_keras_3(owner, key, value, model) if key in _INNER else _value(owner, key, value)
        for key, value in arguments_of(name, config).items()
        # Keras 3 takes the batch in the shape of a layer's inputs for one of their axes.
        if key not in _DROPPED.get(name, ()) and (key != "batch_input_shape" or name == "InputLayer")
    }
    return {"class_name": name, "config": arguments}


def _value(owner: str, key: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_value(owner, key, item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping) and "class_name" in value and "config" in value:
        return _object(cast("Stored", value))
    return keras_value(owner, key, value)


def _functional(config: Stored, model: Any) -> dict[str, Any]:
    layers = cast("Sequence[Stored]", config["layers"])
    first = call_numbers(layers)
    tensors = keras_tensors(model, first)
    stored: list[dict[str, Any]] = []
    # In lists, the numbers of several calls of a model mean one thing to Keras 2 and another to Keras 3.
    ambiguous = any(first[layer["name"]] and len(layer["inbound_nodes"]) > 1 for layer in layers)
    for layer in layers:
        class_name = layer["class_name"]
        calls = [
            call_of(call, tensors, class_name) if ambiguous or not is_plain(call, class_name) else _plain(call, first)
            for call in layer["inbound_nodes"]
        ]
        stored.append({**_object(layer, layer_of(model, layer)), "name": layer["name"], "inbound_nodes": calls})
    outputs: list[Any] = ends_of(config["output_layers"], layers)
    if len(outputs) == 1 and model.inbound_nodes:  # inside of another model, a list of one would be a list
        outputs = outputs[0]
    return {**config, "layers": stored, "output_layers": outputs}


def _plain(call: Sequence[Sequence[Any]], first: Mapping[str, int]) -> list[list[Any]]:
    """A call as a list of references, where Keras 3 counts calls of a model inside from 0."""
    return [[name, number - first[name], *rest] for name, number, *rest in call]

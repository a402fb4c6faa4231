"""Models in the stored form of the layers here, as `model_config` of an `.h5` file has them.

The form is that of Keras 2, and nearly that of TensorFlow.js: calls are lists of references. Keras 3 reads it too, but
takes some of it otherwise; where it does, what it would write itself is written.

Keras 2 counts the calls of a model inside another from 1, Keras 3 from 0. So each of them is written twice: then number
1 is the first call in both, 3 the second, and so on, and nobody runs what nobody refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from varigrad.callers import warn_caller
from varigrad.errors import CompatibilityWarning
from varigrad.io.keras.config_3 import entry_of, layer_of, value_in_keras_3
from varigrad.io.keras.graphs import Tensors, call_numbers, call_of, is_plain, keras_tensors
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

    Warns:
        CompatibilityWarning: Keras 3 reads a part of it as something else.
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
    if isinstance(config.get("axis"), list) and len(config["axis"]) > 1:
        warn_caller(
            f"save: Keras 3 passes over the axes of {owner} when it reads .h5 files, and takes the last alone; save as "
            ".keras for it",
            CompatibilityWarning,
        )
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

    def in_keras(name: str, number: int) -> int:
        return 2 * (number - 1) + 1 if first[name] else number

    tensors = keras_tensors(model, first, in_keras)
    stored: list[dict[str, Any]] = []
    for layer in layers:
        calls = [_call(call, in_keras, tensors, layer["class_name"]) for call in layer["inbound_nodes"]]
        if first[layer["name"]]:
            calls = [each for call in calls for each in (call, call)]
        stored.append({**_object(layer, layer_of(model, layer)), "name": layer["name"], "inbound_nodes": calls})
    outputs: list[Any] = [[name, in_keras(name, number), place] for name, number, place in config["output_layers"]]
    if len(outputs) == 1 and model.inbound_nodes:  # inside of another model, a list of one would be a list
        outputs = outputs[0]
    return {**config, "layers": stored, "output_layers": outputs}


def _call(call: Sequence[Sequence[Any]], in_keras: Callable[[str, int], int], tensors: Tensors, class_name: str) -> Any:
    """A call as a list of references, or as Keras 3 stores it where it would misunderstand that."""
    if not is_plain(call, class_name):
        return call_of(call, tensors, class_name)
    return [[name, in_keras(name, number), *rest] for name, number, *rest in call]

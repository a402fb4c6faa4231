"""Models in the stored form of the layers here, as `config.json` of a `.keras` archive has them.

Objects say which module they come from, input layers stand by themselves, and a call of a layer is its arguments, with
`__keras_tensor__` in place of tensors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from varigrad.io.keras.graphs import call_numbers, call_of, keras_tensors
from varigrad.io.keras.layout import MODELS, keras_class
from varigrad.io.keras.words import Stored, arguments_of, exchanged, keras_value

__all__ = ["KERAS_VERSION", "layer_of", "to_keras_3", "value_in_keras_3"]

# The oldest version that reads what is written here as it is meant.
KERAS_VERSION = "3.0.0"

# Which objects an argument holds, by the end of its name.
_MODULES = {
    "initializer": "keras.initializers",
    "regularizer": "keras.regularizers",
    "constraint": "keras.constraints",
}
_LAYERS = "keras.layers"
# Arguments under another name.
_RENAMED: dict[str, dict[str, str]] = {
    "InputLayer": {"batch_input_shape": "batch_shape"},
    "LeakyReLU": {"alpha": "negative_slope"},
}


def to_keras_3(topology: Stored, model: Any) -> dict[str, Any]:
    """A model as an archive has it.

    Args:
        topology: Its stored form here.
        model: The model, which knows the shapes of its symbolic tensors.

    Raises:
        ValueError: Keras has nothing like one of its activations.
    """
    return _object(topology["class_name"], topology["config"], _LAYERS, model)


def _object(class_name: str, config: Stored, module: str, model: Any = None) -> dict[str, Any]:
    """A layer, initializer and so on with its module."""
    name = keras_class(class_name)
    if name == "Sequential":
        arguments = _sequential(config, model)
    elif name == "Functional":
        arguments = _functional(config, model)
    else:
        name, config = exchanged(name, config)
        arguments = _arguments(name, config, model)
    return {
        "module": MODELS.get(name, module),
        "class_name": name,
        "config": arguments,
        "registered_name": name if name == "Functional" else None,
    }


def _arguments(name: str, config: Stored, model: Any) -> dict[str, Any]:
    owner = f"{name} {config.get('name')!r}"
    renamed = _RENAMED.get(name, {})
    known = arguments_of(name, config)
    if name != "InputLayer":
        known.pop("batch_input_shape", None)
    return {renamed.get(key, key): value_in_keras_3(owner, key, value, model) for key, value in known.items()}


def value_in_keras_3(owner: str, key: str, value: Any, model: Any) -> Any:
    """An argument of a layer.

    Args:
        owner: The layer, for errors.
        key: The argument's name.
        value: Its stored form here.
        model: The layer itself, whose attributes may be models.
    """
    if isinstance(value, (list, tuple)):
        return [value_in_keras_3(owner, key, item, model) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping) and "class_name" in value and "config" in value:
        stored = cast("Stored", value)
        module = next((module for end, module in _MODULES.items() if key.endswith(end)), _LAYERS)
        return _object(stored["class_name"], stored["config"], module, getattr(model, key, None))
    return keras_value(owner, key, value)


def layer_of(model: Any, stored: Stored) -> Any:
    """The layer of a model that a stored form is of, where the model is known."""
    return model.get_layer(stored["config"]["name"]) if hasattr(model, "get_layer") else None


def _sequential(config: Stored, model: Any) -> dict[str, Any]:
    layers = cast("Sequence[Stored]", config["layers"])
    entry = entry_of(layers)
    stored: list[dict[str, Any]] = [] if entry is None else [_object("InputLayer", entry, _LAYERS)]
    stored += [_object(each["class_name"], each["config"], _LAYERS, layer_of(model, each)) for each in layers]
    result: dict[str, Any] = {"name": config["name"], "trainable": config.get("trainable", True), "layers": stored}
    shape: Any = layers[0]["config"].get("batch_input_shape") if layers else None
    return result if shape is None else {**result, "build_input_shape": shape}


def entry_of(layers: Sequence[Stored]) -> Stored | None:
    """The config of the input layer that goes before a stack whose first layer says the shape of its inputs itself."""
    first: Stored = cast("Stored", layers[0]["config"]) if layers else {}
    shape: Any = first.get("batch_input_shape")
    if shape is None or layers[0]["class_name"] == "InputLayer":
        return None
    return {"batch_input_shape": shape, "dtype": first.get("dtype") or "float32", "name": f"{first['name']}_input"}


def _functional(config: Stored, model: Any) -> dict[str, Any]:
    layers = cast("Sequence[Stored]", config["layers"])
    first = call_numbers(layers)
    tensors = keras_tensors(model, first, lambda name, number: number - first[name])
    stored: list[dict[str, Any]] = []
    for layer in layers:
        entry = _object(layer["class_name"], layer["config"], _LAYERS, layer_of(model, layer))
        calls = [call_of(call, tensors, layer["class_name"]) for call in layer["inbound_nodes"]]
        stored.append({**entry, "name": layer["name"], "inbound_nodes": calls})
    return {
        "name": config["name"],
        "trainable": config.get("trainable", True),
        "layers": stored,
        "input_layers": _ends(config["input_layers"], layers),
        "output_layers": _ends(config["output_layers"], layers),
    }


def _ends(references: Sequence[Any], layers: Sequence[Stored]) -> list[Any]:
    """References to inputs or outputs, or the only one. The calls of a stack count from 0 there, of a graph from 1."""
    stacks = {layer["name"] for layer in layers if layer["class_name"] == "Sequential"}
    ends = [[name, number - (name in stacks), place] for name, number, place in references]
    return ends[0] if len(ends) == 1 else ends

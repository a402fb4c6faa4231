"""Models in the stored form of the layers here, brought into the forms that Keras's files have.

`to_keras_3` gives what `.keras` holds: objects say which module they come from, input layers stand by themselves, and a
call of a layer is its arguments, with `__keras_tensor__` in place of tensors. `to_keras_2` gives what `.h5` holds:
calls are lists of references, as in TensorFlow.js's files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from varigrad.io.keras.layout import keras_class

__all__ = ["KERAS_2", "KERAS_3", "to_keras_2", "to_keras_3"]

# The oldest versions that read what is written here as it is meant.
KERAS_2, KERAS_3 = "2.4.0", "3.0.0"

Config = dict[str, Any]

# Which objects an argument holds, by the end of its name.
_MODULES = {
    "initializer": "keras.initializers",
    "regularizer": "keras.regularizers",
    "constraint": "keras.constraints",
    "layer": "keras.layers",
    "cell": "keras.layers",
    "cells": "keras.layers",
    "layers": "keras.layers",
}
# Models are not where the other layers are.
_MODEL_MODULES = {"Functional": "keras.src.models.functional", "Sequential": "keras"}

_CELLS = ("SimpleRNNCell", "LSTMCell", "GRUCell", "ConvLSTM2DCell", "StackedRNNCells")
_RECURRENT = ("SimpleRNN", "LSTM", "GRU", "ConvLSTM2D", "RNN", "Bidirectional")
# Layers that take their inputs as a list here, and one after the other in Keras.
_SPREAD = ("MultiHeadAttention",)
# Arguments that Keras 3 has not, and that change nothing in what a layer computes.
_DROPPED: dict[str, tuple[str, ...]] = {
    "Embedding": ("input_length", "activity_regularizer"),
    "InputLayer": ("sparse",),
    **dict.fromkeys(("Resizing", "UpSampling2D"), ("half_pixel_centers",)),
    **dict.fromkeys(("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"), ("trainable",)),
    **dict.fromkeys((*_RECURRENT, *_CELLS), ("implementation", "time_major", "input_length", "input_dim")),
}
# The only value of an argument that Keras 3 takes for a function, in .h5 files alone.
_DROPPED_OLDER: dict[str, tuple[str, ...]] = {"Attention": ("score_mode",)}
# Arguments that are layers, or lists of them.
_INNER = {"layer", "backward_layer", "cell", "cells"}
# Arguments under another name in Keras 3.
_RENAMED: dict[str, dict[str, str]] = {
    "InputLayer": {"batch_input_shape": "batch_shape"},
    "LeakyReLU": {"alpha": "negative_slope"},
}
# Values under another name; the old one is what TensorFlow.js calls it.
_VALUES: dict[str, dict[Any, Any]] = {
    "activation": {"swish": "silu", "gelu_new": None},
    "distribution": {"normal": "truncated_normal"},
}
# Activations that are another function in Keras 3, or none.
_OTHER_ACTIVATIONS = {
    "hard_sigmoid": "which is clip(0.2 x + 0.5, 0, 1) here and clip(x / 6 + 0.5, 0, 1) in Keras 3; .h5, for Keras 2, "
    "can hold it",
    "gelu_new": "which Keras has not by name",
}
_OURS = {"hard_sigmoid_relu6": "hard_sigmoid"}


def to_keras_3(topology: Mapping[str, Any], model: Any) -> Config:
    """A model as `config.json` of an archive has it.

    Args:
        topology: Its stored form here.
        model: The model, which knows the shapes of its symbolic tensors.

    Raises:
        ValueError: An activation means another function in Keras 3.
    """
    return _object(topology["class_name"], topology["config"], "keras.layers", model)


def _object(class_name: str, config: Mapping[str, Any], module: str, model: Any = None) -> Config:
    """A layer, initializer and so on with its module."""
    name = keras_class(class_name)
    if name == "Sequential":
        arguments = _sequential(config, model)
    elif name == "Functional":
        arguments = _functional(config, model)
    else:
        name, config = _exchanged(name, config)
        arguments = {}
        for key, value in config.items():
            if key in _DROPPED.get(name, ()) or (key == "batch_input_shape" and name != "InputLayer"):
                continue
            arguments[_RENAMED.get(name, {}).get(key, key)] = _value(name, config, key, value, model)
    registered = name if name == "Functional" else None
    module = _MODEL_MODULES.get(name, module)
    return {"module": module, "class_name": name, "config": arguments, "registered_name": registered}


def _exchanged(name: str, config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The layer of Keras 3 that does what one that it has not does."""
    if name == "ThresholdedReLU":
        return "ReLU", {("threshold" if key == "theta" else key): value for key, value in config.items()}
    return name, config


def _value(owner: str, config: Mapping[str, Any], key: str, value: Any, model: Any) -> Any:
    """An argument of a layer."""
    if "activation" in key and isinstance(value, str):
        if value in _OTHER_ACTIVATIONS:
            layer = f"{owner} {config.get('name')!r}"
            raise ValueError(f"save: {layer} has the activation {value}, {_OTHER_ACTIVATIONS[value]}")
        return _OURS.get(value, _VALUES["activation"].get(value, value))
    if key in _VALUES and isinstance(value, str):
        return _VALUES[key].get(value, value)
    if isinstance(value, (list, tuple)):
        return [_value(owner, config, key, item, model) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping) and "class_name" in value and "config" in value:
        stored = cast("Mapping[str, Any]", value)
        module = next((module for end, module in _MODULES.items() if key.endswith(end)), "keras.layers")
        inner = getattr(model, key, None)
        return _object(stored["class_name"], stored["config"], module, inner)
    return value


def _sequential(config: Mapping[str, Any], model: Any) -> Config:
    layers = cast("Sequence[Mapping[str, Any]]", config["layers"])
    stored: list[Config] = []
    first = layers[0]["config"] if layers else {}
    shape = first.get("batch_input_shape")
    if layers and layers[0]["class_name"] != "InputLayer" and shape is not None:
        entry = {"batch_input_shape": shape, "dtype": first.get("dtype") or "float32", "name": f"{first['name']}_input"}
        stored.append(_object("InputLayer", entry, "keras.layers"))
    stored += [_object(each["class_name"], each["config"], "keras.layers", _layer_of(model, each)) for each in layers]
    result: Config = {"name": config["name"], "trainable": config.get("trainable", True), "layers": stored}
    if shape is not None:
        result["build_input_shape"] = shape
    return result


def _layer_of(model: Any, stored: Mapping[str, Any]) -> Any:
    return model.get_layer(stored["config"]["name"]) if hasattr(model, "get_layer") else None


def _functional(config: Mapping[str, Any], model: Any) -> Config:
    layers = cast("Sequence[Mapping[str, Any]]", config["layers"])
    tensors = _keras_tensors(model, _first_numbers(layers))
    stored: list[Config] = []
    for layer in layers:
        entry = _object(layer["class_name"], layer["config"], "keras.layers", _layer_of(model, layer))
        entry["name"] = layer["name"]
        entry["inbound_nodes"] = [_call(call, tensors, layer["class_name"]) for call in layer["inbound_nodes"]]
        stored.append(entry)
    return {
        "name": config["name"],
        "trainable": config.get("trainable", True),
        "layers": stored,
        "input_layers": _ends(config["input_layers"], layers),
        "output_layers": _ends(config["output_layers"], layers),
    }


def _first_numbers(layers: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Where the calls of each layer count from here: those of models from 1."""
    return {layer["name"]: int(keras_class(layer["class_name"]) in _MODEL_MODULES) for layer in layers}


def _ends(references: Sequence[Any], layers: Sequence[Mapping[str, Any]]) -> list[Any]:
    """References to inputs or outputs, or the only one; Keras 3 counts the calls of a stack from 0 there, of a graph
    from 1."""
    stacks = {layer["name"] for layer in layers if layer["class_name"] == "Sequential"}
    ends = [[name, number - (name in stacks), place] for name, number, place in references]
    return ends[0] if len(ends) == 1 else ends


def _keras_tensors(model: Any, first: Mapping[str, int]) -> Callable[[Sequence[Any]], Config]:
    """A function from a reference to a tensor as Keras 3 stores it; it counts calls from 0 here."""
    shapes: dict[tuple[str, int, int], tuple[list[int | None], str]] = {}
    ours = {id(node) for node in model._graph.nodes}
    for layer in model.layers:
        for number, node in enumerate(node for node in layer.inbound_nodes if id(node) in ours):
            for place, x in enumerate(node.outputs):
                shapes[layer.name, number, place] = list(x.shape), x.dtype

    def keras_tensor(reference: Sequence[Any]) -> Config:
        name, number, place = reference[0], reference[1] - first[reference[0]], reference[2]
        shape, dtype = shapes[name, number, place]
        history = {"shape": shape, "dtype": dtype, "keras_history": [name, number, place]}
        return {"class_name": "__keras_tensor__", "config": history}

    return keras_tensor


def _call(call: Sequence[Sequence[Any]], tensors: Callable[[Sequence[Any]], Config], class_name: str) -> Config:
    """The arguments of a call of a layer."""
    inputs = [tensors(reference) for reference in call]
    options: dict[str, Any] = {}
    for reference in call:
        options.update(reference[3] if len(reference) > 3 and reference[3] else {})
    arguments = {name: _argument(value, tensors) for name, value in options.items()}
    if class_name in _RECURRENT and len(inputs) > 1:  # the first states follow the inputs here
        inputs, arguments["initial_state"] = inputs[:1], inputs[1:]
    if class_name in _SPREAD:
        return {"args": inputs, "kwargs": arguments}
    return {"args": [inputs[0] if len(inputs) == 1 else inputs], "kwargs": arguments}


def _argument(value: Any, tensors: Callable[[Sequence[Any]], Config]) -> Any:
    if _is_reference(value):
        return tensors(value)
    if isinstance(value, (list, tuple)):
        return [_argument(item, tensors) for item in cast("Sequence[Any]", value)]
    return value


def _is_reference(value: Any) -> bool:
    if not isinstance(value, (list, tuple)) or len(cast("Sequence[Any]", value)) != 3:
        return False
    name, number, place = cast("Sequence[Any]", value)
    return isinstance(name, str) and type(number) is int and type(place) is int


# For Keras 2


def to_keras_2(topology: Mapping[str, Any], model: Any) -> tuple[Config, str]:
    """A model as `model_config` of an `.h5` file has it, in a form that both Keras 2 and 3 read if there is one.

    Returns:
        The model, and the version of Keras that knows what its activations mean.

    Raises:
        ValueError: There is no such version.
    """
    named = set(_activations("", topology))
    if not named & _OURS.keys():
        return _older(topology, model), KERAS_2
    old = sorted(named & set(_OURS.values()))
    if old:
        raise ValueError(f"save: {model.name} has the activation {old[0]} as Keras 2 and as Keras 3 has it; choose one")
    return _older(topology, model), KERAS_3


def _activations(key: str, value: Any) -> Iterator[str]:
    """The names of activations in a stored form."""
    if isinstance(value, Mapping):
        for name, item in cast("Mapping[str, Any]", value).items():
            yield from _activations(name, item)
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            yield from _activations(key, item)
    elif isinstance(value, str) and "activation" in key:
        yield value


def _older(stored: Mapping[str, Any], model: Any = None) -> Config:
    """A layer or other object, with the names of Keras."""
    name = keras_class(stored["class_name"])
    config = cast("Mapping[str, Any]", stored["config"])
    others = ("layers",) if name in _MODEL_MODULES else ()
    dropped = {*_DROPPED.get(name, ()), *_DROPPED_OLDER.get(name, ()), *others}
    arguments = {key: _older_value(key, value) for key, value in config.items() if key not in dropped}
    if name in _MODEL_MODULES:
        arguments["layers"] = [_older(layer, _layer_of(model, layer)) for layer in config["layers"]]
    else:
        for key in _INNER & arguments.keys():  # Keras 3 looks for these as it does in its own files
            arguments[key] = _value(name, config, key, config[key], getattr(model, key, None))
    if name == "Functional":
        first = _first_numbers(config["layers"])
        tensors = _keras_tensors(model, first)
        for layer, entry in zip(config["layers"], arguments["layers"]):
            calls = layer["inbound_nodes"]
            entry["inbound_nodes"] = [_older_call(call, first, tensors, layer["class_name"]) for call in calls]
            entry["name"] = layer["name"]
        ends = _ends(config["output_layers"], config["layers"])
        arguments["output_layers"] = [ends] if isinstance(ends[0], str) and model.inbound_nodes == [] else ends
    return {"class_name": name, "config": arguments}


def _older_value(key: str, value: Any) -> Any:
    if "activation" in key and isinstance(value, str):
        return _OURS.get(value) or _VALUES["activation"].get(value) or value
    if key in _VALUES and isinstance(value, str):
        return _VALUES[key].get(value, value)
    if isinstance(value, (list, tuple)):
        return [_older_value(key, item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Mapping) and "class_name" in value and "config" in value:
        return _older(cast("Mapping[str, Any]", value))
    return value


def _older_call(
    call: Sequence[Sequence[Any]],
    first: Mapping[str, int],
    tensors: Callable[[Sequence[Any]], Config],
    class_name: str,
) -> Any:
    """A call as a list of references; as Keras 3 has it where such a list would mean something else to Keras 3."""
    options = [value for reference in call if len(reference) > 3 for value in (reference[3] or {}).values()]
    states = class_name in _RECURRENT and len(call) > 1
    if states or class_name in _SPREAD or any(_is_reference(value) or isinstance(value, list) for value in options):
        return _call(call, tensors, class_name)
    # Here Keras 3 counts the calls of a model inside from 0.
    return [[name, number - first[name], *rest] for name, number, *rest in call]

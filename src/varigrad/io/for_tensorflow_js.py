"""Models in the stored form that TensorFlow.js opens and understands, where it differs from the one here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from varigrad.io.weights import ModelFileError

__all__ = ["complete_from_weights", "for_tensorflow_js"]

Config: TypeAlias = Mapping[str, Any]

_POOLING = {"GlobalAveragePooling2D": "AveragePooling2D", "GlobalMaxPooling2D": "MaxPooling2D"}


def for_tensorflow_js(stored: Config, model: Any) -> dict[str, Any]:
    """The model with layers that TensorFlow.js has in place of those that it has not, where they do the same.

    Global pooling that keeps the axes becomes pooling over all of the image, if its size is known; `Flatten` of what is
    flat, which TensorFlow.js refuses, an activation that does nothing; and a length that `Reshape` finds out, which
    TensorFlow.js does as late as it runs, that length.

    Args:
        stored: The model's stored form here.
        model: The model.
    """
    class_name, config = stored["class_name"], cast("Config", stored["config"])
    layers = config.get("layers")
    if isinstance(layers, list) and hasattr(model, "get_layer"):
        each = cast("list[Config]", layers)
        named = {layer.name: layer for layer in model.layers}
        config = {**config, "layers": [for_tensorflow_js(entry, named[entry["config"]["name"]]) for entry in each]}
    elif class_name in _POOLING and config.get("keepdims"):
        shape = model.input_shape
        size = list(shape[1:3] if config["data_format"] == "channels_last" else shape[2:4])
        if None not in size:
            config = {key: value for key, value in config.items() if key != "keepdims"}
            config |= {"pool_size": size, "strides": size, "padding": "valid"}
            return {**stored, "class_name": _POOLING[class_name], "config": config}
    elif class_name == "Flatten" and _shapes(model, "inputs") and all(len(x) == 2 for x in _shapes(model, "inputs")):
        kept = {key: value for key, value in config.items() if key != "data_format"}
        return {**stored, "class_name": "Activation", "config": {**kept, "activation": "linear"}}
    elif class_name == "Reshape" and None in config["target_shape"] and len(_shapes(model, "outputs")) == 1:
        config = {**config, "target_shape": list(_shapes(model, "outputs").pop()[1:])}
    return {**stored, "config": config}


def _shapes(layer: Any, which: str) -> set[tuple[int | None, ...]]:
    """The shapes of the inputs or outputs of a layer, over all of its calls."""
    return {x.shape for node in layer.inbound_nodes for x in getattr(node, which)}


def complete_from_weights(stored: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    """A stored model with the arguments that TensorFlow.js forgets to write, from the shapes of the weights.

    It leaves out the depth multiplier of separable convolutions.

    Args:
        stored: The stored form of a model.
        shapes: The shapes of the weights by name.

    Raises:
        ModelFileError: It is nested too deeply.
    """
    try:
        return _completed(stored, shapes)
    except RecursionError:
        raise ModelFileError("the model is nested too deeply") from None


def _completed(stored: Any, shapes: Mapping[str, Sequence[int]]) -> Any:
    if isinstance(stored, Mapping):
        fields = {key: _completed(value, shapes) for key, value in cast("Config", stored).items()}
        config = fields.get("config")
        if fields.get("class_name") == "SeparableConv2D" and isinstance(config, dict):
            arguments = cast("dict[str, Any]", config)
            shape = shapes.get(f"{arguments.get('name')}/depthwise_kernel", ())
            if arguments.get("depth_multiplier") is None and len(shape) == 4:
                arguments["depth_multiplier"] = shape[3]
        return fields
    if isinstance(stored, (list, tuple)):
        return [_completed(item, shapes) for item in cast("Sequence[Any]", stored)]
    return stored

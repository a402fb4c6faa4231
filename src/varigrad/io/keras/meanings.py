"""What the stored form of a model means in Keras, where the same words mean something else in TensorFlow.js's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from varigrad.io.weights import ModelFileError

__all__ = ["as_meant_by_keras"]

# Layers that count pixels from half a pixel in Keras.
_RESIZING = ("Resizing", "UpSampling2D")
# Activations that are other functions since Keras 3, by their names here.
_ACTIVATIONS_3 = {"hard_sigmoid": "hard_sigmoid_relu6"}


def as_meant_by_keras(topology: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The stored form of a model in a file of Keras, in words that mean the same here.

    Args:
        topology: As the file has it.
        version: The version of Keras that wrote it.

    Raises:
        ModelFileError: It is nested too deeply.
    """
    newer = not version.startswith(("0.", "1.", "2."))
    activations = _ACTIVATIONS_3 if newer else {}
    try:
        return cast("dict[str, Any]", _value("", topology, activations)) | {"keras_version": version}
    except RecursionError:
        raise ModelFileError("the model is nested too deeply") from None


def _value(key: str, value: Any, activations: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        result = {name: _value(name, item, activations) for name, item in mapping.items()}
        config = result.get("config")
        if mapping.get("class_name") in _RESIZING and isinstance(config, dict):
            bilinear = mapping["class_name"] == "Resizing" or config.get("interpolation") == "bilinear"
            result["config"] = {**config, "half_pixel_centers": True} if bilinear else config
        return result
    if isinstance(value, (list, tuple)):
        return [_value(key, item, activations) for item in cast("Sequence[Any]", value)]
    if isinstance(value, str) and "activation" in key:
        return activations.get(value, value)
    return value

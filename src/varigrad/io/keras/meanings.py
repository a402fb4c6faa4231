"""What the stored form of a model means in Keras, where the same words mean something else in TensorFlow.js's files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from varigrad.io.keras.words import our_activation
from varigrad.io.weights import ModelFileError

__all__ = ["as_meant_by_keras"]

# Arguments that the layers here have not, with the only value that they may have.
_ONLY: dict[str, dict[str, Any]] = {
    "CenterCrop": {"data_format": "channels_last"},
    "EinsumDense": {"activity_regularizer": None},
    "Resizing": {
        "antialias": False,
        "data_format": "channels_last",
        "fill_mode": "constant",
        "fill_value": 0.0,
        "pad_to_aspect_ratio": False,
    },
}


def as_meant_by_keras(topology: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The stored form of a model in a file of Keras, in words that mean the same here.

    Args:
        topology: As the file has it.
        version: The version of Keras that wrote it.

    Raises:
        ModelFileError: It is nested too deeply.
    """
    newer = not version.startswith(("0.", "1.", "2."))
    try:
        return cast("dict[str, Any]", _value("", topology, newer)) | {"keras_version": version}
    except RecursionError:
        raise ModelFileError("the model is nested too deeply") from None


def _value(key: str, value: Any, newer: bool) -> Any:
    if newer and "activation" in key:
        value = our_activation(value)
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        result = {name: _value(name, item, newer) for name, item in mapping.items()}
        config = result.get("config")
        if isinstance(config, dict):
            result["config"] = _arguments(str(mapping.get("class_name")), cast("dict[str, Any]", config))
        return result
    if isinstance(value, (list, tuple)):
        return [_value(key, item, newer) for item in cast("Sequence[Any]", value)]
    return value


def _arguments(class_name: str, config: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a layer."""
    only = _ONLY.get(class_name)
    if only is not None:
        config = {key: value for key, value in config.items() if key not in only or value not in (only[key], None)}
    if class_name == "Resizing" or (class_name == "UpSampling2D" and config.get("interpolation") == "bilinear"):
        config = {**config, "half_pixel_centers": True}
    return config

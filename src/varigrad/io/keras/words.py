"""What Keras calls the arguments of layers, and how it says what it has no word for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ["Stored", "arguments_of", "exchanged", "fields", "keras_activation", "keras_value", "our_activation"]

# The stored form of an object, or a part of it.
Stored = Mapping[str, Any]

_NOTHING: Stored = {}
_CELLS = ("SimpleRNNCell", "LSTMCell", "GRUCell", "ConvLSTM2DCell", "StackedRNNCells")
_RECURRENT = ("SimpleRNN", "LSTM", "GRU", "ConvLSTM2D", "RNN", "Bidirectional")
# Arguments that Keras 3 has not, and that change nothing in what a layer computes.
_DROPPED: dict[str, tuple[str, ...]] = {
    "Embedding": ("input_length", "activity_regularizer"),
    "InputLayer": ("sparse",),
    **dict.fromkeys(("Resizing", "UpSampling2D"), ("half_pixel_centers",)),
    **dict.fromkeys(("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"), ("trainable",)),
    **dict.fromkeys((*_RECURRENT, *_CELLS), ("implementation", "time_major", "input_length", "input_dim")),
}
# Values that are called otherwise in Keras.
_VALUES: dict[str, dict[str, str]] = {"distribution": {"normal": "truncated_normal"}}

# Activations. Keras 3 has no word for clip(0.2 x + 0.5, 0, 1), TensorFlow.js's hard_sigmoid; but layers can stand for
# an activation. Its own hard_sigmoid is clip(x / 6 + 0.5, 0, 1).
_ACTIVATIONS = {"hard_sigmoid_relu6": "hard_sigmoid", "swish": "silu"}
_STEPS: list[tuple[str, dict[str, float]]] = [
    ("Rescaling", {"scale": 0.2, "offset": 0.5}),
    ("ReLU", {"max_value": 1.0}),
]
_NOT_IN_KERAS = ("gelu_new",)


def fields(value: Any) -> Stored:
    """The members of an object of JSON; none of anything else."""
    return cast("Stored", value) if isinstance(value, Mapping) else _NOTHING


def arguments_of(name: str, config: Stored) -> dict[str, Any]:
    """The arguments of a layer or other object that Keras knows.

    Raises:
        ValueError: The layer takes pixels to be points; those of Keras take them to be areas.
    """
    points = name == "Resizing" or (name == "UpSampling2D" and config.get("interpolation") == "bilinear")
    if points and not config.get("half_pixel_centers"):
        raise ValueError(
            f"save: {name} {config.get('name')!r} interpolates as TensorFlow.js does, and would give other results in "
            "Keras; make it with half_pixel_centers=True"
        )
    dropped = _DROPPED.get(name, ())
    known = {key: value for key, value in config.items() if key not in dropped}
    if name == "Reshape":  # the length to be found out
        known["target_shape"] = [-1 if length is None else length for length in config["target_shape"]]
    return known


def exchanged(name: str, config: Stored) -> tuple[str, Stored]:
    """The layer of Keras 3 that does what one that it has not does, or the layer itself."""
    if name == "ThresholdedReLU":
        return "ReLU", {("threshold" if key == "theta" else key): value for key, value in config.items()}
    if name == "Bidirectional" and "backward_layer" not in config:
        return name, {**config, "backward_layer": _turned_around(config["layer"])}
    return name, config


def _turned_around(layer: Stored) -> Stored:
    """The second layer of a bidirectional one, which Keras 3 can make of the first but stores itself.

    Keras 3.15 sometimes takes the first for it where it makes it as it loads an archive: it tells objects apart by
    their addresses, which serve again once an object is gone.
    """
    config = fields(layer["config"])
    changed = {"name": f"backward_{config['name']}", "go_backwards": not config["go_backwards"]}
    return {**layer, "config": {**config, **changed}}


def keras_value(owner: str, key: str, value: Any) -> Any:
    """The value of an argument that is no object and no list.

    Args:
        owner: The layer, for errors.
        key: The argument's name.
        value: Its value here.

    Raises:
        ValueError: Keras has nothing like it.
    """
    if not isinstance(value, str):
        return value
    return keras_activation(owner, value) if "activation" in key else _VALUES.get(key, {}).get(value, value)


def keras_activation(owner: str, name: str) -> Any:
    """An activation as Keras 3 stores it: a name, or layers that do the same."""
    if name in _NOT_IN_KERAS:
        raise ValueError(f"save: {owner} has the activation {name}, which Keras has not by name")
    if name != "hard_sigmoid":
        return _ACTIVATIONS.get(name, name)
    layers = [_layer(step, {**config, "name": step.lower()}) for step, config in _STEPS]
    return _layer("Pipeline", {"name": name, "layers": layers})


def _layer(class_name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"module": "keras.layers", "class_name": class_name, "config": config, "registered_name": None}


def our_activation(stored: Any) -> Any:
    """An activation that a file of Keras 3 holds, by its name here; what is unknown stays as it is."""
    if stored == "hard_sigmoid":
        return "hard_sigmoid_relu6"
    return "hard_sigmoid" if _is_hard_sigmoid(fields(stored)) else stored


def _is_hard_sigmoid(stored: Stored) -> bool:
    """Whether the layers that stand for TensorFlow.js's hard_sigmoid are stored."""
    layers = fields(stored.get("config")).get("layers")
    if not isinstance(layers, (list, tuple)) or stored.get("class_name") != "Pipeline":
        return False
    steps = cast("Sequence[Any]", layers)
    return len(steps) == len(_STEPS) and all(_is_step(step, *wanted) for step, wanted in zip(steps, _STEPS))


def _is_step(stored: Any, class_name: str, wanted: Mapping[str, float]) -> bool:
    arguments = fields(fields(stored).get("config"))
    matches = all(arguments.get(key) == value for key, value in wanted.items())
    return matches and fields(stored).get("class_name") == class_name

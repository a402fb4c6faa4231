"""What TensorFlow.js 4.22 opens of a model, what it would compute otherwise, and what can be written for it instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from varigrad.callers import warn_caller
from varigrad.errors import CompatibilityWarning
from varigrad.io.weights import ModelFileError

__all__ = ["Problem", "complete_from_weights", "for_tensorflow_js", "tensorflow_js_problems", "warn_of_problems"]

Config: TypeAlias = Mapping[str, Any]


class Problem(NamedTuple):
    """Something in a model that TensorFlow.js has trouble with.

    Args:
        layer: The layer's name.
        opens: Whether the model opens all the same, and computes something else.
        reason: What it is.
    """

    layer: str
    opens: bool
    reason: str


# The layers that TensorFlow.js knows by name, as of version 4.22.
_LAYER_NAMES = """
    Activation Add AlphaDropout Average AveragePooling1D AveragePooling2D AveragePooling3D BatchNormalization
    Bidirectional CategoryEncoding CenterCrop Concatenate Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose
    ConvLSTM2D ConvLSTM2DCell Cropping2D Dense DepthwiseConv2D Dot Dropout ELU Embedding Flatten Functional GRU GRUCell
    GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D
    InputLayer LSTM LSTMCell LayerNormalization LeakyReLU Masking MaxPooling1D MaxPooling2D MaxPooling3D Maximum Minimum
    Model Multiply PReLU Permute RNN RandomWidth ReLU RepeatVector Rescaling Reshape Resizing SeparableConv2D Sequential
    SimpleRNN SimpleRNNCell Softmax SpatialDropout1D StackedRNNCells ThresholdedReLU TimeDistributed UpSampling2D
    ZeroPadding2D
"""
# It has gelu_new too, but takes the name in a file for geluNew, which it does not know.
_ACTIVATION_NAMES = """
    elu gelu hard_sigmoid linear log_softmax mish relu relu6 selu sigmoid softmax softplus softsign swish tanh
"""
# Initializers, regularizers and constraints.
_OBJECT_NAMES = """
    Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity L1L2 LeCunNormal LeCunUniform MaxNorm MinMaxNorm
    NonNeg Ones Orthogonal RandomNormal RandomUniform TruncatedNormal UnitNorm VarianceScaling Zeros
"""
_LAYERS = frozenset(_LAYER_NAMES.split())
_ACTIVATIONS = frozenset(_ACTIVATION_NAMES.split())
_OBJECTS = frozenset(_OBJECT_NAMES.split())


class _Limit(NamedTuple):
    """An argument that TensorFlow.js refuses, or passes over."""

    applies: Callable[[Config], bool]
    opens: bool
    reason: str


def _given(*keys: str) -> Callable[[Config], bool]:
    """Whether arguments of these names are there, all of them, and are not false."""
    return lambda config: all(config.get(key) for key in keys)


def _equal(key: str, value: Any) -> Callable[[Config], bool]:
    """Whether an argument has a value."""
    return lambda config: config.get(key) == value


def _unless(key: str, *usual: Any) -> Callable[[Config], bool]:
    """Whether an argument has another than its usual values."""
    return lambda config: config.get(key) not in (None, *usual)


def _all(*conditions: Callable[[Config], bool]) -> Callable[[Config], bool]:
    """Whether all conditions hold."""
    return lambda config: all(condition(config) for condition in conditions)


_AREAS = _Limit(_given("half_pixel_centers"), True, "it lays pixels otherwise when it resizes bilinearly")
_RESET_AFTER = _Limit(_given("reset_after"), False, "its GRU has no reset_after")
_CAUSAL = _Limit(_equal("padding", "causal"), False, "it has no causal padding")
_FIRST = _Limit(
    _equal("data_format", "channels_first"),
    True,
    "its Conv1D moves channels last and does not move those of the result back",
)
_BIASED_FIRST = _Limit(
    _all(_equal("data_format", "channels_first"), _given("use_bias")),
    False,
    "its SeparableConv2D adds the bias along another axis than channels_first",
)
_DILATED = _Limit(_unless("dilation_rate", 1, [1, 1]), True, "its DepthwiseConv2D passes over dilation_rate")
_LONGER = _Limit(_unless("output_padding"), True, "its transposed convolutions have no output_padding")
_GROUPED = _Limit(_unless("groups", 1), False, "its convolutions have no groups")
_IN_NO_MODEL = _Limit(_given(), False, "its layer of that name does not run inside a model")
_TWICE = _Limit(
    _given("stateful", "return_state"),
    True,
    "its layers with return_state move their state on once for each of their outputs",
)
_KEPT = _Limit(_given("keepdims"), True, "its global pooling has no keepdims")
_ZEROS = _Limit(_given("zero_output_for_mask"), True, "it has no zeros as outputs where there is a mask")
_ALPHA = _Limit(_unless("alpha", 1.0), False, "its ELU layer has alpha 1 alone")
_SLOPE = _Limit(_given("negative_slope"), True, "its ReLU layer has no negative_slope")
_THRESHOLD = _Limit(_given("threshold"), True, "its ReLU layer has no threshold")
_LIMITS: dict[str, tuple[_Limit, ...]] = {
    "CategoryEncoding": (_IN_NO_MODEL,),
    "CenterCrop": (_IN_NO_MODEL,),
    "Conv1D": (_CAUSAL, _FIRST, _GROUPED),
    "Conv2D": (_GROUPED,),
    "Conv2DTranspose": (_LONGER,),
    "Conv3D": (_GROUPED,),
    "Conv3DTranspose": (_LONGER,),
    "ConvLSTM2D": (_ZEROS, _TWICE),
    "DepthwiseConv2D": (_DILATED,),
    "ELU": (_ALPHA,),
    "GRU": (_RESET_AFTER, _ZEROS, _TWICE),
    "GRUCell": (_RESET_AFTER,),
    "GlobalAveragePooling1D": (_KEPT,),
    "GlobalAveragePooling2D": (_KEPT,),
    "GlobalMaxPooling1D": (_KEPT,),
    "GlobalMaxPooling2D": (_KEPT,),
    "LSTM": (_ZEROS, _TWICE),
    "RNN": (_ZEROS, _TWICE),
    "RandomWidth": (_IN_NO_MODEL,),
    "ReLU": (_SLOPE, _THRESHOLD),
    "Resizing": (_IN_NO_MODEL,),
    "SeparableConv2D": (_BIASED_FIRST,),
    "SimpleRNN": (_ZEROS, _TWICE),
    "UpSampling2D": (_AREAS,),
}


def tensorflow_js_problems(stored: Config) -> list[Problem]:
    """What in a model TensorFlow.js cannot open, or computes otherwise.

    Args:
        stored: The model's stored form here, as `model.to_json` gives it.
    """
    masked = any(_makes_mask(each) for each in _objects(stored))
    return [problem for problem in _problems(stored) if masked or problem.reason != _ZEROS.reason]


def _objects(value: Any) -> Iterator[Config]:
    """Every object in a stored form."""
    if isinstance(value, Mapping):
        fields = cast("Config", value)
        if "class_name" in fields:
            yield fields
        value = list(fields.values())
    if isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            yield from _objects(item)


def _makes_mask(stored: Config) -> bool:
    return stored["class_name"] == "Masking" or bool(stored.get("config", {}).get("mask_zero"))


def _problems(stored: Config) -> Iterator[Problem]:
    class_name, config = str(stored["class_name"]), cast("Config", stored["config"])
    name = str(config.get("name", class_name))
    if class_name not in _LAYERS:
        yield Problem(name, False, f"it has no layer {class_name}")
        return
    for limit in _LIMITS.get(class_name, ()):
        if limit.applies(config):
            yield Problem(name, limit.opens, limit.reason)
    if config.get("activity_regularizer") is not None:
        yield Problem(name, False, "it refuses layers with an activity_regularizer")
    for key, value in config.items():
        yield from _in_argument(name, key, value)


def _in_argument(layer: str, key: str, value: Any) -> Iterator[Problem]:
    if isinstance(value, str) and "activation" in key and value not in _ACTIVATIONS:
        yield Problem(layer, False, f"it has no activation {value}")
    elif isinstance(value, (list, tuple)):
        for item in cast("Sequence[Any]", value):
            yield from _in_argument(layer, key, item)
    elif isinstance(value, Mapping) and {"class_name", "config"} <= value.keys():
        inner = cast("Config", value)
        if not key.endswith(("initializer", "regularizer", "constraint")):
            yield from _problems(inner)
        elif inner["class_name"] not in _OBJECTS:
            yield Problem(layer, False, f"it has no {inner['class_name']} for {key}")


_MOST_TOLD = 5


def warn_of_problems(stored: Config, unknown_losses: Sequence[str] = ()) -> None:
    """Warns in one sentence of what TensorFlow.js cannot open of a model, or computes otherwise, if there is any.

    Args:
        stored: The model's stored form, as it is to be written.
        unknown_losses: The losses that it is compiled with and TensorFlow.js lacks.
    """
    problems = tensorflow_js_problems(stored)
    told = [f"{layer}: {reason}" for layer, _, reason in sorted(problems, key=lambda problem: problem.opens)]
    told += [f"its loss is {loss}, which it lacks; save without include_optimizer" for loss in unknown_losses]
    if told:
        opens = not unknown_losses and all(problem.opens for problem in problems)
        verdict = "opens this model, but it gives other results there" if opens else "cannot open this model"
        listed = "; ".join(told[:_MOST_TOLD]) + (f"; and {len(told) - _MOST_TOLD} more" * (len(told) > _MOST_TOLD))
        warn_caller(f"save: TensorFlow.js {verdict} ({listed})", CompatibilityWarning)


# Written otherwise

_POOLING = {"GlobalAveragePooling2D": "AveragePooling2D", "GlobalMaxPooling2D": "MaxPooling2D"}


def for_tensorflow_js(stored: Config, model: Any) -> dict[str, Any]:
    """The model with layers that TensorFlow.js has in place of those that it has not, where they do the same.

    Global pooling that keeps the axes becomes pooling over all of the image, if its size is known.

    Args:
        stored: The model's stored form here.
        model: The model.
    """
    config = cast("Config", stored["config"])
    layers = config.get("layers")
    if isinstance(layers, list) and hasattr(model, "get_layer"):
        each = cast("list[Config]", layers)
        named = {layer.name: layer for layer in model.layers}
        config = {**config, "layers": [for_tensorflow_js(entry, named[entry["config"]["name"]]) for entry in each]}
    elif stored["class_name"] in _POOLING and config.get("keepdims"):
        shape = model.input_shape
        size = list(shape[1:3] if config["data_format"] == "channels_last" else shape[2:4])
        if None not in size:
            config = {key: value for key, value in config.items() if key != "keepdims"}
            config |= {"pool_size": size, "strides": size, "padding": "valid"}
            return {**stored, "class_name": _POOLING[stored["class_name"]], "config": config}
    return {**stored, "config": config}


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

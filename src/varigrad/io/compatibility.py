"""What TensorFlow.js 4.22 does not open of a model, and what it would compute otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

from varigrad.callers import warn_caller
from varigrad.errors import CompatibilityWarning

__all__ = ["Problem", "tensorflow_js_problems", "warn_of_problems"]

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


def _narrower(config: Config) -> bool:
    """Whether padded windows leave out what lies between them."""
    sizes, strides = config.get("kernel_size", config.get("pool_size")), config.get("strides")
    if config.get("padding") != "same" or not isinstance(sizes, list) or not isinstance(strides, list):
        return False
    return any(size < stride for size, stride in zip(cast("list[int]", sizes), cast("list[int]", strides)))


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
_NARROW = _Limit(_narrower, True, "it pads windows that are smaller than their strides wrongly in three dimensions")
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
    "AveragePooling3D": (_NARROW,),
    "CategoryEncoding": (_IN_NO_MODEL,),
    "CenterCrop": (_IN_NO_MODEL,),
    "Conv1D": (_CAUSAL, _FIRST, _GROUPED),
    "Conv2D": (_GROUPED,),
    "Conv2DTranspose": (_LONGER,),
    "Conv3D": (_GROUPED, _NARROW),
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
    "MaxPooling3D": (_NARROW,),
    "RNN": (_ZEROS, _TWICE),
    "RandomWidth": (_IN_NO_MODEL,),
    "ReLU": (_SLOPE, _THRESHOLD),
    "Resizing": (_IN_NO_MODEL,),
    "SeparableConv2D": (_BIASED_FIRST,),
    "SimpleRNN": (_ZEROS, _TWICE),
    "UpSampling2D": (_AREAS,),
}


def tensorflow_js_problems(stored: Config, model: Any) -> list[Problem]:
    """What in a model TensorFlow.js cannot open, or computes otherwise.

    Args:
        stored: The model's stored form, as it is to be written for TensorFlow.js.
        model: The model, which knows the shapes of its tensors.
    """
    masked = any(_makes_mask(each) for each in _objects(stored))
    problems = [problem for problem in _problems(stored) if masked or problem.reason != _ZEROS.reason]
    return [*problems, *_problems_of_shapes(model)]


def _problems_of_shapes(model: Any) -> Iterator[Problem]:
    """What the shapes of a model's tensors tell."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _problems_of_shapes(layer)
        ranks = {len(x.shape) for node in layer.inbound_nodes for x in node.inputs}
        for limit in _LIMITS_OF_RANKS.get(layer.class_name, ()):
            if any(limit.applies({"rank": rank, "axis": getattr(layer, "axis", None)}) for rank in ranks):
                yield Problem(layer.name, limit.opens, limit.reason)


def _not_last(config: Config) -> bool:
    """Whether a single axis is another than the last."""
    rank, axis = config["rank"], config["axis"]
    axes = [axis] if isinstance(axis, int) else cast("Sequence[int]", axis)
    return len(axes) == 1 and axes[0] % rank != rank - 1


def _many_axes(config: Config) -> bool:
    return config["rank"] > 4


# By the rank of the inputs, and the axis that the layer was made with.
_LIMITS_OF_RANKS: dict[str, tuple[_Limit, ...]] = {
    "BatchNormalization": (
        _Limit(_many_axes, False, "its batch normalization takes inputs of up to 4 axes"),
        _Limit(_not_last, True, "its batch normalization takes the last axis for that of the channels on the CPU"),
    ),
    "Softmax": (_Limit(_not_last, False, "its Softmax has no single axis but the last"),),
}


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


def warn_of_problems(stored: Config, model: Any, unknown_losses: Sequence[str] = ()) -> None:
    """Warns in one sentence of what TensorFlow.js cannot open of a model, or computes otherwise, if there is any.

    Args:
        stored: The model's stored form, as it is to be written.
        model: The model.
        unknown_losses: The losses that it is compiled with and TensorFlow.js lacks.
    """
    problems = tensorflow_js_problems(stored, model)
    told = [f"{layer}: {reason}" for layer, _, reason in sorted(problems, key=lambda problem: problem.opens)]
    told += [f"its loss is {loss}, which it lacks; save without include_optimizer" for loss in unknown_losses]
    if told:
        opens = not unknown_losses and all(problem.opens for problem in problems)
        verdict = "opens this model, but it gives other results there" if opens else "cannot open this model"
        listed = "; ".join(told[:_MOST_TOLD]) + (f"; and {len(told) - _MOST_TOLD} more" * (len(told) > _MOST_TOLD))
        warn_caller(f"save: TensorFlow.js {verdict} ({listed})", CompatibilityWarning)

"""Losses as models are compiled with: a number for each sample, from targets and predictions.

Every function takes `y_true` and `y_pred`, floating `[batch, ..., features]`, and returns `[batch, ...]`: the last axis
is gone. `compile` averages what they return. They are public in `vg.metrics`; `vg.losses` has those that reduce to a
scalar themselves, and that take logits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

from varigrad.dtypes import is_floating, kind_of
from varigrad.layers.arguments import boolean
from varigrad.layers.naming import spelling_key
from varigrad.layers.registry import lookup
from varigrad.ops import losses as scalar_losses
from varigrad.ops.activations import relu, softplus
from varigrad.ops.arguments import TensorLike, accept, cast_to, convert, reshape_to
from varigrad.ops.arithmetic import add, div, maximum, mul, scale, squared_difference, sub
from varigrad.ops.creation import one_hot
from varigrad.ops.elementwise import abs as absolute
from varigrad.ops.elementwise import clip_by_value, log, sqrt, square
from varigrad.ops.elementwise import floor as round_down
from varigrad.ops.reduction import max as largest
from varigrad.ops.reduction import mean
from varigrad.ops.reduction import sum as sum_of
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "LOSSES",
    "LossFunction",
    "binary_crossentropy",
    "categorical_crossentropy",
    "categorical_hinge",
    "cosine_proximity",
    "get_loss",
    "hinge",
    "huber",
    "kullback_leibler_divergence",
    "logcosh",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "poisson",
    "sparse_categorical_crossentropy",
    "squared_hinge",
]

# (y_true, y_pred) -> the losses `[batch, ...]`, or their mean.
LossFunction: TypeAlias = Callable[[Any, Any], Tensor]

# TensorFlow.js's; keeps logarithms and quotients finite.
EPSILON = 1e-7


def mean_squared_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of the squared errors along the last axis. Mirrors `tf.metrics.meanSquaredError`.

    >>> import varigrad as vg
    >>> vg.metrics.mean_squared_error([[0, 1], [3, 4]], [[0, 1], [-3, -4]]).tolist()
    [0.0, 50.0]
    """
    return mean(squared_difference(*pair("mean_squared_error", y_true, y_pred)), -1)


def mean_absolute_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean of the errors without their signs along the last axis. Mirrors `tf.metrics.meanAbsoluteError`.

    >>> import varigrad as vg
    >>> vg.metrics.mean_absolute_error([[0, 1], [2, 3]], [[0, 1], [-2, -3]]).tolist()
    [0.0, 5.0]
    """
    y_true, y_pred = pair("mean_absolute_error", y_true, y_pred)
    return mean(absolute(sub(y_pred, y_true)), -1)


def mean_absolute_percentage_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of each error in percent of the target, which counts as 1e-7 at least.

    Mirrors `tf.metrics.meanAbsolutePercentageError`.

    >>> import varigrad as vg
    >>> vg.metrics.mean_absolute_percentage_error([[10, 8]], [[15, 6]]).tolist()
    [37.5]
    """
    y_true, y_pred = pair("mean_absolute_percentage_error", y_true, y_pred)
    relative = div(absolute(sub(y_true, y_pred)), maximum(absolute(y_true), EPSILON))
    return scale(mean(relative, -1), 100.0)


def mean_squared_logarithmic_error(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of the squared differences of log(1 + value); negative values count as 0.

    Mirrors the loss `"meanSquaredLogarithmicError"` of TensorFlow.js.

    >>> import math
    >>> import varigrad as vg
    >>> loss = vg.metrics.mean_squared_logarithmic_error([[math.e - 1]], [[0.0]])
    >>> round(loss.item(), 5)
    1.0
    """
    y_true, y_pred = pair("mean_squared_logarithmic_error", y_true, y_pred)
    logarithms = [log(add(maximum(y, EPSILON), 1.0)) for y in (y_pred, y_true)]
    return mean(squared_difference(*logarithms), -1)


def hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of max(0, 1 - y_true * y_pred), for targets of -1 and 1.

    Mirrors the loss `"hinge"` of TensorFlow.js.

    >>> import varigrad as vg
    >>> vg.metrics.hinge([[-1, 1]], [[0.5, 2.0]]).tolist()
    [0.75]
    """
    return mean(_margins("hinge", y_true, y_pred), -1)


def squared_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of max(0, 1 - y_true * y_pred)², for targets of -1 and 1.

    Mirrors the loss `"squaredHinge"` of TensorFlow.js.

    >>> import varigrad as vg
    >>> vg.metrics.squared_hinge([[-1, 1]], [[0.5, 2.0]]).tolist()
    [1.125]
    """
    return mean(square(_margins("squared_hinge", y_true, y_pred)), -1)


def _margins(op: str, y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    return relu(sub(1.0, mul(*pair(op, y_true, y_pred))))


def categorical_hinge(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """By how much the largest wrong score comes closer to the right one than 1, for one-hot targets; else 0.

    Mirrors the loss `"categoricalHinge"` of TensorFlow.js.

    >>> import varigrad as vg
    >>> vg.metrics.categorical_hinge([[0, 1, 0]], [[1.0, 2.0, 1.5]]).tolist()
    [0.5]
    """
    y_true, y_pred = pair("categorical_hinge", y_true, y_pred)
    right = sum_of(mul(y_true, y_pred), -1)
    wrong = largest(mul(sub(1.0, y_true), y_pred), -1)
    return relu(add(sub(wrong, right), 1.0))


def logcosh(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of log(cosh(error)): half the square of small errors, the size of large ones.

    Mirrors the loss `"logcosh"` of TensorFlow.js.

    >>> import varigrad as vg
    >>> round(vg.metrics.logcosh([[0.0]], [[20.0]]).item(), 4)
    19.3069
    """
    y_true, y_pred = pair("logcosh", y_true, y_pred)
    error = sub(y_pred, y_true)
    return mean(sub(add(error, softplus(scale(error, -2.0))), math.log(2.0)), -1)


def huber(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of half the squared error up to 1, and from there on of the tangent.

    `vg.losses.huber_loss` takes another bend than 1. As `keras.losses.huber`.

    >>> import varigrad as vg
    >>> vg.metrics.huber([[0.0, 0.0]], [[0.5, 3.0]]).tolist()
    [1.3125]
    """
    return mean(scalar_losses.huber_loss(*pair("huber", y_true, y_pred), reduction="none"), -1)


def categorical_crossentropy(y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False) -> Tensor:
    """The sum along the last axis of -y_true * log(y_pred).

    Probabilities are divided by their sum and clipped to [1e-7, 1 - 1e-7]. Where they reach that end the gradient is 0,
    and it is logits that keep their digits: `from_logits=True`, or `loss=vg.losses.softmax_cross_entropy` for a model
    whose last layer has no softmax. Mirrors `tf.metrics.categoricalCrossentropy`.

    Args:
        y_true: Probabilities, one-hot rows as a rule, `[batch, ..., classes]`.
        y_pred: Probabilities of the same shape; or logits.
        from_logits: Whether `y_pred` is logits, of any size.

    >>> import varigrad as vg
    >>> vg.metrics.categorical_crossentropy([[0, 1]], [[0.5, 0.5]]).tolist()
    [0.6931471824645996]
    """
    op = "categorical_crossentropy"
    y_true, y_pred = pair(op, y_true, y_pred)
    return _crossentropy(y_true, y_pred, boolean(op, "from_logits", from_logits))


def _crossentropy(y_true: Tensor, y_pred: Tensor, from_logits: bool) -> Tensor:
    if from_logits:
        return scalar_losses.softmax_cross_entropy(y_true, y_pred, reduction="none")
    probabilities = clip_by_value(div(y_pred, sum_of(y_pred, -1, keep_dims=True)), EPSILON, 1.0 - EPSILON)
    return scale(sum_of(mul(y_true, log(probabilities)), -1), -1.0)


def sparse_categorical_crossentropy(y_true: TensorLike, y_pred: TensorLike, from_logits: bool = False) -> Tensor:
    """The negative logarithm of the probability that `y_pred` gives to the class `y_true`.

    Mirrors the loss `"sparseCategoricalCrossentropy"` of TensorFlow.js.

    Args:
        y_true: The number of the class of each sample, `[batch, ...]` or `[batch, ..., 1]`.
        y_pred: Probabilities, `[batch, ..., classes]`; or logits.
        from_logits: Whether `y_pred` is logits, of any size.

    >>> import varigrad as vg
    >>> vg.metrics.sparse_categorical_crossentropy([1], [[0.5, 0.5]]).tolist()
    [0.6931471824645996]
    """
    op = "sparse_categorical_crossentropy"
    y_pred = accept(y_pred, op, "y_pred", "f")
    classes = class_numbers(op, y_true, y_pred)
    if classes.storage.dtype.kind != "i":
        classes = cast_to(round_down(accept(classes, op, "y_true", "f")), "int32")
    return _crossentropy(
        one_hot(classes, y_pred.shape[-1], dtype=y_pred.dtype), y_pred, boolean(op, "from_logits", from_logits)
    )


def class_numbers(op: str, y_true: TensorLike, y_pred: Tensor) -> Tensor:
    """`y_true` in the shape `[batch, ...]` of the class numbers that go with `y_pred`, `[batch, ..., classes]`."""
    labels = convert(y_true, op, "y_true")
    wanted = y_pred.shape[:-1]
    if y_pred.rank and labels.shape in (wanted, (*wanted, 1)):
        return labels if labels.shape == wanted else reshape_to(labels, wanted)
    raise ValueError(
        f"{op}: y_true must hold a class number for each row of y_pred "
        f"(y_true: {format_shape(labels.shape)}, y_pred: {format_shape(y_pred.shape)})"
    )


def binary_crossentropy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of the cross entropy of targets from 0 to 1 with probabilities.

    Probabilities are clipped to [1e-7, 1 - 1e-7]. Where they reach that end the gradient is 0, and it is logits that
    keep their digits: `loss=vg.losses.sigmoid_cross_entropy`, for a model whose last layer has no sigmoid. Mirrors
    `tf.metrics.binaryCrossentropy`.

    >>> import varigrad as vg
    >>> vg.metrics.binary_crossentropy([[0], [1]], [[0.5], [0.5]]).tolist()
    [0.6931471824645996, 0.6931471824645996]
    """
    y_true, y_pred = pair("binary_crossentropy", y_true, y_pred)
    p = clip_by_value(y_pred, EPSILON, 1.0 - EPSILON)
    logits = log(div(p, sub(1.0, p)))
    return mean(scalar_losses.sigmoid_cross_entropy(y_true, logits, reduction="none"), -1)


def kullback_leibler_divergence(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The sum along the last axis of y_true * log(y_true / y_pred), with probabilities clipped to [1e-7, 1].

    Mirrors the loss `"kullbackLeiblerDivergence"` of TensorFlow.js.

    >>> import varigrad as vg
    >>> vg.metrics.kullback_leibler_divergence([[0, 1]], [[0.5, 0.5]]).tolist()
    [0.6931471824645996]
    """
    y_true, y_pred = pair("kullback_leibler_divergence", y_true, y_pred)
    ratio = div(clip_by_value(y_true, EPSILON, 1.0), clip_by_value(y_pred, EPSILON, 1.0))
    return sum_of(mul(y_true, log(ratio)), -1)


def poisson(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The mean along the last axis of y_pred - y_true * log(y_pred + 1e-7), for counts.

    Mirrors the loss `"poisson"` of TensorFlow.js.

    >>> import varigrad as vg
    >>> round(vg.metrics.poisson([[2.0]], [[1.0]]).item(), 5)
    1.0
    """
    y_true, y_pred = pair("poisson", y_true, y_pred)
    return mean(sub(y_pred, mul(y_true, log(add(y_pred, EPSILON)))), -1)


def cosine_proximity(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The cosine of the angle between target and prediction along the last axis, times -1.

    A vector shorter than the root of 1e-7 counts as that long. Mirrors `tf.metrics.cosineProximity`.

    >>> import varigrad as vg
    >>> vg.metrics.cosine_proximity([[1, 0], [1, 0]], [[2, 0], [0, 3]]).tolist()
    [-1.0, -0.0]
    """
    y_true, y_pred = pair("cosine_proximity", y_true, y_pred)
    return scale(sum_of(mul(_of_length_1(y_true), _of_length_1(y_pred)), -1), -1.0)


def _of_length_1(x: Tensor) -> Tensor:
    return div(x, sqrt(maximum(sum_of(square(x), -1, keep_dims=True), EPSILON)))


def pair(op: str, y_true: TensorLike, y_pred: TensorLike) -> tuple[Tensor, Tensor]:
    """Targets and predictions as tensors of the predictions' dtype and of one shape.

    Raises:
        ValueError: They differ in shape, or have no axis to be averaged along.
    """
    if not (isinstance(y_pred, Tensor) and kind_of(y_pred.storage.dtype) == "f"):
        y_pred = accept(y_pred, op, "y_pred", "f")
    y_true = convert(y_true, op, "y_true", y_pred.dtype)
    if y_true.storage.shape != y_pred.storage.shape:
        raise ValueError(
            f"{op}: y_true and y_pred must have one shape "
            f"(y_true: {format_shape(y_true.shape)}, y_pred: {format_shape(y_pred.shape)})"
        )
    if not y_pred.storage.shape:
        raise ValueError(f"{op}: y_true and y_pred must have at least one axis, got scalars")
    return y_true, y_pred


# By the names of TensorFlow.js and of Keras, read without regard to capitals and underscores.
LOSSES: dict[str, LossFunction] = {
    spelling_key(name): function
    for function, names in (
        (mean_squared_error, ("mean_squared_error", "mse")),
        (mean_absolute_error, ("mean_absolute_error", "mae")),
        (mean_absolute_percentage_error, ("mean_absolute_percentage_error", "mape")),
        (mean_squared_logarithmic_error, ("mean_squared_logarithmic_error", "msle")),
        (squared_hinge, ("squared_hinge",)),
        (hinge, ("hinge",)),
        (categorical_hinge, ("categorical_hinge",)),
        (logcosh, ("logcosh",)),
        (huber, ("huber", "huber_loss")),
        (categorical_crossentropy, ("categorical_crossentropy",)),
        (sparse_categorical_crossentropy, ("sparse_categorical_crossentropy",)),
        (binary_crossentropy, ("binary_crossentropy", "bce")),
        (kullback_leibler_divergence, ("kullback_leibler_divergence", "kl_divergence", "kld")),
        (poisson, ("poisson",)),
        (cosine_proximity, ("cosine_proximity", "cosine_similarity", "cosine")),
    )
    for name in names
}

_TAKE_LOGITS = {
    "softmaxcrossentropy": "vg.losses.softmax_cross_entropy (for logits) or 'categorical_crossentropy'",
    "sigmoidcrossentropy": "vg.losses.sigmoid_cross_entropy (for logits) or 'binary_crossentropy'",
}


def get_loss(identifier: Any) -> LossFunction:
    """A loss by name, or the function itself.

    Raises:
        ValueError: The name is unknown.
    """
    if isinstance(identifier, str):
        instead = _TAKE_LOGITS.get(spelling_key(identifier))
        if instead is not None:
            raise ValueError(f"compile: unknown loss {identifier!r}; pass the function {instead}")
        return lookup("loss", identifier, LOSSES, "compile: ")
    if callable(identifier):
        return cast("LossFunction", identifier)
    raise TypeError(f"compile: a loss is a name or a function of (y_true, y_pred), got {identifier!r}")


def losses_of(owner: str, function: LossFunction, y_true: Tensor, y_pred: Tensor) -> Tensor:
    """What a loss gives before it is averaged: those of `vg.losses`, which average by default, are told not to.

    Raises:
        TypeError: A loss of the user's own returned no tensor of floats; the message begins with `owner`.
    """
    if getattr(function, "__module__", None) == scalar_losses.__name__:
        return cast("Any", function)(y_true, y_pred, reduction="none")
    return _of_floats(owner, function, function(y_true, y_pred))


def _of_floats(owner: str, function: LossFunction, losses: Any) -> Tensor:
    """What a loss of the user's own returned, if it is what a loss has to be."""
    if isinstance(losses, Tensor):
        if is_floating(losses.dtype):
            return losses
        what = f"an {losses.dtype} tensor {format_shape(losses.shape)}"
    else:
        what = repr(losses)[:100]
    name = getattr(function, "__name__", type(function).__name__)
    raise TypeError(f"{owner}: {name} must return a tensor of floats, got {what}")

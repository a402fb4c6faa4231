"""Measures of how good predictions are: `vg.metrics`, as `tf.metrics`.

The functions take `y_true` and `y_pred`, `[batch, ..., features]`, and return a number for each sample,
`[batch, ...]`, unless they say otherwise; `compile(metrics=[...])` takes them, or their names, and averages over the
samples. The losses of models are among them. Precision, recall and the area under a curve cannot be averaged over
batches: the classes `Precision`, `Recall` and `AUC` count over all of them, and are what `compile` takes for the names
`"precision"`, `"recall"` and `"auc"`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from varigrad.keywords import snake_case
from varigrad.layers.arguments import positive_integer
from varigrad.layers.naming import spelling_key
from varigrad.layers.registry import lookup
from varigrad.layers.training.counting import AUC, Mean, Metric, Precision, Recall
from varigrad.layers.training.losses import (
    LOSSES,
    LossFunction,
    binary_crossentropy,
    categorical_crossentropy,
    categorical_hinge,
    class_numbers,
    cosine_proximity,
    hinge,
    huber,
    kullback_leibler_divergence,
    logcosh,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    mean_squared_logarithmic_error,
    pair,
    poisson,
    sparse_categorical_crossentropy,
    squared_hinge,
)
from varigrad.ops.arguments import TensorLike, accept, cast_to, convert
from varigrad.ops.arithmetic import div, div_no_nan, sub
from varigrad.ops.comparison import equal, greater, logical_and
from varigrad.ops.counting import topk
from varigrad.ops.elementwise import square
from varigrad.ops.reduction import arg_max, mean
from varigrad.ops.reduction import sum as sum_of
from varigrad.tensor import Tensor

__all__ = [
    "AUC",
    "MAE",
    "MAPE",
    "MSE",
    "Mean",
    "Metric",
    "Precision",
    "Recall",
    "binary_accuracy",
    "binary_crossentropy",
    "categorical_accuracy",
    "categorical_crossentropy",
    "categorical_hinge",
    "cosine_proximity",
    "hinge",
    "huber",
    "kullback_leibler_divergence",
    "logcosh",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "poisson",
    "precision",
    "r2_score",
    "recall",
    "sparse_categorical_accuracy",
    "sparse_categorical_crossentropy",
    "sparse_top_k_categorical_accuracy",
    "squared_hinge",
    "top_k_categorical_accuracy",
]

MSE = mse = mean_squared_error
MAE = mae = mean_absolute_error
MAPE = mape = mean_absolute_percentage_error


def binary_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The part of the last axis where a prediction, 1 above 0.5 and else 0, equals the target.

    Mirrors `tf.metrics.binaryAccuracy`.

    >>> import varigrad as vg
    >>> vg.metrics.binary_accuracy([[1, 0, 1, 1]], [[0.9, 0.5, 0.2, 0.6]]).tolist()
    [0.75]
    """
    y_true, y_pred = pair("binary_accuracy", y_true, y_pred)
    return mean(equal(y_true, cast_to(greater(y_pred, 0.5), y_true.dtype)), -1)


def categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the largest of the predictions along the last axis is at the place of the largest target, else 0.

    Mirrors `tf.metrics.categoricalAccuracy`.

    >>> import varigrad as vg
    >>> vg.metrics.categorical_accuracy([[0, 0, 1], [0, 1, 0]], [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]]).tolist()
    [1.0, 0.0]
    """
    y_true, y_pred = pair("categorical_accuracy", y_true, y_pred)
    return cast_to(equal(arg_max(y_true, -1), arg_max(y_pred, -1)), "float32")


def sparse_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """1 where the largest of the predictions along the last axis is at the place that the target names, else 0.

    Mirrors `tf.metrics.sparseCategoricalAccuracy`.

    Args:
        y_true: The number of the class of each sample, `[batch, ...]` or `[batch, ..., 1]`.
        y_pred: Probabilities or logits, `[batch, ..., classes]`.

    >>> import varigrad as vg
    >>> vg.metrics.sparse_categorical_accuracy([2, 0], [[0.1, 0.2, 0.7], [0.3, 0.5, 0.2]]).tolist()
    [1.0, 0.0]
    """
    op = "sparse_categorical_accuracy"
    y_pred = accept(y_pred, op, "y_pred", "f")
    classes = class_numbers(op, y_true, y_pred)
    return cast_to(equal(classes, convert(arg_max(y_pred, -1), op, "y_pred", classes.dtype)), "float32")


def top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where the place of the largest target is among those of the `k` largest predictions, else 0.

    As `keras.metrics.top_k_categorical_accuracy`; TensorFlow.js never had more than its name.

    >>> import varigrad as vg
    >>> vg.metrics.top_k_categorical_accuracy([[0, 1, 0], [0, 0, 1]], [[0.5, 0.3, 0.2]] * 2, k=2).tolist()
    [1.0, 0.0]
    """
    op = "top_k_categorical_accuracy"
    y_true, y_pred = pair(op, y_true, y_pred)
    k = positive_integer(op, "k", k)
    return sparse_top_k_categorical_accuracy(arg_max(y_true, -1), y_pred, k)


def sparse_top_k_categorical_accuracy(y_true: TensorLike, y_pred: TensorLike, k: int = 5) -> Tensor:
    """1 where the place that the target names is among those of the `k` largest predictions, else 0.

    As `keras.metrics.sparse_top_k_categorical_accuracy`.

    >>> import varigrad as vg
    >>> vg.metrics.sparse_top_k_categorical_accuracy([1, 2], [[0.5, 0.3, 0.2]] * 2, k=2).tolist()
    [1.0, 0.0]
    """
    op = "sparse_top_k_categorical_accuracy"
    y_pred = accept(y_pred, op, "y_pred", "f")
    classes = class_numbers(op, y_true, y_pred)
    places = topk(y_pred, min(positive_integer(op, "k", k), y_pred.shape[-1])).indices
    hits = equal(convert(places, op, "y_pred", classes.dtype), classes.expand_dims(-1))
    return sum_of(cast_to(hits, "float32"), -1)


def precision(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Of the predictions that are 1, the part whose target is 1: a scalar, 0 if there are none.

    Both hold nothing but 0 and 1, in any shape. `Precision` takes probabilities, and counts over batches. Mirrors
    `tf.metrics.precision`.

    >>> import varigrad as vg
    >>> vg.metrics.precision([0, 1, 0, 1], [1, 1, 0, 0]).item()
    0.5
    """
    y_true, y_pred = pair("precision", y_true, y_pred)
    right = _count(y_true, 1.0, y_pred, 1.0)
    return div_no_nan(right, right + _count(y_true, 0.0, y_pred, 1.0))


def recall(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """Of the targets that are 1, the part that is predicted as 1: a scalar, 0 if there are none.

    Both hold nothing but 0 and 1, in any shape. `Recall` takes probabilities, and counts over batches. Mirrors
    `tf.metrics.recall`.

    >>> import varigrad as vg
    >>> vg.metrics.recall([1, 1, 1, 0], [1, 0, 0, 1]).item()
    0.3333333432674408
    """
    y_true, y_pred = pair("recall", y_true, y_pred)
    right = _count(y_true, 1.0, y_pred, 1.0)
    return div_no_nan(right, right + _count(y_true, 1.0, y_pred, 0.0))


def _count(a: Tensor, x: float, b: Tensor, y: float) -> Tensor:
    """At how many places a is x and b is y, as float32."""
    return sum_of(cast_to(logical_and(equal(a, x), equal(b, y)), "float32"))


def r2_score(y_true: TensorLike, y_pred: TensorLike) -> Tensor:
    """The part of the targets' variance that the predictions explain: a scalar, 1 at best, below 0 for worse than none.

    Mirrors `tf.metrics.r2Score`.

    >>> import varigrad as vg
    >>> vg.metrics.r2_score([1, 2, 3], [1, 2, 4]).item()
    0.5
    """
    y_true, y_pred = pair("r2_score", y_true, y_pred)
    variation = sum_of(square(sub(y_true, mean(y_true))))
    return sub(1.0, div(sum_of(square(sub(y_true, y_pred))), variation))


# By the names of TensorFlow.js and of Keras, read without regard to capitals and underscores.
METRICS: dict[str, LossFunction] = LOSSES | {
    spelling_key(function.__name__): function
    for function in (
        binary_accuracy,
        categorical_accuracy,
        sparse_categorical_accuracy,
        top_k_categorical_accuracy,
        sparse_top_k_categorical_accuracy,
        r2_score,
    )
}
_COUNTING: dict[str, Callable[[], Metric]] = {"precision": Precision, "recall": Recall, "auc": AUC}
_ACCURACY = {"accuracy": "acc", "acc": "acc", "crossentropy": "ce", "ce": "ce"}
# For the short names above: what they are, by what the targets are.
_MEANT: dict[str, dict[str, LossFunction]] = {
    "acc": {
        "binary": binary_accuracy,
        "sparse": sparse_categorical_accuracy,
        "categorical": categorical_accuracy,
    },
    "ce": {
        "binary": binary_crossentropy,
        "sparse": sparse_categorical_crossentropy,
        "categorical": categorical_crossentropy,
    },
}


def get_metric(identifier: Any, loss: LossFunction | None, output_shape: tuple[int | None, ...]) -> Metric:
    """A metric by name, from a function, or itself.

    `"accuracy"` and `"crossentropy"` are binary for an output of one number or a binary loss, else sparse for a sparse
    loss, else categorical; their results go by `"acc"` and `"ce"`, as in TensorFlow.js.

    Raises:
        ValueError: The name is unknown.
    """
    if isinstance(identifier, Metric):
        return identifier
    if isinstance(identifier, str):
        short = _ACCURACY.get(identifier.lower())
        if short is not None:
            if output_shape[-1] == 1 or loss is binary_crossentropy:
                targets = "binary"
            else:
                targets = "sparse" if loss is sparse_categorical_crossentropy else "categorical"
            return Mean(_MEANT[short][targets], short)
        counting = _COUNTING.get(spelling_key(identifier))
        if counting is not None:
            return counting()
        return Mean(lookup("metric", identifier, METRICS, "compile: ", (*_ACCURACY, *_COUNTING)), _log_name(identifier))
    given: Any = identifier
    if isinstance(given, type) and issubclass(given, Metric):
        return given()
    if callable(identifier):
        return Mean(cast("LossFunction", identifier))
    raise TypeError(f"compile: a metric is a name, a function of (y_true, y_pred) or a Metric, got {identifier!r}")


def _log_name(name: str) -> str:
    """The name under which logs have a metric: that which it was asked for by, in snake_case unless it is `"MSE"`."""
    return name if name.isupper() else snake_case(name)

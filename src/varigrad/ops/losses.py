"""Losses: `vg.losses`, as `tf.losses`.

Every loss compares labels with predictions element by element, or row by row, and weights and reduces what it finds as
`compute_weighted_loss` does. Where all weights are 0, so is the mean (NaN in TensorFlow.js).
"""

from __future__ import annotations

from enum import StrEnum

from varigrad.dtypes import promote
from varigrad.engine import run_kernel, run_kernel_multi
from varigrad.ops.activations import relu
from varigrad.ops.arguments import TensorLike, accept, cast_to, common_shape, convert, normalize_axis
from varigrad.ops.arithmetic import add, mul, multiply_no_nan, scale, sub
from varigrad.ops.elementwise import abs as absolute
from varigrad.ops.elementwise import log, square
from varigrad.ops.options import number, one_of
from varigrad.ops.reduction import mean
from varigrad.ops.reduction import sum as sum_of
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "Reduction",
    "absolute_difference",
    "compute_weighted_loss",
    "cosine_distance",
    "hinge_loss",
    "huber_loss",
    "log_loss",
    "mean_squared_error",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
]


class Reduction(StrEnum):
    """How losses are reduced; each member equals its name in lower case. Mirrors `tf.Reduction`.

    >>> import varigrad as vg
    >>> vg.losses.mean_squared_error([1, 2], [3, 5], reduction=vg.Reduction.SUM).item()
    13.0
    """

    NONE = "none"
    MEAN = "mean"
    SUM = "sum"
    SUM_BY_NONZERO_WEIGHTS = "sum_by_nonzero_weights"


_DEFAULT = Reduction.SUM_BY_NONZERO_WEIGHTS
_REDUCTIONS = tuple(str(r) for r in Reduction)


def compute_weighted_loss(losses: TensorLike, weights: TensorLike | None = None, reduction: str = _DEFAULT) -> Tensor:
    """Losses of any shape, weighted and reduced. Mirrors `tf.losses.computeWeightedLoss`.

    Args:
        losses: Real numbers, any shape.
        weights: What to multiply them by, of a shape that broadcasts to theirs; None for 1 everywhere. A loss whose
            weight is 0 does not count, even if it is infinite or NaN.
        reduction: `"none"` for the weighted losses themselves, `"sum"`, `"mean"` (the sum over that of the weights) or
            `"sum_by_nonzero_weights"` (the sum over the number of weights that are not 0).

    Raises:
        ValueError: Weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.compute_weighted_loss([1, 2, 3], [1, 0, 2]).item()
    3.5
    """
    op = "compute_weighted_loss"
    return _reduce(op, accept(losses, op, "losses", "f"), weights, reduction)


def absolute_difference(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, reduction: str = _DEFAULT
) -> Tensor:
    """|labels - predictions|, of any shape. Mirrors `tf.losses.absoluteDifference`.

    Args:
        labels: What is right, real numbers of any shape.
        predictions: Of the same shape.
        weights: As for `vg.losses.compute_weighted_loss`.
        reduction: Likewise.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.absolute_difference([1, 2], [3, 1]).item()
    1.5
    """
    op = "absolute_difference"
    labels, predictions = _pair(op, labels, predictions)
    return _reduce(op, absolute(sub(labels, predictions)), weights, reduction)


def mean_squared_error(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, reduction: str = _DEFAULT
) -> Tensor:
    """(labels - predictions)², of any shape. Mirrors `tf.losses.meanSquaredError`.

    Args:
        labels: What is right, real numbers of any shape.
        predictions: Of the same shape.
        weights: As for `vg.losses.compute_weighted_loss`.
        reduction: Likewise.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.mean_squared_error([1, 2], [3, 1]).item()
    2.5
    """
    op = "mean_squared_error"
    return _reduce(op, run_kernel("SquaredDifference", _pair(op, labels, predictions)), weights, reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int,
    weights: TensorLike | None = None,
    reduction: str = _DEFAULT,
) -> Tensor:
    """1 - sum(labels * predictions) along an axis, which stays with length 1. Mirrors `tf.losses.cosineDistance`.

    That is the cosine distance of vectors of length 1; they are not normalized here.

    Args:
        labels: What is right, real numbers of any shape.
        predictions: Of the same shape.
        axis: The axis of the vectors.
        weights: As for `vg.losses.compute_weighted_loss`.
        reduction: Likewise.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.cosine_distance([[1, 0], [0, 1]], [[1, 0], [1, 0]], axis=1).item()
    0.5
    """
    op = "cosine_distance"
    labels, predictions = _pair(op, labels, predictions)
    axis = normalize_axis(op, axis, labels.rank)
    return _reduce(op, sub(1.0, sum_of(mul(labels, predictions), axis, keep_dims=True)), weights, reduction)


def hinge_loss(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None, reduction: str = _DEFAULT
) -> Tensor:
    """`max(0, 1 - predictions)` where the label is 1, `max(0, 1 + predictions)` where it is 0.

    Mirrors `tf.losses.hingeLoss`.

    Args:
        labels: 0 or 1, any shape.
        predictions: Of the same shape.
        weights: As for `vg.losses.compute_weighted_loss`.
        reduction: Likewise.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.hinge_loss([1, 0], [0.5, -3.0], reduction="none").tolist()
    [0.5, 0.0]
    """
    op = "hinge_loss"
    labels, predictions = _pair(op, labels, predictions)
    signs = sub(scale(labels, 2.0), 1.0)
    return _reduce(op, relu(sub(1.0, mul(signs, predictions))), weights, reduction)


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    delta: TensorLike = 1.0,
    reduction: str = _DEFAULT,
) -> Tensor:
    """Half the square of the error up to `delta`, and from there on the tangent. Mirrors `tf.losses.huberLoss`.

    Args:
        labels: What is right, real numbers of any shape.
        predictions: Of the same shape.
        weights: As for `vg.losses.compute_weighted_loss`.
        delta: Where the tangent begins: a number, or some that broadcast to the labels.
        reduction: As for `vg.losses.compute_weighted_loss`.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.huber_loss([0, 0], [0.5, 3], reduction="none").tolist()
    [0.125, 2.5]
    """
    op = "huber_loss"
    labels, predictions = _pair(op, labels, predictions)
    delta = _beside(op, "delta", delta, labels)
    error = absolute(sub(predictions, labels))
    quadratic = run_kernel("Minimum", (error, delta))
    losses = add(scale(square(quadratic), 0.5), mul(delta, sub(error, quadratic)))
    return _reduce(op, losses, weights, reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    epsilon: TensorLike = 1e-7,
    reduction: str = _DEFAULT,
) -> Tensor:
    """-labels * log(predictions + epsilon) - (1 - labels) * log(1 - predictions + epsilon), for probabilities.

    Mirrors `tf.losses.logLoss`. Where there are logits, `sigmoid_cross_entropy` is the one that keeps its digits.

    Args:
        labels: From 0 to 1, any shape.
        predictions: Probabilities of the same shape.
        weights: As for `vg.losses.compute_weighted_loss`.
        epsilon: Keeps the logarithm from 0: a number, or some that broadcast to the labels.
        reduction: As for `vg.losses.compute_weighted_loss`.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> round(vg.losses.log_loss([1, 0], [0.5, 0.5]).item(), 5)
    0.69315
    """
    op = "log_loss"
    labels, predictions = _pair(op, labels, predictions)
    epsilon = _beside(op, "epsilon", epsilon, labels)
    one = mul(labels, log(add(predictions, epsilon)))
    zero = mul(sub(1.0, labels), log(add(sub(1.0, predictions), epsilon)))
    return _reduce(op, scale(add(one, zero), -1.0), weights, reduction)


def sigmoid_cross_entropy(
    multi_class_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike | None = None,
    label_smoothing: float = 0.0,
    reduction: str = _DEFAULT,
) -> Tensor:
    """The cross entropy of labels, from 0 to 1, with sigmoid(logits), element by element; exact for logits of any size.

    Mirrors `tf.losses.sigmoidCrossEntropy`.

    Args:
        multi_class_labels: From 0 to 1, any shape.
        logits: Of the same shape.
        weights: As for `vg.losses.compute_weighted_loss`.
        label_smoothing: Draws the labels that much towards 0.5.
        reduction: As for `vg.losses.compute_weighted_loss`.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.sigmoid_cross_entropy([0, 1], [100, -100]).item()
    100.0
    """
    op = "sigmoid_cross_entropy"
    labels, logits = _pair(op, multi_class_labels, logits, "multi_class_labels", "logits")
    labels = _smoothed(op, labels, label_smoothing, 2)
    return _reduce(op, run_kernel("SigmoidCrossEntropyWithLogits", (labels, logits)), weights, reduction)


def softmax_cross_entropy(
    onehot_labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike | None = None,
    label_smoothing: float = 0.0,
    reduction: str = _DEFAULT,
) -> Tensor:
    """The cross entropy of labels with softmax(logits) along the last axis; exact for logits of any size.

    Mirrors `tf.losses.softmaxCrossEntropy`. The gradient is right for labels that do not sum to 1 too, and for the
    labels themselves.

    Args:
        onehot_labels: Probabilities, `[..., classes]`; one-hot rows, as a rule.
        logits: `[..., classes]`.
        weights: Of a shape that broadcasts with that of the losses, `[...]`.
        label_smoothing: Draws the labels that much towards 1 / classes.
        reduction: As for `vg.losses.compute_weighted_loss`.

    Raises:
        ValueError: The shapes differ, weights don't broadcast to the losses, or there is no such reduction.

    >>> import varigrad as vg
    >>> vg.losses.softmax_cross_entropy([[1, 0, 0]], [[-400, 300, 450]]).item()
    850.0
    """
    op = "softmax_cross_entropy"
    labels, logits = _pair(op, onehot_labels, logits, "onehot_labels", "logits")
    if not logits.rank or not logits.shape[-1]:
        raise ValueError(f"{op}: logits must have an axis of classes, got shape {format_shape(logits.shape)}")
    labels = _smoothed(op, labels, label_smoothing, logits.shape[-1])
    losses = run_kernel_multi("SoftmaxCrossEntropyWithLogits", (labels, logits))[0]
    return _reduce(op, losses, weights, reduction)


def _pair(
    op: str, a: TensorLike, b: TensorLike, a_name: str = "labels", b_name: str = "predictions"
) -> tuple[Tensor, Tensor]:
    """Two arguments as floating-point tensors of one dtype and shape."""
    if not (
        isinstance(a, Tensor)
        and isinstance(b, Tensor)
        and a.storage.dtype is b.storage.dtype
        and a.storage.dtype.kind == "f"
    ):
        a, b = accept(a, op, a_name, "f"), accept(b, op, b_name, "f")
        dtype = promote(a.dtype, b.dtype, op)
        a, b = convert(a, op, a_name, dtype), convert(b, op, b_name, dtype)
    if a.storage.shape != b.storage.shape:
        raise ValueError(
            f"{op}: {a_name} and {b_name} must have one shape "
            f"({a_name}: {format_shape(a.shape)}, {b_name}: {format_shape(b.shape)})"
        )
    return a, b


def _beside(op: str, argument: str, value: TensorLike, labels: Tensor) -> Tensor:
    """A parameter of a loss: one number, or some that broadcast to the labels."""
    x = convert(value, op, argument, labels.dtype)
    if x.rank and common_shape(labels.shape, x.shape) != labels.shape:
        raise ValueError(
            f"{op}: {argument} does not broadcast to the labels "
            f"({argument}: {format_shape(x.shape)}, labels: {format_shape(labels.shape)})"
        )
    return x


def _smoothed(op: str, labels: Tensor, smoothing: float, classes: int) -> Tensor:
    smoothing = number(op, "label_smoothing", smoothing)
    if not 0 <= smoothing <= 1:
        raise ValueError(f"{op}: label_smoothing must be from 0 to 1, got {smoothing!r}")
    return add(mul(labels, 1.0 - smoothing), smoothing / classes) if smoothing else labels


def _reduce(op: str, losses: Tensor, weights: TensorLike | None, reduction: str) -> Tensor:
    reduction = one_of(op, "reduction", reduction, _REDUCTIONS)
    if weights is not None:
        return _reduce_weighted(op, losses, convert(weights, op, "weights", losses.dtype), reduction)
    if reduction == "none":
        return losses
    return sum_of(losses) if reduction == "sum" else mean(losses)


def _reduce_weighted(op: str, losses: Tensor, weights: Tensor, reduction: str) -> Tensor:
    shape = common_shape(losses.shape, weights.shape)
    # [batch] losses and [batch, 1] weights would meet as [batch, batch], which nobody means.
    if shape is None or shape not in (losses.shape, weights.shape):
        raise ValueError(
            f"{op}: weights do not broadcast to the losses "
            f"(losses: {format_shape(losses.shape)}, weights: {format_shape(weights.shape)})"
        )
    weighted = multiply_no_nan(losses, weights)
    if reduction == "none":
        return weighted
    total = sum_of(weighted)
    if reduction == "sum":
        return total
    if reduction == "mean":
        share = sum_of(weights)
    else:
        zero = convert(0.0, op, "zero", weights.dtype)
        share = sum_of(cast_to(run_kernel("NotEqual", (weights, zero)), weights.dtype))
    if weights.size and weights.size != weighted.size:
        share = scale(share, weighted.size / weights.size)
    return run_kernel("DivNoNan", (total, share))

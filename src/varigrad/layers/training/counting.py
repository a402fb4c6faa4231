"""Metrics that count over batches, and have a result at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from varigrad.dtypes import Array
from varigrad.keywords import snake_case
from varigrad.layers.training.weighting import Sums, weighted_sums
from varigrad.ops.arguments import TensorLike, convert
from varigrad.tensor import Tensor, format_shape

__all__ = ["AUC", "Mean", "Metric", "Precision", "Recall", "sums_of"]


class Metric:
    """A quantity over many batches. As `keras.metrics.Metric`.

    A subclass adds up in `update_state`, tells in `result`, and assigns the first state in `reset_state`, which its
    `__init__` calls through this one's. `compile(metrics=[...])` takes one: training reports its result over each
    epoch.

    Args:
        name: What logs call it.

    >>> import varigrad as vg
    >>> class LargestError(vg.metrics.Metric):
    ...     def reset_state(self):
    ...         self.largest = 0.0
    ...     def update_state(self, y_true, y_pred, sample_weight=None):
    ...         self.largest = max(self.largest, (y_true - y_pred).abs().max().item())
    ...     def result(self):
    ...         return self.largest
    >>> metric = LargestError()
    >>> metric.update_state(vg.tensor([1.0, 2.0]), vg.tensor([1.5, 5.0]))
    >>> metric.name, metric.result()
    ('largest_error', 3.0)
    """

    def __init__(self, name: str | None = None) -> None:
        self.name = name or snake_case(type(self).__name__)
        self.reset_state()

    def reset_state(self) -> None:
        """Forgets all that has been added."""
        raise NotImplementedError(f"{type(self).__name__} must define reset_state()")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Adds a batch.

        Args:
            y_true: The targets.
            y_pred: The predictions.
            sample_weight: How much each sample counts, `[batch]` or `[batch, time]`; 1 each by default.
        """
        raise NotImplementedError(f"{type(self).__name__} must define update_state(y_true, y_pred, sample_weight)")

    def result(self) -> float:
        """The value over all that has been added since the start."""
        raise NotImplementedError(f"{type(self).__name__} must define result()")

    def batch_value(self) -> float:
        """What logs say after a batch: the value over the epoch so far, unless the batch has one of its own."""
        return self.result()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"


class Mean(Metric):
    """The mean over all samples of what a function gives for each.

    Args:
        function: Takes `(y_true, y_pred)` and returns `[batch, ...]`, or a scalar that stands for the whole batch.
        name: What logs call it; the function's name by default.

    >>> import varigrad as vg
    >>> metric = vg.metrics.Mean(vg.metrics.mean_absolute_error)
    >>> metric.update_state([[0.0], [0.0]], [[1.0], [3.0]])
    >>> metric.update_state([[0.0]], [[5.0]])
    >>> metric.name, metric.result()
    ('mean_absolute_error', 3.0)
    """

    def __init__(self, function: Callable[[Any, Any], Tensor], name: str | None = None) -> None:
        self.function = function
        super().__init__(name or getattr(function, "__name__", snake_case(type(function).__name__)))

    def reset_state(self) -> None:
        self._total = 0.0
        self._weight = 0.0
        self._last = 0.0

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike = None) -> None:
        self.add(sums_of(self.name, self.function, y_true, y_pred, sample_weight))

    def add(self, sums: Sums) -> None:
        """Adds a batch of which the sums are known."""
        total, weight = sums.read()
        self._last = total / weight if weight else 0.0
        self._total += total
        self._weight += weight

    def result(self) -> float:
        return self._total / self._weight if self._weight else 0.0

    def batch_value(self) -> float:
        return self._last


def sums_of(
    name: str, function: Callable[[Any, Any], Tensor], y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike
) -> Sums:
    """What a function gives for the samples of a batch, summed up."""
    values = convert(function(y_true, y_pred), name, "result")
    return weighted_sums(name, values, sample_weight, convert(y_pred, name, "y_pred").shape[0])


class _Confusion(Metric):
    """Counts of hits and misses at one or more thresholds, float64 `[thresholds]`."""

    def __init__(self, thresholds: Array, name: str | None) -> None:
        self.thresholds = thresholds
        super().__init__(name)

    def reset_state(self) -> None:
        self.true_positives = np.zeros(len(self.thresholds))
        self.false_positives = np.zeros(len(self.thresholds))
        self.positives = 0.0
        self.negatives = 0.0

    def update_state(self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike = None) -> None:
        labels = convert(y_true, self.name, "y_true").numpy()
        scores = convert(y_pred, self.name, "y_pred").numpy()
        if labels.shape != scores.shape:
            raise ValueError(
                f"{self.name}: y_true and y_pred must have one shape "
                f"(y_true: {format_shape(labels.shape)}, y_pred: {format_shape(scores.shape)})"
            )
        weights = np.ones(scores.shape)
        if sample_weight is not None:
            given = convert(sample_weight, self.name, "sample_weight").numpy()
            weights *= given.reshape(given.shape + (1,) * (scores.ndim - given.ndim))
        positive = np.where(labels > 0.5, weights, 0.0).ravel()
        negative = weights.ravel() - positive
        # In order of the scores, all those above a threshold are a tail: one sum from the end serves every threshold.
        order = np.argsort(scores, axis=None)
        thresholds = self.thresholds.astype(scores.dtype)
        above = np.searchsorted(scores.ravel()[order], thresholds, side="right")
        for counts, found in ((self.true_positives, positive), (self.false_positives, negative)):
            tails = np.concatenate([np.cumsum(found[order][::-1])[::-1], [0.0]])
            counts += tails[above]
        self.positives += float(positive.sum())
        self.negatives += float(negative.sum())


class Precision(_Confusion):
    """Of the predictions above a threshold, the part whose target is 1; 0 if there are none.

    As `keras.metrics.Precision`.

    Args:
        threshold: From where on a prediction counts as 1.
        name: What logs call it.

    >>> import varigrad as vg
    >>> metric = vg.metrics.Precision()
    >>> metric.update_state([[0], [1], [1]], [[0.9], [0.8], [0.1]])
    >>> metric.result()
    0.5
    """

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__(np.array([threshold]), name)

    def result(self) -> float:
        found = self.true_positives[0] + self.false_positives[0]
        return float(self.true_positives[0] / found) if found else 0.0


class Recall(_Confusion):
    """Of the targets that are 1, the part whose prediction is above a threshold; 0 if there are none.

    As `keras.metrics.Recall`.

    Args:
        threshold: From where on a prediction counts as 1.
        name: What logs call it.

    >>> import varigrad as vg
    >>> metric = vg.metrics.Recall()
    >>> metric.update_state([[0], [1], [1]], [[0.9], [0.8], [0.1]])
    >>> metric.result()
    0.5
    """

    def __init__(self, threshold: float = 0.5, name: str | None = None) -> None:
        super().__init__(np.array([threshold]), name)

    def result(self) -> float:
        return float(self.true_positives[0] / self.positives) if self.positives else 0.0


class AUC(_Confusion):
    """The area under the curve of true over false positive rates, for probabilities from 0 to 1.

    The curve is taken at evenly spaced thresholds and joined by straight lines, so that memory does not grow with the
    samples. As `keras.metrics.AUC`.

    Args:
        num_thresholds: At how many thresholds.
        name: What logs call it.

    >>> import varigrad as vg
    >>> metric = vg.metrics.AUC()
    >>> metric.update_state([[0], [0], [1], [1]], [[0.0], [0.5], [0.3], [0.9]])
    >>> metric.name, metric.result()
    ('auc', 0.75)
    """

    def __init__(self, num_thresholds: int = 200, name: str | None = None) -> None:
        if num_thresholds < 2:
            raise ValueError(f"AUC: num_thresholds must be at least 2, got {num_thresholds}")
        inner = np.arange(1, num_thresholds - 1) / (num_thresholds - 1)
        super().__init__(np.concatenate([[-1e-7], inner, [1.0 + 1e-7]]), name or "auc")

    def result(self) -> float:
        if not self.positives or not self.negatives:
            return 0.0
        hits = self.true_positives / self.positives
        misses = self.false_positives / self.negatives
        return float(np.sum((misses[:-1] - misses[1:]) * (hits[:-1] + hits[1:]) / 2))

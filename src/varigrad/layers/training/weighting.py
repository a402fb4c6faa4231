"""How much each sample counts: sample weights, class weights, and masks of steps that are no data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from varigrad.dtypes import Array
from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, cast_to, convert, reshape_to
from varigrad.ops.arithmetic import mul, multiply_no_nan
from varigrad.ops.reduction import mean
from varigrad.ops.reduction import sum as sum_of
from varigrad.tensor import Tensor, format_shape

__all__ = ["Sums", "class_weights", "scale_to", "weighted_mean", "weighted_sums"]


def weighted_mean(op: str, losses: Tensor, weights: Tensor | None, mask: Tensor | None) -> Tensor:
    """The mean of the losses, each times its weight, over the samples that the mask lets count.

    The sum is divided by the number of samples, not by the sum of their weights, as in Keras. A loss of weight 0 does
    not count even if it is infinite.

    Args:
        op: What to call it in errors.
        losses: `[batch, ...]`, or a scalar.
        weights: `[batch]`, or of the losses' shape.
        mask: bool, of the losses' shape.
    """
    if weights is not None:
        losses = multiply_no_nan(losses, _fitted(op, "sample_weight", weights, losses))
    if mask is None:
        return mean(losses) if losses.storage.ndim else losses
    counting = cast_to(_fitted(op, "the mask", mask, losses), losses.dtype)
    total = sum_of(multiply_no_nan(losses, counting))
    return run_kernel("DivNoNan", (total, scale_to(sum_of(counting), losses.size / counting.size)))


def scale_to(x: Tensor, factor: float) -> Tensor:
    """`x` times a number; itself if that is 1."""
    return x if factor == 1 else mul(x, factor)


class Sums(NamedTuple):
    """Values times their weights, summed up over a batch; and the weights. Both count in samples.

    The sums that a compiled step gives are tensors; what a float has to be done to them is known before.
    """

    values: Tensor
    times: float
    weights: Tensor | None
    weights_times: float

    def read(self) -> tuple[float, float]:
        """The total of the values, and that of the weights."""
        weight = self.weights_times if self.weights is None else self.weights.item() * self.weights_times
        return self.values.item() * self.times, weight


def weighted_sums(op: str, values: Tensor, weights: TensorLike, size: int) -> Sums:
    """The sum of values times their weights, and the sum of the weights; a scalar stands for `size` samples.

    Both count in samples: the values of one sample, such as the steps of a sequence, share its weight among them.
    """
    if weights is None:
        value = mean(cast_to(values, "float32") if values.storage.dtype.kind != "f" else values)
        return Sums(value, float(size), None, float(size))
    fitted = _fitted(op, "sample_weight", convert(weights, op, "sample_weight", "float32"), values)
    counted = multiply_no_nan(convert(values, op, "values", "float32"), fitted)
    share = values.shape[0] / values.size if values.size else 0.0
    spread = values.size / fitted.size if fitted.size else 0.0
    return Sums(sum_of(counted), share, sum_of(fitted), spread * share)


def _fitted(op: str, argument: str, weights: Tensor, values: Tensor) -> Tensor:
    """Weights in a shape that broadcasts with that of the values: axes of length 1 come or go at the end."""
    wanted, given = values.shape, weights.shape
    while len(given) > len(wanted) and given[-1] == 1:
        given = given[:-1]
    if given != wanted[: len(given)] or not wanted:
        what = "a loss for each sample" if wanted else "a loss for each sample, not a scalar"
        raise ValueError(
            f"{op}: {argument} of shape {format_shape(weights.shape)} needs {what} "
            f"(got values of shape {format_shape(wanted)})"
        )
    shape = given + (1,) * (len(wanted) - len(given))
    return weights if shape == weights.shape else reshape_to(weights, shape)


def class_weights(op: str, y: Array, weights: Mapping[Any, float]) -> Array:
    """The weight of each sample from that of its class, float32 `[samples]`.

    Args:
        op: What to call it in errors.
        y: Class numbers `[samples]` or `[samples, 1]`, or one-hot rows `[samples, classes]`.
        weights: A weight for each class number.

    Raises:
        ValueError: A class has no weight, or y is of another shape.
    """
    if y.ndim > 2 or (y.ndim == 2 and not y.shape[1]):
        raise ValueError(f"{op}: class_weight needs targets of rank 1 or 2, got shape {format_shape(y.shape)}")
    classes = y.argmax(1) if y.ndim == 2 and y.shape[1] > 1 else y.reshape(-1)
    by_class: dict[float, float] = {}
    for number, weight in weights.items():
        try:
            by_class[float(number)] = float(weight)
        except (TypeError, ValueError):
            raise ValueError(
                f"{op}: class_weight must give a number for each class, got {weight!r} for {number!r}"
            ) from None
    found, place = np.unique(np.asarray(classes), return_inverse=True)
    missing = [int(number) for number in found.tolist() if float(number) not in by_class]
    if missing:
        raise ValueError(
            f"{op}: class_weight has no weight for class {missing[0]}, which is among the targets; "
            f"it has {sorted(by_class)}"
        )
    return np.array([by_class[float(number)] for number in found.tolist()], np.float32)[place.reshape(-1)]

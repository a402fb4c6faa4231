"""Normalization by the mean and variance of a data set, which are found once, before training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack, cast

import numpy as np

from varigrad.layers.arguments import Shape, axis_list, boolean
from varigrad.layers.base import Layer, LayerOptions
from varigrad.layers.options import option
from varigrad.ops.arguments import TensorLike, convert, reshape_to
from varigrad.ops.arithmetic import add, div, maximum, mul, sub
from varigrad.ops.assignment import assign
from varigrad.ops.elementwise import sqrt
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["Normalization"]

_LEAST_DEVIATION = 1e-7  # Keras's


def _axes_or_none(owner: str, argument: str, value: Any) -> tuple[int, ...]:
    none = value is None or (isinstance(value, (list, tuple)) and not value)
    return () if none else axis_list(owner, argument, value)


class Normalization(Layer):
    """Shifts and scales inputs to mean 0 and variance 1, by a mean and variance that are given or found from data.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Call `adapt` on the training data, or give
    both `mean` and `variance`.

    Args:
        axis: The axis, or list of axes, that have a mean and variance for each place; the last by default. None has one
            for all.
        mean: The mean: a number, or an array whose axes are the last of those of `axis`.
        variance: The variance, likewise.
        invert: Whether to go the other way, from normalized inputs to those like the data.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: Only one of `mean` and `variance` is given, or they do not fit the inputs.

    >>> import varigrad as vg
    >>> layer = vg.layers.normalization()
    >>> layer.adapt([[1, 10], [3, 30]])
    >>> layer([[2, 30], [5, 10]]).tolist()
    [[0.0, 1.0], [3.0, -1.0]]
    """

    axis = option(_axes_or_none)
    invert = option(boolean)
    supports_masking = True
    mean: Variable | Tensor
    variance: Variable | Tensor

    def __init__(
        self,
        *,
        axis: int | Sequence[int] | None = -1,
        mean: TensorLike | None = None,
        variance: TensorLike | None = None,
        invert: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        if (mean is None) != (variance is None):
            raise ValueError("normalization: needs both mean and variance, or neither")
        self._given_mean = None if mean is None else convert(mean, "normalization", "mean", "float32")
        self._given_variance = None if variance is None else convert(variance, "normalization", "variance", "float32")

    def build(self, input_shape: Shape) -> None:
        rank = len(input_shape)
        if any(not -rank <= axis < rank for axis in self.axis):
            raise ValueError(
                f"{self.name}: has axis {list(self.axis)}, but got inputs of shape {format_shape(input_shape)}"
            )
        self._kept = sorted(axis % rank for axis in self.axis)
        lengths = [input_shape[axis] for axis in self._kept]
        known = [length for length in lengths if length is not None]
        if len(known) < len(lengths):
            raise ValueError(
                f"{self.name}: axes {self._kept} of its inputs must be known, got {format_shape(input_shape)}"
            )
        self._broadcast = tuple(input_shape[axis] if axis in self._kept else 1 for axis in range(rank))
        if self._given_mean is not None and self._given_variance is not None:
            self.mean = self._fitted("mean", self._given_mean, known)
            self.variance = self._fitted("variance", self._given_variance, known)
            return
        self.mean = self.add_weight("mean", known, initializer="zeros", trainable=False)
        self.variance = self.add_weight("variance", known, initializer="ones", trainable=False)
        # Keras stores it, for the sake of older versions.
        self.add_weight("count", [], dtype="int32", initializer="zeros", trainable=False)

    def _fitted(self, argument: str, value: Tensor, lengths: list[int]) -> Tensor:
        """A mean or variance that was given, for each place along the axes."""
        try:
            return add(value, np.zeros(lengths, np.float32))
        except ValueError:
            raise ValueError(
                f"{self.name}: {argument} of shape {format_shape(value.shape)} does not fit axes {self._kept} of its "
                f"inputs, which are {format_shape(tuple(lengths))}"
            ) from None

    def adapt(self, data: TensorLike | Iterable[Any]) -> None:
        """Finds the mean and variance of data, in place of those before.

        Args:
            data: A tensor or array, or an iterable of batches, such as a data set; of a batch that is a tuple the first
                entry counts.

        Raises:
            ValueError: There is no data, or the layer was given its mean and variance.
        """
        if self._given_mean is not None:
            raise ValueError(f"{self.name}: was given its mean and variance, so there is nothing to adapt")
        mean, variance, count = 0.0, 0.0, 0
        for batch in _batches(data):
            values = np.asarray(batch, np.float64)
            if not values.size:
                continue
            self._ensure_built(values.shape)
            self._check_lengths(values.shape)
            others = tuple(axis for axis in range(values.ndim) if axis not in self._kept)
            size = int(np.prod([values.shape[axis] for axis in others]))
            # The sums of squares of both parts, and that of their means about the common mean.
            part = size / (count + size)
            shift = values.mean(others) - mean
            variance = (1 - part) * variance + part * values.var(others) + part * (1 - part) * shift**2
            mean, count = mean + part * shift, count + size
        if not count:
            raise ValueError(f"{self.name}: adapt needs data, there is none")
        assign(cast("Variable", self.mean), mean)
        assign(cast("Variable", self.variance), variance)

    def _check_lengths(self, shape: tuple[int, ...]) -> None:
        fits = len(shape) == len(self._broadcast)
        if not fits or any(shape[axis] != self._broadcast[axis] for axis in self._kept):
            raise ValueError(
                f"{self.name}: was made for inputs of shape {format_shape(self._broadcast)}, got data of shape "
                f"{format_shape(shape)}"
            )

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        self._check_lengths(inputs.shape)
        shape = cast("tuple[int, ...]", self._broadcast)
        center = reshape_to(self.mean, shape)
        deviation = maximum(reshape_to(sqrt(self.variance), shape), _LEAST_DEVIATION)
        return add(mul(inputs, deviation), center) if self.invert else div(sub(inputs, center), deviation)

    def get_config(self) -> dict[str, Any]:
        given = (self._given_mean, self._given_variance)
        mean, variance = [None if value is None else value.tolist() for value in given]
        return {**super().get_config(), "mean": mean, "variance": variance}


def _batches(data: Any) -> Iterable[Any]:
    """The batches of data; an array, or a list that makes one, is one batch."""
    if isinstance(data, (list, tuple)):
        items = cast("Sequence[Any]", data)
        whole = not any(isinstance(item, (Tensor, np.ndarray, tuple)) for item in items)
        return [items] if whole else [_first(item) for item in items]
    if isinstance(data, Tensor) or hasattr(data, "__array__"):
        return [data]
    return (_first(item) for item in data)


def _first(batch: Any) -> Any:
    return cast("Sequence[Any]", batch)[0] if isinstance(batch, (list, tuple)) else batch

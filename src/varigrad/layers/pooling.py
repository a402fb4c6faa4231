"""Pooling layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Unpack

from varigrad.layers.arguments import Shape, choice, integers
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.convolutional import PADDINGS, window_output_length
from varigrad.layers.core import DATA_FORMATS
from varigrad.ops.pooling import avg_pool, max_pool
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor

__all__ = ["AveragePooling2D", "MaxPooling2D"]


class _Pooling2D(Layer):
    """What the pooling layers over two spatial axes share."""

    fields = ("pool_size", "padding", "strides", "data_format")
    input_spec = InputSpec(ndim=4)
    _pool: ClassVar[Callable[..., Tensor]]
    _owner: ClassVar[str]

    def __init__(
        self,
        *,
        pool_size: int | Sequence[int] | None = None,
        strides: int | Sequence[int] | None = None,
        padding: str | None = None,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.pool_size = integers(self._owner, "pool_size", 2 if pool_size is None else pool_size, 2)
        self.strides = self.pool_size if strides is None else integers(self._owner, "strides", strides, 2)
        self.padding = choice(self._owner, "padding", padding or "valid", PADDINGS)
        self.data_format = choice(self._owner, "data_format", data_format or "channels_last", DATA_FORMATS)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        pool = type(self)._pool
        if self.data_format == "channels_last":
            return pool(inputs, self.pool_size, self.strides, self.padding)
        pooled = pool(transpose(inputs, [0, 2, 3, 1]), self.pool_size, self.strides, self.padding)
        return transpose(pooled, [0, 3, 1, 2])

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        first = self.data_format == "channels_first"
        batch, *rest = input_shape
        lengths: list[Any] = [
            window_output_length(self.name, length, window, stride, 1, self.padding)
            for length, window, stride in zip(rest[1:] if first else rest[:-1], self.pool_size, self.strides)
        ]
        return (batch, rest[0], *lengths) if first else (batch, *lengths, rest[-1])


class MaxPooling2D(_Pooling2D):
    """The largest value of each window over two spatial axes.

    Mirrors `tf.layers.maxPooling2d`. Inputs are `[batch, height, width, channels]`, or
    `[batch, channels, height, width]` with `data_format="channels_first"`.

    Args:
        pool_size: The window's height and width, or one number for both; 2 by default.
        strides: The steps between windows, one number or two; the window's size by default.
        padding: `"valid"`, or `"same"` to keep height and width (over the strides).
        data_format: `"channels_last"` or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.max_pooling2d(pool_size=2)(vg.ones([1, 4, 4, 3])).shape
    (1, 2, 2, 3)
    """

    _pool = max_pool
    _owner = "max_pooling2d"


class AveragePooling2D(_Pooling2D):
    """The mean of each window over two spatial axes; places outside the input don't count.

    Mirrors `tf.layers.averagePooling2d`; arguments as for `vg.layers.max_pooling2d`.

    >>> import varigrad as vg
    >>> vg.layers.average_pooling2d(pool_size=2)(vg.ones([1, 4, 4, 3])).shape
    (1, 2, 2, 3)
    """

    _pool = avg_pool
    _owner = "average_pooling2d"

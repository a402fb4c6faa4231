"""Pooling layers: the largest value or the mean of each window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Unpack

from varigrad.layers.arguments import Shape, choice, integers
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.options import option, option_per_axis
from varigrad.layers.spatial import PADDINGS, data_format_option, in_channels_last, window_output_length, with_space
from varigrad.ops.arguments import reshape_to
from varigrad.ops.pooling import avg_pool, avg_pool3d, max_pool, max_pool3d
from varigrad.tensor import Tensor

__all__ = [
    "AveragePooling1D",
    "AveragePooling2D",
    "AveragePooling3D",
    "MaxPooling1D",
    "MaxPooling2D",
    "MaxPooling3D",
]


class _Pooling(Layer):
    """What the pooling layers share."""

    pool_size = option_per_axis(integers)
    padding = option(choice, PADDINGS, default="valid")
    strides = option_per_axis(integers)
    data_format = data_format_option()
    axes: ClassVar[int]
    _pool: ClassVar[Callable[..., Tensor]]

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
        pool_size = 2 if pool_size is None else pool_size
        strides = pool_size if strides is None else strides
        self._take(locals())
        self.input_spec = InputSpec(ndim=self.axes + 2)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return in_channels_last(self.data_format, inputs, self._pooled)

    def _pooled(self, x: Tensor) -> Tensor:
        return type(self)._pool(x, self.pool_size, self.strides, self.padding)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return with_space(self.data_format, input_shape, self._output_space)

    def _output_space(self, space: tuple[int | None, ...]) -> Shape:
        return tuple(
            window_output_length(self.name, length, window, stride, 1, self.padding)
            for length, window, stride in zip(space, self.pool_size, self.strides)
        )


class _Pooling1D(_Pooling):
    """What the pooling layers over one axis share."""

    data_format = data_format_option(unless="channels_last")  # TensorFlow.js has no other
    axes = 1

    def _pooled(self, x: Tensor) -> Tensor:
        batch, length, channels = x.shape
        image = reshape_to(x, (batch, 1, length, channels))
        y = type(self)._pool(image, (1, *self.pool_size), (1, *self.strides), self.padding)
        return reshape_to(y, (batch, y.shape[2], channels))


class MaxPooling1D(_Pooling1D):
    """The largest value of each window over one axis, such as time.

    Mirrors `tf.layers.maxPooling1d`. Inputs are `[batch, length, channels]`, or `[batch, channels, length]` with
    `data_format="channels_first"`, which TensorFlow.js does not know.

    Args:
        pool_size: The window's length; 2 by default.
        strides: The steps between windows; the window's length by default.
        padding: `"valid"`, or `"same"` to keep the length (over the strides).
        data_format: `"channels_last"` or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.max_pooling1d()([[[1], [5], [2], [3]]]).tolist()
    [[[5.0], [3.0]]]
    """

    _pool = max_pool


class AveragePooling1D(_Pooling1D):
    """The mean of each window over one axis, such as time; places outside the input don't count.

    Mirrors `tf.layers.averagePooling1d`; arguments as for `vg.layers.max_pooling1d`.

    >>> import varigrad as vg
    >>> vg.layers.average_pooling1d()([[[1], [5], [2], [3]]]).tolist()
    [[[3.0], [2.5]]]
    """

    _pool = avg_pool


class MaxPooling2D(_Pooling):
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

    axes = 2
    _pool = max_pool


class AveragePooling2D(_Pooling):
    """The mean of each window over two spatial axes; places outside the input don't count.

    Mirrors `tf.layers.averagePooling2d`; arguments as for `vg.layers.max_pooling2d`.

    >>> import varigrad as vg
    >>> vg.layers.average_pooling2d(pool_size=2)(vg.ones([1, 4, 4, 3])).shape
    (1, 2, 2, 3)
    """

    axes = 2
    _pool = avg_pool


class MaxPooling3D(_Pooling):
    """The largest value of each window over three spatial axes.

    Mirrors `tf.layers.maxPooling3d`; arguments as for `vg.layers.max_pooling2d`, with three numbers where that has two.
    Inputs are `[batch, depth, height, width, channels]`, or with the channels as axis 1.

    >>> import varigrad as vg
    >>> vg.layers.max_pooling3d(pool_size=2)(vg.ones([1, 4, 4, 2, 3])).shape
    (1, 2, 2, 1, 3)
    """

    axes = 3
    _pool = max_pool3d


class AveragePooling3D(_Pooling):
    """The mean of each window over three spatial axes; places outside the input don't count.

    Mirrors `tf.layers.averagePooling3d`; arguments and inputs as for `vg.layers.max_pooling3d`.

    >>> import varigrad as vg
    >>> vg.layers.average_pooling3d(pool_size=2)(vg.ones([1, 4, 4, 2, 3])).shape
    (1, 2, 2, 1, 3)
    """

    axes = 3
    _pool = avg_pool3d

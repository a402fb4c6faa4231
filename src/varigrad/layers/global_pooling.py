"""Global pooling layers: the largest value or the mean of each channel."""

from __future__ import annotations

from typing import ClassVar, Unpack

from varigrad.layers.arguments import Shape, boolean
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.options import option
from varigrad.layers.spatial import channel_axis, data_format_option
from varigrad.ops.arguments import cast_to, reshape_to
from varigrad.ops.arithmetic import div_no_nan, mul
from varigrad.ops.reduction import max, mean, sum
from varigrad.tensor import Tensor

__all__ = [
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "GlobalAveragePooling3D",
    "GlobalMaxPooling1D",
    "GlobalMaxPooling2D",
    "GlobalMaxPooling3D",
]


class _GlobalPooling(Layer):
    """What the global pooling layers share."""

    data_format = data_format_option()
    keepdims = option(boolean, unless=False)  # TensorFlow.js does not know it
    axes: ClassVar[int]

    def __init__(
        self, *, data_format: str | None = None, keepdims: bool = False, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        self.input_spec = InputSpec(ndim=self.axes + 2)

    @property
    def _space(self) -> tuple[int, ...]:
        first = 2 if self.data_format == "channels_first" else 1
        return tuple(range(first, first + self.axes))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        if self.keepdims:
            return tuple(1 if axis in self._space else n for axis, n in enumerate(input_shape))
        return (input_shape[0], input_shape[channel_axis(self.data_format, len(input_shape))])


class _GlobalMaxPooling(_GlobalPooling):
    """What the layers of largest values share."""

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return max(inputs, self._space, self.keepdims)


class _GlobalAveragePooling(_GlobalPooling):
    """What the layers of means share."""

    def call(self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None) -> Tensor:
        return mean(inputs, self._space, self.keepdims)


class GlobalMaxPooling1D(_GlobalMaxPooling):
    """The largest value of each channel over one axis, such as time.

    Mirrors `tf.layers.globalMaxPooling1d`. Inputs are `[batch, length, channels]`, or `[batch, channels, length]` with
    `data_format="channels_first"`, which TensorFlow.js does not know; results are `[batch, channels]`.

    Args:
        data_format: `"channels_last"` or `"channels_first"`.
        keepdims: Whether the axis stays, with length 1; not in TensorFlow.js.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.global_max_pooling1d()([[[1, 6], [3, 2]]]).tolist()
    [[3.0, 6.0]]
    """

    data_format = data_format_option(unless="channels_last")  # TensorFlow.js has no other
    axes = 1


class GlobalMaxPooling2D(_GlobalMaxPooling):
    """The largest value of each channel over two spatial axes.

    Mirrors `tf.layers.globalMaxPooling2d`. Inputs are `[batch, height, width, channels]`, or
    `[batch, channels, height, width]` with `data_format="channels_first"`; results are `[batch, channels]`. Arguments
    as for `vg.layers.global_max_pooling1d`.

    >>> import varigrad as vg
    >>> vg.layers.global_max_pooling2d()([[[[1, 6], [3, 2]]]]).tolist()
    [[3.0, 6.0]]
    """

    axes = 2


class GlobalMaxPooling3D(_GlobalMaxPooling):
    """The largest value of each channel over three spatial axes.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Arguments as for
    `vg.layers.global_max_pooling1d`.

    >>> import varigrad as vg
    >>> vg.layers.global_max_pooling3d()(vg.ones([2, 3, 4, 5, 6])).shape
    (2, 6)
    """

    axes = 3


class GlobalAveragePooling1D(_GlobalAveragePooling):
    """The mean of each channel over one axis, such as time.

    Mirrors `tf.layers.globalAveragePooling1d`; arguments, inputs and results as for
    `vg.layers.global_max_pooling1d`. Steps that a mask leaves out don't count, as in Keras; TensorFlow.js counts them.
    Where all are left out the mean is 0.

    >>> import varigrad as vg
    >>> vg.layers.global_average_pooling1d()([[[1, 6], [3, 2]]]).tolist()
    [[2.0, 4.0]]
    """

    data_format = data_format_option(unless="channels_last")  # TensorFlow.js has no other
    axes = 1

    def call(self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return super().call(inputs)
        batch, steps = mask.shape
        shape = (batch, 1, steps) if self.data_format == "channels_first" else (batch, steps, 1)
        counted = reshape_to(cast_to(mask, inputs.dtype), shape)
        total = sum(mul(inputs, counted), self._space, self.keepdims)
        return div_no_nan(total, sum(counted, self._space, self.keepdims))


class GlobalAveragePooling2D(_GlobalAveragePooling):
    """The mean of each channel over two spatial axes.

    Mirrors `tf.layers.globalAveragePooling2d`; arguments, inputs and results as for
    `vg.layers.global_max_pooling2d`.

    >>> import varigrad as vg
    >>> vg.layers.global_average_pooling2d()([[[[1, 6], [3, 2]]]]).tolist()
    [[2.0, 4.0]]
    """

    axes = 2


class GlobalAveragePooling3D(_GlobalAveragePooling):
    """The mean of each channel over three spatial axes.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Arguments as for
    `vg.layers.global_max_pooling1d`.

    >>> import varigrad as vg
    >>> vg.layers.global_average_pooling3d()(vg.ones([2, 3, 4, 5, 6])).shape
    (2, 6)
    """

    axes = 3

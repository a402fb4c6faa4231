"""Transposed convolution layers, which make their inputs larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

from varigrad.layers.arguments import Shape, integers, whole_numbers
from varigrad.layers.constraints import Constraint
from varigrad.layers.convolutional import Convolution, ConvolutionOptions
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import option_per_axis, or_none
from varigrad.layers.regularizers import Regularizer
from varigrad.layers.spatial import transposed_output_length
from varigrad.ops.arguments import reshape_to
from varigrad.ops.convolution import conv2d_transpose, conv3d_transpose
from varigrad.tensor import Tensor

__all__ = ["Conv1DTranspose", "Conv2DTranspose", "Conv3DTranspose"]


class _TransposedConvolution(Convolution):
    """What the transposed convolutions share."""

    dilation_rate = option_per_axis(integers, stored=False)  # as in TensorFlow.js's files
    output_padding = option_per_axis(or_none(whole_numbers), unless=None)
    _transpose: ClassVar[Any]

    def __init__(
        self,
        *,
        filters: int,
        kernel_size: int | Sequence[int],
        output_padding: int | Sequence[int] | None = None,
        kernel_initializer: str | Initializer | None = None,
        kernel_regularizer: str | Regularizer | None = None,
        kernel_constraint: str | Constraint | None = None,
        **options: Unpack[ConvolutionOptions],
    ) -> None:
        super().__init__(
            filters=filters,
            kernel_size=kernel_size,
            kernel_initializer=kernel_initializer,
            kernel_regularizer=kernel_regularizer,
            kernel_constraint=kernel_constraint,
            **options,
        )
        self._take(locals())
        if max(self.dilation_rate) > 1:
            raise ValueError(
                f"{self._owner}: dilation_rate is not supported, got {list(self.dilation_rate)}; leave it out"
            )
        extra = self.output_padding
        if extra is not None and any(more >= stride for more, stride in zip(extra, self.strides)):
            raise ValueError(
                f"{self._owner}: output_padding must be less than strides, got output_padding {list(extra)} and "
                f"strides {list(self.strides)}"
            )

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, channels)

    def _output_space(self, space: tuple[int | None, ...]) -> Shape:
        return tuple(
            transposed_output_length(length, window, stride, self.padding, extra)
            for length, window, stride, extra in zip(
                space, self.kernel_size, self.strides, self.output_padding or [None] * self.axes
            )
        )

    def _convolve(self, x: Tensor) -> Tensor:
        batch, *space, _ = x.shape
        output_shape = (batch, *self._output_space(tuple(space)), self.filters)
        return self._biased(type(self)._transpose(x, self.kernel, output_shape, self.strides, self.padding))


def _conv1d_transpose(x: Tensor, kernel: Tensor, output_shape: Shape, strides: tuple[int], padding: str) -> Tensor:
    """That of images of height 1."""
    batch, length, filters = output_shape
    image = reshape_to(x, (x.shape[0], 1, *x.shape[1:]))
    filter = reshape_to(kernel, (1, *kernel.shape))
    y = conv2d_transpose(image, filter, (batch, 1, length, filters), (1, *strides), padding)  # pyright: ignore
    return reshape_to(y, output_shape)  # pyright: ignore


class Conv1DTranspose(_TransposedConvolution):
    """The transpose of a convolution over one axis: spreads each value over a window.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Inputs are `[batch, length, channels]`, or
    `[batch, channels, length]` with `data_format="channels_first"`; the kernel is `[window, filters, channels]`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's length.
        output_padding: How much longer the result is than it must be, less than the stride; chosen so that the length
            is `length * stride` (and more for `"valid"` padding of a window longer than the stride) by default.
        kernel_initializer: The kernel's first value, `"glorot_normal"` by default.
        kernel_regularizer: A penalty on the kernel.
        kernel_constraint: A limit on the kernel.
        options: `strides`, `padding`, `activation`, `use_bias` and so on, but no `dilation_rate`: see
            `vg.layers.ConvolutionOptions`.

    >>> import varigrad as vg
    >>> vg.layers.conv1d_transpose(filters=4, kernel_size=3, strides=2, padding="same")(vg.zeros([2, 5, 3])).shape
    (2, 10, 4)
    """

    axes = 1
    _transpose = staticmethod(_conv1d_transpose)


class Conv2DTranspose(_TransposedConvolution):
    """The transpose of a convolution over two axes: spreads each value over a window. Sometimes called deconvolution.

    Mirrors `tf.layers.conv2dTranspose`. Inputs are `[batch, height, width, channels]`, or
    `[batch, channels, height, width]` with `data_format="channels_first"`; the kernel is
    `[height, width, filters, channels]`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's height and width, or one number for both.
        output_padding: How much larger the result is than it must be, less than the strides; chosen so that lengths are
            `length * stride` (and more for `"valid"` padding of a window longer than the stride) by default. Not in
            TensorFlow.js.
        kernel_initializer: The kernel's first value, `"glorot_normal"` by default.
        kernel_regularizer: A penalty on the kernel.
        kernel_constraint: A limit on the kernel.
        options: `strides`, `padding`, `activation`, `use_bias` and so on, but no `dilation_rate` (TensorFlow.js takes
            it and ignores it): see `vg.layers.ConvolutionOptions`.

    >>> import varigrad as vg
    >>> vg.layers.conv2d_transpose(filters=4, kernel_size=3, strides=2, padding="same")(vg.zeros([2, 5, 5, 3])).shape
    (2, 10, 10, 4)
    """

    axes = 2
    _transpose = staticmethod(conv2d_transpose)


class Conv3DTranspose(_TransposedConvolution):
    """The transpose of a convolution over three axes: spreads each value over a window.

    Mirrors `tf.layers.conv3dTranspose`; arguments as for `vg.layers.conv2d_transpose`. Inputs are
    `[batch, depth, height, width, channels]`, or with the channels as axis 1 for `data_format="channels_first"`.

    >>> import varigrad as vg
    >>> vg.layers.conv3d_transpose(filters=1, kernel_size=2, strides=2)(vg.zeros([1, 2, 3, 4, 5])).shape
    (1, 4, 6, 8, 1)
    """

    axes = 3
    _transpose = staticmethod(conv3d_transpose)

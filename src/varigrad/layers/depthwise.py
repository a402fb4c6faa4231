"""Convolution layers that keep channels apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from varigrad.layers.arguments import Shape, positive_integer
from varigrad.layers.constraints import Constraint
from varigrad.layers.convolutional import BaseConvolution, ConvolutionOptions
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import constraint_option, initializer_option, option, regularizer_option
from varigrad.layers.regularizers import Regularizer
from varigrad.layers.spatial import channel_axis, in_channels_last, known_channels, with_space
from varigrad.ops.arguments import reshape_to
from varigrad.ops.convolution import depthwise_conv2d
from varigrad.tensor import Tensor, Variable

__all__ = ["DepthwiseConv1D", "DepthwiseConv2D"]


class _DepthwiseConvolution(BaseConvolution):
    """What the depthwise convolutions share."""

    depth_multiplier = option(positive_integer)
    depthwise_initializer = initializer_option("glorot_normal")
    depthwise_regularizer = regularizer_option()
    depthwise_constraint = constraint_option()
    depthwise_kernel: Variable

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        depth_multiplier: int = 1,
        depthwise_initializer: str | Initializer | None = None,
        depthwise_regularizer: str | Regularizer | None = None,
        depthwise_constraint: str | Constraint | None = None,
        **options: Unpack[ConvolutionOptions],
    ) -> None:
        super().__init__(kernel_size=kernel_size, **options)
        self._take(locals())

    def build(self, input_shape: Shape) -> None:
        channels = known_channels(self.name, self.data_format, input_shape)
        shape = [*self.kernel_size, channels, self.depth_multiplier]
        self.depthwise_kernel = self._add_optioned_weight("depthwise_kernel", shape, "depthwise")
        self._add_bias(channels * self.depth_multiplier)
        self._expect_channels(channels)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return self._penalized(self.activation(in_channels_last(self.data_format, inputs, self._convolve)), training)

    def _convolve(self, x: Tensor) -> Tensor:
        return self._biased(
            depthwise_convolution(x, self.depthwise_kernel, self.strides, self.padding, self.dilation_rate)
        )

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        channels = input_shape[channel_axis(self.data_format, len(input_shape))]
        filters = None if channels is None else channels * self.depth_multiplier
        return with_space(self.data_format, input_shape, self._output_space, filters)


def depthwise_convolution(
    x: Tensor, kernel: Tensor, strides: tuple[int, ...], padding: str, dilation_rate: tuple[int, ...]
) -> Tensor:
    """The depthwise convolution of `[batch, length, channels]` or `[batch, height, width, channels]`."""
    if x.storage.ndim == 4:
        return depthwise_conv2d(x, kernel, strides, padding, dilations=dilation_rate)
    # A sequence is an image of height 1, which square strides leave so.
    image = reshape_to(x, (x.shape[0], 1, *x.shape[1:]))
    filter = reshape_to(kernel, (1, *kernel.shape))
    y = depthwise_conv2d(image, filter, (1, *strides), padding, dilations=(1, *dilation_rate))
    return reshape_to(y, (y.shape[0], *y.shape[2:]))


class DepthwiseConv1D(_DepthwiseConvolution):
    """Convolution of each channel by itself, over one axis.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Inputs are `[batch, length, channels]`, or
    `[batch, channels, length]` with `data_format="channels_first"`; the kernel is
    `[window, channels, depth_multiplier]`.

    Args:
        kernel_size: The window's length.
        depth_multiplier: How many outputs each channel has.
        depthwise_initializer: The kernel's first value, `"glorot_normal"` by default.
        depthwise_regularizer: A penalty on the kernel.
        depthwise_constraint: A limit on the kernel.
        options: `strides`, `padding`, `activation`, `use_bias` and so on: see `vg.layers.ConvolutionOptions`.

    >>> import varigrad as vg
    >>> vg.layers.depthwise_conv1d(kernel_size=3, depth_multiplier=2)(vg.zeros([2, 8, 3])).shape
    (2, 6, 6)
    """

    axes = 1


class DepthwiseConv2D(_DepthwiseConvolution):
    """Convolution of each channel by itself, over two spatial axes.

    Mirrors `tf.layers.depthwiseConv2d`, but `dilation_rate` counts, which TensorFlow.js ignores, and the stored
    constraint is the constraint, for which TensorFlow.js stores the regularizer. Inputs are
    `[batch, height, width, channels]`, or `[batch, channels, height, width]` with `data_format="channels_first"`; the
    kernel is `[height, width, channels, depth_multiplier]`.

    Args:
        kernel_size: The window's height and width, or one number for both.
        depth_multiplier: How many outputs each channel has.
        depthwise_initializer: The kernel's first value, `"glorot_normal"` by default.
        depthwise_regularizer: A penalty on the kernel.
        depthwise_constraint: A limit on the kernel.
        options: `strides`, `padding`, `activation`, `use_bias` and so on: see `vg.layers.ConvolutionOptions`.

    >>> import varigrad as vg
    >>> vg.layers.depthwise_conv2d(kernel_size=3, depth_multiplier=2)(vg.zeros([2, 8, 8, 3])).shape
    (2, 6, 6, 6)
    """

    axes = 2

"""Separable convolution layers: each channel by itself, then across channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from varigrad.layers.arguments import Shape, positive_integer
from varigrad.layers.constraints import Constraint
from varigrad.layers.convolutional import BaseConvolution, ConvolutionOptions
from varigrad.layers.depthwise import depthwise_convolution
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import constraint_option, initializer_option, option, regularizer_option
from varigrad.layers.regularizers import Regularizer
from varigrad.layers.spatial import in_channels_last, known_channels, with_space
from varigrad.ops.arguments import reshape_to
from varigrad.ops.fused import mat_mul
from varigrad.tensor import Tensor, Variable

__all__ = ["SeparableConv1D", "SeparableConv2D"]


class _SeparableConvolution(BaseConvolution):
    """What the separable convolutions share."""

    filters = option(positive_integer)
    # TensorFlow.js forgets it, so that such a model does not load there.
    depth_multiplier = option(positive_integer, unless=1)
    depthwise_initializer = initializer_option("glorot_uniform")
    pointwise_initializer = initializer_option("glorot_uniform")
    depthwise_regularizer = regularizer_option()
    pointwise_regularizer = regularizer_option()
    depthwise_constraint = constraint_option()
    pointwise_constraint = constraint_option()
    depthwise_kernel: Variable
    pointwise_kernel: Variable

    def __init__(
        self,
        *,
        filters: int,
        kernel_size: int | Sequence[int],
        depth_multiplier: int = 1,
        depthwise_initializer: str | Initializer | None = None,
        pointwise_initializer: str | Initializer | None = None,
        depthwise_regularizer: str | Regularizer | None = None,
        pointwise_regularizer: str | Regularizer | None = None,
        depthwise_constraint: str | Constraint | None = None,
        pointwise_constraint: str | Constraint | None = None,
        **options: Unpack[ConvolutionOptions],
    ) -> None:
        super().__init__(kernel_size=kernel_size, **options)
        self._take(locals())

    def build(self, input_shape: Shape) -> None:
        channels = known_channels(self.name, self.data_format, input_shape)
        deep = [*self.kernel_size, channels, self.depth_multiplier]
        across = [*(1,) * self.axes, channels * self.depth_multiplier, self.filters]
        self.depthwise_kernel = self._add_optioned_weight("depthwise_kernel", deep, "depthwise")
        self.pointwise_kernel = self._add_optioned_weight("pointwise_kernel", across, "pointwise")
        self._add_bias(self.filters)
        self._expect_channels(channels)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return self._penalized(self.activation(in_channels_last(self.data_format, inputs, self._convolve)), training)

    def _convolve(self, x: Tensor) -> Tensor:
        deep = depthwise_convolution(x, self.depthwise_kernel, self.strides, self.padding, self.dilation_rate)
        # A window of one place is a matrix product.
        across = reshape_to(self.pointwise_kernel, self.pointwise_kernel.shape[-2:])
        return mat_mul(deep, across, bias=self.bias)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return with_space(self.data_format, input_shape, self._output_space, self.filters)


class SeparableConv1D(_SeparableConvolution):
    """Convolution of each channel by itself over one axis, then of all channels at each place.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Arguments as for
    `vg.layers.separable_conv2d`; inputs are `[batch, length, channels]`, or `[batch, channels, length]` with
    `data_format="channels_first"`.

    >>> import varigrad as vg
    >>> vg.layers.separable_conv1d(filters=4, kernel_size=3)(vg.zeros([2, 8, 3])).shape
    (2, 6, 4)
    """

    axes = 1


class SeparableConv2D(_SeparableConvolution):
    """Convolution of each channel by itself over two spatial axes, then of all channels at each place.

    Mirrors `tf.layers.separableConv2d`, but `pointwise_initializer` counts (TensorFlow.js takes the depthwise one for
    both), `depth_multiplier` is stored, and the bias fits `data_format="channels_first"`. Inputs are
    `[batch, height, width, channels]`, or `[batch, channels, height, width]` with `data_format="channels_first"`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's height and width, or one number for both.
        depth_multiplier: How many outputs each channel has before they are mixed.
        depthwise_initializer: The first value of the kernel `[height, width, channels, depth_multiplier]`,
            `"glorot_uniform"` by default.
        pointwise_initializer: That of the kernel `[1, 1, channels * depth_multiplier, filters]`, likewise.
        depthwise_regularizer: A penalty on the first kernel.
        pointwise_regularizer: A penalty on the second.
        depthwise_constraint: A limit on the first kernel.
        pointwise_constraint: A limit on the second.
        options: `strides`, `padding`, `activation`, `use_bias` and so on: see `vg.layers.ConvolutionOptions`.

    >>> import varigrad as vg
    >>> vg.layers.separable_conv2d(filters=4, kernel_size=3)(vg.zeros([2, 8, 8, 3])).shape
    (2, 6, 6, 4)
    """

    axes = 2

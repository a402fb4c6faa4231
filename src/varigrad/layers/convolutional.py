"""Convolution layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from varigrad.layers.activations import ActivationLike, fused_name
from varigrad.layers.activity import PenalizesActivity
from varigrad.layers.arguments import Shape, boolean, choice, integers, positive_integer
from varigrad.layers.base import InputSpec, LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import (
    activation_option,
    constraint_option,
    initializer_option,
    option,
    option_per_axis,
    regularizer_option,
)
from varigrad.layers.regularizers import Regularizer
from varigrad.layers.spatial import (
    PADDINGS,
    channel_axis,
    data_format_option,
    in_channels_last,
    known_channels,
    window_output_length,
    with_space,
)
from varigrad.ops.arithmetic import add
from varigrad.ops.convolution import conv1d, conv2d, conv3d
from varigrad.ops.fused import conv2d as fused_conv2d
from varigrad.ops.padding import pad
from varigrad.tensor import Tensor, Variable

__all__ = ["Conv1D", "Conv2D", "Conv3D", "ConvolutionOptions"]


class ConvolutionOptions(LayerOptions, total=False):
    """The keyword arguments that every convolution layer takes, on top of those of every layer.

    Args:
        strides: The steps between windows, one number for all axes or one each; 1 by default.
        padding: `"valid"`, the default, or `"same"` to keep the lengths (over the strides).
        data_format: `"channels_last"`, the default, or `"channels_first"`.
        dilation_rate: The steps inside the window, likewise; 1 by default, and if strides are more than 1.
        activation: An activation's name, or a function of a tensor; `"linear"` by default.
        use_bias: Whether there is a bias; True by default.
        bias_initializer: The bias's first value, `"zeros"` by default.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the result in training, over the batch's size, as in Keras; TensorFlow.js
            ignores it.
        bias_constraint: A limit on the bias.

    >>> import varigrad as vg
    >>> layer = vg.layers.conv2d(filters=4, kernel_size=3, strides=2, padding="same", activation="relu")
    >>> layer(vg.zeros([1, 8, 8, 1])).shape
    (1, 4, 4, 4)
    """

    strides: int | Sequence[int]
    padding: str
    data_format: str | None
    dilation_rate: int | Sequence[int]
    activation: ActivationLike | None
    use_bias: bool
    bias_initializer: str | Initializer | None
    bias_regularizer: str | Regularizer | None
    activity_regularizer: str | Regularizer | None
    bias_constraint: str | Constraint | None


class BaseConvolution(PenalizesActivity):
    """What all convolution layers share: the window, the bias and the activation."""

    axes: ClassVar[int]
    kernel_size = option_per_axis(integers)
    strides = option_per_axis(integers)
    padding = option(choice, PADDINGS)
    data_format = data_format_option()
    dilation_rate = option_per_axis(integers)
    activation = activation_option()
    use_bias = option(boolean)
    bias_initializer = initializer_option("zeros")
    bias_regularizer = regularizer_option()
    activity_regularizer = regularizer_option()
    bias_constraint = constraint_option()
    bias: Variable | None = None

    def __init__(
        self,
        *,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike | None = None,
        use_bias: bool = True,
        bias_initializer: str | Initializer | None = None,
        bias_regularizer: str | Regularizer | None = None,
        activity_regularizer: str | Regularizer | None = None,
        bias_constraint: str | Constraint | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        if max(self.strides) > 1 and max(self.dilation_rate) > 1:
            raise ValueError(
                f"{self._owner}: strides or dilation_rate must be 1, got strides {list(self.strides)} and "
                f"dilation_rate {list(self.dilation_rate)}"
            )
        self.input_spec = InputSpec(ndim=self.axes + 2)

    def _add_bias(self, filters: int) -> None:
        if self.use_bias:
            self.bias = self._add_optioned_weight("bias", [filters])

    def _expect_channels(self, channels: int) -> None:
        rank = self.axes + 2
        self.input_spec = InputSpec(ndim=rank, axes={channel_axis(self.data_format, rank): channels})

    def _biased(self, y: Tensor) -> Tensor:
        """The result with the bias, channels last."""
        return y if self.bias is None else add(y, self.bias)

    def _output_space(self, space: tuple[int | None, ...]) -> Shape:
        return tuple(
            window_output_length(self.name, *numbers, self.padding)
            for numbers in zip(space, self.kernel_size, self.strides, self.dilation_rate)
        )


class Convolution(BaseConvolution):
    """What the convolutions with one dense kernel share."""

    filters = option(positive_integer)
    kernel_initializer = initializer_option("glorot_normal")
    kernel_regularizer = regularizer_option()
    kernel_constraint = constraint_option()
    kernel: Variable
    # Whether the kernel of `_convolve` can apply activations itself.
    _fuses: ClassVar[bool] = False

    def __init__(
        self,
        *,
        filters: int,
        kernel_size: int | Sequence[int],
        kernel_initializer: str | Initializer | None = None,
        kernel_regularizer: str | Regularizer | None = None,
        kernel_constraint: str | Constraint | None = None,
        **options: Unpack[ConvolutionOptions],
    ) -> None:
        super().__init__(kernel_size=kernel_size, **options)
        self._take(locals())
        self._fused = fused_name(self.activation) if self._fuses else None

    def build(self, input_shape: Shape) -> None:
        channels = known_channels(self.name, self.data_format, input_shape)
        self.kernel = self._add_optioned_weight("kernel", self._kernel_shape(channels))
        self._add_bias(self.filters)
        self._expect_channels(channels)

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, channels, self.filters)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        y = in_channels_last(self.data_format, inputs, self._convolve)
        # Softmax and the like go over the last axis whatever the data format, as in TensorFlow.js.
        return self._penalized(y if self._fused else self.activation(y), training)

    def _convolve(self, x: Tensor) -> Tensor:
        """The result before the activation, or with it if it is `_fused`; channels last."""
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return with_space(self.data_format, input_shape, self._output_space, self.filters)


class _GroupedConvolution(Convolution):
    """What the convolutions share whose channels may be divided into groups."""

    groups = option(positive_integer, default=1, unless=1)  # TensorFlow.js knows no others

    def __init__(
        self,
        *,
        filters: int,
        kernel_size: int | Sequence[int],
        groups: int = 1,
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
        if self.filters % self.groups:
            raise ValueError(f"{self._owner}: {self.filters} filters do not make {self.groups} groups of one size")
        if self.groups > 1:
            self._fused = None

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        if channels % self.groups:
            raise ValueError(f"{self.name}: {channels} channels do not make {self.groups} groups of one size")
        return (*self.kernel_size, channels // self.groups, self.filters)


class Conv1D(_GroupedConvolution):
    """Convolution over one axis, such as time, with a bias and an activation.

    Mirrors `tf.layers.conv1d`. Inputs are `[batch, length, channels]`, results `[batch, windows, filters]`; with
    `data_format="channels_first"` the last two are the other way round (TensorFlow.js does so with the inputs only).
    The kernel is `[window, channels / groups, filters]`, the bias `[filters]`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's length.
        groups: Into how many groups the channels and filters are divided, which meet only each other; not in
            TensorFlow.js.
        kernel_initializer: The kernel's first value, `"glorot_normal"` by default.
        kernel_regularizer: A penalty on the kernel.
        kernel_constraint: A limit on the kernel.
        options: `strides`, `padding`, `activation`, `use_bias` and so on: see `vg.layers.ConvolutionOptions`. `padding`
            may be `"causal"` too: a window ends at its own place, and sees nothing that comes later.

    Raises:
        ValueError: A number is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> vg.layers.conv1d(filters=4, kernel_size=3, strides=2)(vg.zeros([2, 9, 5])).shape
    (2, 4, 4)
    """

    axes = 1
    padding = option(choice, (*PADDINGS, "causal"))
    data_format = data_format_option(unless="channels_last")  # as in TensorFlow.js's files

    def _convolve(self, x: Tensor) -> Tensor:
        padding = self.padding
        if padding == "causal":
            span = (self.kernel_size[0] - 1) * self.dilation_rate[0]
            x, padding = pad(x, [(0, 0), (span, 0), (0, 0)]), "valid"
        steps = self.dilation_rate[0]
        return self._biased(conv1d(x, self.kernel, self.strides[0], padding, dilation=steps, groups=self.groups))


class Conv2D(_GroupedConvolution):
    """Convolution over two spatial axes, with a bias and an activation.

    Mirrors `tf.layers.conv2d`. Inputs are `[batch, height, width, channels]`, or `[batch, channels, height, width]`
    with `data_format="channels_first"`; the kernel is `[height, width, channels / groups, filters]`, the bias
    `[filters]`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's height and width, or one number for both.
        groups: Into how many groups the channels and filters are divided, which meet only each other; not in
            TensorFlow.js.
        kernel_initializer: The kernel's first value, `"glorot_normal"` by default.
        kernel_regularizer: A penalty on the kernel.
        kernel_constraint: A limit on the kernel.
        options: `strides`, `padding`, `activation`, `use_bias` and so on: see `vg.layers.ConvolutionOptions`.

    Raises:
        ValueError: A number is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> vg.layers.conv2d(filters=4, kernel_size=3, padding="same")(vg.zeros([2, 8, 8, 1])).shape
    (2, 8, 8, 4)
    """

    axes = 2
    _fuses = True

    def _convolve(self, x: Tensor) -> Tensor:
        if self.groups > 1:
            steps = self.dilation_rate
            return self._biased(conv2d(x, self.kernel, self.strides, self.padding, dilations=steps, groups=self.groups))
        return fused_conv2d(
            x,
            self.kernel,
            self.strides,
            self.padding,
            dilations=self.dilation_rate,
            bias=self.bias,
            activation=self._fused or "linear",
        )


class Conv3D(_GroupedConvolution):
    """Convolution over three spatial axes, with a bias and an activation.

    Mirrors `tf.layers.conv3d`. Inputs are `[batch, depth, height, width, channels]`, or with the channels as axis 1 for
    `data_format="channels_first"`; the kernel is `[depth, height, width, channels / groups, filters]`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's depth, height and width, or one number for all.
        groups: Into how many groups the channels and filters are divided, which meet only each other; not in
            TensorFlow.js.
        kernel_initializer: The kernel's first value, `"glorot_normal"` by default.
        kernel_regularizer: A penalty on the kernel.
        kernel_constraint: A limit on the kernel.
        options: `strides`, `padding`, `activation`, `use_bias` and so on: see `vg.layers.ConvolutionOptions`.

    >>> import varigrad as vg
    >>> vg.layers.conv3d(filters=2, kernel_size=2)(vg.zeros([1, 3, 4, 5, 1])).shape
    (1, 2, 3, 4, 2)
    """

    axes = 3

    def _convolve(self, x: Tensor) -> Tensor:
        steps = self.dilation_rate
        return self._biased(conv3d(x, self.kernel, self.strides, self.padding, dilations=steps, groups=self.groups))

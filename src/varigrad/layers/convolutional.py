"""Convolution layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from varigrad.layers.activations import ActivationLike, fused_name, get_activation
from varigrad.layers.arguments import Shape, boolean, choice, integers, positive_integer
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.constraints import Constraint, get_constraint
from varigrad.layers.core import DATA_FORMATS
from varigrad.layers.initializers import Initializer, get_initializer
from varigrad.layers.regularizers import Regularizer, get_regularizer
from varigrad.ops.fused import conv2d as fused_conv2d
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["PADDINGS", "Conv2D", "window_output_length"]

PADDINGS = ("valid", "same")


class Conv2D(Layer):
    """Convolution over two spatial axes, with a bias and an activation.

    Mirrors `tf.layers.conv2d`. Inputs are `[batch, height, width, channels]`, or `[batch, channels, height, width]`
    with `data_format="channels_first"`; the kernel is `[height, width, channels, filters]`, the bias `[filters]`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's height and width, or one number for both.
        strides: The steps between windows, one number or two.
        padding: `"valid"`, or `"same"` to keep height and width (over the strides).
        data_format: `"channels_last"` or `"channels_first"`.
        dilation_rate: The steps inside the window, one number or two.
        activation: An activation's name, or a function of a tensor; `"linear"` by default.
        use_bias: Whether there is a bias.
        kernel_initializer: The kernel's first value, `"glorot_normal"` by default.
        bias_initializer: The bias's, `"zeros"` by default.
        kernel_regularizer: A penalty on the kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: A penalty on the result; kept for files, not applied, as in TensorFlow.js.
        kernel_constraint: A limit on the kernel.
        bias_constraint: A limit on the bias.
        options: `name`, `trainable`, `input_shape`, `batch_input_shape`, `batch_size`, `dtype`, `weights`.

    Raises:
        ValueError: A number is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> vg.layers.conv2d(filters=4, kernel_size=3, padding="same")(vg.zeros([2, 8, 8, 1])).shape
    (2, 8, 8, 4)
    """

    fields = (
        "filters",
        "kernel_initializer",
        "kernel_regularizer",
        "kernel_constraint",
        "kernel_size",
        "strides",
        "padding",
        "data_format",
        "dilation_rate",
        "activation",
        "use_bias",
        "bias_initializer",
        "bias_regularizer",
        "activity_regularizer",
        "bias_constraint",
    )
    input_spec = InputSpec(ndim=4)
    kernel: Variable
    bias: Variable | None = None

    def __init__(
        self,
        *,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        activation: ActivationLike | None = None,
        use_bias: bool = True,
        kernel_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer | None = None,
        kernel_regularizer: str | Regularizer | None = None,
        bias_regularizer: str | Regularizer | None = None,
        activity_regularizer: str | Regularizer | None = None,
        kernel_constraint: str | Constraint | None = None,
        bias_constraint: str | Constraint | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self.filters = positive_integer("conv2d", "filters", filters)
        self.kernel_size = integers("conv2d", "kernel_size", kernel_size, 2)
        self.strides = integers("conv2d", "strides", strides, 2)
        self.padding = choice("conv2d", "padding", padding, PADDINGS)
        self.data_format = choice("conv2d", "data_format", data_format or "channels_last", DATA_FORMATS)
        self.dilation_rate = integers("conv2d", "dilation_rate", dilation_rate, 2)
        self.activation = get_activation(activation)
        self.use_bias = boolean("conv2d", "use_bias", use_bias)
        self.kernel_initializer = get_initializer(kernel_initializer or "glorot_normal")
        self.bias_initializer = get_initializer(bias_initializer or "zeros")
        self.kernel_regularizer = get_regularizer(kernel_regularizer)
        self.bias_regularizer = get_regularizer(bias_regularizer)
        self.activity_regularizer = get_regularizer(activity_regularizer)
        self.kernel_constraint = get_constraint(kernel_constraint)
        self.bias_constraint = get_constraint(bias_constraint)
        self._fused = fused_name(self.activation)

    def build(self, input_shape: Shape) -> None:
        axis = 1 if self.data_format == "channels_first" else 3
        channels = input_shape[axis]
        if channels is None:
            raise ValueError(f"{self.name}: the channels of its inputs must be known, got {format_shape(input_shape)}")
        self.kernel = self.add_weight(
            "kernel",
            [*self.kernel_size, channels, self.filters],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                [self.filters],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )
        self.input_spec = InputSpec(ndim=4, axes={axis: channels})

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        first = self.data_format == "channels_first"
        y = fused_conv2d(
            transpose(inputs, [0, 2, 3, 1]) if first else inputs,
            self.kernel,
            self.strides,
            self.padding,
            dilations=self.dilation_rate,
            bias=self.bias,
            activation=self._fused or "linear",
        )
        if first:
            y = transpose(y, [0, 3, 1, 2])
        # Softmax and the like go over the last axis whatever the data format, as in TensorFlow.js.
        return self.activation(y) if self._fused is None else y

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        batch, *rest = input_shape
        space = rest[1:] if self.data_format == "channels_first" else rest[:-1]
        lengths = [
            window_output_length(self.name, *numbers, self.padding)
            for numbers in zip(space, self.kernel_size, self.strides, self.dilation_rate)
        ]
        return (
            (batch, self.filters, *lengths) if self.data_format == "channels_first" else (batch, *lengths, self.filters)
        )


def window_output_length(
    owner: str, length: int | None, window: int, stride: int, dilation: int, padding: str
) -> int | None:
    """How many windows stand along an axis of this length; None if it is unknown."""
    if length is None:
        return None
    span = (window - 1) * dilation + 1
    if padding == "same":
        return -(-length // stride)
    if length < span:
        raise ValueError(
            f"{owner}: a window of {span} does not fit an input of length {length}; pad it or make it smaller"
        )
    return (length - span) // stride + 1

"""A long short-term memory whose products are convolutions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Unpack

from varigrad.layers.arguments import Shape, choice, integers, positive_integer
from varigrad.layers.options import option, option_per_axis
from varigrad.layers.recurrent.cell import Step, UnitsCell, first_shape
from varigrad.layers.recurrent.lstm import LSTMCell, LSTMCellOptions
from varigrad.layers.recurrent.rnn import RNNOptions, UnitsRNN
from varigrad.layers.spatial import PADDINGS, channel_axis, data_format_option, known_channels, window_output_length
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import add, mul
from varigrad.ops.convolution import conv2d
from varigrad.ops.fused import conv2d as fused_conv2d
from varigrad.ops.joining import split, unstack
from varigrad.tensor import Tensor

__all__ = ["ConvLSTM2D", "ConvLSTM2DCell", "ConvLSTM2DCellOptions"]


class ConvLSTM2DCellOptions(LSTMCellOptions, total=False):
    """The keyword arguments of `vg.layers.conv_lstm2d_cell`, beside `filters` and `kernel_size`."""

    strides: int | Sequence[int]
    padding: str
    data_format: str | None
    dilation_rate: int | Sequence[int]


class ConvLSTM2DCell(LSTMCell):
    """A step of a convolutional long short-term memory (Shi and others, 2015).

    That of `vg.layers.LSTMCell` with convolutions in place of products: over the inputs with the strides, padding and
    dilation given, over the state without strides and with `"same"`. Mirrors `tf.layers.convLstm2dCell`. It is called
    on `[x, h, c]`, `[batch, height, width, channels]` and twice `[batch, height, width, filters]` (with the height and
    width that the convolution gives), and returns `[h, h, c]`. Dropout drops the same for all gates, as in
    `vg.layers.LSTMCell`; in TensorFlow.js each gate has its own.

    Args:
        filters: The number of output channels.
        kernel_size: The window's height and width, or one number for both.
        strides: The steps between windows, one number or two.
        padding: `"valid"`, or `"same"` to keep height and width (over the strides).
        data_format: `"channels_last"` or `"channels_first"`.
        dilation_rate: The steps inside the window, one number or two.
        options: As for `vg.layers.LSTMCell`, without `units`.

    Raises:
        ValueError: A number is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> cell = vg.layers.conv_lstm2d_cell(filters=2, kernel_size=3, padding="same")
    >>> h, again, c = cell([vg.ones([1, 4, 4, 3]), vg.zeros([1, 4, 4, 2]), vg.zeros([1, 4, 4, 2])])
    >>> h.shape
    (1, 4, 4, 2)
    """

    units = option(positive_integer, stored=False)  # as `filters`
    filters = option(positive_integer)
    kernel_size = option_per_axis(integers)
    strides = option_per_axis(integers)
    padding = option(choice, PADDINGS)
    data_format = data_format_option()
    dilation_rate = option_per_axis(integers)
    axes = 2
    step_rank = 4
    _owner = "conv_lstm2d_cell"

    def __init__(
        self,
        *,
        filters: int,
        kernel_size: int | Sequence[int],
        strides: int | Sequence[int] = 1,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        dilation_rate: int | Sequence[int] = 1,
        **options: Unpack[LSTMCellOptions],
    ) -> None:
        super().__init__(units=filters, **options)
        self._take(locals())
        self._axis = channel_axis(self.data_format, 4)
        self._format = "NCHW" if self._axis == 1 else "NHWC"

    def state_shapes(self, input_shape: Shape) -> list[Shape]:
        space = input_shape[2:] if self._axis == 1 else input_shape[1:3]
        lengths = [
            window_output_length(self.name, *numbers, self.padding)
            for numbers in zip(space, self.kernel_size, self.strides, self.dilation_rate)
        ]
        return [(self.filters, *lengths) if self._axis == 1 else (*lengths, self.filters)] * 2

    def build(self, input_shape: Any) -> None:
        channels = known_channels(self.name, self.data_format, first_shape(input_shape))
        columns = self.gate_count * self.filters
        self.add_kernels([*self.kernel_size, channels, columns], [*self.kernel_size, self.filters, columns])

    def over_time(self, inputs: Tensor, training: bool | None) -> tuple[Iterable[Any], Step]:
        activation, axis, data_format = self.activation, self._axis, self._format
        projected = self.project(inputs, self.kernel, self.bias, training)
        state_shape = (projected.shape[0], *(n // 4 if a == axis else n for a, n in enumerate(projected.shape[2:], 1)))
        mask = self.dropout_mask(self.recurrent_dropout, state_shape, projected.dtype, training)

        def step(x: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, Sequence[Tensor]]:
            h, c = states
            h = h if mask is None else mul(h, mask)
            z = add(conv2d(h, self.recurrent_kernel, 1, "same", data_format), x)
            i, f, g, o = split(z, 4, axis)
            i, f, o = (self.recurrent_activation(gate) for gate in (i, f, o))
            c = add(mul(f, c), mul(i, activation(g)))
            h = mul(o, activation(c))
            return h, (h, c)

        return unstack(projected, 1), step

    def project(self, inputs: Tensor, kernel: Tensor, bias: Tensor | None, training: bool | None) -> Tensor:
        inputs = self.dropped(inputs, training)
        batch, time, *lengths = inputs.shape
        flat = reshape_to(inputs, (batch * time, *lengths))
        y = fused_conv2d(flat, kernel, self.strides, self.padding, self._format, self.dilation_rate, bias=bias)
        return reshape_to(y, (batch, time, *y.shape[1:]))


class ConvLSTM2DOptions(ConvLSTM2DCellOptions, RNNOptions, total=False):
    """The keyword arguments of `vg.layers.conv_lstm2d`, beside `filters` and `kernel_size`."""


class ConvLSTM2D(UnitsRNN):
    """A convolutional long short-term memory over time.

    Mirrors `tf.layers.convLstm2d`. Inputs are `[batch, time, height, width, channels]`, or with
    `data_format="channels_first"` `[batch, time, channels, height, width]`; the result is the last output `[batch,
    height, width, filters]`, or all of them. Each step is that of `vg.layers.ConvLSTM2DCell`. `initial_state` and
    `mask` are as for `vg.layers.lstm`.

    Args:
        filters: The number of output channels.
        kernel_size: The window's height and width, or one number for both.
        options: As for `vg.layers.ConvLSTM2DCell` and `vg.layers.RNNOptions`, and those of every layer.

    Raises:
        ValueError: A number is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> vg.layers.conv_lstm2d(filters=2, kernel_size=3, return_sequences=True)(vg.zeros([1, 5, 8, 8, 3])).shape
    (1, 5, 6, 6, 2)
    """

    cell_class: ClassVar[type[UnitsCell]] = ConvLSTM2DCell

    def __init__(self, *, filters: int, kernel_size: int | Sequence[int], **options: Unpack[ConvLSTM2DOptions]) -> None:
        super().__init__(filters=filters, kernel_size=kernel_size, **options)

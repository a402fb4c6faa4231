"""Long short-term memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from varigrad.layers.activations import ActivationLike
from varigrad.layers.arguments import as_given, boolean
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import activation_option, option
from varigrad.layers.recurrent.cell import Step, UnitsCell, UnitsCellOptions, gates, product
from varigrad.layers.recurrent.rnn import RNNOptions, UnitsRNN
from varigrad.ops.arithmetic import add, mul
from varigrad.ops.creation import ones
from varigrad.ops.joining import concat, split, unstack
from varigrad.tensor import Tensor

__all__ = ["LSTM", "ForgetBias", "LSTMCell", "LSTMCellOptions"]


class LSTMCellOptions(UnitsCellOptions, total=False):
    """The keyword arguments of `vg.layers.lstm_cell`, beside `units`."""

    recurrent_activation: ActivationLike | None
    unit_forget_bias: bool
    implementation: int | None


class LSTMCell(UnitsCell):
    """A step of a long short-term memory (Hochreiter and Schmidhuber, 1997).

    With `i, f, g, o` the quarters of `x @ kernel + h @ recurrent_kernel + bias`, where `i`, `f` and `o` pass the
    recurrent activation and `g` the activation: `c = f * c + i * g`, and `h = o * activation(c)`.

    Mirrors `tf.layers.lstmCell`. It is called on `[x, h, c]`, `[batch, inputs]` and twice `[batch, units]`, and returns
    `[h, h, c]`. The kernel is `[inputs, 4 * units]`, the recurrent kernel `[units, 4 * units]`, the bias `[4 * units]`.

    Args:
        units: The number of outputs.
        recurrent_activation: Of the gates; `"hard_sigmoid"` by default, as in TensorFlow.js (Keras has `"sigmoid"`).
        unit_forget_bias: Whether the bias of the forget gate is 1 at first; False by default, as in TensorFlow.js.
        implementation: Taken and stored; there is one implementation.
        options: As for `vg.layers.UnitsCellOptions`, and `name`, `trainable`, `dtype` as for every layer.

    Raises:
        ValueError: `units` is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> h, again, c = vg.layers.lstm_cell(units=2)([vg.ones([1, 3]), vg.zeros([1, 2]), vg.zeros([1, 2])])
    >>> h.shape, c.shape
    ((1, 2), (1, 2))
    """

    recurrent_activation = activation_option()
    unit_forget_bias = option(boolean)
    implementation = option(as_given)
    gate_count = 4
    state_count = 2

    def __init__(
        self,
        *,
        units: int,
        recurrent_activation: ActivationLike | None = "hard_sigmoid",
        unit_forget_bias: bool = False,
        implementation: int | None = None,
        **options: Unpack[UnitsCellOptions],
    ) -> None:
        super().__init__(units=units, **options)
        self._take(locals())

    def bias_form(self) -> tuple[Sequence[int], Initializer]:
        shape, initializer = super().bias_form()
        return shape, ForgetBias(initializer, self.units) if self.unit_forget_bias else initializer

    def over_time(self, inputs: Tensor, training: bool | None) -> tuple[Iterable[Any], Step]:
        units, activation, recurrent_activation = self.units, self.activation, self.recurrent_activation
        # With the three gates side by side, a step has one activation of them in place of three.
        bias = None if self.bias is None else _gates_first(self.bias)
        projected = self.project(inputs, _gates_first(self.kernel), bias, training)
        kernel = _gates_first(self.recurrent_kernel)
        mask = self.recurrent_mask(inputs.shape[0], training)

        def step(x: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, Sequence[Tensor]]:
            h, c = states
            z = product(h if mask is None else mul(h, mask), kernel, x)
            squashed, g = split(z, (3 * units, units), 1)
            i, f, o = gates(recurrent_activation, squashed, 3)
            c = add(mul(f, c), mul(i, activation(g)))
            h = mul(o, activation(c))
            return h, (h, c)

        return unstack(projected), step


class ForgetBias(Initializer):
    """An initializer for all gates but the second, which begins with ones."""

    def __init__(self, rest: Initializer, units: int) -> None:
        self._rest = rest
        self._units = units

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        units = self._units
        parts = [self._rest.apply([units], dtype), ones([units], dtype), self._rest.apply([2 * units], dtype)]
        return concat(parts)


def _gates_first(weight: Tensor) -> Tensor:
    """A weight with the columns of its gates in the order `i, f, o, g`; it is stored in the order `i, f, g, o`."""
    axis = weight.rank - 1
    i, f, g, o = split(weight, 4, axis)
    return concat([i, f, o, g], axis)


class LSTMOptions(LSTMCellOptions, RNNOptions, total=False):
    """The keyword arguments of `vg.layers.lstm`, beside `units`."""


class LSTM(UnitsRNN):
    """A long short-term memory over time.

    Mirrors `tf.layers.lstm`. Inputs are `[batch, time, inputs]`; the result is the last output `[batch, units]`, or all
    of them, `[batch, time, units]`, with `return_state` in a list with the states `h` and `c`. Each step is that of
    `vg.layers.LSTMCell`. Called with `initial_state=[h, c]`, it begins with these states in place of zeros; with
    `mask=m`, bools `[batch, time]`, it leaves out the steps that are False.

    Args:
        units: The number of outputs.
        options: As for `vg.layers.LSTMCell` and `vg.layers.RNNOptions`, and those of every layer.

    Raises:
        ValueError: `units` is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> output, h, c = vg.layers.lstm(units=4, return_state=True)(vg.zeros([2, 5, 3]))
    >>> output.shape, c.shape
    ((2, 4), (2, 4))
    """

    cell_class = LSTMCell

    def __init__(self, *, units: int, **options: Unpack[LSTMOptions]) -> None:
        super().__init__(units=units, **options)

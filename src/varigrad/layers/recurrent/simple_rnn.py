"""The plain recurrent layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from varigrad.layers.recurrent.cell import Step, UnitsCell, UnitsCellOptions, product
from varigrad.layers.recurrent.rnn import RNNOptions, UnitsRNN
from varigrad.ops.arithmetic import mul
from varigrad.ops.joining import unstack
from varigrad.tensor import Tensor

__all__ = ["SimpleRNN", "SimpleRNNCell"]


class SimpleRNNCell(UnitsCell):
    """A step of a plain recurrent layer: `h = activation(x @ kernel + h @ recurrent_kernel + bias)`.

    Mirrors `tf.layers.simpleRNNCell`. It is called on `[x, h]`, `[batch, inputs]` and `[batch, units]`, and returns
    `[h, h]`. The kernel is `[inputs, units]`, the recurrent kernel `[units, units]`, the bias `[units]`.

    Args:
        units: The number of outputs.
        options: As for `vg.layers.UnitsCellOptions`, and `name`, `trainable`, `dtype` as for every layer.

    Raises:
        ValueError: `units` is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> cell = vg.layers.simple_rnn_cell(units=1, kernel_initializer="ones", activation=None)
    >>> layer = vg.layers.rnn(cell=cell)
    >>> layer([[[1, 2], [3, 4]]]).shape
    (1, 1)
    """

    def over_time(self, inputs: Tensor, training: bool | None) -> tuple[Iterable[Any], Step]:
        kernel, activation = self.recurrent_kernel, self.activation
        projected = self.project(inputs, self.kernel, self.bias, training)
        mask = self.recurrent_mask(inputs.shape[0], training)

        def step(x: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, Sequence[Tensor]]:
            h = states[0] if mask is None else mul(states[0], mask)
            h = activation(product(h, kernel, x))
            return h, (h,)

        return unstack(projected), step


class SimpleRNNOptions(UnitsCellOptions, RNNOptions, total=False):
    """The keyword arguments of `vg.layers.simple_rnn`."""


class SimpleRNN(UnitsRNN):
    """A plain recurrent layer: its output goes back into it at the next step.

    Mirrors `tf.layers.simpleRNN`. Inputs are `[batch, time, inputs]`; the result is the last output `[batch, units]`,
    or all of them, `[batch, time, units]`. Each step is that of `vg.layers.SimpleRNNCell`. Called with
    `initial_state=h`, it begins with that state in place of zeros; with `mask=m`, bools `[batch, time]`, it leaves out
    the steps that are False.

    Args:
        units: The number of outputs.
        options: As for `vg.layers.UnitsCellOptions` and `vg.layers.RNNOptions`, and those of every layer.

    Raises:
        ValueError: `units` is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> layer = vg.layers.simple_rnn(units=1, kernel_initializer="ones", recurrent_initializer="ones", activation=None)
    >>> layer([[[1], [2], [3]]]).tolist(), layer([[[1], [2], [3]]], initial_state=[[10]]).tolist()
    ([[6.0]], [[16.0]])
    """

    cell_class = SimpleRNNCell

    def __init__(self, *, units: int, **options: Unpack[SimpleRNNOptions]) -> None:
        super().__init__(units=units, **options)

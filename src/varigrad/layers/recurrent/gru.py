"""Gated recurrent units."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from varigrad.layers.activations import ActivationLike
from varigrad.layers.arguments import as_given, boolean
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import activation_option, option
from varigrad.layers.recurrent.cell import Step, UnitsCell, UnitsCellOptions, gates, product
from varigrad.layers.recurrent.rnn import RNNOptions, UnitsRNN
from varigrad.ops.arithmetic import add, mul, sub
from varigrad.ops.joining import split, unstack
from varigrad.tensor import Tensor

__all__ = ["GRU", "GRUCell", "GRUCellOptions"]


class GRUCellOptions(UnitsCellOptions, total=False):
    """The keyword arguments of `vg.layers.gru_cell`, beside `units`."""

    recurrent_activation: ActivationLike | None
    reset_after: bool
    implementation: int | None


class GRUCell(UnitsCell):
    """A step of gated recurrent units (Cho and others, 2014).

    With `z`, `r` and `g` from the thirds of the kernels and the bias: `z` and `r` are the recurrent activation of
    `x @ kernel + h @ recurrent_kernel + bias`, `g` is the activation of
    `x @ kernel + (r * h) @ recurrent_kernel + bias`, and `h = z * h + (1 - z) * g`. With `reset_after`, `g` is that of
    `x @ kernel + bias + r * (h @ recurrent_kernel + bias)` with two biases, one in each place: the form of cuDNN, and
    the default of Keras, whose models have it.

    Mirrors `tf.layers.gruCell`. It is called on `[x, h]`, `[batch, inputs]` and `[batch, units]`, and returns `[h, h]`.
    The kernel is `[inputs, 3 * units]`, the recurrent kernel `[units, 3 * units]`, the bias `[3 * units]`; with
    `reset_after`, `[2, 3 * units]`.

    Args:
        units: The number of outputs.
        recurrent_activation: Of the gates; `"hard_sigmoid"` by default, as in TensorFlow.js (Keras has `"sigmoid"`).
        reset_after: Whether the reset gate works after the product; False by default. TensorFlow.js has no True.
        implementation: Taken and stored; there is one implementation.
        options: As for `vg.layers.UnitsCellOptions`, and `name`, `trainable`, `dtype` as for every layer.

    Raises:
        ValueError: `units` is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> cell = vg.layers.gru_cell(units=2, reset_after=True)
    >>> h, again = cell([vg.ones([1, 3]), vg.zeros([1, 2])])
    >>> h.shape, cell.bias.shape
    ((1, 2), (2, 6))
    """

    recurrent_activation = activation_option()
    implementation = option(as_given)
    reset_after = option(boolean)
    gate_count = 3

    def __init__(
        self,
        *,
        units: int,
        recurrent_activation: ActivationLike | None = "hard_sigmoid",
        reset_after: bool = False,
        implementation: int | None = None,
        **options: Unpack[UnitsCellOptions],
    ) -> None:
        super().__init__(units=units, **options)
        self._take(locals())

    def bias_form(self) -> tuple[Sequence[int], Initializer]:
        shape, initializer = super().bias_form()
        return [2, *shape] if self.reset_after else shape, initializer

    def over_time(self, inputs: Tensor, training: bool | None) -> tuple[Iterable[Any], Step]:
        parts = (2 * self.units, self.units)
        bias, recurrent_bias = self.bias, None
        if self.reset_after and bias is not None:
            bias, recurrent_bias = unstack(bias)
        for_gates, for_g = split(self.project(inputs, self.kernel, bias, training), parts, 2)
        steps = zip(unstack(for_gates), unstack(for_g))
        mask = self.recurrent_mask(inputs.shape[0], training)
        make = self._reset_after if self.reset_after else self._reset_before
        candidate = make(parts, recurrent_bias)

        def step(x: tuple[Tensor, Tensor], states: Sequence[Tensor]) -> tuple[Tensor, Sequence[Tensor]]:
            h = states[0] if mask is None else mul(states[0], mask)
            z, g = candidate(h, *x)
            h = add(g, mul(z, sub(h, g)))
            return h, (h,)

        return steps, step

    def _reset_before(self, parts: tuple[int, int], _: Tensor | None) -> Any:
        for_gates, for_g = split(self.recurrent_kernel, parts, 1)

        def candidate(h: Tensor, x_gates: Tensor, x_g: Tensor) -> tuple[Tensor, Tensor]:
            z, r = gates(self.recurrent_activation, product(h, for_gates, x_gates), 2)
            return z, self.activation(product(mul(r, h), for_g, x_g))

        return candidate

    def _reset_after(self, parts: tuple[int, int], bias: Tensor | None) -> Any:
        kernel = self.recurrent_kernel

        def candidate(h: Tensor, x_gates: Tensor, x_g: Tensor) -> tuple[Tensor, Tensor]:
            h_gates, h_g = split(product(h, kernel, bias), parts, 1)
            z, r = gates(self.recurrent_activation, add(x_gates, h_gates), 2)
            return z, self.activation(add(x_g, mul(r, h_g)))

        return candidate


class GRUOptions(GRUCellOptions, RNNOptions, total=False):
    """The keyword arguments of `vg.layers.gru`, beside `units`."""


class GRU(UnitsRNN):
    """Gated recurrent units over time.

    Mirrors `tf.layers.gru`. Inputs are `[batch, time, inputs]`; the result is the last output `[batch, units]`, or all
    of them, `[batch, time, units]`. Each step is that of `vg.layers.GRUCell`. Called with `initial_state=h`, it begins
    with that state in place of zeros; with `mask=m`, bools `[batch, time]`, it leaves out the steps that are False.

    Args:
        units: The number of outputs.
        options: As for `vg.layers.GRUCell` and `vg.layers.RNNOptions`, and those of every layer.

    Raises:
        ValueError: `units` is not a positive integer, or a name is unknown.

    >>> import varigrad as vg
    >>> vg.layers.gru(units=4, return_sequences=True)(vg.zeros([2, 5, 3])).shape
    (2, 5, 4)
    """

    cell_class = GRUCell

    def __init__(self, *, units: int, **options: Unpack[GRUOptions]) -> None:
        super().__init__(units=units, **options)

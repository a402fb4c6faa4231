"""Cells: what a recurrent layer does in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias, Unpack, cast

from varigrad.engine import run_kernel
from varigrad.layers.activations import ACTIVATIONS, ActivationFunction, ActivationLike
from varigrad.layers.arguments import Shape, boolean, number, one_shape, positive_integer, seed_or_none
from varigrad.layers.base import Layer, LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.dropout import SeededLayer
from varigrad.layers.initializers import Initializer
from varigrad.layers.lists import as_list
from varigrad.layers.options import (
    activation_option,
    constraint_option,
    initializer_option,
    option,
    regularizer_option,
)
from varigrad.layers.regularizers import Regularizer
from varigrad.ops import random
from varigrad.ops.arguments import reshape_to
from varigrad.ops.arithmetic import mul
from varigrad.ops.creation import ones
from varigrad.ops.fused import mat_mul as fused_mat_mul
from varigrad.ops.joining import split, unstack
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["RNNCell", "Step", "UnitsCell", "UnitsCellOptions", "first_shape", "gates", "product"]

# A step over time: the step's input and the states before give the output and the states after.
Step: TypeAlias = Callable[[Any, Sequence[Tensor]], tuple[Tensor, Sequence[Tensor]]]


class RNNCell(Layer):
    """What a recurrent layer does in one step: from an input and states, an output and the next states.

    To write a cell, subclass it: set `state_size`, an integer or a list of them, one for each state; make the weights
    in `build(input_shape)`, whose argument is the shape of a step, without the time; and in `call` take the list
    `[input, *states]` and return the list `[output, *states]`. `vg.layers.rnn(cell=…)` runs it over time. Mirrors
    `tf.layers.RNNCell`.

    >>> import varigrad as vg
    >>> class Total(vg.layers.RNNCell):
    ...     state_size = 1
    ...     def call(self, inputs, training=None):
    ...         x, total = inputs
    ...         return [x + total, x + total]
    >>> layer = vg.layers.rnn(cell=Total(), return_sequences=True)
    >>> layer([[[1], [2], [3]]]).tolist()
    [[[1.0], [3.0], [6.0]]]
    """

    # The length of each state; the first state is as long as the output.
    state_size: int | Sequence[Any]
    # The rank of a step's input, the batch included, if there is but one that the cell takes.
    step_rank: ClassVar[int | None] = None

    def state_shapes(self, input_shape: Shape) -> list[Shape]:
        """The shapes of the states, without the batch, for the inputs `[batch, …]` of a step."""
        return [tuple(as_list(size)) for size in as_list(self.state_size)]

    def compute_output_shape(self, input_shape: Any) -> Any:
        step = first_shape(input_shape)
        states: list[Shape] = [(step[0], *lengths) for lengths in self.state_shapes(step)]
        return [states[0], *states]

    def over_time(self, inputs: Tensor, training: bool | None) -> tuple[Iterable[Any], Step]:
        """What each of the steps gets, and the step: for a cell that computes a part of all steps at once.

        Args:
            inputs: `[batch, time, …]`.
            training: Whether the call is a step of training.
        """

        def step(x: Tensor, states: Sequence[Tensor]) -> tuple[Tensor, Sequence[Tensor]]:
            output, *after = self._run([x, *states], training)
            return output, after

        return unstack(inputs, 1), step


class UnitsCellOptions(LayerOptions, total=False):
    """The keyword arguments of the cells and layers that have units: simple, LSTM and GRU.

    Args:
        activation: Of the output, `"tanh"` by default; None is none.
        use_bias: Whether there is a bias.
        kernel_initializer: The first value of the kernel, which inputs are multiplied by; `"glorot_normal"` by default.
        recurrent_initializer: That of the kernel which states are multiplied by; `"orthogonal"` by default.
        bias_initializer: That of the bias, `"zeros"` by default.
        kernel_regularizer: A penalty on the kernel.
        recurrent_regularizer: A penalty on the recurrent kernel.
        bias_regularizer: A penalty on the bias.
        activity_regularizer: For a layer of this cell, a penalty on what it gives in training, over the batch's size.
        kernel_constraint: A limit on the kernel.
        recurrent_constraint: A limit on the recurrent kernel.
        bias_constraint: A limit on the bias.
        dropout: The part of the inputs to drop in training, the same at every step of a sequence.
        recurrent_dropout: The part of the states to drop in training, the same at every step of a sequence.
        seed: Makes what is dropped a fixed sequence.

    >>> import varigrad as vg
    >>> layer = vg.layers.gru(units=2, activation="relu", use_bias=False, recurrent_dropout=0.5)
    >>> layer.cell.activation.name, layer.cell.use_bias, layer.cell.recurrent_dropout
    ('relu', False, 0.5)
    """

    activation: ActivationLike | None
    use_bias: bool
    kernel_initializer: str | Initializer | None
    recurrent_initializer: str | Initializer | None
    bias_initializer: str | Initializer | None
    kernel_regularizer: str | Regularizer | None
    recurrent_regularizer: str | Regularizer | None
    bias_regularizer: str | Regularizer | None
    activity_regularizer: str | Regularizer | None
    kernel_constraint: str | Constraint | None
    recurrent_constraint: str | Constraint | None
    bias_constraint: str | Constraint | None
    dropout: float
    recurrent_dropout: float
    seed: int | None


class UnitsCell(SeededLayer, RNNCell):
    """A cell with a kernel, a recurrent kernel and a bias, for one or more gates of `units` each."""

    units = option(positive_integer)
    activation = activation_option()
    use_bias = option(boolean)
    kernel_initializer = initializer_option("glorot_normal")
    recurrent_initializer = initializer_option("orthogonal")
    bias_initializer = initializer_option("zeros")
    kernel_regularizer = regularizer_option()
    recurrent_regularizer = regularizer_option()
    bias_regularizer = regularizer_option()
    activity_regularizer = regularizer_option()
    kernel_constraint = constraint_option()
    recurrent_constraint = constraint_option()
    bias_constraint = constraint_option()
    dropout = option(number, 0.0, 1.0)
    recurrent_dropout = option(number, 0.0, 1.0)
    seed = option(seed_or_none, unless=None)
    step_rank = 2
    gate_count: ClassVar[int] = 1
    state_count: ClassVar[int] = 1
    kernel: Variable
    recurrent_kernel: Variable
    bias: Variable | None = None

    def __init__(
        self,
        *,
        units: int,
        activation: ActivationLike | None = "tanh",
        use_bias: bool = True,
        kernel_initializer: str | Initializer | None = None,
        recurrent_initializer: str | Initializer | None = None,
        bias_initializer: str | Initializer | None = None,
        kernel_regularizer: str | Regularizer | None = None,
        recurrent_regularizer: str | Regularizer | None = None,
        bias_regularizer: str | Regularizer | None = None,
        activity_regularizer: str | Regularizer | None = None,
        kernel_constraint: str | Constraint | None = None,
        recurrent_constraint: str | Constraint | None = None,
        bias_constraint: str | Constraint | None = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, **options)
        self._take(locals())
        self.state_size = [self.units] * self.state_count if self.state_count > 1 else self.units

    def build(self, input_shape: Any) -> None:
        features = first_shape(input_shape)[-1]
        if features is None:
            raise ValueError(f"{self.name}: the last axis of its inputs must be known, got {format_shape(input_shape)}")
        columns = self.gate_count * self.units
        self.add_kernels([features, columns], [self.units, columns])

    def add_kernels(self, kernel_shape: Sequence[int], recurrent_shape: Sequence[int]) -> None:
        """Makes the weights."""
        self.kernel = self._add_optioned_weight("kernel", kernel_shape)
        self.recurrent_kernel = self._add_optioned_weight("recurrent_kernel", recurrent_shape, "recurrent")
        if self.use_bias:
            shape, initializer = self.bias_form()
            self.bias = self.add_weight(
                "bias",
                shape,
                initializer=initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
            )

    def bias_form(self) -> tuple[Sequence[int], Initializer]:
        """The shape of the bias and its initializer."""
        return [self.gate_count * self.units], self.bias_initializer

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        x, *states = as_list(inputs)
        count = self.state_count
        if len(states) != count:
            raise ValueError(
                f"{self.name}: takes a list of {1 + count} tensors, the input and {count} states, got {1 + len(states)}"
            )
        steps, step = self.over_time(reshape_to(x, (x.shape[0], 1, *x.shape[1:])), training)
        output, states = step(next(iter(steps)), states)
        return [output, *states]

    def project(self, inputs: Tensor, kernel: Tensor, bias: Tensor | None, training: bool | None) -> Tensor:
        """The part of all steps that does not depend on the states: `inputs @ kernel + bias`, after dropout.

        It is `[time, batch, …]`: each step lies in memory as a whole, and so does its gradient.
        """
        return product(transpose(self.dropped(inputs, training), (1, 0, 2)), kernel, bias)

    def dropped(self, inputs: Tensor, training: bool | None) -> Tensor:
        """All steps after dropout, which drops the same in each."""
        mask = self.dropout_mask(self.dropout, (inputs.shape[0], 1, *inputs.shape[2:]), self.kernel.dtype, training)
        return inputs if mask is None else mul(inputs, mask)

    def recurrent_mask(self, batch: int, training: bool | None) -> Tensor | None:
        """What states are multiplied by in training, if anything."""
        return self.dropout_mask(self.recurrent_dropout, (batch, self.units), self.recurrent_kernel.dtype, training)

    def dropout_mask(self, rate: float, shape: tuple[int, ...], dtype: str, training: bool | None) -> Tensor | None:
        """Zeros for what is dropped, and for the rest what keeps the mean; None if nothing is dropped."""
        if not training or rate == 0:
            return None
        seed, whole = self._next_seed(), ones(shape, dtype)
        return mul(whole, 0.0) if rate == 1 else random.dropout(whole, rate, seed=seed)


_LINEAR = {"transpose_a": False, "transpose_b": False, "activation": "linear"}


def product(x: Tensor, kernel: Tensor, bias: Tensor | None) -> Tensor:
    """`x @ kernel + bias`, by the shortest way: this is the hot path of every step."""
    dtype = x.storage.dtype
    if dtype is kernel.storage.dtype and (bias is None or dtype is bias.storage.dtype):
        return run_kernel("_FusedMatMul", (x, kernel) if bias is None else (x, kernel, bias), _LINEAR)
    return fused_mat_mul(x, kernel, bias=bias)


# Activations that look at more than one number at a time.
_ACROSS = frozenset(["softmax", "log_softmax"])


def gates(activation: ActivationFunction, x: Tensor, count: int) -> list[Tensor]:
    """The `count` equal parts of the last axis after an activation, which all parts pass at once if they can."""
    axis = x.storage.ndim - 1
    known = ACTIVATIONS.get(activation.name) is activation.function
    if known and activation.name not in _ACROSS:
        return split(activation(x), count, axis)
    return [activation(part) for part in split(x, count, axis)]


def first_shape(shapes: Any) -> Shape:
    """The first of a list of shapes, or the only one: that of the inputs, behind which those of states may come."""
    shapes = one_shape(shapes)
    return tuple(cast("list[Shape]", shapes)[0]) if isinstance(shapes, list) else shapes

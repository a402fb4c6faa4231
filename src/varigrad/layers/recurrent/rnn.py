"""`RNN`: a cell over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, TypedDict, Unpack, cast

from varigrad.engine import run_kernel
from varigrad.keywords import suggestion
from varigrad.layers.activity import PenalizesActivity
from varigrad.layers.arguments import Shape, boolean
from varigrad.layers.base import Layer, LayerOptions
from varigrad.layers.lists import as_list
from varigrad.layers.options import option
from varigrad.layers.recurrent.cell import RNNCell, UnitsCell, first_shape
from varigrad.layers.recurrent.loop import fitted, run_over_time
from varigrad.layers.recurrent.stacked import StackedRNNCells
from varigrad.layers.registry import deserialize_argument
from varigrad.layers.regularizers import Regularizer
from varigrad.layers.symbolic import SymbolicTensor
from varigrad.layers.weights import WeightHolder
from varigrad.observe import observing
from varigrad.ops.arguments import TensorLike, convert
from varigrad.ops.assignment import assign
from varigrad.ops.comparison import where
from varigrad.ops.creation import zeros
from varigrad.ops.shaping import reverse
from varigrad.ops.values import variable
from varigrad.tape import Tape
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["RNN", "RNNOptions", "UnitsRNN", "give_dtype", "state_list", "with_states"]


class RNNOptions(TypedDict, total=False):
    """The keyword arguments that say how a recurrent layer runs its cell.

    Args:
        return_sequences: Whether to return the output of every step, `[batch, time, …]`, or only the last.
        return_state: Whether to return the last states as well: a list, the output first.
        go_backwards: Whether to begin at the end of each sequence; the outputs come in that order.
        stateful: Whether a batch begins with the states that the one before ended with, until `reset_states()`.
        unroll: Taken and stored; the loop is always unrolled.
        zero_output_for_mask: Whether the outputs of steps that a mask leaves out are zeros, not those of the step
            before.

    >>> import varigrad as vg
    >>> layer = vg.layers.gru(units=4, return_sequences=True, return_state=True)
    >>> [y.shape for y in layer(vg.zeros([2, 5, 3]))]
    [(2, 5, 4), (2, 4)]
    """

    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool
    zero_output_for_mask: bool


class RNN(PenalizesActivity):
    """Runs a cell over time.

    Mirrors `tf.layers.rnn`. Inputs are `[batch, time, …]`; the result is the last output, or with `return_sequences`
    all of them. Called with `initial_state`, a list of tensors, it begins with these states in place of zeros; in a
    model they may be symbolic. Called with `mask`, bools `[batch, time]`, or in a model after a layer that makes a
    mask, it leaves out the steps that are False: their states and outputs are those of the step before. With
    `go_backwards` the mask of the outputs is turned around like the outputs (in TensorFlow.js and Keras it is not).

    Args:
        cell: The cell, of `vg.layers.RNNCell`; or a list of them, which are stacked.
        return_sequences: Whether to return the output of every step.
        return_state: Whether to return the last states as well: a list, the output first.
        go_backwards: Whether to begin at the end of each sequence; the outputs come in that order.
        stateful: Whether a batch begins with the states that the one before ended with, until `reset_states()`. The
            batch must be fixed, and no gradient goes back into the batch before.
        unroll: Taken and stored; the loop is always unrolled.
        zero_output_for_mask: Whether the outputs of steps that a mask leaves out are zeros, not those of the step
            before. An option of Keras.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: The inputs have no time, no steps, or not the batch of the states.

    >>> import varigrad as vg
    >>> layer = vg.layers.rnn(cell=[vg.layers.gru_cell(units=3), vg.layers.lstm_cell(units=2)], return_sequences=True)
    >>> layer(vg.zeros([4, 5, 1])).shape
    (4, 5, 2)
    """

    return_sequences = option(boolean)
    return_state = option(boolean)
    go_backwards = option(boolean)
    unroll = option(boolean)
    zero_output_for_mask = option(boolean, unless=False)  # TensorFlow.js does not know it
    supports_masking = True
    _not_weights = ("_states",)

    def __init__(
        self,
        *,
        cell: RNNCell | Sequence[RNNCell],
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cells=cell)
        if not isinstance(cell, RNNCell):
            raise TypeError(f"{self._owner}: cell must be of vg.layers.RNNCell, or a list of them, got {cell!r}")
        if not hasattr(cell, "state_size"):
            raise TypeError(f"{self._owner}: the cell {cell!r} must set state_size, an integer or one for each state")
        self.cell = cell
        self._stateful = boolean(self._owner, "stateful", stateful)  # what `stateful` is
        self._states: list[Variable] = []
        self._features: Shape | None = None  # the shape of a step, without the batch, once there are weights
        give_dtype(self, self.dtype)
        self._freeze(False)

    @property
    def states(self) -> list[Variable]:
        """The states that the next batch begins with, if the layer is stateful and has had inputs."""
        return list(self._states)

    def reset_states(self, states: TensorLike | Sequence[TensorLike] | None = None) -> None:
        """Has a stateful layer begin with zeros again, or with the states given. Mirrors `resetStates`.

        Args:
            states: One for each state of the cell, `[batch, …]`.

        Raises:
            ValueError: The layer is not stateful, or the states have other shapes.
        """
        if not self._stateful:
            raise ValueError(f"reset_states: {self.name} has no states; make it with stateful=True")
        if not self.built:
            raise ValueError(f"reset_states: {self.name} has no states yet; add it to a model or call it first")
        if states is None:
            values = [zeros(state.shape, state.dtype) for state in self._states]
        else:
            values = state_list(self, states, "states", self._state_count())
            self._check_count("states", values)
        for state, value in zip(self._states, values):
            if value.shape != state.shape:
                raise ValueError(
                    f"reset_states: {self.name} has states of shape {format_shape(state.shape)}, "
                    f"got {format_shape(value.shape)}"
                )
            assign(state, value.cast(state.dtype))

    def build(self, input_shape: Any) -> None:
        shape = first_shape(input_shape)
        self._check(shape)
        step = (shape[0], *shape[2:])
        self._features = step[1:]
        if not self.cell.built:  # it may be another layer's too
            self.cell._make_weights(step)
        if self._stateful:
            batch = shape[0]
            if batch is None:
                raise ValueError(
                    f"{self.name}: stateful needs a fixed batch, got inputs of shape {format_shape(shape)}; give "
                    "batch_size with input_shape, or batch_input_shape=[32, None, 8] with the batch first"
                )
            shapes = [(batch, *lengths) for lengths in self.cell.state_shapes(step)]
            self._states = [variable(zeros(cast("Any", each), self._state_dtype()), trainable=False) for each in shapes]

    def compute_output_shape(self, input_shape: Any) -> Any:
        shape = first_shape(input_shape)
        self._check(shape)
        states = [(shape[0], *lengths) for lengths in self.cell.state_shapes((shape[0], *shape[2:]))]
        output = states[0]
        if self.return_sequences:
            output = (shape[0], shape[1], *output[1:])
        return [output, *states] if self.return_state else output

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        mask = as_list(mask)[0]
        if not self.return_sequences:
            mask = None
        elif mask is not None and self.go_backwards:
            mask = reverse(mask, 1)
        return [mask, *[None] * self._state_count()] if self.return_state else mask

    def __call__(
        self,
        inputs: Any,
        training: bool | None = None,
        *,
        initial_state: Any = None,
        **arguments: Any,
    ) -> Any:
        """The layer's result.

        Args:
            inputs: `[batch, time, …]`; or a list of that and the first states.
            training: Whether dropout is to act as in training.
            initial_state: The first states, tensors or symbolic tensors; a list if there is more than one.
            arguments: `mask`, bools `[batch, time]`, False for the steps to leave out.
        """
        if initial_state is not None:
            inputs = with_states(self, inputs, initial_state, self._state_count())
        return super().__call__(inputs, training, **arguments)

    def call(self, inputs: Any, training: bool | None = None, mask: Any = None) -> Any:
        x, *initial = as_list(inputs)
        mask = as_list(mask)[0]
        self._check(x.shape)
        states = self._first_states(x, initial)
        if mask is not None:
            # A NaN in a step that does not count must not reach the gradient, which is 0 there only by a factor.
            x = where(fitted(mask, x), x, 0.0)
            mask = reverse(mask, 1) if self.go_backwards else mask
        x = reverse(x, 1) if self.go_backwards else x
        output, states = run_over_time(
            self.cell, x, states, mask, training, self.return_sequences, self.zero_output_for_mask
        )
        if self._stateful:
            with observing(instead_of=Tape):
                for state, value in zip(self._states, states):
                    assign(state, value.cast(state.dtype))
        results = [self._penalized(y, training) for y in ([output, *states] if self.return_state else [output])]
        return results if self.return_state else results[0]

    def _first_states(self, x: Tensor, initial: Sequence[Tensor]) -> Sequence[Tensor]:
        """What the first step begins with."""
        batch = x.shape[0]
        if self._stateful and batch != self._states[0].shape[0]:
            raise ValueError(
                f"{self.name}: is stateful for {self._states[0].shape[0]} sequences, got {batch} "
                f"(inputs {format_shape(x.shape)})"
            )
        if initial:
            self._check_count("initial_state", initial)
        elif self._stateful:
            # As they are now: the gradient needs them after they have changed.
            return [run_kernel("Identity", (state,)) for state in self._states]
        shapes = [(batch, *lengths) for lengths in self.cell.state_shapes((batch, *x.shape[2:]))]
        if not initial:
            dtype = self._state_dtype()
            return [zeros(cast("Any", shape), dtype) for shape in shapes]
        for place, (state, shape) in enumerate(zip(initial, shapes)):
            if state.shape != shape:
                raise ValueError(
                    f"{self.name}: initial_state {place} must have shape {format_shape(shape)}, "
                    f"got {format_shape(state.shape)}"
                )
        return initial

    def _check_count(self, argument: str, states: Sequence[Any]) -> None:
        if len(states) != self._state_count():
            raise ValueError(f"{self.name}: {argument} must be {self._state_count()} states, got {len(states)}")

    def _check(self, shape: Shape) -> None:
        """Raises an error if the layer does not take inputs of this shape."""
        step_rank = self.cell.step_rank
        if len(shape) < 3 or (step_rank is not None and len(shape) != step_rank + 1) or shape[1] == 0:
            rank = "3 or more" if step_rank is None else step_rank + 1
            raise ValueError(
                f"{self.name}: takes inputs [batch, time, …] of rank {rank} with one step or more, "
                f"got shape {format_shape(shape)}"
            )
        if self._features is not None and any(None not in (m, n) and m != n for m, n in zip(self._features, shape[2:])):
            raise ValueError(
                f"{self.name}: was made for steps of shape {format_shape(self._features)}, got inputs of shape "
                f"{format_shape(shape)}"
            )

    def _state_count(self) -> int:
        return len(as_list(self.cell.state_size))

    def _state_dtype(self) -> str:
        weights = self.cell.weights
        return weights[0].dtype if weights else self.dtype or "float32"

    def get_config(self) -> dict[str, Any]:
        cell = {"class_name": self.cell.class_name, "config": self.cell.get_config()}
        return {"cell": cell, "stateful": self.stateful, **super().get_config()}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        cell = deserialize_argument("rnn", config, "cell", RNNCell)
        stored = config["cell"]
        # TensorFlow.js repeats the cell's arguments beside the layer's own.
        repeated = stored.get("config", {}).keys() - {*RNNOptions.__annotations__, *LayerOptions.__annotations__}
        own = {name: value for name, value in config.items() if name not in repeated}
        arguments: dict[str, Any] = {**own, "cell": cell}
        return cls(**arguments)


class UnitsRNN(RNN):
    """A recurrent layer that makes its cell itself, and takes the cell's arguments."""

    cell_class: ClassVar[type[UnitsCell]]
    cell: UnitsCell

    def __init__(self, **options: Any) -> None:
        own = self.cell_class.stored_options()
        for name in options:
            known = (*own, *RNNOptions.__annotations__, *LayerOptions.__annotations__)
            if name not in known:
                hint = suggestion(name, known)
                raise TypeError(f"{self._owner}: has no argument {name!r}{hint}")
        cell = self.cell_class(name=options.get("name"), **{name: options.pop(name) for name in own if name in options})
        super().__init__(cell=cell, **options)
        cell.name = self.name  # its errors are the layer's

    @property
    def activity_regularizer(self) -> Regularizer | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The penalty on what the layer gives."""
        return self.cell.activity_regularizer

    @property
    def units(self) -> int:
        """The number of outputs."""
        return self.cell.units

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return {**config.pop("cell")["config"], **config}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        return cls(**config)


def with_states(layer: Layer, inputs: Any, states: Any, count: int) -> list[Any]:
    """The list of the inputs and the states, `count` of them, as a layer's `call` gets it."""
    if isinstance(inputs, (list, tuple)) and any(isinstance(x, _TENSORS) for x in cast("Sequence[Any]", inputs)):
        raise ValueError(f"{layer.name}: the states come either in the list of inputs or as initial_state, not both")
    if not isinstance(inputs, _TENSORS):
        inputs = convert(inputs, layer.name, "inputs", layer.dtype)
    return [inputs, *state_list(layer, states, "initial_state", count)]


def state_list(layer: Layer, states: Any, argument: str, count: int) -> list[Any]:
    """States as tensors, from a list of them, or if there is but one, from that one."""
    listed = isinstance(states, (list, tuple)) and (
        count > 1 or any(isinstance(state, _TENSORS) for state in cast("Sequence[Any]", states))
    )
    each = cast("Sequence[Any]", states if listed else [states])
    return [x if isinstance(x, _TENSORS) else convert(x, layer.name, argument, layer.dtype) for x in each]


_TENSORS = (Tensor, SymbolicTensor)


def give_dtype(layer: WeightHolder, dtype: str | None) -> None:
    """Has a layer, and the layers inside, make weights of a dtype, as far as it has none of its own."""
    layer.dtype = layer.dtype or dtype
    for inner in layer._sublayers():  # pyright: ignore[reportPrivateUsage]
        give_dtype(inner, layer.dtype)

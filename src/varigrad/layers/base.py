"""`Layer`: what every layer is, and the base for your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple, TypedDict

import numpy as np

from varigrad.dtypes import is_floating, numpy_dtype
from varigrad.engine import run_kernel
from varigrad.layers.arguments import Shape, boolean, partial_shape
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer, get_initializer
from varigrad.layers.naming import current_scope, default_layer_name, name_scope, snake_case
from varigrad.layers.registry import Serializable, serialize, suggestion
from varigrad.layers.regularizers import Regularizer
from varigrad.ops.arguments import TensorLike, convert
from varigrad.ops.assignment import assign
from varigrad.scopes import dispose
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["DEFERRED", "DeferredValue", "InputSpec", "Layer", "LayerOptions"]


class LayerOptions(TypedDict, total=False):
    """The keyword arguments that every layer takes.

    Args:
        name: The layer's name, unique in a model; made from the class by default.
        trainable: Whether training changes the layer's weights.
        input_shape: For a model's first layer, the shape of one input, without the batch.
        batch_input_shape: The same with the batch, `[None, 28, 28, 1]`.
        batch_size: The batch of `input_shape`, if it is fixed.
        dtype: The dtype of inputs; float64, float16 and bfloat16 make the weights so too. float32 by default.
        input_dtype: The same, under its older name.
        weights: First values of the weights, in the order of `get_weights`.

    >>> import varigrad as vg
    >>> layer = vg.layers.dense(units=1, input_shape=[3], name="options_example", trainable=False)
    >>> layer.name, layer.trainable
    ('options_example', False)
    """

    name: str | None
    trainable: bool
    input_shape: Sequence[int | None] | int | None
    batch_input_shape: Sequence[int | None] | None
    batch_size: int | None
    dtype: str | None
    input_dtype: str | None
    weights: Sequence[Any] | None


class InputSpec(NamedTuple):
    """What a layer asks of its input: a rank, a least rank, and the lengths of some axes.

    >>> import varigrad as vg
    >>> class Pairs(vg.layers.Layer):
    ...     input_spec = vg.layers.InputSpec(ndim=2, axes={-1: 2})
    ...     def call(self, inputs, training=None):
    ...         return inputs
    >>> Pairs(name="pairs_example")([[1.0, 2.0, 3.0]])
    Traceback (most recent call last):
    ValueError: pairs_example: was made for inputs with 2 on axis -1, got shape [1, 3]
    """

    ndim: int | None = None
    min_ndim: int | None = None
    axes: dict[int, int] | None = None


class DeferredValue(NamedTuple):
    """A weight without a value yet, while a file is loaded."""

    variable: Variable
    initialize: Callable[[], Tensor]


# While it holds a list, new weights take no memory and run no initializer; the list says which they are.
DEFERRED: ContextVar[list[DeferredValue] | None] = ContextVar("varigrad_deferred_weights", default=None)


class Layer(Serializable):
    """A function of tensors with weights.

    To write a layer, subclass it: `build(input_shape)` makes the weights with `add_weight`, `call(inputs, training)`
    computes, `compute_output_shape(input_shape)` says the shape of the result where it is not that of the input, and
    `get_config()` returns the keyword arguments of your `__init__` on top of `super().get_config()`. Gradients come by
    themselves. `vg.serialization.register_class` makes it loadable from files. Mirrors `tf.layers.Layer`.

    >>> import varigrad as vg
    >>> class Scale(vg.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_weight("factor", [1], initializer="ones")
    ...     def call(self, inputs, training=None):
    ...         return inputs * self.factor
    >>> layer = Scale(name="scale_example")
    >>> layer(vg.tensor([[1, 2]])).tolist(), layer.weights[0].name
    ([[1.0, 2.0]], 'scale_example/factor')
    """

    # The attributes that get_config stores, in TensorFlow.js's order.
    fields: ClassVar[tuple[str, ...]] = ()
    input_spec: InputSpec | None = None

    def __init__(
        self,
        *,
        name: str | None = None,
        trainable: bool = True,
        input_shape: Sequence[int | None] | int | None = None,
        batch_input_shape: Sequence[int | None] | None = None,
        batch_size: int | None = None,
        dtype: str | None = None,
        input_dtype: str | None = None,
        weights: Sequence[Any] | None = None,
        **unknown: Any,
    ) -> None:
        owner = snake_case(self.class_name)
        if unknown:
            raise TypeError(_unknown_argument(owner, next(iter(unknown)), type(self)))
        if name is not None and not isinstance(name, str):
            raise TypeError(f"{owner}: name must be a string, got {name!r}")
        self._has_default_name = not name
        self.name = name or default_layer_name(self.class_name)
        self.built = False
        self.input_shape: Shape | None = None
        self.output_shape: Shape | None = None
        self.batch_input_shape: Shape | None = None
        if batch_input_shape is not None:
            self.batch_input_shape = partial_shape(owner, "batch_input_shape", batch_input_shape)
        elif input_shape is not None:
            batch = partial_shape(owner, "batch_size", [batch_size])
            self.batch_input_shape = batch + partial_shape(owner, "input_shape", input_shape)
        self.dtype = dtype or input_dtype or ("float32" if self.batch_input_shape else None)
        if self.dtype is not None:
            numpy_dtype(self.dtype, owner)
        self._trainable = boolean(owner, "trainable", trainable)
        self._frozen = not self._trainable  # by itself or by a model that it is in
        self._initial_weights = weights
        self._trainable_weights: list[Variable] = []
        self._non_trainable_weights: list[Variable] = []
        self._penalties: list[tuple[Regularizer, Variable]] = []

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        call = cls.__dict__.get("call")
        if call is not None:
            cls._run = _with_training_by_position(call)

    # To be overridden

    def build(self, input_shape: Shape) -> None:
        """Makes the weights for inputs of this shape, whose unknown axes are None."""

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        """The result for a tensor; `training` is whether the call is a step of training."""
        return inputs

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        """The shape of the result for inputs of this shape; unknown axes are None."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """The keyword arguments that make an equal layer, as JSON values; weights are not among them."""
        config = {field: serialize(getattr(self, field)) for field in self.fields}
        config["name"] = self.name
        config["trainable"] = self.trainable
        if self.batch_input_shape is not None:
            config["batch_input_shape"] = list(self.batch_input_shape)
        if self.dtype is not None:
            config["dtype"] = self.dtype
        return config

    # Weights

    def add_weight(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str | None = None,
        initializer: Initializer | str | None = None,
        regularizer: Regularizer | None = None,
        trainable: bool = True,
        constraint: Constraint | None = None,
    ) -> Variable:
        """Makes a weight; to be called in `build`.

        Args:
            name: Its name in the layer, such as `"kernel"`; the variable's is `layer/kernel`.
            shape: Its shape.
            dtype: By default that of the layer if it is a floating-point one, else float32.
            initializer: Gives the first value; zeros by default.
            regularizer: Gives a penalty for `calculate_losses`.
            trainable: Whether it is ever trained; a moving average, for instance, is not.
            constraint: Applied by optimizers after each update.
        """
        original = f"{current_scope() or self.name}/{name}"
        if any(weight.original_name == original for weight in self.weights):
            raise ValueError(f"{self.name}: has a weight named {name!r} already")
        if dtype is None:
            dtype = self.dtype if self.dtype is not None and is_floating(self.dtype) else "float32"
        lengths = tuple(shape)
        first = get_initializer(initializer or "zeros")
        deferred = DEFERRED.get()
        if deferred is None:
            value = first.apply(lengths, dtype)
            if value.dtype != dtype or value.shape != lengths:
                raise ValueError(
                    f"{self.name}: the initializer of {name!r} made {value.dtype} {format_shape(value.shape)}, "
                    f"not {dtype} {format_shape(lengths)}"
                )
            weight = _named_variable(value.storage.copy(), trainable and not self._frozen, original)
        else:
            try:
                placeholder = np.broadcast_to(np.zeros((), numpy_dtype(dtype)), lengths)
            except ValueError:
                raise ValueError(f"{self.name}: {name!r} of shape {format_shape(lengths)} is too large") from None
            weight = _named_variable(placeholder, trainable and not self._frozen, original)
            deferred.append(DeferredValue(weight, lambda: first.apply(lengths, dtype)))
        weight.constraint = constraint
        if regularizer is not None:
            self._penalties.append((regularizer, weight))
        (self._trainable_weights if trainable else self._non_trainable_weights).append(weight)
        return weight

    @property
    def weights(self) -> list[Variable]:
        """All weights. Their order does not depend on which are frozen: first those made trainable, then the others."""
        made_trainable, others = self._weight_groups()
        return made_trainable + others

    def _weight_groups(self) -> tuple[list[Variable], list[Variable]]:
        """The weights that were made trainable, and the others."""
        return list(self._trainable_weights), list(self._non_trainable_weights)

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes now."""
        return [w for w in self._weight_groups()[0] if w.trainable] if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The weights that training leaves alone now."""
        trained = {id(w) for w in self.trainable_weights}
        return [w for w in self.weights if id(w) not in trained]

    @property
    def trainable(self) -> bool:
        """Whether training changes the layer's weights; set it to False to freeze them."""
        return self._trainable

    @trainable.setter
    def trainable(self, trainable: bool) -> None:
        self._trainable = boolean(self.name, "trainable", trainable)
        self._freeze(not trainable)

    def _freeze(self, frozen: bool) -> None:
        """Freezes the layer, as a model around it asks, or else as it was set itself."""
        self._frozen = frozen or not self._trainable
        for weight in self._trainable_weights:
            weight.trainable = not self._frozen

    def get_weights(self, trainable_only: bool = False) -> list[Tensor]:
        """The values of the weights, as tensors that later training does not change."""
        weights = self.trainable_weights if trainable_only else self.weights
        return [run_kernel("Identity", (weight,)) for weight in weights]

    def set_weights(self, weights: Sequence[TensorLike]) -> None:
        """Gives the weights new values, in the order of `get_weights`: all, or on an error none.

        Args:
            weights: Tensors or arrays of the weights' shapes.

        Raises:
            ValueError: Another number of them, or another shape; the message names the weight.
        """
        variables = self.weights
        if not isinstance(weights, (list, tuple)):
            raise TypeError(f"set_weights: takes the values of {self.name} as a list, got {type(weights).__name__}")
        if len(weights) != len(variables):
            names = ", ".join(f"{v.original_name} {format_shape(v.shape)}" for v in variables) or "none"
            raise ValueError(
                f"set_weights: {self.name} has {len(variables)} weights ({names}), but {len(weights)} were given"
            )
        values = [
            convert(value, "set_weights", f"the value for {variable.original_name}", variable.dtype)
            for variable, value in zip(variables, weights)
        ]
        for position, (variable, value) in enumerate(zip(variables, values)):
            if value.shape != variable.shape:
                raise ValueError(
                    f"set_weights: weight {position} of {self.name}, {variable.original_name}, has shape "
                    f"{format_shape(variable.shape)}, but {format_shape(value.shape)} was given"
                )
        for variable, value in zip(variables, values):
            assign(variable, value)

    def count_params(self) -> int:
        """The number of elements in all weights."""
        if not self.built:
            raise ValueError(f"count_params: {self.name} has no weights yet; add it to a model or call it first")
        return sum(weight.size for weight in self.weights)

    def calculate_losses(self) -> list[Tensor]:
        """The penalties of the layer's regularizers, a scalar each, to be added to the loss."""
        return [regularizer.apply(weight) for regularizer, weight in self._penalties]

    def dispose(self) -> int:
        """Disposes of the weights and returns how many there were. Needed only to give memory back early."""
        weights = self.weights
        dispose(weights)
        return len(weights)

    # Running

    def __call__(self, inputs: TensorLike, training: bool | None = None) -> Tensor:
        """The layer's result for a tensor or array, whose weights it makes on the first call."""
        if not isinstance(inputs, Tensor):
            inputs = convert(inputs, self.name, "inputs", self.dtype)
        if not self.built:
            self._ensure_built(inputs.shape)
        elif self.input_spec is not None:
            self._check_input(inputs.shape)
        return self._run(inputs, training)

    def _run(self, inputs: Any, training: bool | None) -> Any:
        """`call` with `training` by position; in subclasses it is `call` itself where that can be."""
        return self.call(inputs, training)

    def _connect(self, input_shape: Shape) -> Shape:
        """Makes the weights for inputs of this shape and returns the shape of the result."""
        self._ensure_built(input_shape)
        self.input_shape = input_shape
        self.output_shape = self.compute_output_shape(input_shape)
        return self.output_shape

    def _ensure_built(self, input_shape: Shape) -> None:
        """Makes the weights, if they are not there yet, for inputs of this shape."""
        self._check_input(input_shape)
        if self.built:
            return
        with name_scope(self.name):
            self.build(input_shape)
        self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _check_input(self, shape: Shape) -> None:
        """Raises an error that names the layer if it does not take inputs of this shape."""
        spec = self.input_spec
        if spec is None:
            return
        rank = len(shape)
        if spec.ndim is not None and rank != spec.ndim:
            raise ValueError(f"{self.name}: takes inputs of rank {spec.ndim}, got shape {format_shape(shape)}")
        if spec.min_ndim is not None and rank < spec.min_ndim:
            raise ValueError(f"{self.name}: takes inputs of rank {spec.min_ndim} or more, got {format_shape(shape)}")
        for axis, length in (spec.axes or {}).items():
            if shape[axis] not in (None, length):
                raise ValueError(
                    f"{self.name}: was made for inputs with {length} on axis {axis}, got shape {format_shape(shape)}"
                )

    def __repr__(self) -> str:
        return f"<{self.class_name} {self.name!r}>"


def _named_variable(storage: Any, trainable: bool, original_name: str) -> Variable:
    """A variable whose registry name is the original one or, while that is taken, the same with a number."""
    name, number = original_name, 0
    while True:
        try:
            weight = Variable(storage, trainable, name)
        except ValueError:
            number += 1
            name = f"{original_name}_{number}"
        else:
            weight.original_name = original_name
            return weight


def _with_training_by_position(call: Any) -> Any:
    """`call` as `(self, inputs, training)`, for layers that take `training` by keyword or not at all."""
    code = getattr(call, "__code__", None)
    if code is None:
        return call
    positional = code.co_varnames[: code.co_argcount]
    if positional[2:3] == ("training",):
        return call
    takes_keywords = bool(code.co_flags & 0x08)
    if takes_keywords or "training" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        return lambda self, inputs, training: call(self, inputs, training=training)  # pyright: ignore
    return lambda self, inputs, training: call(self, inputs)  # pyright: ignore


def _unknown_argument(owner: str, name: str, cls: type[Layer]) -> str:
    import inspect  # only errors need it

    known: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in base.__dict__:
            known.update(inspect.signature(base.__init__).parameters)
    known -= {"self", "unknown", "options", "args", "kwargs"}
    snake = snake_case(name)
    hint = f"; it is {snake!r} here" if snake in known else suggestion(name, known)
    return f"{owner}: has no argument {name!r}{hint}"

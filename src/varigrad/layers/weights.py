"""The weights of a layer: how they are made, listed, frozen, read and set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast
from weakref import ref

import numpy as np

from varigrad.dtypes import is_floating, numpy_dtype
from varigrad.engine import run_kernel
from varigrad.layers.arguments import boolean
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer, get_initializer
from varigrad.layers.naming import current_scope
from varigrad.layers.registry import Serializable
from varigrad.layers.regularizers import Regularizer
from varigrad.ops.arguments import TensorLike, convert
from varigrad.ops.assignment import assign
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["DEFERRED", "DeferredValue", "WeightHolder"]


class DeferredValue(NamedTuple):
    """A weight without a value yet, while a file is loaded."""

    variable: Variable
    initialize: Callable[[], Tensor]


# While it holds a list, new weights take no memory and run no initializer; the list says which they are.
DEFERRED: ContextVar[list[DeferredValue] | None] = ContextVar("varigrad_deferred_weights", default=None)


class WeightHolder(Serializable):
    """What has weights, of its own and of the layers inside it: the base of `Layer`."""

    dtype: str | None
    built: bool = False
    _initial_weights: Sequence[Any] | None
    _name: str
    # Whether variables that are attributes are weights, as in a layer; a model has those of its layers alone.
    _takes_variables: ClassVar[bool] = True
    # Attributes whose variables are no weights, as the states of a recurrence are none.
    _not_weights: ClassVar[tuple[str, ...]] = ()

    def __init__(self, trainable: bool) -> None:
        self._trainable = trainable
        self._frozen = not self._trainable  # by itself or by a model that it is in
        self._trainable_weights: list[Variable] = []
        self._non_trainable_weights: list[Variable] = []
        self._penalties: list[tuple[Regularizer, Variable]] = []
        self._losses: list[Callable[[], Tensor]] = []

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Variable) and self.built and self._takes_variables and not self._is_weight(value):
            raise ValueError(
                f"{self.name}: {name} gets a new variable when the layer is built already, too late to be trained and "
                f"saved; make it in build (or __init__), by self.add_weight, and change it by self.{name}.assign(…)"
            )
        super().__setattr__(name, value)

    def _is_weight(self, variable: Variable) -> bool:
        """Whether the variable is a weight, of this layer or of another."""
        own = self._trainable_weights + self._non_trainable_weights
        return _holder(variable) is not None or any(weight is variable for weight in own)

    @property
    def name(self) -> str:
        """The layer's name; a new one is that of its weights in files too."""
        try:
            return self._name
        except AttributeError:
            message = f"{type(self).__name__}: __init__ must call super().__init__() before anything else"
            raise TypeError(message) from None

    @name.setter
    def name(self, name: str) -> None:
        if self.built:
            self._rename_weights(self._name, name)
        self._name = name

    def _rename_weights(self, old: str, new: str) -> None:
        for weight in self.weights:
            if weight.original_name.startswith(f"{old}/"):
                weight.original_name = new + weight.original_name[len(old) :]

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
        own = self._trainable_weights + self._non_trainable_weights
        if any(weight.original_name == original for weight in own):
            raise ValueError(f"{self.name}: has a weight named {name!r} already")
        if dtype is None:
            dtype = self.dtype if self.dtype is not None and is_floating(self.dtype) else "float32"
        lengths = tuple(shape)
        if None in cast("Sequence[int | None]", lengths):  # as in the shape of an input
            raise ValueError(
                f"{self.name}: the weight {name!r} needs known lengths, got {format_shape(lengths)}; "
                "input_shape[1:] is without the batch, input_shape[-1] the last axis alone"
            )
        first = get_initializer(initializer or "zeros", f"{self.name}: the initializer of {name!r}")
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
        weight.holder = ref(self)
        if regularizer is not None:
            self._penalties.append((regularizer, weight))
        (self._trainable_weights if trainable else self._non_trainable_weights).append(weight)
        return weight

    def _take_variables(self) -> None:
        """Makes variables that are attributes, also in lists and dicts, weights: those that are not a layer's yet.

        Each is called as its attribute is, and trainable as it was made.
        """
        for name, variable in self._variables():
            if _holder(variable) is not None:
                continue
            taken = {weight.original_name for weight in self._trainable_weights + self._non_trainable_weights}
            variable.original_name = _free_name(f"{current_scope() or self.name}/{name}", taken)
            variable.holder = ref(self)
            if variable.trainable and is_floating(variable.dtype):
                self._trainable_weights.append(variable)
                variable.trainable = not self._frozen
            else:
                self._non_trainable_weights.append(variable)
            deferred = DEFERRED.get()
            if deferred is not None:
                deferred.append(DeferredValue(variable, partial(run_kernel, "Identity", (variable,))))

    def _variables(self) -> Iterator[tuple[str, Variable]]:
        """The variables that are attributes, by name, and those in lists and dicts, by name and place."""
        for name, value in vars(self).items() if self._takes_variables else ():
            if name in _BOOKKEEPING or name in self._not_weights:
                continue
            if isinstance(value, Variable):
                yield name, value
            elif isinstance(value, (list, tuple, dict)):
                held = cast("Any", value)
                for place, item in held.items() if isinstance(value, dict) else enumerate(held):
                    if isinstance(item, Variable):
                        yield f"{name}_{place}", item

    def _own_weights(self) -> tuple[list[Any], ...]:
        """The weights so far of the layer itself."""
        return (list(self._trainable_weights), list(self._non_trainable_weights), list(self._penalties))

    def _keep_weights(self, weights: tuple[list[Any], ...]) -> None:
        """Forgets the weights beside these, which a `build` that failed has made."""
        self._trainable_weights, self._non_trainable_weights, self._penalties = weights

    def add_loss(self, losses: Callable[[], Tensor] | Iterable[Callable[[], Tensor]]) -> None:
        """Adds functions that give a scalar each to `calculate_losses`. Mirrors `tf.layers.Layer.addLoss`."""
        each = [losses] if callable(losses) else list(losses)
        for loss in each:
            if not callable(loss):
                raise TypeError(f"{self.name}: add_loss takes functions that return a scalar, got {loss!r:.100}")
        self._losses.extend(each)

    def _sublayers(self) -> Sequence[WeightHolder]:
        """The layers inside this one: those that it keeps as attributes, also in lists and dicts."""
        found: dict[int, WeightHolder] = {}
        for value in vars(self).values():
            if type(value) in _NO_LAYERS:  # most attributes; a step of training asks every layer
                continue
            if isinstance(value, WeightHolder):
                found[id(value)] = value
            elif isinstance(value, (list, tuple, dict)):
                items = cast("Any", value).values() if isinstance(value, dict) else cast("Any", value)
                for item in items:
                    if isinstance(item, WeightHolder):
                        found[id(item)] = item
        return tuple(found.values())

    @property
    def weights(self) -> list[Variable]:
        """All weights. Their order does not depend on which are frozen: first those made trainable, then the others."""
        made_trainable, others = self._weight_groups()
        return made_trainable + others

    def _weight_groups(self) -> tuple[list[Variable], list[Variable]]:
        """The weights that were made trainable, and the others; those of a layer that is used twice once."""
        groups = [layer._weight_groups() for layer in self._sublayers()]
        made_trainable = [self._trainable_weights, *(trainable for trainable, _ in groups)]
        others = [self._non_trainable_weights, *(rest for _, rest in groups)]
        return _unique(made_trainable), _unique(others)

    @property
    def trainable_weights(self) -> list[Variable]:
        """The weights that training changes now."""
        return [w for w in self._weight_groups()[0] if w.trainable] if self._trainable else []

    @property
    def non_trainable_weights(self) -> list[Variable]:
        """The weights that training leaves alone now."""
        trained = {id(w) for w in self.trainable_weights}
        return [w for w in self.weights if id(w) not in trained]

    @property
    def trainable(self) -> bool:
        """Whether training changes the layer's weights; set it to False to freeze them.

        A compiled model heeds it from the next step on; TensorFlow.js and Keras must compile anew.
        """
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
        for layer in self._sublayers():
            layer._freeze(self._frozen)

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
        """The penalties of the layer's regularizers and `add_loss`, a scalar each, to be added to the loss."""
        penalties = [regularizer.apply(weight) for regularizer, weight in self._penalties]
        own = penalties + [loss() for loss in self._losses]
        return own + [loss for layer in self._sublayers() for loss in layer.calculate_losses()]


# The attributes in which the weights are listed.
_BOOKKEEPING = frozenset(["_trainable_weights", "_non_trainable_weights"])
_NO_LAYERS = frozenset([bool, float, int, str, type(None), Variable])


def _unique(groups: Iterable[Sequence[Variable]]) -> list[Variable]:
    return list({id(weight): weight for group in groups for weight in group}.values())


def _holder(variable: Variable) -> Any:
    """The layer whose weight the variable is, if there is one."""
    return None if variable.holder is None else variable.holder()


def _free_name(name: str, taken: Collection[str]) -> str:
    """The name or, if it is taken, the name with a number."""
    free, number = name, 0
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


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

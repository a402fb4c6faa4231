"""Exponential moving averages of weights."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from varigrad.dtypes import Array, is_floating
from varigrad.engine import host_tensors, make_tensor, update_variables
from varigrad.halves import computing_dtype
from varigrad.keywords import takes_options
from varigrad.observe import note_reading
from varigrad.ops.assignment import assign
from varigrad.tensor import Tensor, Variable, format_shape
from varigrad.train.named import NamedTensor, numbers_by_name, update_count

__all__ = ["ExponentialMovingAverage", "exponential_moving_average"]


class ExponentialMovingAverage:
    """Averages of variables over training, which often predict better than the last values (Polyak and Juditsky, 1992):

    average = decay * average + (1 - decay) * value at each `update`.

    Args:
        var_list: Floating-point variables, which it keeps alive.
        decay: How much of the average stays at an update. A plain attribute.
        zero_debias: Start at 0 and divide by 1 - decay^updates, as Adam does, instead of starting at the values that
            the variables have now: the first values are forgotten sooner.

    >>> import varigrad as vg
    >>> w = vg.variable(0.0, name="average_example")
    >>> average = vg.train.exponential_moving_average([w], decay=0.75)
    >>> w.assign(1.0) and average.update()
    >>> average.average(w).item()
    0.25
    >>> with average.swapped():
    ...     w.item()
    0.25
    >>> w.item()
    1.0
    """

    compiled_for = ("variables",)  # see `Optimizer`

    @takes_options
    def __init__(self, var_list: Sequence[Variable], decay: float = 0.999, zero_debias: bool = False) -> None:
        if not 0 <= decay <= 1:
            raise ValueError(f"exponential_moving_average: decay must be between 0 and 1, got {decay}")
        for position, variable in enumerate(var_list):
            if not isinstance(variable, Variable) or not is_floating(variable.dtype):
                raise TypeError(
                    f"exponential_moving_average: var_list[{position}] must be a floating-point variable, "
                    f"got {variable!r}"
                )
        self.variables = tuple(var_list)
        self.decay = decay
        self.zero_debias = zero_debias
        self.updates = 0
        self._start_weight = 1.0  # what the average still holds of the value that it started from
        # Not announced to observers: averages outlive the tidy scope in which they are made.
        self._averages = tuple([Tensor(self._start(v.storage)) for v in self.variables])

    def update(self) -> None:
        """Takes the variables' present values into the averages; to be called after each training step."""
        weights = host_tensors(self._count)
        update_variables("MovingAverage", (), (*self.variables, *weights), state=self._averages)

    def _count(self) -> list[Array]:
        """Counts an update; how much of the present values it takes into the averages."""
        self.updates += 1
        self._start_weight *= self.decay
        return [np.array(1 - self.decay, np.float64)]

    def average(self, variable: Variable) -> Tensor:
        """A copy of the average of one variable; before the first update, its value."""
        for known, average in zip(self.variables, self._averages, strict=True):
            if known is variable:
                note_reading(variable)
                return make_tensor(self._read(known, average))
        raise ValueError(f"exponential_moving_average: {variable.name!r} is not among the averaged variables")

    def averages(self) -> dict[str, Tensor]:
        """Copies of all averages, by variable name."""
        return {variable.name: self.average(variable) for variable in self.variables}

    def assign_averages(self) -> None:
        """Gives the variables their averages, for good."""
        for variable in self.variables:
            assign(variable, self.average(variable))

    @contextmanager
    def swapped(self) -> Generator[None]:
        """The variables hold their averages inside the block, and what they held before after it."""
        held = [variable.numpy() for variable in self.variables]
        self.assign_averages()
        try:
            yield
        finally:
            for variable, values in zip(self.variables, held, strict=True):
                assign(variable, make_tensor(values))

    def get_weights(self) -> list[NamedTensor]:
        """The state, for saving: `"updates"`, `"start_weight"`, and `"<variable>/average"` for each variable."""
        return [
            NamedTensor("updates", make_tensor(np.array(self.updates, np.int32))),
            NamedTensor("start_weight", make_tensor(np.array(self._start_weight, np.float64))),
            *[
                NamedTensor(f"{variable.name}/average", make_tensor(average.storage.copy()))
                for variable, average in zip(self.variables, self._averages, strict=True)
            ],
        ]

    def set_weights(self, weights: Mapping[str, Any] | Sequence[Any]) -> None:
        """Restores what `get_weights` gave, by name; a dict of arrays is taken as well.

        Raises:
            ValueError: A name is missing or unknown, or a shape differs. Nothing has changed then.
        """
        given = numbers_by_name("exponential_moving_average.set_weights", weights)
        wanted = {f"{v.name}/average": v.shape for v in self.variables} | {"updates": (), "start_weight": ()}
        if given.keys() != wanted.keys():
            raise ValueError(
                "exponential_moving_average.set_weights: the state is for other variables; missing: "
                f"{sorted(wanted.keys() - given.keys())}, unknown: {sorted(given.keys() - wanted.keys())}"
            )
        for name, shape in wanted.items():
            if given[name].shape != shape:
                raise ValueError(
                    f"exponential_moving_average.set_weights: {name!r} has shape {format_shape(given[name].shape)} "
                    f"instead of {format_shape(shape)}"
                )
        self.updates = update_count("exponential_moving_average.set_weights", "updates", given["updates"])
        self._start_weight = float(given["start_weight"])
        for variable, average in zip(self.variables, self._averages, strict=True):
            average.storage[...] = given[f"{variable.name}/average"]

    def _start(self, values: Array) -> Array:
        """Where the average of a variable starts; in float32 for one of float16 or bfloat16."""
        dtype = computing_dtype(values.dtype)
        return np.zeros(values.shape, dtype) if self.zero_debias else np.array(values, dtype)

    def _read(self, variable: Variable, average: Tensor) -> Array:
        dtype = variable.storage.dtype
        if not self.zero_debias:
            return np.array(average.storage, dtype)
        if not self.updates:
            return variable.numpy()
        return np.asarray(average.storage / average.storage.dtype.type(1 - self._start_weight), dtype)


exponential_moving_average = ExponentialMovingAverage

"""Gradient accumulation: one update from the gradients of several batches."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from varigrad.autodiff import VariableGrads
from varigrad.engine import make_tensor, update_variables
from varigrad.halves import computing_dtype
from varigrad.ops.arithmetic import mul
from varigrad.tensor import Tensor, Variable, find_variable
from varigrad.train.optimizer import Gradients, LearningRate, Optimizer

__all__ = ["GradientAccumulator", "accumulate"]


class GradientAccumulator:
    """Stands in for an optimizer that updates only once in `every` batches, by the mean gradient of all their samples.

    The update equals that of one large batch: each gradient, which is a mean over its batch, counts by `batch_size`, so
    that a smaller last batch weighs less. Clipping options of the optimizer apply to the mean, and `iterations` counts
    updates. Call `flush` at the end, for an incomplete last group.

    Args:
        optimizer: What makes the updates.
        every: How many batches make an update.

    >>> import varigrad as vg
    >>> w = vg.variable(1.0, name="accumulate_example")
    >>> optimizer = vg.train.accumulate(vg.train.sgd(1.0), every=2)
    >>> optimizer.apply_gradients({"accumulate_example": vg.scalar(1.0)}, batch_size=3)
    False
    >>> optimizer.apply_gradients({"accumulate_example": vg.scalar(5.0)}, batch_size=1)
    True
    >>> w.item(), optimizer.iterations
    (-1.0, 1)
    """

    def __init__(self, optimizer: Optimizer, every: int) -> None:
        if every < 1:
            raise ValueError(f"accumulate: every must be at least 1, got {every}")
        self.optimizer = optimizer
        self.every = every
        self._batches = 0
        self._samples = 0.0
        self._sums: dict[str, tuple[weakref.ref[Variable], Tensor]] = {}
        self._lock = threading.RLock()

    @property
    def iterations(self) -> int:
        """How many updates have been made."""
        return self.optimizer.iterations

    @property
    def learning_rate(self) -> LearningRate:
        """The optimizer's."""
        return self.optimizer.learning_rate

    @learning_rate.setter
    def learning_rate(self, learning_rate: LearningRate) -> None:
        self.optimizer.learning_rate = learning_rate

    def compute_gradients(self, f: Callable[[], Any], var_list: Sequence[Variable] | None = None) -> VariableGrads:
        """The value of `f()` and its gradients, as `vg.variable_grads` gives them."""
        return self.optimizer.compute_gradients(f, var_list)

    def minimize(
        self,
        f: Callable[[], Any],
        return_cost: bool = False,
        var_list: Sequence[Variable] | None = None,
        batch_size: float = 1,
    ) -> Tensor | None:
        """As `Optimizer.minimize`, for a batch of `batch_size` samples over which `f()` is a mean."""
        value, gradients = self.compute_gradients(f, var_list)
        self.apply_gradients(gradients, batch_size)
        return value if return_cost else None

    def apply_gradients(self, gradients: Gradients, batch_size: float = 1) -> bool:
        """Adds the gradients of a batch, and updates the variables if the batch is the last of its group.

        Args:
            gradients: As for `Optimizer.apply_gradients`.
            batch_size: The samples over which the gradients are a mean; leave it out where all batches are alike.

        Returns:
            Whether the variables were updated.

        Raises:
            ValueError: As `Optimizer.apply_gradients` does; nothing has been added then.
        """
        if not batch_size > 0:
            raise ValueError(f"accumulate: batch_size must be positive, got {batch_size}")
        with self._lock:
            given = self.optimizer.checked_gradients(gradients)
            sums = [self._sum_for(cast("Variable", find_variable(name))) for name in given]
            weight = make_tensor(np.array(batch_size, np.float64))
            update_variables("AccumulateGradients", (), (*given.values(), weight), state=tuple(sums))
            self._samples += batch_size
            self._batches += 1
            return self._batches >= self.every and self.flush()

    def flush(self) -> bool:
        """Updates the variables by what has been added since the last update; False if nothing has."""
        with self._lock:
            if not self._batches:
                return False
            sums = {name: total for name, (reference, total) in self._sums.items() if _is_current(name, reference)}
            means = {
                name: mul(total, make_tensor(np.array(1 / self._samples, total.storage.dtype)))
                for name, total in sums.items()
            }
            self.optimizer.apply_gradients(means)
            self._batches, self._samples, self._sums = 0, 0.0, {}
            return True

    def _sum_for(self, variable: Variable) -> Tensor:
        entry = self._sums.get(variable.name)
        if entry is None or entry[0]() is not variable:
            # Not announced to observers: sums outlive the tidy scope of a batch.
            entry = weakref.ref(variable), Tensor(np.zeros(variable.shape, computing_dtype(variable.storage.dtype)))
            self._sums[variable.name] = entry
        return entry[1]


def _is_current(name: str, reference: weakref.ref[Variable]) -> bool:
    variable = reference()
    return variable is not None and find_variable(name) is variable


accumulate = GradientAccumulator

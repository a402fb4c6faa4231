"""Gradient accumulation: one update from the gradients of several batches."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np

from varigrad.autodiff import VariableGrads
from varigrad.dtypes import Array
from varigrad.engine import host_tensors, update_variables
from varigrad.halves import computing_dtype
from varigrad.keywords import suggestion, takes_options
from varigrad.ops.arithmetic import mul
from varigrad.tensor import Tensor, Variable, find_variable
from varigrad.train.optimizer import Gradients, LearningRate, Optimizer

__all__ = ["GradientAccumulator", "GradientSums", "accumulate"]

_NONE: frozenset[str] = frozenset()


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

    # See `Optimizer`: a compiled step counts batches itself, and is another one where an update is due.
    compiled_for: ClassVar[tuple[str, ...]] = ("optimizer", "every", "sums", "next_batch", "present")

    @takes_options
    def __init__(self, optimizer: Optimizer, every: int) -> None:
        if every < 1:
            raise ValueError(f"accumulate: every must be at least 1, got {every}")
        self.optimizer = optimizer
        self.every = every
        self.sums = GradientSums(optimizer)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in ("optimizer", "every", "sums") and not hasattr(type(self), name):
            hint = suggestion(name, ["learning_rate", "every"]) or "; those of the optimizer are set at .optimizer"
            raise AttributeError(f"GradientAccumulator: has no attribute {name!r}{hint}")
        object.__setattr__(self, name, value)

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
        with self.sums.lock:
            self.sums.add(gradients, batch_size)
            return self.is_due and self.flush()

    @property
    def is_due(self) -> bool:
        """Whether the group of batches is complete, of which the gradients have been added to `sums`."""
        return self.sums.batches >= self.every

    def flush(self) -> bool:
        """Updates the variables by what has been added since the last update; False if nothing has."""
        with self.sums.lock:
            if not self._batches:
                return False
            means = self.sums.means(self.present)
            self.optimizer.apply_gradients(means)
            self.sums.clear(self.present)
            return True

    def discard(self) -> None:
        """Forgets what has been added since the last update."""
        with self.sums.lock:
            if self._batches:
                self.sums.clear(self.present)

    @property
    def _batches(self) -> int:
        return self.sums.batches

    @property
    def next_batch(self) -> str:
        """What the next batch is in its group: `"the first"`, `"between"`, or `"the last"`, which makes an update."""
        is_last = self._batches + 1 >= self.every
        if not self._batches:
            return "the first and last" if is_last else "the first"
        return "the last" if is_last else "between"

    @property
    def present(self) -> frozenset[str]:
        """The names of the variables that have had a gradient since the last update."""
        return self.sums.present


class GradientSums:
    """The sums of the gradients of some batches, each as often as the batch has samples.

    Adding to them is the same whatever has been added before: a compiled step that only adds is one for all batches of
    a group, where one that calls `GradientAccumulator.apply_gradients` is another for the first, the next and the last.

    >>> import varigrad as vg
    >>> v = vg.variable([1.0, 2.0])
    >>> accumulator = vg.train.accumulate(vg.train.sgd(0.5), every=2)
    >>> for batch in ([2.0, 0.0], [0.0, 4.0]):
    ...     accumulator.sums.add({v.name: vg.tensor(batch)}, batch_size=1)
    >>> accumulator.is_due, accumulator.flush(), v.tolist()
    (True, True, [0.5, 1.0])
    """

    compiled_for: ClassVar[tuple[str, ...]] = ()

    def __init__(self, optimizer: Optimizer) -> None:
        self.lock = threading.RLock()
        self.batches = 0
        self.present = _NONE  # the names of those with a gradient since the last update
        self._optimizer = optimizer
        self._samples = 0.0
        self._sums: dict[str, tuple[weakref.ref[Variable], Tensor]] = {}
        self._groups = {_NONE: _NONE}  # each set of names once, for a compiled step to know it again

    def add(self, gradients: Gradients, batch_size: float) -> None:
        """Adds the gradients of a batch; see `GradientAccumulator.apply_gradients`."""
        if not batch_size > 0:
            raise ValueError(f"accumulate: batch_size must be positive, got {batch_size}")
        with self.lock:
            given = self._optimizer.checked_gradients(gradients)
            sums = [self._sum_for(cast("Variable", find_variable(name))) for name in given]
            names = frozenset(given)
            weights = host_tensors(lambda: self._count(batch_size, names))
            update_variables("AccumulateGradients", (), (*given.values(), *weights), state=tuple(sums))

    def means(self, names: frozenset[str]) -> dict[str, Tensor]:
        """The means over all samples, of those variables that are still there."""
        sums = self._of(names)
        dtypes = list(dict.fromkeys([total.storage.dtype for total in sums.values()]))
        scales = dict(zip(dtypes, host_tensors(lambda: self._scales(dtypes))))
        means = {name: mul(total, scales[total.storage.dtype]) for name, total in sums.items()}
        return {name: mean for name, mean in means.items() if self._is_current(name)}

    def clear(self, names: frozenset[str]) -> None:
        """Starts the next group of batches."""
        update_variables("Clear", (), (), state=tuple(self._of(names).values()))
        host_tensors(self._restart)

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            state = vars(self).copy()
            state["_sums"] = {name: total for name, (_, total) in self._sums.items() if self._is_current(name)}
        del state["lock"]
        return state

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        living = {name: (find_variable(name), total) for name, total in state["_sums"].items()}
        sums = {
            name: (weakref.ref(variable), total) for name, (variable, total) in living.items() if variable is not None
        }
        vars(self).update(state, lock=threading.RLock(), _sums=sums)

    def _of(self, names: frozenset[str]) -> dict[str, Tensor]:
        return {name: total for name, (_, total) in self._sums.items() if name in names}

    def _count(self, batch_size: float, names: frozenset[str]) -> list[Array]:
        """Counts a batch; the weight of its gradients."""
        present = self.present | names
        self.present = self._groups.setdefault(present, present)
        self._samples += batch_size
        self.batches += 1
        return [np.array(batch_size, np.float64)]

    def _scales(self, dtypes: Sequence[np.dtype[Any]]) -> list[Array]:
        """What makes means of the sums, in each dtype."""
        return [np.array(1 / self._samples, dtype) for dtype in dtypes]

    def _restart(self) -> list[Array]:
        self.batches, self._samples, self.present = 0, 0.0, _NONE
        return []

    def _sum_for(self, variable: Variable) -> Tensor:
        entry = self._sums.get(variable.name)
        if entry is None or entry[0]() is not variable:
            # Not announced to observers: sums outlive the tidy scope of a batch.
            entry = weakref.ref(variable), Tensor(np.zeros(variable.shape, computing_dtype(variable.storage.dtype)))
            self._sums[variable.name] = entry
        return entry[1]

    def _is_current(self, name: str) -> bool:
        variable = self._sums[name][0]()
        return variable is not None and find_variable(name) is variable


accumulate = GradientAccumulator

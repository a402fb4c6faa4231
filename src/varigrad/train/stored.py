"""What of an optimizer is stored: its arguments, the number of updates, the slots of each variable."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.elsewhere import answer_for
from varigrad.engine import make_tensor
from varigrad.errors import DisposedError
from varigrad.keywords import arguments_by_name, snake_case, suggestion, takes_options
from varigrad.observe import note_reading
from varigrad.tensor import Variable, call_site, find_variable
from varigrad.train.decay import Decay, check_decay
from varigrad.train.named import NamedTensor, list_names, numbers_by_name, update_count
from varigrad.train.schedules import schedule_config, schedule_from_config
from varigrad.train.slots import Slots

__all__ = ["Gradients", "LearningRate", "StoredOptimizer"]

# A number; or a function of the number of updates made so far, such as a schedule.
LearningRate: TypeAlias = float | Callable[[int], float]
# Gradients by variable name; None, for no gradient, leaves the variable as it is.
Gradients: TypeAlias = "Mapping[str, Any] | Sequence[Any]"

_CLIPPING = ("clip_norm", "global_clip_norm", "clip_value")
_OPTIONS = (*_CLIPPING, "weight_decay")


class StoredOptimizer:
    """The base of `Optimizer`: what it holds between steps, how that is saved and restored."""

    class_name: ClassVar[str] = "Optimizer"
    slot_names: tuple[str, ...] = ()
    hyperparameters: ClassVar[tuple[str, ...]] = ("learning_rate",)
    learning_rate: LearningRate

    @takes_options
    def __init__(
        self,
        learning_rate: LearningRate,
        *,
        clip_norm: float | None = None,
        global_clip_norm: float | None = None,
        clip_value: float | None = None,
        weight_decay: Decay | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.clip_norm = clip_norm
        self.global_clip_norm = global_clip_norm
        self.clip_value = clip_value
        self.weight_decay = weight_decay
        self._check_clipping()
        self._iterations: int = 0
        self._slots = Slots(self.class_name)
        self._disposed_at: str | None = None
        self._lock = threading.RLock()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "learning_rate":
            _check_rate(self.class_name, value)
        elif name == "weight_decay":
            check_decay(self.class_name, value)
        elif not self._has_place_for(name):
            known = [*self.hyperparameters, *_OPTIONS]
            raise AttributeError(f"{self.class_name}: has no attribute {name!r}{suggestion(name, known)}")
        object.__setattr__(self, name, value)

    if not TYPE_CHECKING:  # to type checkers such an attribute is none

        def __getattr__(self, name: str) -> Any:
            # Reached only when normal lookup fails.
            hint = answer_for(type(self), name, "optimizer")
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint}")

    def _has_place_for(self, name: str) -> bool:
        """Whether an attribute means anything: those of an optimizer of one's own may have any name."""
        return (
            name.startswith("_")
            or name in self.hyperparameters
            or name in _OPTIONS
            or hasattr(type(self), name)
            or not type(self).__module__.startswith("varigrad.")
        )

    def slot_fill(self, slot: str) -> float:
        """What a slot is filled with at first."""
        return 0.0

    @property
    def iterations(self) -> int:
        """How many updates have been made."""
        return self._iterations

    def get_weights(self) -> list[NamedTensor]:
        """The optimizer's state, as named copies in TensorFlow.js's names and order.

        First `"iter"`, the number of updates; then `"<variable>/<slot>"` for each slot of each variable alive.

        Mirrors `getWeights` of `tf.train.Optimizer`.
        """
        with self._lock:
            arrays = self._slots.read()
            for name in arrays:
                note_reading(cast("Variable", find_variable(name)))
            weights = [NamedTensor("iter", make_tensor(np.array(self._iterations, np.int32)))]
            for slot, suffix in enumerate(self.slot_names):
                weights += [
                    NamedTensor(f"{name}/{suffix}", make_tensor(slots[slot].copy())) for name, slots in arrays.items()
                ]
            return weights

    def set_weights(self, weights: Gradients) -> None:
        """Restores what `get_weights` gave, by name: the number of updates and the slots of each variable.

        It may come before the first step, in a new process, as long as the variables exist. Slots of variables that
        `weights` does not speak of start afresh.

        Args:
            weights: A list of named tensors, or a dict of tensors or arrays by name, such as `numpy.load` gives.

        Raises:
            ValueError: The state is another optimizer's, or that of other variables, or of other shapes; the message
                names the differences. Nothing has changed then.
            DisposedError: The optimizer was disposed of.

        Mirrors `setWeights` of `tf.train.Optimizer`.
        """
        iterations, states = self._parse_weights(weights)
        with self._lock:
            self._check_alive(f"{self.class_name}.set_weights")
            self._slots.restore(states, self._fills())
            self._iterations = iterations

    def _fills(self) -> dict[str, float]:
        return {slot: self.slot_fill(slot) for slot in self.slot_names}

    def _parse_weights(self, weights: Gradients) -> tuple[int, dict[str, list[Array]]]:
        op = f"{self.class_name}.set_weights"
        given = numbers_by_name(op, weights)
        if "iter" not in given:
            has = list_names(given) or "nothing"
            raise ValueError(f"{op}: the state has no 'iter', the number of updates made; got {has}")
        iterations = update_count(op, "iter", given.pop("iter"))
        found: dict[str, dict[str, Array]] = {}
        for key, array in given.items():
            name, _, slot = key.rpartition("/")
            if slot not in self.slot_names:
                raise ValueError(
                    f"{op}: {key!r} is no slot of {self.class_name}, which has "
                    f"{list_names(self.slot_names) or 'none'}; was it saved from another optimizer?"
                )
            found.setdefault(name, {})[slot] = array
        for name, slots in found.items():
            missing = [slot for slot in self.slot_names if slot not in slots]
            if missing:
                raise ValueError(
                    f"{op}: the state of {name!r} lacks {list_names(f'{name}/{slot}' for slot in missing)}"
                )
        return iterations, {name: [slots[slot] for slot in self.slot_names] for name, slots in found.items()}

    def get_class_name(self) -> str:
        """The name by which files know this kind of optimizer, such as `"Adam"`."""
        return self.class_name

    def get_config(self) -> dict[str, Any]:
        """The arguments with which `from_config` makes the same optimizer, without its state."""
        config = {name: getattr(self, name) for name in self.hyperparameters}
        config["learning_rate"] = schedule_config(self.class_name, self.learning_rate)
        for name in _OPTIONS:
            if getattr(self, name) is not None:
                config[name] = getattr(self, name)
        return config

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """An optimizer from what `get_config` gave; TensorFlow.js's camelCase keys are read too."""
        arguments = {snake_case(name): value for name, value in arguments_by_name(cls, config).items()}
        if "learning_rate" in arguments:
            arguments["learning_rate"] = schedule_from_config(arguments["learning_rate"])
        return cls(**arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.get_config(), self.get_weights())

    def dispose(self) -> None:
        """Gives back the memory of the slots at once; the optimizer cannot be used any more."""
        with self._lock:
            self._slots.dispose()
            self._disposed_at = self._disposed_at or call_site()

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.hyperparameters)
        return f"{type(self).__name__}({arguments}, iterations={self._iterations})"

    def _check_alive(self, op: str) -> None:
        if self._disposed_at is not None:
            raise DisposedError(f"{op}: the optimizer was disposed of at {self._disposed_at}")

    def _check_clipping(self) -> None:
        options = {name: getattr(self, name) for name in _CLIPPING}
        chosen = [name for name, value in options.items() if value is not None]
        if len(chosen) > 1:
            raise ValueError(f"{self.class_name}: {' and '.join(chosen)} cannot be combined; choose one")
        for name in chosen:
            value = options[name]
            if not isinstance(value, (int, float)) or not value > 0 or math.isinf(value):
                raise ValueError(f"{self.class_name}: {name} must be a positive number, got {value!r}")


def _check_rate(owner: str, rate: Any) -> None:
    """Refuses a learning rate that is neither a number nor a function. It may be negative, as in TensorFlow.js."""
    if callable(rate):
        return
    try:
        number = float(rate)
    except (TypeError, ValueError):
        number = None
    if number is None or isinstance(rate, (str, bytes)):
        raise TypeError(f"{owner}: learning_rate must be a number or a schedule, got {rate!r:.100}")
    if math.isnan(number):
        raise ValueError(f"{owner}: learning_rate must be a number or a schedule, got nan")


def _restore(cls: type[StoredOptimizer], config: Mapping[str, Any], weights: list[NamedTensor]) -> StoredOptimizer:
    optimizer = cls.from_config(config)
    optimizer.set_weights(weights)
    return optimizer

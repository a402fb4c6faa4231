"""Learning-rate schedules: functions of the number of updates made so far, usable wherever a learning rate is."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, Self, cast

from varigrad.keywords import arguments_by_name, takes_options

__all__ = [
    "Constant",
    "CosineDecay",
    "ExponentialDecay",
    "InverseTimeDecay",
    "JoinedSchedules",
    "LinearWarmup",
    "PiecewiseConstant",
    "PolynomialDecay",
    "Schedule",
    "constant",
    "cosine_decay",
    "exponential_decay",
    "inverse_time_decay",
    "join_schedules",
    "linear_warmup",
    "piecewise_constant",
    "polynomial_decay",
]


class Schedule:
    """Base of the schedules: called with the number of updates made so far, gives the learning rate of the next.

    Steps count from 0 as `optimizer.iterations` does. A subclass defines `__call__` and lists its arguments in
    `arguments`, under which it keeps them; that gives it `get_config` and lets optimizers save it.

    >>> import varigrad as vg
    >>> class Alternating(vg.train.Schedule):
    ...     def __call__(self, step):
    ...         return 0.1 if step % 2 else 0.2
    >>> optimizer = vg.train.sgd(Alternating())
    >>> optimizer.current_learning_rate
    0.2
    """

    arguments: ClassVar[tuple[str, ...]] = ()
    _classes: ClassVar[dict[str, type[Schedule]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        Schedule._classes[cls.__name__] = cls

    def __call__(self, step: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define __call__")

    def get_config(self) -> dict[str, Any]:
        """The arguments with which `from_config` makes the same schedule."""
        return {name: schedule_config(type(self).__name__, getattr(self, name)) for name in self.arguments}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """A schedule from what `get_config` gave."""
        return cls(**{name: schedule_from_config(value) for name, value in arguments_by_name(cls, config).items()})

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.get_config() == cast("Schedule", other).get_config()

    __hash__ = None  # pyright: ignore[reportAssignmentType]  (equal by value, and its attributes can be changed)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.arguments)})"


class Constant(Schedule):
    """The same rate always; of use as a part of `join_schedules`.

    >>> import varigrad as vg
    >>> vg.train.constant(0.1)(1000)
    0.1
    """

    arguments = ("learning_rate",)

    @takes_options
    def __init__(self, learning_rate: float) -> None:
        self.learning_rate = _number(self, "learning_rate", learning_rate)

    def __call__(self, step: int) -> float:
        return self.learning_rate


class PiecewiseConstant(Schedule):
    """Steps: `values[0]` up to and including step `boundaries[0]`, then `values[1]` up to `boundaries[1]`, and so on.

    As Keras's `PiecewiseConstantDecay`.

    Args:
        boundaries: Step numbers, rising.
        values: Rates, one more than there are boundaries.

    >>> import varigrad as vg
    >>> rate = vg.train.piecewise_constant([100, 200], [0.1, 0.01, 0.001])
    >>> rate(100), rate(101), rate(201)
    (0.1, 0.01, 0.001)
    """

    arguments = ("boundaries", "values")

    @takes_options
    def __init__(self, boundaries: Sequence[float], values: Sequence[float]) -> None:
        self.boundaries = _rising("piecewise_constant", boundaries)
        self.values = [_number(self, "values", value) for value in values]
        if len(self.values) != len(self.boundaries) + 1:
            raise ValueError(
                f"piecewise_constant: {len(self.boundaries)} boundaries need {len(self.boundaries) + 1} values, "
                f"got {len(self.values)}"
            )

    def __call__(self, step: int) -> float:
        return self.values[bisect_left(self.boundaries, step)]


class ExponentialDecay(Schedule):
    """`initial_learning_rate * decay_rate ^ (step / decay_steps)`, as Keras's `ExponentialDecay`.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: In how many steps the rate is multiplied by `decay_rate`.
        decay_rate: The factor.
        staircase: Whether to divide as integers, so that the rate drops at once every `decay_steps` (step decay).

    >>> import varigrad as vg
    >>> vg.train.exponential_decay(0.1, decay_steps=10, decay_rate=0.5)(20)
    0.025
    >>> vg.train.exponential_decay(0.1, 10, 0.5, staircase=True)(19)
    0.05
    """

    arguments = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase")

    @takes_options
    def __init__(
        self, initial_learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False
    ) -> None:
        self.initial_learning_rate = _number(self, "initial_learning_rate", initial_learning_rate)
        self.decay_steps = _positive(self, "decay_steps", decay_steps)
        self.decay_rate = _positive(self, "decay_rate", decay_rate)
        self.staircase = bool(staircase)

    def __call__(self, step: int) -> float:
        return self.initial_learning_rate * self.decay_rate ** _progress(step, self.decay_steps, self.staircase)


class InverseTimeDecay(Schedule):
    """`initial_learning_rate / (1 + decay_rate * step / decay_steps)`, as Keras's `InverseTimeDecay`.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: The unit in which steps are counted.
        decay_rate: How fast the rate falls.
        staircase: Whether to divide `step` by `decay_steps` as integers.

    >>> import varigrad as vg
    >>> vg.train.inverse_time_decay(0.1, decay_steps=1, decay_rate=0.5)(2)
    0.05
    """

    arguments = ("initial_learning_rate", "decay_steps", "decay_rate", "staircase")

    @takes_options
    def __init__(
        self, initial_learning_rate: float, decay_steps: float, decay_rate: float, staircase: bool = False
    ) -> None:
        self.initial_learning_rate = _number(self, "initial_learning_rate", initial_learning_rate)
        self.decay_steps = _positive(self, "decay_steps", decay_steps)
        self.decay_rate = _number(self, "decay_rate", decay_rate)
        self.staircase = bool(staircase)

    def __call__(self, step: int) -> float:
        return self.initial_learning_rate / (1 + self.decay_rate * _progress(step, self.decay_steps, self.staircase))


class PolynomialDecay(Schedule):
    """From `initial_learning_rate` to `end_learning_rate` in `decay_steps`, then constant:
    (initial - end) * (1 - step / decay_steps) ^ power + end, as Keras's `PolynomialDecay`; linear by default.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: The length of the decay.
        end_learning_rate: The rate after it.
        power: The exponent.

    >>> import varigrad as vg
    >>> vg.train.polynomial_decay(1.0, decay_steps=10, end_learning_rate=0.0)(5)
    0.5
    """

    arguments = ("initial_learning_rate", "decay_steps", "end_learning_rate", "power")

    @takes_options
    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
    ) -> None:
        self.initial_learning_rate = _number(self, "initial_learning_rate", initial_learning_rate)
        self.decay_steps = _positive(self, "decay_steps", decay_steps)
        self.end_learning_rate = _number(self, "end_learning_rate", end_learning_rate)
        self.power = _positive(self, "power", power)

    def __call__(self, step: int) -> float:
        left = 1 - min(step, self.decay_steps) / self.decay_steps
        return (self.initial_learning_rate - self.end_learning_rate) * left**self.power + self.end_learning_rate


class CosineDecay(Schedule):
    """Half a cosine from `initial_learning_rate` down to alpha times it in `decay_steps`, then constant.

    Loshchilov and Hutter's (arXiv:1608.03983) without restarts, as Keras's `CosineDecay`:

        initial_learning_rate * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha)

    With `warmup_target`, a linear rise from `initial_learning_rate` to it over `warmup_steps` comes first, and the
    decay starts from the target.

    Args:
        initial_learning_rate: The rate at step 0.
        decay_steps: The length of the decay, not counting the warm-up.
        alpha: The smallest rate, as a fraction of the largest.
        warmup_target: The rate to rise to first; None for no warm-up.
        warmup_steps: The length of the warm-up.

    >>> import varigrad as vg
    >>> rate = vg.train.cosine_decay(0.2, decay_steps=100)
    >>> rate(0), round(rate(50), 6), rate(100)
    (0.2, 0.1, 0.0)
    """

    arguments = ("initial_learning_rate", "decay_steps", "alpha", "warmup_target", "warmup_steps")

    @takes_options
    def __init__(
        self,
        initial_learning_rate: float,
        decay_steps: float,
        alpha: float = 0.0,
        warmup_target: float | None = None,
        warmup_steps: float = 0,
    ) -> None:
        self.initial_learning_rate = _number(self, "initial_learning_rate", initial_learning_rate)
        self.decay_steps = _positive(self, "decay_steps", decay_steps)
        self.alpha = _number(self, "alpha", alpha)
        self.warmup_target = None if warmup_target is None else _number(self, "warmup_target", warmup_target)
        self.warmup_steps = _number(self, "warmup_steps", warmup_steps)

    def __call__(self, step: int) -> float:
        top = self.initial_learning_rate
        if self.warmup_target is not None:
            if step < self.warmup_steps:
                return top + (self.warmup_target - top) * step / self.warmup_steps
            top = self.warmup_target
            step -= int(self.warmup_steps)
        done = min(step, self.decay_steps) / self.decay_steps
        return top * ((1 - self.alpha) * 0.5 * (1 + math.cos(math.pi * done)) + self.alpha)


class LinearWarmup(Schedule):
    """A linear rise over `warmup_steps` to a rate, or to the start of a schedule that then takes over.

    The schedule counts from its own step 0. Source: Goyal et al., arXiv:1706.02677.

    Args:
        learning_rate: A number or a schedule.
        warmup_steps: The length of the rise.
        initial_learning_rate: The rate at step 0.

    >>> import varigrad as vg
    >>> rate = vg.train.linear_warmup(vg.train.cosine_decay(0.4, 100), warmup_steps=4)
    >>> rate(0), rate(1), rate(4), rate(104)
    (0.0, 0.1, 0.4, 0.0)
    """

    arguments = ("learning_rate", "warmup_steps", "initial_learning_rate")

    @takes_options
    def __init__(
        self, learning_rate: float | Callable[[int], float], warmup_steps: int, initial_learning_rate: float = 0.0
    ) -> None:
        self.learning_rate = learning_rate if callable(learning_rate) else _number(self, "learning_rate", learning_rate)
        self.warmup_steps = int(_positive(self, "warmup_steps", warmup_steps))
        self.initial_learning_rate = _number(self, "initial_learning_rate", initial_learning_rate)

    def __call__(self, step: int) -> float:
        if step < self.warmup_steps:
            rise = _rate(self.learning_rate, 0) - self.initial_learning_rate
            return self.initial_learning_rate + rise * step / self.warmup_steps
        return _rate(self.learning_rate, step - self.warmup_steps)


class JoinedSchedules(Schedule):
    """Schedules one after the other; from each boundary on the next one runs, with its own step 0.

    Args:
        schedules: Numbers or schedules, one more than there are boundaries.
        boundaries: The steps at which the second and later ones begin, rising.

    >>> import varigrad as vg
    >>> rate = vg.train.join_schedules([0.1, vg.train.exponential_decay(0.1, 1, 0.5)], boundaries=[10])
    >>> rate(9), rate(10), rate(11)
    (0.1, 0.1, 0.05)
    """

    arguments = ("schedules", "boundaries")

    @takes_options
    def __init__(self, schedules: Sequence[float | Callable[[int], float]], boundaries: Sequence[int]) -> None:
        self.boundaries = _rising("join_schedules", boundaries)
        self.schedules = list(schedules)
        if len(self.schedules) != len(self.boundaries) + 1:
            raise ValueError(
                f"join_schedules: {len(self.schedules)} schedules need {len(self.schedules) - 1} boundaries, "
                f"got {len(self.boundaries)}"
            )

    def __call__(self, step: int) -> float:
        position = bisect_left(self.boundaries, step + 1)
        start = self.boundaries[position - 1] if position else 0
        return _rate(self.schedules[position], step - int(start))


constant = Constant
piecewise_constant = PiecewiseConstant
exponential_decay = ExponentialDecay
inverse_time_decay = InverseTimeDecay
polynomial_decay = PolynomialDecay
cosine_decay = CosineDecay
linear_warmup = LinearWarmup
join_schedules = JoinedSchedules


def schedule_config(owner: str, value: Any) -> Any:
    """A learning rate, or a list of them, as plain data: numbers, and the class name and config of schedules."""
    if isinstance(value, Schedule):
        return {"class_name": type(value).__name__, "config": value.get_config()}
    if callable(value):
        raise TypeError(
            f"{owner}: the learning rate {value!r} is a function, which cannot be saved; use a subclass of "
            "vg.train.Schedule instead"
        )
    if isinstance(value, list):
        return [schedule_config(owner, item) for item in cast("list[Any]", value)]
    return value


def schedule_from_config(config: Any) -> Any:
    """What `schedule_config` described."""
    if isinstance(config, list):
        return [schedule_from_config(item) for item in cast("list[Any]", config)]
    if not isinstance(config, Mapping):
        return config
    described = cast("Mapping[str, Any]", config)
    known = Schedule._classes  # pyright: ignore[reportPrivateUsage]
    name = described.get("class_name")
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"schedule: no schedule is called {name!r}; there is {', '.join(sorted(known))}")
    return known[name].from_config(described.get("config", {}))


def _rate(rate: float | Callable[[int], float], step: int) -> float:
    return float(rate(step)) if callable(rate) else float(rate)


def _progress(step: int, decay_steps: float, staircase: bool) -> float:
    return math.floor(step / decay_steps) if staircase else step / decay_steps


def _number(schedule: Schedule, argument: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{type(schedule).__name__}: {argument} must be a finite number, got {value!r}")
    return value


def _positive(schedule: Schedule, argument: str, value: Any) -> float:
    if _number(schedule, argument, value) <= 0:
        raise ValueError(f"{type(schedule).__name__}: {argument} must be positive, got {value!r}")
    return value


def _rising(op: str, boundaries: Sequence[float]) -> list[float]:
    listed = list(boundaries)
    if any(b <= a for a, b in pairwise(listed)):
        raise ValueError(f"{op}: boundaries must rise, got {listed}")
    return listed

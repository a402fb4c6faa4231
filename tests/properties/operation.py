"""What the tables are made of: an op, how to draw arguments for it, and what else computes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import varigrad as vg

from .draw import Draw


@dataclass(frozen=True)
class Case:
    """Arguments of one call: by position, and, where TensorFlow.js takes an object of options, by name.

    NumPy arrays stand for tensors.
    """

    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def arrays(self) -> list[np.ndarray[Any, Any]]:
        """The tensors among the arguments."""
        found: list[np.ndarray[Any, Any]] = []

        def look(value: Any) -> None:
            if isinstance(value, np.ndarray):
                found.append(value)
            elif isinstance(value, (list, tuple)):
                for item in value:
                    look(item)

        look([*self.args, *self.options.values()])
        return found

    def with_tensors(self) -> Case:
        """The call as VariGrad takes it."""
        return Case(_tensors(self.args), _tensors(self.options))

    def has(self, kinds: str) -> bool:
        """Whether a tensor among the arguments has one of these NumPy kinds."""
        return any(array.dtype.kind in kinds for array in self.arrays())

    def __str__(self) -> str:
        given = [*map(_shown, self.args), *(f"{name}={_shown(value)}" for name, value in self.options.items())]
        return ", ".join(given)


def _tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return vg.tensor(value)
    if isinstance(value, dict):
        return {name: _tensors(item) for name, item in value.items()}
    return type(value)(_tensors(item) for item in value) if isinstance(value, (list, tuple)) else value


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"vg.tensor({value.tolist()}, {list(value.shape)}, {_dtype(value)!r})"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def _dtype(array: np.ndarray[Any, Any]) -> str:
    return "string" if array.dtype.kind == "O" else array.dtype.name


@dataclass(frozen=True)
class Difference:
    """A place where VariGrad means to differ from TensorFlow.js, and why."""

    reason: str
    when: Callable[[Case], bool] = lambda case: True


@dataclass(frozen=True)
class Op:
    """One row of the tables.

    Attributes:
        name: Its path below `vg`, which is also the path below `tf`, by the naming rule.
        draw: Draws a `Case`, or a tuple of arguments by position.
        numpy: The same in NumPy or SciPy: a function of the arguments in double precision, to what the op returns
            (tuples for several tensors). None if only TensorFlow.js has it.
        ulps: How many units in the last place of float32 a result may be off: of the result itself, or of `size`.
        size: What the errors are measured by, where that is not the result: a function of the arguments. `"terms"` for
            ops that are sums of products, whose errors are measured by the sum of the absolute products.
        gradients: The positions of the arguments whose gradients are compared with TensorFlow.js's.
        differs: Where TensorFlow.js is not followed.
        gradient_differs: Where its gradient is not.
        javascript: Whether TensorFlow.js has it; a text says why not.
        gradient_ulps: As `ulps`, for gradients, of the largest entry of the gradient.
    """

    name: str
    draw: Callable[[Draw], Any]
    numpy: Callable[..., Any] | None = None
    ulps: float = 4
    size: Callable[..., Any] | str | None = None
    gradients: tuple[int, ...] = ()
    differs: tuple[Difference, ...] = ()
    gradient_differs: tuple[Difference, ...] = ()
    javascript: bool | str = True
    gradient_ulps: float = 32

    def case(self, seed: int, number: int) -> Case:
        """The case of that number."""
        drawn = self.draw(Draw([seed, number, *self.name.encode()]))
        return drawn if isinstance(drawn, Case) else Case(drawn)


def differs(reason: str, when: Callable[[Case], bool] = lambda case: True) -> tuple[Difference, ...]:
    """One difference, as a tuple to be added to others."""
    return (Difference(reason, when),)


def has(kinds: str) -> Callable[[Case], bool]:
    """Whether a case has tensors of these kinds."""
    return lambda case: case.has(kinds)


def empty(case: Case) -> bool:
    """Whether a case has a tensor without values."""
    return any(not array.size for array in case.arrays())


def shapes_differ(case: Case) -> bool:
    """Whether arguments are broadcast."""
    return len({array.shape for array in case.arrays()}) > 1


def not_finite(case: Case) -> bool:
    """Whether a case has infinities or NaN."""
    return any(not np.isfinite(array).all() for array in case.arrays() if array.dtype.kind in "fc")

"""Decoupled weight decay (Loshchilov and Hutter, arXiv:1711.05101): what `weight_decay` of an optimizer does."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.engine import host_tensors
from varigrad.halves import computing_dtype
from varigrad.ops.arguments import cast_to
from varigrad.ops.arithmetic import mul
from varigrad.ops.assignment import assign
from varigrad.tensor import Tensor, Variable

__all__ = ["Decay", "check_decay", "remaining", "shrink"]

# How much of every variable goes at a step of learning rate 1; or by patterns of the variables' names.
Decay: TypeAlias = float | Mapping[str, float]


class Decaying(Protocol):
    """An optimizer, as far as its variables decay."""

    weight_decay: Decay | None

    @property
    def current_learning_rate(self) -> float:
        """The learning rate of the next update."""
        ...


def check_decay(owner: str, decay: Any) -> None:
    """Raises an error unless this is None, a number that is not negative, or a dict of such numbers by pattern."""
    amounts = cast("Mapping[Any, Any]", decay) if isinstance(decay, Mapping) else {"*": 0 if decay is None else decay}
    for pattern, amount in amounts.items():
        if not isinstance(pattern, str) or not isinstance(amount, (int, float)) or not 0 <= amount < math.inf:
            raise ValueError(
                f"{owner}: weight_decay must be a number of at least 0, or a dict of such numbers by patterns of "
                f"variables' names such as {{'*/kernel': 0.01}}, got {decay!r:.200}"
            )


def remaining(optimizer: Decaying, variables: Sequence[Variable]) -> list[tuple[Variable, Tensor]]:
    """The variables that decay at the next step, each with the part of it that remains."""
    amounts = [(variable, amount) for variable in variables if (amount := _amount(optimizer.weight_decay, variable))]
    kinds = [(amount, computing_dtype(variable.storage.dtype)) for variable, amount in amounts]
    each = list(dict.fromkeys(kinds))

    def parts() -> list[Array]:
        rate = optimizer.current_learning_rate
        return [np.array(1 - rate * amount, dtype) for amount, dtype in each]

    found = dict(zip(each, host_tensors(parts)))
    return [(variable, found[kind]) for (variable, _), kind in zip(amounts, kinds, strict=True)]


def shrink(variable: Variable, part: Tensor) -> None:
    """Leaves so much of a variable; in the dtype of the part, and rounded then."""
    if variable.dtype == part.dtype:
        assign(variable, mul(variable, part))
    else:
        assign(variable, cast_to(mul(cast_to(variable, part.dtype), part), variable.dtype))


def _amount(decay: Decay | None, variable: Variable) -> float:
    """The decay of a variable: that of the first pattern which fits its name."""
    if not isinstance(decay, Mapping):
        return decay or 0.0
    names = (variable.name, variable.original_name)
    fitting = (amount for pattern, amount in decay.items() if any(fnmatchcase(name, pattern) for name in names))
    return next(fitting, 0.0)

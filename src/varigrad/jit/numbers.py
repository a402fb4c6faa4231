"""Numbers that are passed to a step: inputs of it, as tensors are, as long as nobody looks at their value.

While a step is captured it gets a `Number` in place of each float. Arithmetic on it gives another `Number`, so
`x * (1 - rate)` runs with whatever rate is given later. Anything else that is done with it, such as `if rate > 0` or
`math.sqrt(rate)`, needs the value: that is then part of what the step is compiled for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import Array
from varigrad.jit.graph import FIRST_NUMBER

__all__ = ["Number", "NumberLog"]

# From the leaves of a call's arguments to a Python number.
Formula = Callable[[Sequence[Any]], float]


class NumberLog:
    """What a capture learns of its numbers: which have been looked at, and which arrays were made of them."""

    def __init__(self) -> None:
        self.looked_at: set[int] = set()  # positions among the leaves
        self._made: dict[int, tuple[Array, Number]] = {}

    def look_at(self, depends: int) -> None:
        """Notes that the values of these numbers, given as the bits of a value's `depends`, are known to the step."""
        position = 0
        bits = depends // FIRST_NUMBER
        while bits:
            if bits & 1:
                self.looked_at.add(position)
            bits >>= 1
            position += 1

    def array_of(self, number: Number, dtype: Any) -> Array:
        """An array of rank 0, by which the number will be recognised when a tensor is made of it."""
        array = np.array(number.value, dtype)
        self._made[id(array)] = array, number
        return array

    def claim(self, array: Array) -> Number | None:
        """The number that an array was made of, if it was."""
        made = self._made.pop(id(array), None)
        if made is None:
            return None
        return made[1]

    def close(self) -> None:
        """The arrays that no tensor was made of went elsewhere, with the values in them."""
        for _, number in self._made.values():
            self.look_at(number.depends)
        self._made.clear()


class Number:
    """A float of which is known how it follows from the arguments. To `isinstance` it is a float."""

    __slots__ = ("_log", "depends", "formula", "text", "value")

    def __init__(self, value: float, formula: Formula, depends: int, text: str, log: NumberLog) -> None:
        self.value = value
        self.formula = formula
        self.depends = depends
        self.text = text
        self._log = log

    @property
    def __class__(self) -> type:  # pyright: ignore
        return float

    def look_at(self) -> float:
        """The value, which the step knows from now on."""
        self._log.look_at(self.depends)
        return self.value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._log.array_of(self, dtype)

    def __float__(self) -> float:
        return self.look_at()

    def __getattr__(self, name: str) -> Any:
        if not hasattr(float, name):
            raise AttributeError(f"'float' object has no attribute {name!r}")
        return getattr(self.look_at(), name)  # is_integer, as_integer_ratio …

    def __hash__(self) -> int:
        return hash(self.look_at())

    def __repr__(self) -> str:
        return repr(self.look_at())

    def __format__(self, spec: str) -> str:
        return format(self.look_at(), spec)

    def __reduce__(self) -> Any:
        return float, (self.look_at(),)


def _binary(function: Callable[[Any, Any], Any], symbol: str, swapped: bool) -> Callable[[Number, Any], Any]:
    def apply(self: Number, other: Any) -> Any:
        if type(other) is Number:
            depends, formula, text = self.depends | other.depends, other.formula, other.text
            known = other.value
        elif type(other) in (int, float):
            depends, known, text = self.depends, other, repr(other)

            def constant(_: Sequence[Any]) -> Any:
                return other

            formula = constant
        else:
            return NotImplemented
        mine = self.formula
        if swapped:
            return Number(
                function(known, self.value),
                lambda leaves: function(formula(leaves), mine(leaves)),
                depends,
                f"({text} {symbol} {self.text})",
                self._log,  # pyright: ignore[reportPrivateUsage]
            )
        return Number(
            function(self.value, known),
            lambda leaves: function(mine(leaves), formula(leaves)),
            depends,
            f"({self.text} {symbol} {text})",
            self._log,  # pyright: ignore[reportPrivateUsage]
        )

    return apply


def _unary(function: Callable[[Any], Any], text: str) -> Callable[[Number], Any]:
    def apply(self: Number) -> Any:
        mine = self.formula
        return Number(
            function(self.value),
            lambda leaves: function(mine(leaves)),
            self.depends,
            text.format(self.text),
            self._log,  # pyright: ignore[reportPrivateUsage]
        )

    return apply


def _looking(name: str) -> Callable[..., Any]:
    def apply(self: Number, *others: Any) -> Any:
        return getattr(self.look_at(), name)(*[o.look_at() if type(o) is Number else o for o in others])

    return apply


_TRACED: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "add": ("+", operator.add),
    "sub": ("-", operator.sub),
    "mul": ("*", operator.mul),
    "truediv": ("/", operator.truediv),  # pyright: ignore[reportUnknownMemberType]
}
_LOOKED_AT = (
    *("eq", "ne", "lt", "le", "gt", "ge", "bool", "int", "trunc", "floor", "ceil", "round"),
    *("floordiv", "rfloordiv", "mod", "rmod", "divmod", "rdivmod", "pow", "rpow"),
)

for _name, (_symbol, _function) in _TRACED.items():
    setattr(Number, f"__{_name}__", _binary(_function, _symbol, swapped=False))
    setattr(Number, f"__r{_name}__", _binary(_function, _symbol, swapped=True))
Number.__neg__ = _unary(operator.neg, "(-{})")  # pyright: ignore[reportAttributeAccessIssue]
Number.__pos__ = _unary(operator.pos, "(+{})")  # pyright: ignore[reportAttributeAccessIssue]
Number.__abs__ = _unary(operator.abs, "abs({})")  # pyright: ignore[reportAttributeAccessIssue]
for _name in _LOOKED_AT:
    setattr(Number, f"__{_name}__", _looking(f"__{_name}__"))

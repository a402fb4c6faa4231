"""Random arguments: shapes, arrays, axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Few lengths, so that 0 and 1 come up often and the cases stay small.
_LENGTHS = [0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5]
_SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


class Draw:
    """Draws arguments; the same seed draws the same."""

    def __init__(self, seed: Sequence[int]) -> None:
        self.random = np.random.default_rng(seed)

    # Choices

    def chance(self, probability: float = 0.5) -> bool:
        return bool(self.random.random() < probability)

    def one_of(self, *choices: Any) -> Any:
        return choices[self.random.integers(len(choices))]

    def integer(self, low: int, high: int) -> int:
        """From `low` to `high`, both among them."""
        return int(self.random.integers(low, high + 1))

    def number(self, low: float, high: float) -> float:
        """A number that float32 holds exactly, so that every implementation is given the same."""
        return float(np.float32(self.random.uniform(low, high)))

    def some_of(self, count: int, at_least: int = 0) -> list[int]:
        """Some of `range(count)`, in any order."""
        size = self.integer(min(at_least, count), count)
        return self.random.permutation(count)[:size].tolist()

    # Shapes and axes

    def length(self, at_least: int = 0) -> int:
        return max(at_least, self.one_of(*_LENGTHS))

    def shape(self, low: int = 0, high: int = 4, at_least: int = 0) -> tuple[int, ...]:
        """A shape of rank `low` to `high`, no axis shorter than `at_least`."""
        return tuple(self.length(at_least) for _ in range(self.integer(low, high)))

    def broadcasting(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts to another."""
        kept = shape[self.integer(0, len(shape)) :] if self.chance(0.3) else shape
        return tuple(1 if self.chance(0.2) else n for n in kept)

    def axis(self, rank: int) -> int:
        return self.integer(-rank, rank - 1)

    def axes(self, rank: int) -> int | list[int] | None:
        """What reductions take for their axis: none, one, or several, counted from either end."""
        if not rank or self.chance(0.25):
            return None
        if self.chance():
            return self.axis(rank)
        return [a - rank if self.chance(0.3) else a for a in self.some_of(rank)]

    # Arrays

    def floats(self, shape: Sequence[int], low: float = -3.0, high: float = 3.0, special: float = 0.0) -> Array:
        """float32 from `low` to `high`: sometimes whole, so that values tie; `special` is how likely infinities, NaN
        and zeros of both signs are to be among them."""
        values = np.asarray(self.random.uniform(low, high, shape), np.float32)
        if self.chance(0.25):
            values = np.asarray(np.clip(np.rint(values), np.ceil(low), np.floor(high)), np.float32)
        if special and self.chance(special):
            places = self.random.random(shape) < 0.3
            values = np.asarray(np.where(places, self.random.choice(_SPECIAL, shape), values), np.float32)
        return values

    def integers(self, shape: Sequence[int], low: int = -5, high: int = 5) -> Array:
        return np.asarray(self.random.integers(low, high, shape, np.int32, endpoint=True))

    def bools(self, shape: Sequence[int], share: float = 0.5) -> Array:
        return np.asarray(self.random.random(shape) < share)

    def complexes(self, shape: Sequence[int]) -> Array:
        return np.asarray(self.floats(shape) + 1j * self.floats(shape), np.complex64)

    def strings(self, shape: Sequence[int], letters: str = "ab c,", longest: int = 6) -> Array:
        def text() -> str:
            return "".join(self.random.choice(list(letters), self.integer(0, longest)))

        array = np.empty(shape, object)
        for place in np.ndindex(*shape):
            array[place] = text()
        return array

    def array(self, shape: Sequence[int], kinds: str = "fib", special: float = 0.0) -> Array:
        """An array of one of the kinds: float32, int32, bool, complex64, string."""
        match self.one_of(*kinds):
            case "f":
                return self.floats(shape, special=special)
            case "i":
                return self.integers(shape)
            case "b":
                return self.bools(shape)
            case "c":
                return self.complexes(shape)
            case _:
                return self.strings(shape)

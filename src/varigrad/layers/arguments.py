"""How layers check their arguments."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, TypeAlias, cast

from varigrad.layers.naming import spelling_key

__all__ = [
    "Shape",
    "any_seed",
    "as_given",
    "axis_list",
    "axis_or_axes",
    "boolean",
    "choice",
    "integer",
    "integers",
    "number",
    "one_shape",
    "partial_shape",
    "positive_integer",
    "seed_or_none",
    "whole_numbers",
]

_LARGEST = sys.float_info.max

# A shape whose unknown axes, such as the batch, are None.
Shape: TypeAlias = tuple[int | None, ...]


def one_shape(shape: Any) -> Any:
    """The shape, or list of shapes; a list of lengths, as TensorFlow.js has shapes, is one shape.

    >>> one_shape([None, 3]), one_shape([(None, 3), (None, 4)])
    ((None, 3), [(None, 3), (None, 4)])
    """
    if isinstance(shape, list):
        lengths = cast("list[Any]", shape)
        if lengths and all(length is None or isinstance(length, Integral) for length in lengths):
            return tuple(lengths)
    return cast("Any", shape)


def as_given(owner: str, argument: str, value: Any) -> Any:
    """The argument, whatever it is."""
    return value


def positive_integer(owner: str, argument: str, value: Any) -> int:
    """The argument as an int of at least 1."""
    try:
        integer = operator.index(value)
    except TypeError:
        # Files hold whole numbers as floats too.
        integer = int(value) if isinstance(value, float) and value.is_integer() else 0
    if integer < 1 or isinstance(value, bool):
        raise ValueError(f"{owner}: {argument} must be a positive integer, got {value!r}")
    return integer


def integers(owner: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """The argument, a positive integer or `count` of them, as a tuple of `count`."""
    if not isinstance(value, (list, tuple)):
        return (positive_integer(owner, argument, value),) * count
    items = cast("Sequence[Any]", value)
    if len(items) != count:
        raise ValueError(f"{owner}: {argument} must be an integer or {count} of them, got {list(items)}")
    return tuple(positive_integer(owner, argument, item) for item in items)


def whole_numbers(owner: str, argument: str, value: Any, count: int) -> tuple[int, ...]:
    """The argument, an integer of at least 0 or `count` of them, as a tuple of `count`."""
    items = list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value] * count
    if len(items) != count:
        raise ValueError(f"{owner}: {argument} must be an integer or {count} of them, got {items}")
    numbers: list[int] = []
    for item in items:
        if not _is_whole(item) or item < 0:
            raise ValueError(f"{owner}: {argument} must be 0 or a positive integer, got {item!r}")
        numbers.append(int(item))
    return tuple(numbers)


def integer(owner: str, argument: str, value: Any) -> int:
    """The argument as an int."""
    if not _is_whole(value):
        raise ValueError(f"{owner}: {argument} must be an integer, got {value!r}")
    return int(value)


def _is_whole(value: Any) -> bool:
    """Whether it is an integer; files hold these as floats too."""
    if isinstance(value, float):
        return value.is_integer()
    return hasattr(value, "__index__") and not isinstance(value, bool)


def axis_list(owner: str, argument: str, value: Any) -> tuple[int, ...]:
    """The argument, an axis or a list of different axes, as a tuple; negative ones count from the end."""
    items = list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]
    axes: list[int] = []
    for item in items:
        if not _is_whole(item):
            raise ValueError(f"{owner}: {argument} must be an integer or a list of integers, got {value!r}")
        axes.append(int(item))
    if not axes or len(set(axes)) < len(axes):
        raise ValueError(f"{owner}: {argument} must name one axis or several different ones, got {value!r}")
    return tuple(axes)


def axis_or_axes(owner: str, argument: str, value: Any) -> int | tuple[int, ...]:
    """The argument, an axis or a list of different axes, in the form in which it came."""
    axes = axis_list(owner, argument, value)
    return axes if isinstance(value, (list, tuple)) else axes[0]


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's; and a bool, which is no number here, as something else."""
    if isinstance(value, bool):
        return (value,)
    if isinstance(value, (int, float)) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def number(owner: str, argument: str, given: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """The argument as a finite number from `low` to `high`."""
    value = _plain(given)
    if isinstance(value, (int, float)) and low <= value <= high and abs(value) <= _LARGEST:
        return value
    limits = "" if low == -math.inf else f" of at least {low:g}" if high == math.inf else f" from {low:g} to {high:g}"
    raise ValueError(f"{owner}: {argument} must be a number{limits}, got {given!r:.100}")


def boolean(owner: str, argument: str, value: Any) -> bool:
    """The argument as a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{owner}: {argument} must be True or False, got {value!r}")
    return value


def seed_or_none(owner: str, argument: str, value: Any) -> int | None:
    """A seed: an integer, or None for one of chance."""
    seed = _plain(value)
    if not (seed is None or isinstance(seed, int)):
        raise TypeError(f"{owner}: {argument} must be an integer or None, got {value!r:.100}")
    return seed


def any_seed(owner: str, value: Any) -> int | float | str | None:
    """A seed of random numbers, in all the forms that these take."""
    seed = _plain(value)
    if not (seed is None or isinstance(seed, (int, float, str))):
        raise TypeError(f"{owner}: seed must be a number, a string or None, got {value!r:.100}")
    return seed


def choice(owner: str, argument: str, value: Any, options: tuple[str, ...]) -> str:
    """The argument as one of the options, camelCase spellings included."""
    if isinstance(value, str):
        for option in options:
            if spelling_key(option) == spelling_key(value):
                return option
    raise ValueError(f"{owner}: {argument} must be one of {', '.join(options)}, got {value!r}")


def partial_shape(owner: str, argument: str, value: Any) -> Shape:
    """The argument as a shape; None and negative lengths mean unknown."""
    if isinstance(value, int):
        value = (value,)
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{owner}: {argument} must be a list of lengths, got {value!r}")
    lengths: list[int | None] = []
    for length in cast("Sequence[Any]", value):
        if length is None or (isinstance(length, int) and length < 0):
            lengths.append(None)
        elif isinstance(length, bool) or not hasattr(length, "__index__"):
            raise TypeError(f"{owner}: {argument} must be a list of lengths, got {value!r}")
        else:
            lengths.append(operator.index(length))
    return tuple(lengths)

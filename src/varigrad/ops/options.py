"""How ops check the arguments that are no tensors: numbers, integers, flags and words.

What they return is plain Python, fit for an attribute of a kernel.
"""

from __future__ import annotations

import numbers
import operator
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

__all__ = ["flag", "integer", "integers", "items_of", "number", "one_of", "text"]

_LARGEST = int(sys.float_info.max)


def number(op: str, argument: str, value: Any) -> float:
    """A real number; an int stays one.

    Raises:
        TypeError: It is none.
        ValueError: It is an integer larger than any float.
    """
    if value.__class__ is float or (value.__class__ is int and -_LARGEST <= value <= _LARGEST):
        return value
    if isinstance(value, numbers.Real) or (getattr(value, "shape", None) == () and not isinstance(value, np.generic)):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"{op}: {argument} {_shown(value)} is too large") from None
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{op}: {argument} must be a number, got {_shown(value)}")


def integer(op: str, argument: str, value: Any, least: int | None = 0) -> int:
    """An integer of at least `least`, if that is not None.

    Raises:
        TypeError: It is no integer.
        ValueError: It is too small, or larger than any length.
    """
    try:
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{op}: {argument} must be an integer, got {_shown(value)}") from None
    if least is not None and found < least:
        wanted = f"be {least} or more" if least else "not be negative"
        raise ValueError(f"{op}: {argument} must {wanted}, got {_shown(found)}")
    if abs(found) > sys.maxsize:
        raise ValueError(f"{op}: {argument} {_shown(found)} is too large")
    return found


def integers(op: str, argument: str, value: Any, least: int | None = 0) -> tuple[int, ...]:
    """The integers in a list, each as `integer` takes it."""
    items = items_of(op, argument, value)
    return tuple([integer(op, f"{argument}[{place}]", item, least) for place, item in enumerate(items)])


def flag(op: str, argument: str, value: Any) -> bool:
    """True or False.

    Raises:
        TypeError: It is neither.
    """
    if value is True or value is False:
        return value
    if isinstance(value, np.bool_) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)  # pyright: ignore[reportUnknownArgumentType]
    raise TypeError(f"{op}: {argument} must be True or False, got {_shown(value)}")


def one_of(op: str, argument: str, value: Any, words: Iterable[str]) -> str:
    """One of some words.

    Raises:
        ValueError: It is none of them.
    """
    if isinstance(value, str) and value in words:
        return value
    *others, last = map(repr, words)
    known = f"{', '.join(others)} or {last}" if others else last
    raise ValueError(f"{op}: {argument} must be {known}, got {_shown(value)}")


def text(op: str, argument: str, value: Any) -> str:
    """A string.

    Raises:
        TypeError: It is none.
    """
    if isinstance(value, str):
        return value
    raise TypeError(f"{op}: {argument} must be a string, got {_shown(value)}")


def items_of(op: str, argument: str, value: Any) -> Sequence[Any]:
    """The items of a list, tuple, array or the like.

    Raises:
        TypeError: It has none.
    """
    if not isinstance(value, (str, bytes, dict, set)):
        try:
            return list(value)
        except TypeError:
            pass
    raise TypeError(f"{op}: {argument} must be a list, got {_shown(value)}")


def _shown(value: Any) -> str:
    """A wrong value as a message shows it: arrays by their dtype and shape."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{type(value).__name__} of dtype {dtype} and shape {list(shape)}"  # pyright: ignore[reportUnknownArgumentType]
    return f"{value!r:.80}"

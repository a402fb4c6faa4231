"""How callbacks check what they are given."""

from __future__ import annotations

import math
import operator
import os
from typing import Any

__all__ = ["choice", "count", "flag", "frequency", "path", "real", "text"]


def text(owner: str, argument: str, value: Any) -> str:
    """The argument as a string."""
    if not isinstance(value, str):
        raise TypeError(f"{owner}: {argument} must be a string, got {value!r:.100}")
    return value


def real(owner: str, argument: str, value: Any) -> float:
    """The argument as a number that is neither infinite nor NaN."""
    try:
        number = math.nan if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise TypeError(f"{owner}: {argument} must be a number, got {value!r:.100}")
    return number


def count(owner: str, argument: str, value: Any) -> int:
    """The argument as an integer, 0 or more; False and True are 0 and 1."""
    try:
        integer = operator.index(value)
    except TypeError:
        integer = -1
    if integer < 0:
        raise ValueError(f"{owner}: {argument} must be an integer, 0 or more, got {value!r:.100}")
    return integer


def flag(owner: str, argument: str, value: Any) -> bool:
    """The argument as True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{owner}: {argument} must be True or False, got {value!r:.100}")
    return value


def choice(owner: str, argument: str, value: Any, options: tuple[str, ...]) -> str:
    """The argument as one of some strings."""
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"{owner}: {argument} must be {', '.join(options[:-1])} or {options[-1]}, got {value!r:.100}")
    return value


def frequency(owner: str, argument: str, value: Any, words: tuple[str, ...]) -> str | int:
    """The argument as one of some words, or a number of batches of at least 1."""
    given: object = value
    if isinstance(given, str) and given in words:
        return given
    try:
        batches = 0 if isinstance(given, bool) else operator.index(value)
    except TypeError:
        batches = 0
    if batches < 1:
        listed = ", ".join(repr(word) for word in words)
        raise ValueError(f"{owner}: {argument} must be {listed} or a number of batches, got {value!r:.100}")
    return batches


def path(owner: str, argument: str, value: Any) -> str:
    """The argument as a path."""
    try:
        return os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{owner}: {argument} must be a path, got {value!r:.100}") from None

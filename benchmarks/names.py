"""Options that take several names, separated by commas."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from typing import TypeVar

T = TypeVar("T")


def names(find: Callable[[str], T]) -> Callable[[str], list[T]]:
    """The type of an option, for argparse: what `find` gives for each name; its ValueError is what a user sees."""

    def read(text: str) -> list[T]:
        try:
            return [find(name) for name in text.split(",")]
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def among(known: Collection[str]) -> Callable[[str], str]:
    """Takes a name that is known as it is.

    The function raises:
        ValueError: The name is another.
    """

    def find(name: str) -> str:
        if name not in known:
            raise ValueError(f"there is no {name!r}; there are {', '.join(known)}")
        return name

    return find

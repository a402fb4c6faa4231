"""One thing or a list of several, as layers take and give tensors, shapes and masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

__all__ = ["as_list", "one_or_list"]


def as_list(value: Any) -> list[Any]:
    """The items of a list or tuple, or the one value in a list of its own.

    >>> as_list(3), as_list((1, 2))
    ([3], [1, 2])
    """
    return list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]


def one_or_list(items: Sequence[Any]) -> Any:
    """The item if there is one, else a list of them.

    >>> one_or_list([3]), one_or_list((1, 2))
    (3, [1, 2])
    """
    return items[0] if len(items) == 1 else list(items)

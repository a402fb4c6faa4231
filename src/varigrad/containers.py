"""Walking the nested lists, tuples and dicts in which people hand tensors around."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from varigrad.tensor import Tensor

__all__ = ["tensors_in"]


def tensors_in(container: Any) -> Iterator[Tensor]:
    """Every tensor in a tensor, or in nested lists, tuples, sets and mappings, each once and in order."""
    seen: set[int] = set()
    pending: list[Any] = [container]
    while pending:
        item = pending.pop()
        if id(item) in seen:
            continue
        if isinstance(item, Tensor):
            seen.add(id(item))
            yield item
        elif isinstance(item, Mapping):
            seen.add(id(cast("object", item)))
            pending.extend(reversed(list(cast("Mapping[Any, Any]", item).values())))
        elif isinstance(item, (list, tuple, set, frozenset)):
            seen.add(id(cast("object", item)))
            pending.extend(reversed(list(cast("list[Any]", item))))

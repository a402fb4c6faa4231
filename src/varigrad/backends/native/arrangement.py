"""What is done to a graph before it is lowered, because machine code runs it faster then: passes, in one table."""

from __future__ import annotations

from collections.abc import Callable

from varigrad.backends.native.partition import map_after_splitting, map_before_joining
from varigrad.backends.native.summation import sum_in_products
from varigrad.jit.graph import Graph
from varigrad.jit.passes import drop_dead_code, share_subexpressions

__all__ = ["ARRANGEMENTS", "arrange"]

ARRANGEMENTS: dict[str, Callable[[Graph], None]] = {
    "sum_in_products": sum_in_products,
    "map_before_joining": map_before_joining,
    "map_after_splitting": map_after_splitting,
    "share_parts": share_subexpressions,
    "drop_what_is_shared": drop_dead_code,
}


def arrange(graph: Graph, last: str | None = None) -> Graph:
    """The graph after all of them, or after those up to the one named; the graph given stays as it is."""
    result = graph.copy()
    for name, run in ARRANGEMENTS.items():
        run(result)
        if name == last:
            break
    return result

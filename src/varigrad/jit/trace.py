"""One compilation of a function: the graph, what it holds for, and what runs it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from varigrad.changes import COUNT
from varigrad.jit.executors import make_executor
from varigrad.jit.graph import Graph
from varigrad.jit.guards import Guards
from varigrad.jit.passes import optimize
from varigrad.jit.quick import QuickCall
from varigrad.jit.surroundings import Place
from varigrad.tensor import Variable

__all__ = ["Trace", "variable_places"]


class Trace:
    """One compilation, the `number`-th of its function: what it holds for, and the program."""

    def __init__(
        self,
        graph: Graph,
        build: Any,
        guards: Guards,
        known: Mapping[int, float],
        objects: list[Any],
        executor: str | None,
        number: int,
    ) -> None:
        self.number = number
        self.captured = graph
        self.build = build
        self.guards = guards
        self.known = known  # the numbers among the leaves whose values it was compiled for
        self.objects = objects  # whose identity is part of the key, so that they must stay
        self.program = make_executor(optimize(graph), executor)
        nodes = self.program.graph.nodes
        self.updates = any(node.is_update for node in nodes)
        self.targets = tuple(dict.fromkeys([target for node in nodes for target in node.targets]))
        sources = [value.source for value in graph.sources()]
        self.variables = tuple([s.what for s in sources if s is not None and s.kind == "variable"])
        self.outside = tuple([s.what for s in sources if s is not None and s.kind == "tensor"])
        self.lock = threading.RLock()
        self.quick: QuickCall | None = None  # written at the first call that finds this trace

    def failure(self, leaves: Sequence[Any]) -> str | None:
        """Why it does not hold for a call, in words."""
        for position, value in self.known.items():
            if repr(leaves[position]) != repr(value):
                return (
                    f"the number {leaves[position]!r} was {value!r}, and the function looks at its value; one that "
                    "only enters into arithmetic with tensors does not count"
                )
        return self.guards.failure()

    def differences(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """What is not as it was, at a call for which it does not hold; equal wherever the same is."""
        numbers = [
            (position, now) for position in self.known if (now := repr(leaves[position])) != repr(self.known[position])
        ]
        return *numbers, *self.guards.differences()

    def knows(self, leaves: Sequence[Any]) -> bool:
        """Whether the numbers that it was compiled for are those of a call."""
        return all(repr(leaves[position]) == repr(value) for position, value in self.known.items())


def variable_places(variables: Iterable[Variable]) -> list[Place]:
    """What else about variables a step was compiled for, and which kernels there were."""
    kernels = Place(getattr, COUNT, "kernels", COUNT.kernels, "the count of changes to kernels", counted=True)
    return [kernels] + [
        Place(getattr, variable, name, getattr(variable, name), f"{variable.name}.{name}", counted=True)
        for variable in variables
        for name in ("trainable", "constraint")
    ]

"""What a graph changes besides the arrays that it returns: to be noted before a call, and put back after it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from varigrad import randomness
from varigrad.dtypes import Array
from varigrad.jit.graph import HOST, Graph, owners
from varigrad.randomness import NextSeed
from varigrad.tensor import Tensor, Variable

__all__ = ["Effects", "updated_by"]


def updated_by(graph: Graph) -> list[Tensor]:
    """The variables and slots that a graph updates."""
    return list({tensor.id: tensor for node in graph.nodes for tensor in (*node.targets, *node.state)}.values())


class _Held:
    """The state at one time."""

    __slots__ = ("arrays", "drawn", "hosts")

    def __init__(self, arrays: list[Array], hosts: list[dict[str, Any]], drawn: Any) -> None:
        self.arrays = arrays
        self.hosts = hosts
        self.drawn = drawn


class Effects:
    """Some of the variables and slots that a graph updates, all counters on the host, and the generator of random
    numbers, which other threads should leave alone meanwhile.
    """

    def __init__(self, graph: Graph, tensors: Iterable[Tensor]) -> None:
        self.tensors = list(tensors)
        hosts: dict[int, Any] = {}
        self._draws = False
        for node in graph.nodes:
            seed = node.attrs.get("seed")
            self._draws |= node.is_random and seed is None
            owning = owners(node) if node.kernel == HOST else ()
            for owner in (seed.draw.__self__,) if isinstance(seed, NextSeed) else owning:  # pyright: ignore
                hosts[id(owner)] = owner
        self._hosts = list(hosts.values())

    def read(self) -> _Held:
        """Copies of everything."""
        drawn = None
        if self._draws:
            with randomness.LOCK:
                drawn = randomness.generator().bit_generator.state
        arrays = [tensor.storage.copy() for tensor in self.tensors]
        return _Held(arrays, [host.__dict__.copy() for host in self._hosts], drawn)

    def write(self, held: _Held) -> None:
        """Puts everything back."""
        for tensor, array in zip(self.tensors, held.arrays, strict=True):
            if isinstance(tensor, Variable):
                tensor.storage = array.copy()
            else:
                tensor.storage[...] = array
        for host, attributes in zip(self._hosts, held.hosts, strict=True):
            host.__dict__.update(attributes)
        if self._draws:
            with randomness.LOCK:
                randomness.generator().bit_generator.state = held.drawn

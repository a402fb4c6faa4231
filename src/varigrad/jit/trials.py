"""`vg.jit(f, check=True)`: the compiled function and the one as written, run side by side from the same state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from varigrad import randomness
from varigrad.dtypes import Array
from varigrad.jit.errors import JitError
from varigrad.jit.executors import Executor
from varigrad.jit.graph import HOST, Graph, owners
from varigrad.jit.signature import Build
from varigrad.randomness import NextSeed
from varigrad.tensor import Tensor, Variable

__all__ = ["compared"]

_RELATIVE = 1e-5  # sums and products may be rounded in another order


def compared(name: str, program: Executor, build: Build, leaves: Sequence[Any], as_written: Callable[[], Any]) -> Any:
    """What the function as written returns, after the compiled one has done the same from the same state.

    Raises:
        JitError: A result, a variable or an optimizer's state differs.
    """
    state = _State(program.graph)
    held = state.read()
    compiled = build([Tensor(array) for array in program(leaves)], leaves)
    left = state.read()
    state.write(held)
    written = as_written()
    _compare(name, "its result", compiled, written)
    for label, ours, right in zip(state.labels, left.arrays, state.read().arrays, strict=True):
        _compare_arrays(name, label, ours, right)
    return written


class _Held:
    """The state at one time."""

    def __init__(self, arrays: list[Array], hosts: list[dict[str, Any]], drawn: Any) -> None:
        self.arrays = arrays
        self.hosts = hosts
        self.drawn = drawn


class _State:
    """All that a graph changes: variables, slots, counters on the host, and the generator of random numbers."""

    def __init__(self, graph: Graph) -> None:
        self._tensors: dict[int, Tensor] = {}
        self._hosts: list[Any] = []
        for node in graph.nodes:
            for tensor in (*node.targets, *node.state):
                self._tensors.setdefault(tensor.id, tensor)
            if node.kernel == HOST:
                self._hosts += owners(node)
            for value in node.attrs.values():
                if isinstance(value, NextSeed):
                    self._hosts.append(value.draw.__self__)  # pyright: ignore
        self.labels = [
            f"the variable {t.name!r}" if isinstance(t, Variable) else "an optimizer's slots"
            for t in self._tensors.values()
        ]

    def read(self) -> _Held:
        """Copies of everything."""
        arrays = [tensor.storage.copy() for tensor in self._tensors.values()]
        with randomness.LOCK:
            drawn = randomness.generator().bit_generator.state
        return _Held(arrays, [dict(host.__dict__) for host in self._hosts], drawn)

    def write(self, held: _Held) -> None:
        """Puts everything back."""
        for tensor, array in zip(self._tensors.values(), held.arrays, strict=True):
            if isinstance(tensor, Variable):
                tensor.storage = array.copy()
            else:
                tensor.storage[...] = array
        for host, attributes in zip(self._hosts, held.hosts, strict=True):
            host.__dict__.update(attributes)
        with randomness.LOCK:
            randomness.generator().bit_generator.state = held.drawn


def _compare(name: str, label: str, ours: Any, right: Any) -> None:
    if isinstance(right, Tensor):
        _compare_arrays(name, label, ours.storage, right.storage)
    elif isinstance(right, dict):
        for key, item in cast("dict[Any, Any]", right).items():
            _compare(name, f"{label}[{key!r}]", ours[key], item)
    elif isinstance(right, (list, tuple)):
        for place, item in enumerate(cast("Sequence[Any]", right)):
            _compare(name, f"{label}[{place}]", ours[place], item)


def _compare_arrays(name: str, label: str, ours: Array, right: Array) -> None:
    if ours.shape != right.shape or ours.dtype != right.dtype:
        raise JitError(
            f"jit: {name} compiled gives {ours.dtype}{list(ours.shape)} for {label}, and as written "
            f"{right.dtype}{list(right.shape)}"
        )
    if right.dtype.kind not in "fc":
        same = bool((ours == right).all())
    else:
        finite = np.abs(right[np.isfinite(right)])
        scale = float(finite.max()) if finite.size else 0.0
        same = np.allclose(ours, right, rtol=_RELATIVE, atol=_RELATIVE * scale, equal_nan=True)
    if not same:
        place = np.unravel_index(int(np.argmax(ours != right)), ours.shape)
        where = f" at {tuple(int(i) for i in place)}" if place else ""
        raise JitError(
            f"jit: {name} compiled and as written differ in {label}{where}: {ours[place]!r} and {right[place]!r}; "
            "please report it, with the function"
        )

"""What runs a graph: NumPy, call by call, or machine code made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import Protocol

from varigrad.callers import warn_caller
from varigrad.dtypes import Array
from varigrad.jit.errors import JitError, JitWarning
from varigrad.jit.graph import Graph
from varigrad.jit.straight_line import Program

__all__ = ["EXECUTORS", "Executor", "check_executor", "make_executor", "makes_machine_code"]


class Timed(Protocol):
    """What a time is given for: one kernel or several, and the line they come from."""

    @property
    def kernel(self) -> str: ...

    @property
    def site(self) -> str: ...


class Executor(Protocol):
    """A graph made ready to run."""

    graph: Graph

    def __call__(self, leaves: Sequence[object]) -> Sequence[Array]:
        """The arrays that the graph returns, for these leaves of the arguments."""
        ...

    def timeline(self, leaves: Sequence[object]) -> tuple[Sequence[Array], Sequence[tuple[Timed, float]]]:
        """The same, and how many seconds each part took, in order."""
        ...

    def memory_plan(self) -> str:
        """Where intermediate values lie, as text."""
        ...


def _native(graph: Graph) -> Executor:
    from varigrad.backends.native.arrangement import arrange
    from varigrad.backends.native.program import NativeProgram  # needs llvmlite, which takes its time

    return NativeProgram(arrange(graph))


EXECUTORS: dict[str, Callable[[Graph], Executor]] = {"native": _native, "numpy": Program}


def make_executor(graph: Graph, name: str | None) -> Executor:
    """The executor of a name for a graph; for None the native one, where machine code can be made."""
    return EXECUTORS[name or ("native" if makes_machine_code() else "numpy")](graph)


@lru_cache(maxsize=1)
def makes_machine_code() -> bool:
    """Whether LLVM is there, and works."""
    if not find_spec("llvmlite"):
        return False
    try:
        EXECUTORS["native"](Graph([], []))
    except Exception as error:
        warn_caller(f"jit: LLVM does not work here, so that NumPy runs compiled functions ({error})", JitWarning)
        return False
    return True


def check_executor(name: str | None) -> None:
    """Raises an error if there is no executor of a name, here or at all."""
    if name is not None and name not in EXECUTORS:
        raise ValueError(f"jit: executor must be 'native', 'numpy' or None, got {name!r}")
    if name == "native" and not find_spec("llvmlite"):
        raise JitError("jit: the native executor needs llvmlite; install it, or leave the choice to VariGrad")

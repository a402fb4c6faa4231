"""Who is told when a kernel runs.

The engine runs kernels; everything that wants to know about it (a gradient tape, a tidy scope, the capture of a
compiled step, a profile) is an `Observer`. The observers in force belong to the current context: each thread and
each asyncio task has its own, so two of them can train two models.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from varigrad.tensor import Tensor, Variable

__all__ = ["OBSERVERS", "Observer", "observing"]


class Observer:
    """Told what the engine does; overrides the methods it cares about."""

    __slots__ = ()

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        """A kernel made `outputs`; a tensor made from host values arrives as the kernel `"Constant"`."""

    def updating(
        self,
        kernel: str,
        targets: tuple[Variable, ...],
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        state: tuple[Tensor, ...],
    ) -> None:
        """An update kernel is about to give `targets` new values."""

    def disposing(self, tensors: tuple[Tensor, ...]) -> None:
        """These tensors are about to lose their values."""

    def reading(self, tensor: Tensor) -> None:
        """A value is about to leave for the host (`numpy`, `float`, `if x > 0`)."""


OBSERVERS: ContextVar[tuple[Observer, ...]] = ContextVar("varigrad_observers", default=())


@contextmanager
def observing(*observers: Observer, instead_of: type[Observer] | None = None) -> Generator[None]:
    """Adds observers inside the block; those of class `instead_of` are set aside meanwhile."""
    current = OBSERVERS.get()
    if instead_of is not None:
        current = tuple(o for o in current if not isinstance(o, instead_of))
    token = OBSERVERS.set(current + observers)
    try:
        yield
    finally:
        OBSERVERS.reset(token)

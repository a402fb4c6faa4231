"""Who is told when a kernel runs.

The engine runs kernels; everything that wants to know about it (a gradient tape, a tidy scope, the capture of a
compiled step, a profile) is an `Observer`. The observers in force belong to the current context: each thread and
each asyncio task has its own, so two of them can train two models. Few observe everywhere, as debug mode does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from varigrad.tensor import Tensor, Variable

__all__ = ["OBSERVERS", "Observer", "note_reading", "observe_everywhere", "observing", "stop_observing"]


class Observer:
    """Told what the engine does; overrides the methods it cares about."""

    __slots__ = ()
    # Whether it wants to be told of each kernel that runs inside a compiled function.
    sees_inside: ClassVar[bool] = False

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

    def computing(self, compute: Callable[[], Sequence[Any]], outputs: tuple[Tensor, ...]) -> None:
        """The host made `outputs` of what `compute()` returned, which is something else at each step."""

    def disposing(self, tensors: tuple[Tensor, ...]) -> None:
        """These tensors are about to lose their values."""

    def reading(self, tensor: Tensor) -> None:
        """A value is about to leave for the host (`numpy`, `float`, `if x > 0`)."""


def note_reading(tensor: Tensor) -> None:
    """Tells the observers that values are about to leave for the host: this tensor's, or some that go with it."""
    for observer in OBSERVERS.get():
        observer.reading(tensor)


# What a context has where none has been added in it: those that observe everywhere.
_EVERYWHERE: list[Observer] = []
_once_everywhere: list[Observer] = []
_changes = 0
OBSERVERS: ContextVar[Sequence[Observer]] = ContextVar("varigrad_observers", default=_EVERYWHERE)


@contextmanager
def observing(*observers: Observer, instead_of: type[Observer] | None = None) -> Generator[None]:
    """Adds observers inside the block; those of class `instead_of` are set aside meanwhile."""
    current = OBSERVERS.get()
    if instead_of is not None:
        current = [o for o in current if not isinstance(o, instead_of)]
    changes = _changes
    token = OBSERVERS.set((*current, *observers))
    try:
        yield
    finally:
        OBSERVERS.reset(token)
        if changes != _changes:
            _follow()


def observe_everywhere(observer: Observer) -> None:
    """Adds an observer in this context and in every other, where blocks of `observing` take it up as they end."""
    global _changes
    _changes += 1
    _EVERYWHERE.append(observer)
    if observer not in _once_everywhere:
        _once_everywhere.append(observer)
    _follow()


def stop_observing(observer: Observer) -> None:
    """Takes an observer that observes everywhere out again, in the same way."""
    global _changes
    if observer in _EVERYWHERE:
        _changes += 1
        _EVERYWHERE.remove(observer)
        _follow()


def _follow() -> None:
    """Gives this context those that observe everywhere now."""
    current = OBSERVERS.get()
    if current is not _EVERYWHERE:
        OBSERVERS.set((*[o for o in current if o not in _once_everywhere], *_EVERYWHERE))

"""Memory as in TensorFlow.js: `tidy`, `keep`, `dispose`; `memory_counts.py` says how much there is.

A tensor's memory goes back when Python drops the last reference to it; nothing here is needed to keep a program from
leaking. A `tidy` scope holds weak references only, so it keeps nothing alive.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar, overload

from varigrad.containers import tensors_in
from varigrad.observe import OBSERVERS, Observer, observing
from varigrad.tensor import Tensor, Variable, call_site, forget_variable, registered_variables

__all__ = ["Scope", "dispose", "dispose_variables", "keep", "tidy"]

T = TypeVar("T")


class Scope(Observer):
    """The tensors made inside one `tidy`, referred to weakly. Made by `vg.tidy`."""

    __slots__ = ("_made", "_prune_at", "parent")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self._made: dict[int, weakref.ref[Tensor]] = {}
        self._prune_at = 1024

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        for tensor in outputs:
            self._made[tensor.id] = weakref.ref(tensor)
        if len(self._made) > self._prune_at:
            self._made = {i: ref for i, ref in self._made.items() if ref() is not None}
            self._prune_at = max(1024, 2 * len(self._made))

    def keep(self, value: T) -> T:
        """Hands the tensors in `value` to the enclosing scope, if there is one, and returns `value`."""
        for tensor in tensors_in(value):
            reference = self._made.pop(tensor.id, None)
            if reference is not None and self.parent is not None:
                self.parent._made[tensor.id] = reference
        return value

    def release(self, tensor: Tensor) -> None:
        """Forgets the tensor, in the enclosing scopes too."""
        scope: Scope | None = self
        while scope is not None:
            scope._made.pop(tensor.id, None)
            scope = scope.parent

    def end(self) -> None:
        """Disposes of what is left."""
        alive = [tensor for ref in self._made.values() if (tensor := ref()) is not None]
        self._made.clear()
        dispose([t for t in alive if not isinstance(t, Variable)])


def _current_scope() -> Scope | None:
    return next((o for o in OBSERVERS.get() if isinstance(o, Scope)), None)


@contextmanager
def _scope() -> Generator[Scope]:
    scope = Scope(_current_scope())
    with observing(scope, instead_of=Scope):
        try:
            yield scope
        finally:
            scope.end()


@overload
def tidy() -> Any: ...
@overload
def tidy(f: Callable[[], T], /) -> T: ...
@overload
def tidy(name: str, f: Callable[[], T], /) -> T: ...
def tidy(name: Any = None, f: Any = None, /) -> Any:
    """Disposes, on leaving, of every tensor made inside that is not returned or kept; variables stay.

    Two forms: `vg.tidy(f)` runs `f()` and returns its result, whose tensors (alone or in lists, tuples, sets and dicts)
    stay; `with vg.tidy() as scope:` does the same for a block, where `scope.keep(x)` hands tensors to the scope around
    and `vg.keep(x)` keeps them whatever ends. Each asyncio task has scopes of its own, so a scope may stay open over an
    `await`. Mirrors `tf.tidy`.

    Raises:
        TypeError: `f` is a coroutine function (use the `with` form inside it instead), or the name is no string.

    >>> import varigrad as vg
    >>> x = vg.tensor([1, 2, 3])
    >>> vg.tidy(lambda: x.square().sum()).item()
    14.0
    >>> with vg.tidy() as scope:
    ...     total = scope.keep(x.square().sum())
    >>> total.item()
    14.0
    """
    if name is None and f is None:
        return _scope()
    if f is None:
        name, f = None, name
    elif not isinstance(name, str):
        raise TypeError(f"tidy: the name must be a string, got {type(name).__name__}")
    if not callable(f):
        raise TypeError(f"tidy: needs a function of no arguments, got {type(f).__name__}")
    if inspect.iscoroutinefunction(f):
        raise TypeError(
            "tidy: cannot run a coroutine function, whose work outlasts the call; use `with vg.tidy():` inside it"
        )
    with _scope() as scope:
        result = f()
        if inspect.isawaitable(result):
            raise TypeError("tidy: the function returned an awaitable; use `with vg.tidy():` around the await instead")
        return scope.keep(result)


def keep(tensor: T) -> T:
    """Keeps a tensor made inside a `tidy` from being disposed of when the scope, or any around it, ends.

    Takes a tensor or a container of them, and returns it. Mirrors `tf.keep`.

    >>> import varigrad as vg
    >>> with vg.tidy():
    ...     kept, gone = vg.keep(vg.scalar(1.0)), vg.scalar(2.0)
    >>> kept.is_disposed, gone.is_disposed
    (False, True)
    """
    scope = _current_scope()
    if scope is not None:
        for each in tensors_in(tensor):
            scope.release(each)
    return tensor


def dispose(container: Any) -> None:
    """Gives back at once the memory of a tensor, or of every tensor in nested lists, tuples, sets and dicts.

    A later use of them is an error that says where they were disposed of. Disposing twice is no error. Mirrors
    `tf.dispose`.

    >>> import varigrad as vg
    >>> x = vg.tensor([1, 2])
    >>> vg.dispose({"x": x})
    >>> x.is_disposed
    True
    """
    alive = tuple(t for t in tensors_in(container) if not t.is_disposed)
    if not alive:
        return
    for observer in OBSERVERS.get():
        observer.disposing(alive)
    site = call_site()
    for tensor in alive:
        tensor._disposed_at = site  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
        del tensor.storage
        if isinstance(tensor, Variable):
            forget_variable(tensor)


def dispose_variables() -> None:
    """Disposes of every variable. Mirrors `tf.disposeVariables`.

    >>> import varigrad as vg
    >>> w = vg.variable(1.0)
    >>> vg.dispose_variables()
    >>> w.is_disposed
    True
    """
    dispose(registered_variables())

"""Memory as in TensorFlow.js: `tidy`, `keep`, `dispose`, `memory`, `profile`.

A tensor's memory goes back when Python drops the last reference to it; nothing here is needed to keep a program from
leaking. A `tidy` scope holds weak references only, so it keeps nothing alive.
"""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar, overload

from varigrad.containers import tensors_in
from varigrad.dtypes import Array
from varigrad.engine import timing_kernels
from varigrad.errors import DisposedError
from varigrad.observe import OBSERVERS, Observer, observing
from varigrad.tensor import Tensor, Variable, call_site, forget_variable, registered_variables

__all__ = [
    "KernelProfile",
    "MemoryInfo",
    "ProfileInfo",
    "Scope",
    "dispose",
    "dispose_variables",
    "keep",
    "memory",
    "profile",
    "tidy",
]

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


class MemoryInfo(NamedTuple):
    """What `vg.memory` counts: tensors, the buffers that they share, bytes, and both by the line that made them."""

    num_tensors: int
    num_data_buffers: int
    num_bytes: int
    sites: dict[str, tuple[int, int]] | None = None


class _Sites(Observer):
    """Remembers which line made each tensor."""

    def __init__(self) -> None:
        self.site_of: dict[int, str] = {}

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        site = call_site()
        for tensor in outputs:
            self.site_of[tensor.id] = site
        if len(self.site_of) > 100_000:
            alive = {t.id for t, _ in _live_tensors()}
            self.site_of = {i: s for i, s in self.site_of.items() if i in alive}


def memory(by_site: bool = False) -> MemoryInfo:
    """Counts the tensors alive (not yet dropped or disposed), their buffers and bytes, in all threads.

    Tensors that share memory (`reshape`, `clone`) share a buffer, which counts once. It looks through every object of
    the process, which takes milliseconds: call it now and then, not in every step. Mirrors `tf.memory`.

    With `by_site`, `.sites` maps the line that made them to (tensors, bytes), largest first. Lines are recorded from
    the first such call on, in the current thread; what was made before is under `"(made earlier)"`.

    >>> import varigrad as vg
    >>> before = vg.memory().num_tensors
    >>> x = vg.zeros([10, 10])
    >>> y = x.reshape([100])
    >>> vg.memory().num_tensors - before
    2
    """
    tensors = list(_live_tensors())
    buffers = {id(owner): _num_bytes(owner) for owner in [_owner(storage) for _, storage in tensors]}
    totals = MemoryInfo(len(tensors), len(buffers), sum(buffers.values()))
    if not by_site:
        return totals
    recorder = next((o for o in OBSERVERS.get() if isinstance(o, _Sites)), None)
    if recorder is None:
        recorder = _Sites()
        OBSERVERS.set((*OBSERVERS.get(), recorder))
    sites: dict[str, tuple[int, int]] = {}
    for tensor, storage in tensors:
        site = recorder.site_of.get(tensor.id, "(made earlier)")
        count, size = sites.get(site, (0, 0))
        sites[site] = (count + 1, size + _num_bytes(storage))
    ordered = dict(sorted(sites.items(), key=lambda item: -item[1][1]))
    return totals._replace(sites=ordered)


def _live_tensors() -> Iterator[tuple[Tensor, Array]]:
    """The tensors that are not disposed, and their arrays, which stay even if another thread disposes of them now."""
    # Asking the garbage collector costs nothing until asked; a count kept at each creation would slow every kernel.
    for candidate in gc.get_objects():
        if issubclass(type(candidate), Tensor):
            try:
                yield candidate, candidate.storage
            except (DisposedError, AttributeError):  # disposed, or in another thread's making
                continue


def _owner(storage: Array) -> Any:
    array: Any = storage
    while isinstance(array.base, type(array)):
        array = array.base
    return array


def _num_bytes(array: Array) -> int:
    if array.dtype.kind == "O":
        return sum(len(s.encode() if isinstance(s, str) else s) for s in array.flat)
    return array.nbytes


class KernelProfile(NamedTuple):
    """What `vg.profile` saw of one kernel call.

    `bytes_added` is the memory that it made, `total_bytes_snapshot` and `total_tensors_snapshot` are what was alive
    after it, and `extra_info` is its attributes as text.
    """

    name: str
    bytes_added: int
    total_bytes_snapshot: int
    tensors_added: int
    total_tensors_snapshot: int
    input_shapes: tuple[tuple[int, ...], ...]
    output_shapes: tuple[tuple[int, ...], ...]
    kernel_time_ms: float
    extra_info: str


class ProfileInfo(NamedTuple):
    """What `vg.profile` found; `print` it for a table."""

    result: Any
    new_tensors: int
    new_bytes: int
    peak_bytes: int
    kernels: tuple[KernelProfile, ...]

    @property
    def kernel_names(self) -> list[str]:
        """The names of the kernels that ran, each once, sorted."""
        return sorted({k.name for k in self.kernels})

    def __str__(self) -> str:
        rows = [f"{'kernel':24}{'calls':>7}{'ms':>10}{'bytes made':>14}"]
        for name in sorted(self.kernel_names, key=lambda n: -self._time(n)):
            calls = [k for k in self.kernels if k.name == name]
            made = sum(k.bytes_added for k in calls)
            rows.append(f"{name:24}{len(calls):7}{self._time(name):10.3f}{made:14,}")
        rows.append(f"new tensors {self.new_tensors}, new bytes {self.new_bytes:,}, peak bytes {self.peak_bytes:,}")
        return "\n".join(rows)

    def _time(self, name: str) -> float:
        return sum(k.kernel_time_ms for k in self.kernels if k.name == name)


class _Profiler(Observer):
    """Counts the tensors and the memory alive; weak references tell it what goes."""

    def __init__(self) -> None:
        self.kernels: list[KernelProfile] = []
        self.peak_bytes = 0
        self._tensors: dict[int, weakref.ref[Tensor]] = {}
        self._buffers: dict[int, weakref.ref[Any]] = {}
        self._updated: tuple[Variable, ...] = ()  # their memory may be another by now
        self._bytes = self._made_bytes = 0
        for tensor, storage in _live_tensors():
            self._count(tensor, storage, made=False)

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        for variable in self._updated:
            if not variable.is_disposed:
                self._count(variable, variable.storage)
        self._updated = ()
        added = sum([self._count(tensor, tensor.storage) for tensor in outputs])
        self.peak_bytes = max(self.peak_bytes, self._made_bytes)
        if kernel != "Constant":
            self.kernels.append(
                KernelProfile(
                    kernel,
                    added,
                    self._bytes,
                    len(outputs),
                    len(self._tensors),
                    tuple([t.shape for t in inputs]),
                    tuple([t.shape for t in outputs]),
                    nanoseconds / 1e6,
                    ", ".join([f"{name}={value!r}" for name, value in attrs.items()]),
                )
            )

    def updating(
        self,
        kernel: str,
        targets: tuple[Variable, ...],
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        state: tuple[Tensor, ...],
    ) -> None:
        self._updated += targets

    def disposing(self, tensors: tuple[Tensor, ...]) -> None:
        for tensor in tensors:
            self._tensors.pop(tensor.id, None)

    def end(self) -> None:
        """Stops counting; the references that did would keep the profiler alive until the garbage collector runs."""
        self._tensors.clear()
        self._buffers.clear()

    def _count(self, tensor: Tensor, storage: Array, made: bool = True) -> int:
        """Counts a tensor; returns the bytes of its memory if that was not counted yet."""
        identity = tensor.id
        self._tensors[identity] = weakref.ref(tensor, lambda _: self._tensors.pop(identity, None))
        owner = _owner(storage)
        key = id(owner)
        if key in self._buffers:
            return 0
        size = _num_bytes(owner)
        self._buffers[key] = weakref.ref(owner, lambda _: self._freed(key, size, made))
        self._bytes += size
        self._made_bytes += size if made else 0
        return size

    def _freed(self, key: int, size: int, made: bool) -> None:
        del self._buffers[key]
        self._bytes -= size
        self._made_bytes -= size if made else 0


def profile(f: Callable[[], Any]) -> ProfileInfo:
    """Runs `f()` and reports each kernel call (name, shapes, bytes, time …) and the memory it left and peaked at.

    `new_tensors` and `new_bytes` are what exists after and did not before; `peak_bytes` is the most that the tensors
    made by `f` held at one time. Mirrors `tf.profile`.

    >>> import varigrad as vg
    >>> info = vg.profile(lambda: vg.tensor([1, 2]).square().sum())
    >>> info.kernel_names
    ['Square', 'Sum']
    """
    before = memory()
    profiler = _Profiler()
    try:
        with observing(profiler), timing_kernels():
            result = f()
    finally:
        profiler.end()
    after = memory()
    return ProfileInfo(
        result,
        after.num_tensors - before.num_tensors,
        after.num_bytes - before.num_bytes,
        profiler.peak_bytes,
        tuple(profiler.kernels),
    )

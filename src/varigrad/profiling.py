"""What each kernel of a function takes: `profile`."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from varigrad.dtypes import Array
from varigrad.engine import timing_kernels
from varigrad.memory_counts import live_tensors, memory, num_bytes, owner_of
from varigrad.observe import Observer, observing
from varigrad.tensor import Tensor, Variable

__all__ = ["KernelProfile", "ProfileInfo", "profile"]


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
        for tensor, storage in live_tensors():
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
        owner = owner_of(storage)
        key = id(owner)
        if key in self._buffers:
            return 0
        size = num_bytes(owner)
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

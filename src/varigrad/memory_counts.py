"""How much memory tensors take, as TensorFlow.js counts it: `memory`."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from varigrad.dtypes import Array
from varigrad.errors import DisposedError
from varigrad.observe import OBSERVERS, Observer
from varigrad.tensor import Tensor, call_site

__all__ = ["MemoryInfo", "memory"]


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
            alive = {t.id for t, _ in live_tensors()}
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
    tensors = list(live_tensors())
    buffers = {id(owner): num_bytes(owner) for owner in [owner_of(storage) for _, storage in tensors]}
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
        sites[site] = (count + 1, size + num_bytes(storage))
    ordered = dict(sorted(sites.items(), key=lambda item: -item[1][1]))
    return totals._replace(sites=ordered)


def live_tensors() -> Iterator[tuple[Tensor, Array]]:
    """The tensors that are not disposed, and their arrays, which stay even if another thread disposes of them now."""
    # Asking the garbage collector costs nothing until asked; a count kept at each creation would slow every kernel.
    for candidate in gc.get_objects():
        if issubclass(type(candidate), Tensor):
            try:
                yield candidate, candidate.storage
            except (DisposedError, AttributeError):  # disposed, or in another thread's making
                continue


def owner_of(storage: Array) -> Any:
    """The array whose memory an array shares: itself, or the one that it is a view of."""
    array: Any = storage
    while isinstance(array.base, type(array)):
        array = array.base
    return array


def num_bytes(array: Array) -> int:
    """The memory of an array's values; of strings, that of their UTF-8."""
    if array.dtype.kind == "O":
        return sum(len(s.encode() if isinstance(s, str) else s) for s in array.flat)
    return array.nbytes

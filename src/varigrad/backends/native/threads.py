"""The worker threads that native programs share their large steps with: one less than there are cores."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from varigrad.backends.native.sharing import POOL_SIZE, SEMAPHORE, WORKER

if TYPE_CHECKING:
    from varigrad.backends.native.machine import Library

__all__ = ["POSSIBLE", "pool_address", "worker_count"]

POSSIBLE = sys.platform == "linux"  # whether programs have threads of their own here

_lock = threading.Lock()
_pools: list[Any] = []  # the one of this process, with what it must keep


def worker_count() -> int:
    """How many threads help the one that calls: `VARIGRAD_NUM_THREADS`, or else `OMP_NUM_THREADS`, says how many
    there are in all."""
    if not POSSIBLE:
        return 0
    outermost = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]  # a list is one number for each level of nesting
    given = (os.environ.get("VARIGRAD_NUM_THREADS") or outermost).strip()
    cores = len(os.sched_getaffinity(0))
    return max(0, min(cores, int(given) if given.isdecimal() else cores) - 1)


def pool_address(library: Library) -> int:
    """Where the pool is, its workers waiting; 0 if there are none. They run the code of the first library."""
    with _lock:
        if not _pools:
            count = worker_count()
            _pools.append(None if count == 0 else _Pool(library, count))
        return 0 if _pools[0] is None else _pools[0].address


class _Pool:
    def __init__(self, library: Library, count: int) -> None:
        raw = np.zeros(POOL_SIZE + 8, np.int64)
        start = (-raw.ctypes.data % 64) // 8
        self._memory = raw
        self._library = library
        self.address = raw.ctypes.data + 8 * start
        process = ctypes.CDLL(None)
        process.sem_init(ctypes.c_void_p(self.address + 8 * SEMAPHORE), 0, 0)
        run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(library.address(WORKER))
        for number in range(count):
            name = f"varigrad worker {number + 1}"
            threading.Thread(target=run, args=(self.address,), name=name, daemon=True).start()


def _forget() -> None:
    """A forked process has none of the threads."""
    _pools.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

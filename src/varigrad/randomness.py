"""Where random numbers that have no seed of their own come from.

One generator serves every thread; `varigrad.ops.random.set_random_seed` restarts it. Kernels draw while they hold
`LOCK`, for NumPy's generators are not safe to share otherwise.
"""

from __future__ import annotations

import threading

import numpy as np

__all__ = ["LOCK", "generator", "restart"]

LOCK = threading.Lock()
_generator = np.random.Generator(np.random.SFC64())


def generator() -> np.random.Generator:
    """The shared generator; draw from it while holding `LOCK`."""
    return _generator


def restart(seed: int | None) -> None:
    """Starts the shared generator again, from a seed or from the system's entropy."""
    global _generator
    with LOCK:
        _generator = np.random.Generator(np.random.SFC64(seed))

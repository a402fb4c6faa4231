"""Where random numbers come from: seeds, and the generator for numbers that have no seed of their own.

One generator serves every thread; `varigrad.ops.random.set_random_seed` restarts it. Kernels draw while they hold
`LOCK`, for NumPy's generators are not safe to share otherwise.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import numpy as np

__all__ = ["LOCK", "NextSeed", "generator", "number_text", "restart"]

LOCK = threading.Lock()
_generator: np.random.Generator | None = None  # made when first drawn from: numpy.random takes a while to load


class NextSeed(str):
    """The text of a seed that is another one each time: what `draw` gave, as it will again in a compiled step."""

    __slots__ = ("draw",)
    draw: Callable[[], str]

    def __new__(cls, draw: Callable[[], str]) -> NextSeed:
        seed = super().__new__(cls, draw())
        seed.draw = draw
        return seed


def generator() -> np.random.Generator:
    """The shared generator; ask for it and draw from it while holding `LOCK`."""
    global _generator
    if _generator is None:
        _generator = np.random.Generator(np.random.SFC64())
    return _generator


def restart(seed: int | None) -> None:
    """Starts the shared generator again, from a seed or from the system's entropy."""
    global _generator
    with LOCK:
        _generator = np.random.Generator(np.random.SFC64(seed))


def number_text(number: float) -> str:
    """A number as JavaScript writes it, which is what TensorFlow.js makes its random numbers from."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    number = float(number)
    if number == 0 or 1e-6 <= abs(number) < 1e21:
        return np.format_float_positional(abs(number) if number == 0 else number, trim="-")
    digits, _, exponent = repr(number).partition("e")
    return f"{digits}e{int(exponent):+d}"

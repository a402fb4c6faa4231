"""Random numbers with NumPy.

A kernel without a seed draws afresh from `varigrad.randomness` each time it runs, so a compiled step does too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad import randomness
from varigrad.dtypes import Array, numpy_dtype

__all__ = ["KERNELS"]


def _uniform(shape: tuple[int, ...], minval: float, maxval: float, dtype: str, seed: str | None) -> Array:
    target = numpy_dtype(dtype)
    drawn = np.float32 if target == np.float32 else np.float64
    with randomness.LOCK:
        values = randomness.generator().random(shape, drawn)
    values *= drawn(maxval - minval)
    values += drawn(minval)
    return values.astype(target, copy=False)


def _normal(shape: tuple[int, ...], mean: float, std_dev: float, dtype: str, seed: str | None) -> Array:
    target = numpy_dtype(dtype)
    drawn = np.float32 if target == np.float32 else np.float64
    with randomness.LOCK:
        values = randomness.generator().standard_normal(shape, drawn)
    values *= drawn(std_dev)
    values += drawn(mean)
    return values.astype(target, copy=False)


KERNELS: dict[str, Any] = {
    "RandomNormal": _normal,
    "RandomUniform": _uniform,
}

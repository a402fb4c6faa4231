"""Margins with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS"]


def _pad(x: Array, paddings: tuple[tuple[int, int], ...], constant_value: float) -> Array:
    shape = tuple([before + n + after for n, (before, after) in zip(x.shape, paddings, strict=True)])
    output = np.zeros(shape, x.dtype)
    if constant_value != 0:
        output.fill(constant_value)
    output[tuple([slice(before, before + n) for n, (before, _) in zip(x.shape, paddings, strict=True)])] = x
    return output


KERNELS: dict[str, Any] = {
    "PadV2": _pad,
}

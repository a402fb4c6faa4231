"""Comparison, logic and choice with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS", "keep_where"]

_INTEGER_OF_SIZE = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


# Below this many elements the overhead of a call counts for more than the branch for each element.
_SMALL = 256


def keep_where(x: Array, mask: Array) -> Array:
    """x where the mask, which broadcasts to it, is True; 0 elsewhere, whatever x is there."""
    if x.size < _SMALL:
        output = np.zeros(x.shape, x.dtype)
        np.copyto(output, x, where=mask)
        return output
    # Taken as integers, 0 times anything is 0, where infinity times 0 is NaN; and it is far faster than np.where.
    integers = _INTEGER_OF_SIZE[x.dtype.itemsize]
    output = np.empty(x.shape, x.dtype)
    np.multiply(x.view(integers), mask, output.view(integers))
    return output


KERNELS: dict[str, Any] = {
    "BitwiseAnd": np.bitwise_and,
    "BitwiseNot": np.invert,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "KeepWhere": keep_where,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "LogicalAnd": np.logical_and,
    "LogicalNot": np.logical_not,
    "LogicalOr": np.logical_or,
    "LogicalXor": np.logical_xor,
    "NotEqual": np.not_equal,
    "Select": np.where,
}

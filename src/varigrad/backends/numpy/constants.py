"""Numbers as arrays."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["constant"]


@lru_cache(maxsize=256)
def constant(value: float, dtype: np.dtype[Any]) -> Array:
    """A number as a read-only array of rank 0, which ufuncs take up faster than a scalar."""
    array = np.array(value, dtype)
    array.flags.writeable = False
    return array

"""float16 and bfloat16: kept at half the width of float32, computed with at its whole width.

A kernel gets arrays of these dtypes as float32, and what it makes of them is rounded once, at its end. So sums,
products and transforms lose nothing on the way, and no kernel needs code for dtypes that BLAS, LAPACK and SciPy don't
know. NumPy's own elementwise functions do the same by themselves, and kernels that only pass values on need not.

The engine puts these wrappers in place when one of the dtypes is first asked for; until then nothing is spent on them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import DIFFERENTIABLE, HALVES, Array, numpy_dtype

__all__ = ["computing_dtype", "widened", "widened_update"]

# Kernels that take each dtype as it is: they give values in a dtype that the caller names, or every input its own.
_AS_THEY_ARE = frozenset(
    ["Assign", "Cast", "EachNorm", "GlobalNorm", "Identity", "RandomUniform", "Reshape", "ScaleToNorm"]
)
# Where inputs differ in dtype, the result has that of the first one that is floating-point, or else of this one.
_LIKE_INPUT = {"NonMaxSuppressionV5": 1}

_FLOAT32 = np.dtype(np.float32)


def computing_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which numbers of a dtype are computed with: float32 for float16 and bfloat16."""
    return _FLOAT32 if dtype.char in HALVES else dtype


def widened(kernels: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The kernels, computing in float32 where they are given float16 or bfloat16."""
    return {
        name: kernel
        if isinstance(kernel, np.ufunc) or name in _AS_THEY_ARE
        else _widened_kernel(kernel, _LIKE_INPUT.get(name))
        for name, kernel in kernels.items()
    }


def widened_update(updates: Mapping[str, Callable[..., None]]) -> dict[str, Callable[..., None]]:
    """The same for update kernels, whose variables and slots are rounded when they have their new values."""
    return {name: update if name in _AS_THEY_ARE else _widened_update(update) for name, update in updates.items()}


def _widened_kernel(kernel: Callable[..., Any], like: int | None) -> Callable[..., Any]:
    def run(*arrays: Array, **attrs: Any) -> Any:
        half = None
        for array in arrays:
            if array.dtype.char in HALVES:
                half = _half_of_result(arrays if like is None else arrays[like : like + 1])
                arrays = tuple([_wide(array) for array in arrays])
                break
        wanted = attrs.get("dtype")
        if wanted in ("float16", "bfloat16"):
            half = numpy_dtype(wanted)
            attrs["dtype"] = "float32"
        if half is None:
            return kernel(*arrays, **attrs)
        result: Array | tuple[Array, ...] = kernel(*arrays, **attrs)
        return tuple([_narrow(y, half) for y in result]) if isinstance(result, tuple) else _narrow(result, half)

    return run


def _widened_update(update: Callable[..., None]) -> Callable[..., None]:
    def run(targets: Sequence[Array], inputs: Sequence[Array], state: Sequence[Array], **attrs: Any) -> None:
        written = [*targets, *state]
        wide = [_wide(array) for array in written]
        update(wide[: len(targets)], [_wide(array) for array in inputs], wide[len(targets) :], **attrs)
        for array, values in zip(written, wide, strict=True):
            if array is not values:
                array[...] = values

    return run


def _wide(array: Array) -> Array:
    return array.astype(_FLOAT32) if array.dtype.char in HALVES else array


def _narrow(array: Array, half: np.dtype[Any]) -> Array:
    return array.astype(half) if array.dtype == _FLOAT32 else array


def _half_of_result(arrays: Sequence[Array]) -> np.dtype[Any] | None:
    """The dtype of the first floating-point array, if it is a half."""
    dtype = next((array.dtype for array in arrays if array.dtype.char in DIFFERENTIABLE), _FLOAT32)
    return dtype if dtype.char in HALVES else None

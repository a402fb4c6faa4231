"""Weights in fewer bits: codes of one or two bytes on an even grid that contains zero, or half precision.

The arithmetic is that of TensorFlow.js's converter: a stored `code` means `code * scale + min`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from varigrad.callers import warn_caller
from varigrad.dtypes import Array

__all__ = ["QUANTIZED_DTYPES", "Grid", "Quantize", "choose_dtypes", "dequantize", "fit_grid", "quantize"]

QUANTIZED_DTYPES: dict[str, np.dtype[Any]] = {
    "uint8": np.dtype("u1"),
    "uint16": np.dtype("<u2"),
    "float16": np.dtype("<f2"),
}

# A dtype for all weights; or, by dtype, names of weights with wildcards, or True for those that no name fits.
Quantize: TypeAlias = str | Mapping[str, Any]

# How many numbers are worked on at a time, so that double precision takes little memory.
_BLOCK = 1 << 18


class Grid(NamedTuple):
    """The numbers that codes stand for: `code * scale + minimum`."""

    scale: float
    minimum: float


def choose_dtypes(names: Sequence[str], wanted: Quantize) -> dict[str, str]:
    """The dtype in which each weight is to be stored, by name, for those that are to be quantized at all.

    Args:
        names: The names of the weights.
        wanted: A dtype for all of them; or, by dtype, a pattern (`"conv*/kernel"`), several with commas between them or
            in a list, or True for the weights that fit no pattern.

    Raises:
        ValueError: Another dtype than uint8, uint16 and float16; two for one weight.

    >>> choose_dtypes(["a/kernel", "a/bias", "b/kernel"], {"uint8": "*/kernel", "float16": True})
    {'a/kernel': 'uint8', 'b/kernel': 'uint8', 'a/bias': 'float16'}
    """
    if isinstance(wanted, str):
        wanted = {wanted: True}
    if not isinstance(wanted, Mapping):
        raise TypeError(
            f"quantize must be a dtype, or patterns of names by dtype such as {{'uint8': '*'}}, got {wanted!r:.100}"
        )
    chosen: dict[str, str] = {}
    rest: str | None = None
    for dtype, patterns in wanted.items():
        if dtype not in QUANTIZED_DTYPES:
            raise ValueError(f"quantize: there is no {dtype!r}; weights are quantized to {', '.join(QUANTIZED_DTYPES)}")
        if patterns is True:
            if rest is not None:
                raise ValueError(f"quantize: {rest} and {dtype} are both for all other weights; choose one")
            rest = dtype
            continue
        for pattern in _patterns(dtype, patterns):
            fitting = [name for name in names if fnmatchcase(name, pattern)]
            if not fitting:
                warn_caller(f"quantize: no weight fits the pattern {pattern!r} of {dtype}")
            for name in fitting:
                if chosen.setdefault(name, dtype) != dtype:
                    raise ValueError(f"quantize: {name!r} fits patterns of {chosen[name]} and of {dtype}")
    if rest is not None:
        chosen |= {name: rest for name in names if name not in chosen}
    return chosen


def _patterns(dtype: str, patterns: Any) -> Iterable[str]:
    items = cast("list[Any]", patterns.split(",") if isinstance(patterns, str) else patterns)
    if not isinstance(items, (list, tuple)) or not all(isinstance(item, str) for item in items):
        raise TypeError(f"quantize: {dtype} needs patterns of names, or True for all other weights, got {patterns!r}")
    return [item.strip() for item in cast("list[str]", items)]


def fit_grid(values: Array, dtype: str) -> Grid:
    """The grid for an array of at least one number: from its least to its greatest number, and shifted by less than a
    step so that zero, if it lies between them, is on it.

    Raises:
        ValueError: A number is not finite.

    >>> fit_grid(np.float32([-1, 0, 2]), "uint8")
    Grid(scale=0.011764705882352941, minimum=-1.0)
    """
    low, high = float(values.min()), float(values.max())
    if not np.isfinite(low) or not np.isfinite(high):
        raise ValueError("holds numbers that are not finite")
    if low == high:
        return Grid(1.0, low)
    scale = (high - low) / np.iinfo(QUANTIZED_DTYPES[dtype]).max
    if low <= 0 <= high:
        # Python rounds halves to even numbers, as NumPy does in the converter.
        low = -round(-low / scale) * scale
    return Grid(scale, low)


def quantize(values: Array, dtype: str, grid: Grid | None) -> tuple[Array, float]:
    """The codes of a float32 array, and the greatest difference between a number and what its code stands for.

    Args:
        values: The numbers.
        dtype: uint8, uint16 or float16.
        grid: What `fit_grid` gave; None for float16.

    Raises:
        ValueError: A number is beyond float16.

    >>> values = np.float32([-0.3, 0, 1])
    >>> quantize(values, "uint8", fit_grid(values, "uint8"))[0].tolist()
    [0, 59, 255]
    """
    stored = QUANTIZED_DTYPES[dtype]
    flat = np.ascontiguousarray(values).reshape(-1)
    codes: Array = np.empty(flat.shape, stored)
    error = 0.0
    for start in range(0, flat.size, _BLOCK):
        block = flat[start : start + _BLOCK]
        if grid is None:
            with np.errstate(over="ignore"):
                coded = block.astype(stored)
            if np.isinf(coded).any():
                raise ValueError("holds numbers beyond 65504, the greatest of float16")
        else:
            steps = (block.astype(np.float64) - grid.minimum) / grid.scale
            coded = np.clip(np.rint(steps), 0, np.iinfo(stored).max).astype(stored)
        codes[start : start + _BLOCK] = coded
        # Not a number stays what it is in float16, and is no error.
        differences = np.abs(dequantize(coded, "float32", grid).astype(np.float64) - block)
        error = max(error, float(np.fmax.reduce(differences, initial=0.0)))
    return codes.reshape(values.shape), error


def dequantize(codes: Array, dtype: str, grid: Grid | None) -> Array:
    """What codes stand for, as float32 or int32: in double precision, then rounded once, as TensorFlow.js does.

    Raises:
        ValueError: A number does not fit int32.

    >>> dequantize(np.uint8([0, 3]), "float32", Grid(2.0, 1.0)).tolist()
    [1.0, 7.0]
    """
    target = np.dtype(dtype)
    if grid is None:
        return codes.astype(target)
    limits = np.iinfo(target) if target.kind == "i" else None
    result = np.empty(codes.shape, target)
    flat, out = codes.reshape(-1), result.reshape(-1)
    for start in range(0, flat.size, _BLOCK):
        values = flat[start : start + _BLOCK].astype(np.float64)
        values *= grid.scale
        values += grid.minimum
        if limits is not None:
            np.floor(values + 0.5, out=values)
            if not (limits.min <= values.min() and values.max() <= limits.max):
                raise ValueError("is quantized to numbers that do not fit int32")
        with np.errstate(over="ignore"):
            out[start : start + _BLOCK] = values
    return result

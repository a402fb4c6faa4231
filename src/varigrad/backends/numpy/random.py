"""Random numbers with NumPy.

A kernel with a seed, which is a text, gives the numbers that TensorFlow.js gives for it. One without draws afresh from
`varigrad.randomness` each time it runs, so that a compiled step does too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from varigrad import randomness
from varigrad.backends.numpy.alea import Alea, gammas, normals, round_half_up
from varigrad.dtypes import HALVES, Array, numpy_dtype

__all__ = ["KERNELS"]

Shape = tuple[int, ...]


def _width(dtype: np.dtype[Any]) -> Any:
    """In which floats to draw numbers that become a dtype."""
    return np.float32 if dtype == np.float32 else np.float64


def _fresh(method: str, size: int | Shape, width: Any = np.float64, *parameters: float) -> Array:
    """Numbers from the shared generator."""
    with randomness.LOCK:
        return getattr(randomness.generator(), method)(*parameters, size=size, dtype=width)


def _finish(values: Array, shape: Shape, dtype: np.dtype[Any]) -> Array:
    return values.reshape(shape).astype(dtype, copy=False)


def _uniform(shape: Shape, minval: float, maxval: float, dtype: str, seed: str | None) -> Array:
    target = numpy_dtype(dtype)
    if seed is not None:
        drawn = minval + (maxval - minval) * Alea(seed).draw(math.prod(shape))
        return _finish(drawn.astype(np.int64) if target.kind in "ib" else _below(drawn, maxval, target), shape, target)
    width = _width(target)
    values = _fresh("random", shape, width)
    if maxval - minval != 1:
        values *= width(maxval - minval)
    if minval:
        values += width(minval)
    if target.kind in "ib":
        np.floor(values, out=values)
    elif width is np.float32 and maxval > minval:
        # Rounding may reach the end of the range, which does not belong to it.
        np.minimum(values, np.nextafter(width(maxval), width(minval)), out=values)
    else:
        values = _below(values, maxval, target)
    return _finish(values, shape, target)


def _below(values: Array, end: float, dtype: np.dtype[Any]) -> Array:
    """Numbers below `end` that are so as float16 or bfloat16 too."""
    if dtype.char not in HALVES:
        return values
    rounded = values.astype(dtype)
    limit = dtype.type(end)
    return np.minimum(rounded, np.nextafter(limit, dtype.type(-np.inf))) if (values < end).all() else rounded


def _normal(shape: Shape, mean: float, std_dev: float, dtype: str, seed: str | None) -> Array:
    target = numpy_dtype(dtype)
    if seed is not None:
        values = normals(Alea(seed), math.prod(shape), mean, std_dev)
    else:
        width = _width(target)
        values = _fresh("standard_normal", shape, width)
        if std_dev != 1:
            values *= width(std_dev)
        if mean:
            values += width(mean)
    return _finish(round_half_up(values) if target.kind == "i" else values, shape, target)


def _truncated_normal(shape: Shape, mean: float, std_dev: float, dtype: str, seed: str | None) -> Array:
    target = numpy_dtype(dtype)
    if seed is not None:
        values = normals(Alea(seed), math.prod(shape), mean, std_dev, truncated=True)
    else:
        width = _width(target)
        values = _fresh("standard_normal", math.prod(shape), width)
        far = np.flatnonzero(np.abs(values) > 2)
        while far.size:
            values[far] = _fresh("standard_normal", far.size, width)
            far = far[np.abs(values[far]) > 2]
        values *= width(std_dev)
        values += width(mean)
    return _finish(round_half_up(values) if target.kind == "i" else values, shape, target)


def _gamma(shape: Shape, alpha: float, beta: float, dtype: str, seed: str | None) -> Array:
    target = numpy_dtype(dtype)
    if seed is not None:
        values = gammas(seed, math.prod(shape), alpha, target.kind == "i")
    else:
        values = _fresh("standard_gamma", shape, _width(target), alpha)
    if beta != 1:
        values /= values.dtype.type(beta)
    return _finish(round_half_up(values) if target.kind == "i" else values, shape, target)


def _multinomial(logits: Array, num_samples: int, seed: str | None, normalized: bool) -> Array:
    if normalized:
        probabilities = logits
    else:
        powers = np.exp(logits - logits.max(-1, keepdims=True))
        probabilities = powers / powers.sum(-1, keepdims=True)
    # The last outcome is what is left.
    bounds = np.add.accumulate(probabilities[:, :-1], axis=-1)
    if seed is not None:
        drawn = np.broadcast_to(Alea(seed).draw(num_samples), (len(logits), num_samples))
    else:
        drawn = _fresh("random", (len(logits), num_samples))
    output = np.empty(drawn.shape, np.int32)
    for row, (bound, numbers) in enumerate(zip(bounds, drawn, strict=True)):
        output[row] = np.searchsorted(bound, numbers, "right")
    return output


def _dropout_mask(shape: Shape, rate: float, dtype: str, seed: str | None) -> Array:
    """0 with probability `rate`, and `1 / (1 - rate)` otherwise."""
    mask = _uniform(shape, 0.0, 1.0, dtype, seed)
    keep = mask.dtype.type(1 - rate)
    mask += keep
    np.floor(mask, out=mask)
    mask /= keep
    return mask


KERNELS: dict[str, Any] = {
    "DropoutMask": _dropout_mask,
    "Multinomial": _multinomial,
    "RandomGamma": _gamma,
    "RandomNormal": _normal,
    "RandomUniform": _uniform,
    "TruncatedNormal": _truncated_normal,
}

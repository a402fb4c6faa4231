"""Windows that slide over spatial axes, with NumPy: what convolution and pooling share.

Arrays are `[batch, *spatial, channels]`, with any number of spatial axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from varigrad.dtypes import Array

__all__ = ["Pads", "interior", "output_lengths", "padded", "padded_shape", "positions", "steps"]

Lengths = tuple[int, ...]
Pads = tuple[tuple[int, int], ...]


def output_lengths(lengths: Lengths, window: Lengths, strides: Lengths, dilations: Lengths, pads: Pads) -> Lengths:
    """How many places the window takes along each axis."""
    return tuple(
        [
            max(0, (n + before + after - (w - 1) * d - 1) // s + 1)
            for n, w, s, d, (before, after) in zip(lengths, window, strides, dilations, pads)
        ]
    )


def interior(shape: Lengths, pads: Pads) -> tuple[slice, ...]:
    """Where an array of this shape lies inside its padded one."""
    return (slice(None), *[slice(before, before + n) for n, (before, _) in zip(shape[1:-1], pads)])


def padded_shape(shape: Lengths, pads: Pads) -> Lengths:
    """The shape with the padding added."""
    spatial = [n + before + after for n, (before, after) in zip(shape[1:-1], pads)]
    return (shape[0], *spatial, shape[-1])


def padded(x: Array, pads: Pads, value: float = 0.0) -> Array:
    """`x` with a constant around it; `x` itself where there is nothing to add."""
    if not any(before or after for before, after in pads):
        return x
    result = np.full(padded_shape(x.shape, pads), value, x.dtype)
    result[interior(x.shape, pads)] = x
    return result


def steps(window: int, outputs: int, stride: int, dilation: int) -> list[slice]:
    """For each place in a window along one axis, what comes under it at every step."""
    reach = max(0, (outputs - 1) * stride + 1)
    return [slice(at * dilation, at * dilation + reach, stride) for at in range(window)]


def positions(
    window: Lengths, output: Lengths, strides: Lengths, dilations: Lengths
) -> Iterator[tuple[Lengths, tuple[slice, ...]]]:
    """For each place in the window, the index of the values of a padded array that come under it, one an output."""
    along = [steps(*axis) for axis in zip(window, output, strides, dilations)]
    for place in product(*map(range, window)):
        yield place, (slice(None), *[slices[at] for slices, at in zip(along, place)])

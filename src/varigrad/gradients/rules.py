"""What gradient rules share."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.tensor import Tensor

__all__ = ["sum_to"]


def sum_to(dy: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sums a gradient over the axes along which its tensor, of shape `shape`, was broadcast."""
    given = dy.storage.shape
    if given == shape:
        return dy
    added = len(given) - len(shape)
    axes = tuple(axis for axis in range(len(given)) if axis < added or (shape[axis - added] == 1 != given[axis]))
    summed = run_kernel("Sum", (dy,), {"axis": axes, "keep_dims": False})
    return summed if summed.storage.shape == shape else run_kernel("Reshape", (summed,), {"shape": shape})

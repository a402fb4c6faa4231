"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, convert, normalize_axes
from varigrad.tensor import Tensor

__all__ = ["sum"]


def sum(x: TensorLike, axis: int | Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
    """The sum along axes. Mirrors `tf.sum`.

    Args:
        x: Numeric or bool, any shape; bools are summed as int32.
        axis: The axes to sum over, negative ones counted from the back; None means all.
        keep_dims: Keeps the summed axes, with length 1.

    >>> import varigrad as vg
    >>> vg.sum([[1, 2], [3, 4]], axis=1).tolist()
    [3.0, 7.0]
    """
    x = convert(x, "sum", "x")
    if x.dtype == "bool":
        x = convert(x, "sum", "x", "int32")
    return run_kernel("Sum", (x,), {"axis": normalize_axes("sum", axis, x.rank), "keep_dims": keep_dims})

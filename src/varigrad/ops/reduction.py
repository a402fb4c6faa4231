"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, cast_to, convert, convert_floating, normalize_axes
from varigrad.tensor import Tensor

__all__ = ["max", "mean", "min", "sum"]

# One axis, several, or None for all of them; negative ones are counted from the back.
Axes: TypeAlias = int | Sequence[int] | None


def _numeric(x: TensorLike, op: str) -> Tensor:
    """The argument `x`, with bools as int32."""
    x = convert(x, op, "x")
    kind = x.storage.dtype.kind
    if kind == "O":
        raise TypeError(f"{op}: x holds strings, but must be numeric")
    return cast_to(x, "int32") if kind == "b" else x


def _ordered(x: TensorLike, op: str) -> Tensor:
    """The argument `x`, of a dtype whose values can be compared."""
    x = convert(x, op, "x")
    if x.storage.dtype.kind in "Oc":
        raise TypeError(f"{op}: x has dtype {x.dtype}, whose values have no order")
    return x


def _reduce(kernel: str, op: str, x: Tensor, axis: Axes, keep_dims: bool) -> Tensor:
    return run_kernel(kernel, (x,), {"axis": normalize_axes(op, axis, x.storage.ndim), "keep_dims": keep_dims})


def sum(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The sum along axes; 0 where there is nothing to sum. Mirrors `tf.sum`.

    Args:
        x: Numeric or bool, any shape; bools are summed as int32.
        axis: The axes to sum over, negative ones counted from the back; None means all.
        keep_dims: Keeps the summed axes, with length 1.

    >>> import varigrad as vg
    >>> vg.sum([[1, 2], [3, 4]], axis=1).tolist()
    [3.0, 7.0]
    """
    if not (isinstance(x, Tensor) and x.storage.dtype.kind == "f"):
        x = _numeric(x, "sum")
    return _reduce("Sum", "sum", x, axis, keep_dims)


def mean(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The arithmetic mean along axes. Mirrors `tf.mean`.

    Args:
        x: Numeric or bool, any shape; integers and bools give a float32 mean.
        axis: The axes to average over, negative ones counted from the back; None means all.
        keep_dims: Keeps the averaged axes, with length 1.

    The mean of nothing is NaN, as in NumPy.

    >>> import varigrad as vg
    >>> vg.mean([[1, 2], [3, 4]], axis=0).tolist()
    [2.0, 3.0]
    """
    if not (isinstance(x, Tensor) and x.storage.dtype.kind == "f"):
        x = convert_floating(x, "mean", "x")
    return _reduce("Mean", "mean", x, axis, keep_dims)


def max(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The largest value along axes; NaN where there is one among the values. Mirrors `tf.max`.

    Its gradient is shared evenly among ties. The maximum of nothing is -inf (the lowest integer, False).

    Args:
        x: Real numbers or bools, any shape. The result has its dtype.
        axis: The axes to search, negative ones counted from the back; None means all.
        keep_dims: Keeps the searched axes, with length 1.

    >>> import varigrad as vg
    >>> vg.max([[1, 5], [4, 2]], axis=1).tolist()
    [5.0, 4.0]
    """
    if not (isinstance(x, Tensor) and x.storage.dtype.kind == "f"):
        x = _ordered(x, "max")
    return _reduce("Max", "max", x, axis, keep_dims)


def min(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The smallest value along axes; otherwise as `vg.max`. Mirrors `tf.min`.

    >>> import varigrad as vg
    >>> vg.min([[1, 5], [4, 2]], axis=1).tolist()
    [1.0, 2.0]
    """
    if not (isinstance(x, Tensor) and x.storage.dtype.kind == "f"):
        x = _ordered(x, "min")
    return _reduce("Min", "min", x, axis, keep_dims)

"""Reductions along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from varigrad.engine import run_kernel
from varigrad.ops.arguments import (
    NUMERIC,
    ORDERED,
    TensorLike,
    accept,
    normalize_axes,
    normalize_axis,
    reshape_to,
)
from varigrad.ops.options import flag
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "Moments",
    "all",
    "any",
    "arg_max",
    "arg_min",
    "cumprod",
    "cumsum",
    "log_sum_exp",
    "max",
    "mean",
    "min",
    "moments",
    "prod",
    "sum",
]

# One axis, several, or None for all of them; negative ones are counted from the back.
Axes: TypeAlias = int | Sequence[int] | None


class Moments(NamedTuple):
    """What `vg.moments` returns: mean and variance, of one shape."""

    mean: Tensor
    variance: Tensor


def _reduce(kernel: str, op: str, x: Tensor, axis: Axes, keep_dims: bool) -> Tensor:
    axes = normalize_axes(op, axis, x.storage.ndim)
    if keep_dims.__class__ is not bool:
        keep_dims = flag(op, "keep_dims", keep_dims)
    return run_kernel(kernel, (x,), {"axis": axes, "keep_dims": keep_dims})


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
        x = accept(x, "sum", "x", NUMERIC)
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
        x = accept(x, "mean", "x", "fc")
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
        x = accept(x, "max", "x", ORDERED)
    return _reduce("Max", "max", x, axis, keep_dims)


def min(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The smallest value along axes; otherwise as `vg.max`. Mirrors `tf.min`.

    >>> import varigrad as vg
    >>> vg.min([[1, 5], [4, 2]], axis=1).tolist()
    [1.0, 2.0]
    """
    if not (isinstance(x, Tensor) and x.storage.dtype.kind == "f"):
        x = accept(x, "min", "x", ORDERED)
    return _reduce("Min", "min", x, axis, keep_dims)


def prod(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The product along axes; 1 where there is nothing to multiply. Mirrors `tf.prod`.

    Its gradient is right beside zeros, to any order.

    Args:
        x: Numeric or bool, any shape; bools are multiplied as int32.
        axis: The axes to multiply over, negative ones counted from the back; None means all.
        keep_dims: Keeps those axes, with length 1.

    >>> import varigrad as vg
    >>> vg.prod([[1, 2], [3, 4]], axis=1).tolist()
    [2.0, 12.0]
    """
    return _reduce("Prod", "prod", accept(x, "prod", "x", NUMERIC), axis, keep_dims)


def all(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """Whether all values along axes are true; True where there are none. Mirrors `tf.all`.

    Args:
        x: Bool, any shape; a list of numbers is true where they are not 0, but a tensor of numbers is an error.
        axis: The axes to look along, negative ones counted from the back; None means all.
        keep_dims: Keeps those axes, with length 1.

    >>> import varigrad as vg
    >>> vg.all([[True, False], [True, True]], axis=1).tolist()
    [False, True]
    """
    return _reduce("All", "all", accept(x, "all", "x", "b"), axis, keep_dims)


def any(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """Whether any value along axes is true; otherwise as `vg.all`. Mirrors `tf.any`.

    >>> import varigrad as vg
    >>> vg.any([[True, False], [False, False]], axis=1).tolist()
    [True, False]
    """
    return _reduce("Any", "any", accept(x, "any", "x", "b"), axis, keep_dims)


def arg_max(x: TensorLike, axis: int = 0) -> Tensor:
    """Where along an axis the largest value is, as int32; the first of equal ones. Mirrors `tf.argMax`.

    NaN is passed over, as in TensorFlow.js (NumPy stops at it). The axis is 0 by default, where NumPy flattens.

    Args:
        x: Real numbers or bools, rank 1 or more.
        axis: The axis to search, which the result lacks.

    Raises:
        ValueError: The axis has length 0.

    >>> import varigrad as vg
    >>> vg.arg_max([[1, 5], [4, 2]], axis=1).tolist()
    [1, 0]
    """
    return _search("ArgMax", "arg_max", x, axis)


def arg_min(x: TensorLike, axis: int = 0) -> Tensor:
    """Where along an axis the smallest value is; otherwise as `vg.arg_max`. Mirrors `tf.argMin`.

    >>> import varigrad as vg
    >>> vg.arg_min([[1, 5], [4, 2]], axis=1).tolist()
    [0, 1]
    """
    return _search("ArgMin", "arg_min", x, axis)


def _search(kernel: str, op: str, x: TensorLike, axis: int) -> Tensor:
    x = accept(x, op, "x", ORDERED)
    axis = normalize_axis(op, axis, x.rank)
    if not x.shape[axis]:
        raise ValueError(f"{op}: there is nothing to search along axis {axis} of shape {format_shape(x.shape)}")
    return run_kernel(kernel, (x,), {"axis": axis})


def log_sum_exp(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Tensor:
    """The logarithm `log(sum(exp(x)))` along axes, without overflow. Mirrors `tf.logSumExp`.

    The result of infinities is the limit (-inf where all are -inf, and where there are none), where TensorFlow.js
    has NaN.

    Args:
        x: Real numbers, any shape; integers and bools are taken as float32.
        axis: The axes to reduce, negative ones counted from the back; None means all.
        keep_dims: Keeps the reduced axes, with length 1.

    >>> import varigrad as vg
    >>> vg.log_sum_exp([1000, 1000]).item()  # 1000 + log(2), in float32
    1000.6931762695312
    """
    return _reduce("LogSumExp", "log_sum_exp", accept(x, "log_sum_exp", "x", "f"), axis, keep_dims)


def cumsum(x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """The running sum along an axis. Mirrors `tf.cumsum`.

    Args:
        x: Numeric or bool, rank 1 or more; bools are summed as int32.
        axis: The axis to sum along.
        exclusive: Leaves each element itself out of its sum, so that the first is 0.
        reverse: Sums from the end.

    >>> import varigrad as vg
    >>> vg.cumsum([1, 2, 3]).tolist()
    [1.0, 3.0, 6.0]
    >>> vg.cumsum([1, 2, 3], exclusive=True, reverse=True).tolist()
    [5.0, 3.0, 0.0]
    """
    return _run("Cumsum", "cumsum", x, axis, exclusive, reverse)


def cumprod(x: TensorLike, axis: int = 0, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """The running product along an axis; otherwise as `vg.cumsum`. Mirrors `tf.cumprod`.

    >>> import varigrad as vg
    >>> vg.cumprod([1, 2, 3], exclusive=True).tolist()
    [1.0, 1.0, 2.0]
    """
    return _run("Cumprod", "cumprod", x, axis, exclusive, reverse)


def _run(kernel: str, op: str, x: TensorLike, axis: int, exclusive: bool, reverse: bool) -> Tensor:
    x = accept(x, op, "x", NUMERIC)
    axis = normalize_axis(op, axis, x.rank)
    flags = {"exclusive": flag(op, "exclusive", exclusive), "reverse": flag(op, "reverse", reverse)}
    return run_kernel(kernel, (x,), {"axis": axis, **flags})


def moments(x: TensorLike, axis: Axes = None, keep_dims: bool = False) -> Moments:
    """The mean and the variance along axes, the latter the mean square of what is left after the mean.

    Mirrors `tf.moments`; arguments as for `vg.mean`.

    >>> import varigrad as vg
    >>> mean, variance = vg.moments([1, 2, 3, 4])
    >>> mean.item(), variance.item()
    (2.5, 1.25)
    """
    x = accept(x, "moments", "x", "f")
    axis, keep_dims = normalize_axes("moments", axis, x.rank), flag("moments", "keep_dims", keep_dims)
    center = mean(x, axis, keep_dims=True)
    variance = mean(run_kernel("SquaredDifference", (x, center)), axis, keep_dims)
    return Moments(center if keep_dims else reshape_to(center, variance.shape), variance)

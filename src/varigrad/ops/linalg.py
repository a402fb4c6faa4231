"""Linear algebra: norms."""

from __future__ import annotations

import math
from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, convert, convert_floating, normalize_axes, normalize_axis
from varigrad.ops.arithmetic import mul
from varigrad.ops.elementwise import abs as absolute
from varigrad.ops.reduction import max as max_of
from varigrad.ops.reduction import min as min_of
from varigrad.ops.reduction import sum as sum_of
from varigrad.tensor import Tensor

__all__ = ["clip_by_norm", "euclidean_norm", "norm"]


def norm(
    x: TensorLike,
    ord: float | str = "euclidean",
    axis: int | Sequence[int] | None = None,
    keep_dims: bool = False,
) -> Tensor:
    """The norm of vectors or matrices. Mirrors `tf.norm`.

    The gradient at a zero vector is zeros, where TensorFlow.js has NaN.

    Args:
        x: Numeric, any shape; integers and bools are taken as float32.
        ord: For vectors `"euclidean"` (or 2), 1, infinity, -infinity (the smallest absolute value), or, beyond
            TensorFlow.js, another number p of at least 1: sum(|x| ** p) ** (1 / p). For matrices `"euclidean"` or
            `"fro"`, 1 (the largest sum of a column's absolute values), infinity (of a row's) or -infinity (the
            smallest sum of a row's).
        axis: None takes all of `x` as one vector; one axis, vectors along it; two, matrices whose rows run along the
            first of them.
        keep_dims: Keeps the axes taken, with length 1.

    Raises:
        ValueError: No such norm, or more than two axes.

    >>> import varigrad as vg
    >>> vg.norm([3, 4]).item()
    5.0
    >>> vg.norm([[1, -2], [3, 4]], 1, axis=[0, 1]).item()
    6.0
    """
    x = convert_floating(x, "norm", "x")
    if x.storage.dtype.kind == "c":
        x = absolute(x)
    if isinstance(axis, (list, tuple)) and len(axis) == 2:
        return _matrix_norm(x, ord, axis, keep_dims)
    axes = normalize_axes("norm", axis, x.rank)
    if axis is not None and len(axes) != 1:
        raise ValueError(
            f"norm: axis must be None, one axis for vectors or two for matrices, got {list(axes)}; reshape x first"
        )
    return _vector_norm(x, ord, axes, keep_dims)


def _vector_norm(x: Tensor, ord: float | str, axes: tuple[int, ...], keep_dims: bool) -> Tensor:
    if ord == "euclidean":
        return _power_norm(x, 2.0, axes, keep_dims)
    if not isinstance(ord, str):
        nothing = ord == math.inf and 0 in [x.shape[a] for a in axes]  # whose norm is 0, and not its maximum, -inf
        if ord == 1 or nothing:
            return sum_of(absolute(x), axes, keep_dims)
        if ord == math.inf:
            return max_of(absolute(x), axes, keep_dims)
        if ord == -math.inf:
            return min_of(absolute(x), axes, keep_dims)
        if ord > 1:
            return _power_norm(x, float(ord), axes, keep_dims)
    raise ValueError(f"norm: ord of a vector must be 'euclidean', a number of at least 1, inf or -inf, got {ord!r}")


def _matrix_norm(x: Tensor, ord: float | str, axis: Sequence[int], keep_dims: bool) -> Tensor:
    axes = normalize_axes("norm", axis, x.rank)
    row, column = (normalize_axis("norm", a, x.rank) for a in axis)
    if ord in ("euclidean", "fro"):
        return _power_norm(x, 2.0, axes, keep_dims)
    if ord == 1:
        return max_of(sum_of(absolute(x), row, keep_dims=True), axes, keep_dims)
    if ord == math.inf:
        return max_of(sum_of(absolute(x), column, keep_dims=True), axes, keep_dims)
    if ord == -math.inf:
        return min_of(sum_of(absolute(x), column, keep_dims=True), axes, keep_dims)
    raise ValueError(f"norm: ord of a matrix must be 'euclidean', 'fro', 1, inf or -inf, got {ord!r}")


def _power_norm(x: Tensor, order: float, axes: tuple[int, ...], keep_dims: bool) -> Tensor:
    return run_kernel("Norm", (x,), {"order": order, "axis": axes, "keep_dims": keep_dims})


def euclidean_norm(x: TensorLike, axis: int | Sequence[int] | None = None, keep_dims: bool = False) -> Tensor:
    """The square root of the sum of squares: `vg.norm` of order 2. Mirrors `tf.euclideanNorm`.

    >>> import varigrad as vg
    >>> vg.euclidean_norm([[3, 4], [0, 0]], axis=1).tolist()
    [5.0, 0.0]
    """
    return norm(x, "euclidean", axis, keep_dims)


def clip_by_norm(x: TensorLike, clip_norm: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """`x`, scaled down to Euclidean norm `clip_norm` where its norm is larger.

    TensorFlow has it (`tf.clip_by_norm`), TensorFlow.js has not.

    Args:
        x: Real numbers, any shape.
        clip_norm: The largest norm to leave, 0 or more.
        axis: Clips each vector along the axis; None clips all of `x` as one vector.

    >>> import varigrad as vg
    >>> vg.clip_by_norm([6, 8], 5).tolist()
    [3.0, 4.0]
    """
    x = convert_floating(x, "clip_by_norm", "x")
    if not isinstance(clip_norm, Tensor) and not clip_norm >= 0:
        raise ValueError(f"clip_by_norm: clip_norm must not be negative, got {clip_norm!r}")
    limit = convert(clip_norm, "clip_by_norm", "clip_norm", x.dtype)
    length = norm(x, "euclidean", axis, keep_dims=True)
    larger = run_kernel("Maximum", (length, limit))
    return mul(x, run_kernel("DivNoNan", (limit, larger)))

"""`vg.linalg`: norms, decompositions and parts of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from varigrad.engine import make_tensor, run_kernel, run_kernel_multi
from varigrad.ops.arguments import (
    TensorLike,
    accept,
    common_shape,
    convert,
    convert_floating,
    normalize_axes,
    normalize_axis,
)
from varigrad.ops.arithmetic import mul
from varigrad.ops.elementwise import abs as absolute
from varigrad.ops.elementwise import sign
from varigrad.ops.joining import stack, unstack
from varigrad.ops.options import flag, integer, number
from varigrad.ops.reduction import max as max_of
from varigrad.ops.reduction import min as min_of
from varigrad.ops.reduction import sum as sum_of
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor, format_shape

__all__ = ["QR", "band_part", "clip_by_norm", "euclidean_norm", "gram_schmidt", "norm", "qr"]


class QR(NamedTuple):
    """What `vg.linalg.qr` returns: `q`, whose columns are orthonormal, and `r`, upper triangular."""

    q: Tensor
    r: Tensor


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
    return _norm("norm", x, ord, axis, keep_dims)


def _norm(op: str, x: TensorLike, ord: float | str, axis: int | Sequence[int] | None, keep_dims: bool) -> Tensor:
    x = convert_floating(x, op, "x")
    keep_dims = flag(op, "keep_dims", keep_dims)
    ord = ord if isinstance(ord, str) else number(op, "ord", ord)
    if x.storage.dtype.kind == "c":
        x = absolute(x)
    if isinstance(axis, (list, tuple)) and len(axis) == 2:
        return _matrix_norm(op, x, ord, axis, keep_dims)
    axes = normalize_axes(op, axis, x.rank)
    if axis is not None and len(axes) != 1:
        raise ValueError(
            f"{op}: axis must be None, one axis for vectors or two for matrices, got {list(axes)}; reshape x first"
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


def _matrix_norm(op: str, x: Tensor, ord: float | str, axis: Sequence[int], keep_dims: bool) -> Tensor:
    axes = normalize_axes(op, axis, x.rank)
    row, column = (normalize_axis(op, a, x.rank) for a in axis)
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
    return _norm("euclidean_norm", x, "euclidean", axis, keep_dims)


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
    x = accept(x, "clip_by_norm", "x", "f")
    if not isinstance(clip_norm, Tensor):
        clip_norm = number("clip_by_norm", "clip_norm", clip_norm)
        if not clip_norm >= 0:
            raise ValueError(f"clip_by_norm: clip_norm must not be negative, got {clip_norm!r}")
    limit = convert(clip_norm, "clip_by_norm", "clip_norm", x.dtype)
    length = _norm("clip_by_norm", x, "euclidean", axis, keep_dims=True)
    if limit.rank and common_shape(x.shape, limit.shape) != x.shape:
        raise ValueError(
            f"clip_by_norm: clip_norm does not broadcast to x "
            f"(x: {format_shape(x.shape)}, clip_norm: {format_shape(limit.shape)})"
        )
    larger = run_kernel("Maximum", (length, limit))
    return mul(x, run_kernel("DivNoNan", (limit, larger)))


def band_part(a: TensorLike, num_lower: int | Tensor, num_upper: int | Tensor) -> Tensor:
    """Matrices with zeros outside a band about the diagonal. Mirrors `tf.linalg.bandPart`.

    Args:
        a: Any dtype, `[..., rows, columns]`.
        num_lower: How many diagonals to keep below the main one; all if negative. An integer or an int32 scalar.
        num_upper: How many to keep above it.

    Raises:
        ValueError: Rank below 2, or more diagonals than rows or columns.

    >>> import varigrad as vg
    >>> vg.linalg.band_part([[1, 2, 3], [4, 5, 6], [7, 8, 9]], 0, -1).tolist()
    [[1.0, 2.0, 3.0], [0.0, 5.0, 6.0], [0.0, 0.0, 9.0]]
    """
    a = _matrices("band_part", convert(a, "band_part", "a"), "a")
    lower = _diagonals("num_lower", num_lower, a.shape[-2], "rows")
    upper = _diagonals("num_upper", num_upper, a.shape[-1], "columns")
    return run_kernel("MatrixBandPart", (a, lower, upper))


def _matrices(op: str, x: Tensor, argument: str) -> Tensor:
    if x.rank < 2:
        raise ValueError(f"{op}: {argument} must have rank 2 or more, got shape {format_shape(x.shape)}")
    return x


def _diagonals(argument: str, count: int | Tensor, most: int, counted: str) -> Tensor:
    if isinstance(count, Tensor):
        if count.storage.dtype.kind != "i" or count.rank:
            raise TypeError(
                f"band_part: {argument} must be an integer scalar, got {count.dtype} of shape "
                f"{format_shape(count.shape)}"
            )
        return count
    if not isinstance(count, float) or not count.is_integer():
        count = integer("band_part", argument, count, None)
    if count > most:
        raise ValueError(f"band_part: {argument} {count} is more than the {most} {counted} of a")
    return make_tensor(np.array(count, np.int32))


def qr(x: TensorLike, full_matrices: bool = False) -> QR:
    """The QR decomposition of matrices: x = q r.

    The signs are those of TensorFlow.js: a diagonal element of r is negative if the element that it was reflected from
    is positive. The gradient is defined where the columns (of a wide matrix, the first `rows` of them) are independent,
    and for `full_matrices` of a tall matrix, whose last columns of q are free to turn among themselves, it is that of
    what does not depend on their turn. Mirrors `tf.linalg.qr`.

    Args:
        x: Real numbers, `[..., rows, columns]`.
        full_matrices: Makes q square for a tall matrix, too.

    Returns:
        `(q, r)`, `[..., rows, k]` and `[..., k, columns]`, where k is the smaller of rows and columns, or rows if
        `full_matrices`.

    Raises:
        ValueError: Rank below 2.

    >>> import varigrad as vg
    >>> q, r = vg.linalg.qr([[3, 5], [4, 10]])
    >>> [[round(v, 4) for v in row] for row in r.tolist()]
    [[-5.0, -11.0], [0.0, -2.0]]
    """
    x = _matrices("qr", accept(x, "qr", "x", "f"), "x")
    return QR(*run_kernel_multi("Qr", (x,), {"full_matrices": flag("qr", "full_matrices", full_matrices)}))


def gram_schmidt(xs: TensorLike) -> Tensor | list[Tensor]:
    """Orthonormal vectors that span what the vectors given span, each of them with those before it.

    Mirrors `tf.linalg.gramSchmidt`.

    Args:
        xs: Real numbers: a matrix, whose rows are the vectors, or a list of vectors. There are no more of them than
            they are long.

    Returns:
        A matrix for a matrix, a list for a list.

    Raises:
        ValueError: No vectors, too many, or vectors of several lengths.

    >>> import varigrad as vg
    >>> rows = vg.linalg.gram_schmidt(vg.tensor([[3, 4], [10, 5]]))
    >>> [[round(v, 4) for v in row] for row in rows.tolist()]
    [[0.6, 0.8], [0.8, -0.6]]
    """
    if isinstance(xs, (list, tuple)):
        vectors = [convert(v, "gram_schmidt", f"xs[{i}]") for i, v in enumerate(cast("Sequence[TensorLike]", xs))]
        shapes = {v.shape for v in vectors}
        if len(shapes) != 1 or vectors[0].rank != 1:
            given = ", ".join(format_shape(v.shape) for v in vectors) or "none"
            raise ValueError(f"gram_schmidt: xs must be vectors of one length, got {given}")
        return unstack(_orthonormal(stack(vectors)))
    return _orthonormal(convert(xs, "gram_schmidt", "xs"))


def _orthonormal(rows: Tensor) -> Tensor:
    rows = accept(rows, "gram_schmidt", "xs", "f")
    if rows.rank != 2 or rows.shape[0] > rows.shape[1] or not rows.size:
        raise ValueError(
            f"gram_schmidt: xs must be a matrix with no more rows than columns, got shape {format_shape(rows.shape)}"
        )
    q, r = qr(transpose(rows))
    diagonal = run_kernel("DiagPart", (r,))
    return transpose(mul(q, sign(diagonal)))

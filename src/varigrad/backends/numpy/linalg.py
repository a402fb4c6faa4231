"""Linear algebra with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from varigrad.backends.numpy.reduction import max_reduce, sum_axes
from varigrad.dtypes import Array

__all__ = ["KERNELS"]

_or_reduce: Any = np.logical_or.reduce


def _norm(x: Array, order: float, axis: tuple[int, ...], keep_dims: bool) -> Array:
    if order == 2:
        if len(axis) == x.ndim:
            length = np.sqrt(np.vdot(x, x))
            return length.reshape((1,) * x.ndim) if keep_dims else length
        return np.sqrt(sum_axes(np.square(x), axis, keep_dims))
    size = np.abs(x)
    # Relative to the largest, no power overflows.
    largest: Array = max_reduce(size, axis, None, None, True, 0)
    scale: Array = np.where((largest > 0) & np.isfinite(largest), largest, x.dtype.type(1))
    powers = np.power(size / scale, x.dtype.type(order))
    total = sum_axes(powers, axis, keep_dims)
    return np.power(total, x.dtype.type(1 / order)) * scale.reshape(total.shape)


def _norm_grad(dy: Array, x: Array, y: Array, order: float) -> Array:
    """dy and y are the norm's, their axes kept. A zero vector gets zeros, and so does one that dy is 0 for."""
    none = (dy == 0) | (y == 0)
    if order == 2:
        output = np.asarray(np.multiply(x, dy / y))  # of a scalar, NumPy gives a number
    else:
        output = np.asarray(np.sign(x) * np.power(np.abs(x) / y, x.dtype.type(order - 1)) * dy)
    if _or_reduce(none, None):
        output[np.broadcast_to(none, x.shape)] = 0
    return output


def _band_part(x: Array, num_lower: Array, num_upper: Array) -> Array:
    rows, columns = x.shape[-2:]
    outside: Array = np.ones((rows, columns), np.bool_)
    outside ^= np.tri(rows, columns, columns if num_upper < 0 else int(num_upper), np.bool_)
    if num_lower >= 0:
        outside |= np.tri(rows, columns, -1 - int(num_lower), np.bool_)
    output = x.copy()
    output[..., outside] = "" if x.dtype.kind == "O" else 0
    return output


def _qr(x: Array, full_matrices: bool) -> tuple[Array, Array]:
    """LAPACK's factors, with the signs that TensorFlow.js gives them."""
    rows, columns = x.shape[-2:]
    rank = min(rows, columns)
    kind = np.float64 if x.dtype == np.float64 else np.float32
    if not x.size:
        count = rows if full_matrices else rank
        q = np.broadcast_to(np.eye(rows, count, dtype=x.dtype), (*x.shape[:-2], rows, count))
        return q.copy(), np.zeros((*x.shape[:-2], count, columns), x.dtype)
    given = x.astype(kind, copy=False)
    _, tau = np.linalg.qr(given, "raw")
    q, r = np.linalg.qr(given, "complete" if full_matrices else "reduced")
    # LAPACK leaves a column alone that has zeros below the diagonal; TensorFlow.js reflects it.
    flip = np.ones((*x.shape[:-2], q.shape[-1]), kind)
    flip[..., :rank][tau == 0] = -1
    q, r = q * flip[..., None, :], r * flip[..., :, None]
    # Where the diagonal element itself is zero, LAPACK reflects it to a negative one, TensorFlow.js to a positive one.
    # That changes all columns after it.
    for place in np.argwhere((tau == 1).any(-1)):
        key = tuple(place)
        q_full, r_full = _householder(given[key])
        q[key], r[key] = q_full[:, : q.shape[-1]], r_full[: r.shape[-2]]
    q, r = q + kind(0), np.triu(r) + kind(0)  # no -0
    return q.astype(x.dtype, copy=False), r.astype(x.dtype, copy=False)


def _householder(x: Array) -> tuple[Array, Array]:
    """The full factors of one matrix, a reflection for each column."""
    rows, columns = x.shape
    q, r = np.eye(rows, dtype=np.float64), x.astype(np.float64)
    for column in range(min(rows, columns)):
        below = r[column:, column]
        length = np.sqrt(below.dot(below))
        if length == 0:
            continue
        normal = below.copy()
        normal[0] += length if below[0] > 0 else -length
        normal /= np.sqrt(normal.dot(normal))
        r[column:] -= 2 * np.outer(normal, normal.dot(r[column:]))
        q[:, column:] -= 2 * np.outer(q[:, column:].dot(normal), normal)
    return q, r


def _triangular_solve(matrix: Array, x: Array, transposed: bool) -> Array:
    """The solution y of `matrix y = x`, or of the transposed matrix, which is upper triangular before that."""
    kind = np.float64 if x.dtype == np.float64 else np.float32
    matrix = np.triu(matrix).astype(kind, copy=False)
    if transposed:
        matrix = matrix.swapaxes(-1, -2)
    try:
        return np.linalg.solve(matrix, x.astype(kind, copy=False)).astype(x.dtype, copy=False)
    except np.linalg.LinAlgError:
        raise ValueError(
            "the columns of a matrix are linearly dependent; there qr and gram_schmidt have no gradient"
        ) from None


KERNELS: dict[str, Any] = {
    "MatrixBandPart": _band_part,
    "MatrixTriangularSolve": _triangular_solve,
    "Norm": _norm,
    "NormGrad": _norm_grad,
    "Qr": _qr,
}

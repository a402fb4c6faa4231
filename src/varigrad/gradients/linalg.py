"""Derivatives of linear algebra."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.gradients.reduction import keep_axes
from varigrad.gradients.rules import by_formula
from varigrad.ops.arithmetic import add, mul, multiply_no_nan, sub
from varigrad.ops.elementwise import neg
from varigrad.ops.joining import concat
from varigrad.ops.linalg import band_part
from varigrad.ops.matmul import mat_mul
from varigrad.ops.shaping import transpose
from varigrad.tape import Gradient, inputs, inputs_and_outputs, outputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]


def _norm(dy: Tensor, x: Tensor, y: Tensor, order: float, axis: tuple[int, ...], keep_dims: bool) -> Tensor:
    """The norm has no derivative at the zero vector; the gradient there is the smallest one possible, zero."""
    y = keep_axes(y, x.shape, axis, keep_dims)
    return run_kernel("NormGrad", (keep_axes(dy, x.shape, axis, keep_dims), x, y), {"order": order})


def _norm_grad(dy: Tensor, x: Tensor, y: Tensor, order: float) -> Tensor:
    if order == 2:
        return multiply_no_nan(x, run_kernel("DivNoNan", (dy, y)))
    ratio = run_kernel("DivNoNan", (run_kernel("Abs", (x,)), y))
    power = run_kernel("Pow", (ratio, make_tensor(np.array(order - 1, x.storage.dtype))))
    return multiply_no_nan(mul(run_kernel("Sign", (x,)), power), dy)


def _qr(dys: tuple[Tensor, Tensor], q: Tensor, r: Tensor, full_matrices: bool) -> Tensor:
    dq, dr = dys
    rows, columns = q.shape[-2], r.shape[-1]
    if rows < columns:
        # The first columns of x alone make q; from the others, only the rest of r is made.
        v, dv = r[..., rows:], dr[..., rows:]
        dq = add(dq, mat_mul(mat_mul(q, v), dv, transpose_b=True))
        first = _qr_of_tall(dq, dr[..., :rows], q, r[..., :rows])
        return concat([first, mat_mul(q, dv)], -1)
    if q.shape[-1] > columns:
        # Where the first columns of q turn to, the others must give way.
        q, others = q[..., :columns], q[..., columns:]
        dq, d_others = dq[..., :columns], dq[..., columns:]
        dq = sub(dq, mat_mul(others, mat_mul(d_others, q, transpose_a=True)))
        r, dr = r[..., :columns, :], dr[..., :columns, :]
    return _qr_of_tall(dq, dr, q, r)


def _qr_of_tall(dq: Tensor, dr: Tensor, q: Tensor, r: Tensor) -> Tensor:
    """Walter and Lehmann, Algorithmic differentiation of linear algebra functions, 2018."""
    m = sub(mat_mul(r, dr, transpose_b=True), mat_mul(dq, q, transpose_a=True))
    lower = band_part(m, -1, 0)
    mirrored = add(lower, _turned(sub(lower, band_part(m, 0, 0))))
    return _turned(_solve(r, _turned(add(dq, mat_mul(q, mirrored))), transposed=False))


def _turned(x: Tensor) -> Tensor:
    """Matrices with rows and columns exchanged."""
    last = x.rank - 1
    return transpose(x, (*range(last - 1), last, last - 1))


def _solve(matrix: Tensor, x: Tensor, transposed: bool) -> Tensor:
    return run_kernel("MatrixTriangularSolve", (matrix, x), {"transposed": transposed})


def _triangular_solve(dy: Tensor, matrix: Tensor, y: Tensor, transposed: bool) -> tuple[Callable[[], Tensor], Tensor]:
    dx = _solve(matrix, dy, not transposed)

    def for_matrix() -> Tensor:
        product = mat_mul(y, dx, transpose_b=True) if transposed else mat_mul(dx, y, transpose_b=True)
        return neg(band_part(product, 0, -1))

    return for_matrix, dx


GRADIENTS: dict[str, Gradient] = {
    "MatrixBandPart": Gradient(
        lambda dy, lower, upper: (band_part(dy, lower, upper), None, None), lambda inputs, outputs: inputs[1:]
    ),
    "MatrixTriangularSolve": Gradient(_triangular_solve, lambda inputs, outputs: (inputs[0], outputs[0])),
    "Norm": Gradient(_norm, inputs_and_outputs),
    "NormGrad": Gradient(by_formula(_norm_grad), inputs),
    "Qr": Gradient(_qr, outputs),
}

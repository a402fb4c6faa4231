"""Lowering of matrix products: to their own loops, thin ones to maps and sums, large ones to BLAS on some systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from varigrad.backends.native import threads
from varigrad.backends.native.blas import Product
from varigrad.backends.native.builder import Builder
from varigrad.backends.native.contraction import Contraction
from varigrad.backends.native.contraction_plan import MOST_PACKED, Inner, Row
from varigrad.backends.native.machine import lanes_of
from varigrad.backends.native.operations import Shape, View, dense
from varigrad.backends.native.packing import Factor, packed, second_factor

__all__ = ["RULES", "activated", "product"]

# Multiplications from which BLAS, which has threads, is faster where programs have none. Where they do, its threads
# hold on to the cores that the next step needs: a net of which some products are BLAS's takes up to a third longer.
_LARGE = 1 << 62 if threads.POSSIBLE else 1 << 30
# Multiplications from which it pays to lay the second factor out in strips.
_PACKED = 1 << 18
# Elements from which a first factor whose columns lie side by side is turned around.
_REARRANGED = 1 << 14
_LONG = 1024  # sums from which on are taken in blocks
_LONGEST = 512  # of them
# Bytes of strips that several products read: as much as second caches hold.
_KEPT = 4 * MOST_PACKED
_FEW_ROWS = 12  # which go through the second factor so seldom that it stays as it is
_MANY_ROWS = 256


def _batch_mat_mul(b: Builder, x: View, y: View, transpose_a: bool, transpose_b: bool) -> View | None:
    if x.kind.char == "?":
        return None
    return product(b, _swapped(x) if transpose_a else x, _swapped(y) if transpose_b else y)


def _swapped(x: View) -> View:
    rank = len(x.shape)
    return x.permuted([*range(rank - 2), rank - 1, rank - 2])


def product(b: Builder, x: View, y: View, order: Sequence[int] | None = None) -> View:
    """x [..., m, k] times y [..., k, n]. `order` is in which order the axes of the result, of which the last stays the
    last, had best lie in memory."""
    (m, k), n = x.shape[-2:], y.shape[-1]
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    shape = (*batch, m, n)
    x, y = x.broadcast((*batch, m, k)), y.broadcast((*batch, k, n))
    if not any(y.strides[:-2]) or prod(batch) == 1:
        # One matrix for the whole batch: the batch is just more rows.
        rows = x.reshaped((prod(batch) * m, k))
        if rows is None and m * n * k >= _PACKED:
            rows = b.reshape(x, (prod(batch) * m, k))
        if rows is not None:
            one = View(y.val, y.shape[-2:], y.strides[-2:], y.offset)
            return b.reshape(_matrices(b, rows, one, (prod(batch) * m, n)), shape)
    return _matrices(b, x, y, shape, order)


def _matrices(b: Builder, x: View, y: View, shape: Shape, order: Sequence[int] | None = None) -> View:
    *batch, m, n = shape
    k = x.shape[-1]
    if k == 1:
        return b.map("Multiply", x, y)
    if n == 1:
        return _times_vector(b, x, y)
    if x.kind.is_float and m * n * k >= _LARGE:
        routine = _blas(b, x, y, tuple(batch))
        if routine is not None:
            code, factors = routine
            return b.routine(code, factors, shape, parts=code.parts)
    if m == 1 and y.strides[-1] != 1 and y.strides[-2] == 1:
        return _swapped(_times_vector(b, _swapped(y), _swapped(x)))
    lanes = lanes_of(x.kind.size)
    often = m >= _FEW_ROWS and m * k * n >= _PACKED
    packed_once = often and b.repeats_factor and n % (2 * lanes) == 0 and k * n * x.kind.size <= _KEPT
    together = 0 if batch else _together(m, n, lanes, packed_once)
    gathered = x.strides[-1] != 1 and x.strides[-2] == 1 and m * k >= _REARRANGED and m * k * n >= _PACKED
    if gathered and not together and k % lanes == 0:
        turned = packed(b, x, k, lanes)
        x = View(turned.val, x.shape, (*turned.strides[:-3], *turned.strides[-2:]), turned.offset)
    block = _block(k)
    across = 0
    if not together and not packed_once and block * 2 * lanes * x.kind.size <= MOST_PACKED:
        across = y.strides[-1] if y.strides[-1] != 1 or (n > 2 * lanes and often) else 0
    factor = Factor(y, y.strides[:-2], y.strides[-2], 0) if across else second_factor(b, y, lanes, often)
    inner = [Inner(block, x.strides[-1], factor.down)]
    if block != k:
        inner.insert(0, Inner(k // block, block * x.strides[-1], block * factor.down))
    order = range(len(shape)) if order is None else order
    memory = tuple(shape[axis] for axis in order)
    steps = dict(zip(order, dense(memory), strict=True))
    down = steps[len(batch)]
    rows = [Row(size, x.strides[d], factor.outer[d], steps[d]) for d, size in enumerate(batch)]
    if together:
        rows.append(Row(m // together, together * x.strides[-2], 0, together * down))
    rows.append(Row(together or m, x.strides[-2], 0, down))
    code = Contraction.of(
        rows, inner, n, x.kind, lanes, len(inner) - 1, k % block, factor.strip, across, gathered and together > 0
    )
    made = b.routine(code, [x, factor.view], memory, parts=code.parts)
    return View(made.val, shape, tuple(steps[axis] for axis in range(len(shape))))


def _block(k: int) -> int:
    """In blocks of how many a sum is taken: all alike if there is a size for that, or all but the last."""
    if k < _LONG:
        return k
    return next((size for size in range(_LONGEST, _LONGEST // 2 - 1, -1) if k % size == 0), -(-k // -(-k // _LONGEST)))


def _together(m: int, n: int, lanes: int, is_packed: bool) -> int:
    """How many of many rows are gone through together, for what they need and make to stay in the first caches; 0 if
    they are so few that all are. Where there are few columns, or the second factor lies in strips already, the work is
    divided by rows too: what follows goes through the same rows."""
    if m < _MANY_ROWS and n > 16 * lanes and not is_packed:
        return 0
    return next((size for size in range(32, 15, -1) if m % size == 0 and size < m), 0)


def _times_vector(b: Builder, x: View, y: View) -> View:
    """A matrix times a column, as sums along the axis that lies side by side."""
    rank = len(x.shape)
    column = _swapped(y)
    if x.strides[-1] == 1 or x.strides[-2] != 1:
        return b.reduce("sum", b.map("Multiply", x, column), (rank - 1,), keep=True)
    total = b.reduce("sum", b.map("Multiply", _swapped(x), _swapped(column)), (rank - 2,), keep=True)
    return _swapped(total)


def _blas(b: Builder, x: View, y: View, batch: Shape) -> tuple[Product, list[View]] | None:
    """The call of BLAS; None where the batch has no single stride."""
    factors: list[View] = []
    leading: list[int] = []
    flags: list[bool] = []
    steps: list[int] = []
    for factor in (x, y):
        if not _is_matrix(factor):
            factor = b.copy(factor)
        (rows, columns), (down, across) = factor.shape[-2:], factor.strides[-2:]
        transposed = across != 1 and columns > 1
        flags.append(transposed)
        leading.append(max(across, rows) if transposed else max(down, columns))
        flat = View(factor.val, batch, factor.strides[:-2]).reshaped((prod(batch),)) if batch else None
        if batch and flat is None:
            return None
        steps.append(flat.strides[0] if flat is not None else 0)
        factors.append(factor)
    m, k, n = x.shape[-2], x.shape[-1], y.shape[-1]
    code = Product(x.kind, flags[0], flags[1], m, n, k, leading[0], leading[1], prod(batch), steps[0], steps[1])
    return code, factors


def _is_matrix(x: View) -> bool:
    """Whether BLAS can read it: one axis side by side, the other with a stride no shorter than that is long."""
    (rows, columns), (down, across) = x.shape[-2:], x.strides[-2:]
    return (across == 1 and down >= columns) or (down == 1 and across >= rows)


_ACTIVATIONS = {"relu": "Relu", "elu": "Elu", "sigmoid": "Sigmoid"}


def activated(b: Builder, y: View, bias: View | None, activation: str) -> View:
    """A product with its bias added, through an activation."""
    if bias is not None:
        y = b.map("Add", y, bias)
    return y if activation == "linear" else b.map(_ACTIVATIONS[activation], y)


def _fused_mat_mul(
    b: Builder, x: View, y: View, bias: View | None = None, *, transpose_a: bool, transpose_b: bool, activation: str
) -> View | None:
    result = _batch_mat_mul(b, x, y, transpose_a, transpose_b)
    return None if result is None else activated(b, result, bias, activation)


RULES: dict[str, Callable[..., Any]] = {
    "BatchMatMul": _batch_mat_mul,
    "_FusedMatMul": _fused_mat_mul,
}

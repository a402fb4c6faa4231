"""Matrix products with NumPy: each ends in as few BLAS calls as its shapes allow."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from varigrad.dtypes import Array

__all__ = ["KERNELS", "batch_mat_mul", "product_of"]


def batch_mat_mul(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> Array:
    """The product of matrices, in batches that broadcast."""
    if b.ndim == 2:
        if transpose_b:
            b = b.T
        if a.ndim == 2:
            return product_of(a.T if transpose_a else a, b)
        if not transpose_a and a.shape[-1] == b.shape[0]:
            # One matrix for the whole batch: the batch is just more rows.
            inner, columns = b.shape
            rows = prod(a.shape[:-1])
            product = np.empty((*a.shape[:-1], columns), a.dtype)
            product_of(a.reshape(rows, inner), b, product.reshape(rows, columns))
            return product
    elif transpose_b:
        b = b.swapaxes(-1, -2)
    return np.matmul(a.swapaxes(-1, -2) if transpose_a else a, b)


def product_of(a: Array, b: Array, out: Array | None = None) -> Array:
    """The product of two matrices. Of a factor that is one number NumPy's `dot` makes 0 where it is 0, even of NaN."""
    return np.multiply(a, b, out) if a.size == 1 or b.size == 1 else np.dot(a, b, out)


def _einsum(*operands: Array, equation: str) -> Array:
    """A sum of products, as products of two from left to right. `equation` has an arrow and no ellipsis."""
    left, output = equation.split("->")
    labels = left.split(",")
    x, held = _diagonal(operands[0], labels[0])
    for following, (y, other) in enumerate(zip(operands[1:], labels[1:]), 2):
        x, held = _contract(x, held, *_diagonal(y, other), needed=output + "".join(labels[following:]))
    x, held = _sum_out(x, held, output)
    if held != output:
        return x.transpose([held.index(label) for label in output]).copy()
    return x.copy() if x.base is not None or x is operands[0] else x


def _contract(a: Array, a_labels: str, b: Array, b_labels: str, needed: str) -> tuple[Array, str]:
    """The product of two arrays, summed over the labels that nobody needs afterwards: one matrix product a batch."""
    a, a_labels = _sum_out(a, a_labels, needed + b_labels)
    b, b_labels = _sum_out(b, b_labels, needed + a_labels)
    sizes = dict(zip(a_labels + b_labels, a.shape + b.shape))
    batch = [label for label in a_labels if label in b_labels and label in needed]
    inner = [label for label in a_labels if label in b_labels and label not in needed]
    rows = [label for label in a_labels if label not in b_labels]
    columns = [label for label in b_labels if label not in a_labels]
    labels = batch + rows + columns
    a = a.transpose([a_labels.index(label) for label in batch + rows + inner])
    b = b.transpose([b_labels.index(label) for label in batch + inner + columns])
    if not inner:
        a = a.reshape(a.shape + (1,) * len(columns))
        b = b.reshape(b.shape[: len(batch)] + (1,) * len(rows) + b.shape[len(batch) :])
        return np.multiply(a, b), "".join(labels)
    n, r, i, c = (prod([sizes[label] for label in group]) for group in (batch, rows, inner, columns))
    product = np.empty([sizes[label] for label in labels], a.dtype)
    np.matmul(a.reshape(n, r, i), b.reshape(n, i, c), out=product.reshape(n, r, c))
    return product, "".join(labels)


def _sum_out(x: Array, labels: str, needed: str) -> tuple[Array, str]:
    """Sums over the axes whose labels nobody needs."""
    axes = tuple([axis for axis, label in enumerate(labels) if label not in needed])
    if not axes:
        return x, labels
    kept = "".join([label for label in labels if label in needed])
    return np.asarray(np.add.reduce(x, axis=axes, dtype=x.dtype)), kept


def _diagonal(x: Array, labels: str) -> tuple[Array, str]:
    """A view in which every label stands for one axis."""
    distinct = "".join(dict.fromkeys(labels))
    return (x, labels) if distinct == labels else (np.einsum(f"{labels}->{distinct}", x), distinct)


KERNELS: dict[str, Any] = {
    "BatchMatMul": batch_mat_mul,
    "Einsum": _einsum,
}

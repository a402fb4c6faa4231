"""Derivatives of matrix products and sums of products."""

from __future__ import annotations

import string
from collections.abc import Callable

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.gradients.rules import sum_to
from varigrad.ops.elementwise import conj
from varigrad.ops.matmul import flat_rows
from varigrad.tape import Gradient, inputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS", "factor_gradients"]


def factor_gradients(
    dy: Tensor, a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool
) -> tuple[Callable[[], Tensor], Callable[[], Tensor]]:
    """The gradients of both factors, each one product that transposes nothing in memory."""
    if dy.storage.dtype.kind == "c":
        a, b = conj(a), conj(b)

    def for_a() -> Tensor:
        if transpose_a:
            return _product(b, dy, transpose_b, True, a.storage.shape)
        return _product(dy, b, False, not transpose_b, a.storage.shape)

    def for_b() -> Tensor:
        if transpose_b:
            return _product(dy, a, True, transpose_a, b.storage.shape)
        return _product(a, dy, not transpose_a, False, b.storage.shape)

    return for_a, for_b


def _product(a: Tensor, b: Tensor, transpose_a: bool, transpose_b: bool, shape: tuple[int, ...]) -> Tensor:
    """A matrix product, summed over the batch axes along which the tensor of this shape was broadcast."""
    if transpose_a and not transpose_b and len(shape) == 2 < a.ndim and a.shape[:-2] == b.shape[:-2]:
        # A sum of products over a batch is one product with the rows of all.
        a, b = flat_rows(a), flat_rows(b)
    product = run_kernel("BatchMatMul", (a, b), {"transpose_a": transpose_a, "transpose_b": transpose_b})
    return product if product.storage.shape == shape else sum_to(product, shape)


def _einsum_gradients(dy: Tensor, *operands: Tensor, equation: str) -> tuple[Callable[[], Tensor], ...]:
    left, output = equation.split("->")
    labels = left.split(",")

    def gradient(position: int) -> Callable[[], Tensor]:
        def make() -> Tensor:
            rest = [conj(x) for x in (*operands[:position], *operands[position + 1 :])]
            given = [output, *labels[:position], *labels[position + 1 :]]
            spare = (letter for letter in string.ascii_letters if letter not in equation)
            target = ""
            for label, length in zip(labels[position], operands[position].shape):
                if label in target:  # a diagonal was taken: the gradient lies on it
                    label, twin = next(spare), label
                    given.append(twin + label)
                    rest.append(make_tensor(np.eye(length, dtype=dy.storage.dtype)))
                elif not any(label in other for other in given):  # summed alone: the gradient is the same all along
                    given.append(label)
                    rest.append(make_tensor(np.ones(length, dy.storage.dtype)))
                target += label
            return run_kernel("Einsum", (dy, *rest), {"equation": f"{','.join(given)}->{target}"})

        return make

    return tuple([gradient(position) for position in range(len(operands))])


GRADIENTS: dict[str, Gradient] = {
    "BatchMatMul": Gradient(factor_gradients, inputs),
    "Einsum": Gradient(_einsum_gradients, inputs),
}

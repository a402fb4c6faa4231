"""The chained methods and operators of tensors: which op each one is.

`x.mat_mul(w)` is `vg.mat_mul(x, w)`: every row below is that function, given the tensor as its first argument.
"""

from __future__ import annotations

from typing import Any, cast

from varigrad import scopes
from varigrad.ops import arithmetic, assignment, creation, indexing, joining, matmul, normalization, reduction, shaping
from varigrad.ops.arguments import TensorLike
from varigrad.tensor import Tensor, Variable

__all__ = ["TensorMethods", "VariableMethods"]


class TensorMethods:
    """Methods that every tensor has."""

    __slots__ = ()

    # Memory
    dispose = scopes.dispose

    # Arithmetic
    add = arithmetic.add
    sub = arithmetic.sub
    mul = arithmetic.mul

    # Matrix products
    dot = matmul.dot
    mat_mul = matmul.mat_mul
    matmul = mat_mul

    # Shaping
    cast = shaping.cast
    clone = shaping.clone
    reshape = shaping.reshape
    expand_dims = shaping.expand_dims
    squeeze = shaping.squeeze
    transpose = shaping.transpose
    broadcast_to = shaping.broadcast_to

    def concat(self, tensors: TensorLike, axis: int = 0) -> Tensor:
        """This tensor and another, or a list of others, one after the other along an axis."""
        return joining.concat(_with(self, tensors), axis)

    def stack(self, tensors: TensorLike, axis: int = 0) -> Tensor:
        """This tensor and another, or a list of others, side by side along a new axis."""
        return joining.stack(_with(self, tensors), axis)

    # Taking parts
    slice = indexing.slice

    # Creation
    one_hot = creation.one_hot
    ones_like = creation.ones_like
    zeros_like = creation.zeros_like
    variable = creation.variable

    # Reductions
    sum = reduction.sum
    mean = reduction.mean
    max = reduction.max
    min = reduction.min

    # Normalization
    softmax = normalization.softmax
    log_softmax = normalization.log_softmax

    # Operators
    __add__ = arithmetic.add
    __sub__ = arithmetic.sub
    __mul__ = arithmetic.mul
    __matmul__ = mat_mul

    def __radd__(self, other: TensorLike) -> Tensor:
        return arithmetic.add(other, self)

    def __rsub__(self, other: TensorLike) -> Tensor:
        return arithmetic.sub(other, self)

    def __rmul__(self, other: TensorLike) -> Tensor:
        return arithmetic.mul(other, self)

    def __rmatmul__(self, other: TensorLike) -> Tensor:
        return matmul.mat_mul(other, self)


class VariableMethods:
    """Methods that only variables have."""

    __slots__ = ()

    assign = assignment.assign
    assign_add = assignment.assign_add
    assign_sub = assignment.assign_sub

    # `w += x` gives the variable new values, where `t += x` makes a new tensor.
    __iadd__ = assignment.assign_add
    __isub__ = assignment.assign_sub

    def __imul__(self, other: TensorLike) -> Variable:
        return assignment.assign(cast("Variable", self), arithmetic.mul(self, other))


def _with(first: TensorLike, others: TensorLike) -> list[TensorLike]:
    return [first, *others] if isinstance(others, (list, tuple)) else [first, others]


def _install() -> None:
    """Gives the base classes that `Tensor` and `Variable` were built on the methods listed above."""
    bases: list[Any] = [Tensor.__bases__[0], Variable.__bases__[0]]
    for base, methods in zip(bases, (TensorMethods, VariableMethods), strict=True):
        for name, method in vars(methods).items():
            if callable(method):
                setattr(base, name, method)


_install()

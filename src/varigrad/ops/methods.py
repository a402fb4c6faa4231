"""The chained methods and operators of tensors: which op each one is.

`x.mat_mul(w)` is `vg.mat_mul(x, w)`: every row below is that function, given the tensor as its first argument.
"""

from __future__ import annotations

from typing import Any

from varigrad import scopes
from varigrad.ops import arithmetic, reduction
from varigrad.ops.arguments import TensorLike
from varigrad.tensor import Tensor

__all__ = ["TensorMethods"]


class TensorMethods:
    """Methods that every tensor has."""

    __slots__ = ()

    # Memory
    dispose = scopes.dispose

    # Arithmetic
    add = arithmetic.add
    sub = arithmetic.sub
    mul = arithmetic.mul

    # Reductions
    sum = reduction.sum

    # Operators
    __add__ = arithmetic.add
    __sub__ = arithmetic.sub
    __mul__ = arithmetic.mul

    def __radd__(self, other: TensorLike) -> Tensor:
        return arithmetic.add(other, self)

    def __rsub__(self, other: TensorLike) -> Tensor:
        return arithmetic.sub(other, self)

    def __rmul__(self, other: TensorLike) -> Tensor:
        return arithmetic.mul(other, self)


def _install() -> None:
    """Gives the base class that `Tensor` was built on the methods listed above."""
    base: Any = Tensor.__mro__[1]
    for name, method in vars(TensorMethods).items():
        if callable(method):
            setattr(base, name, method)


_install()

"""Comparison, logic, and choice by a condition.

Comparisons have no gradient: where a loss goes through one, that path simply ends. The gradient of `where` goes to the
side that was chosen, and nothing, NaN least of all, comes out of the other.
"""

from __future__ import annotations

import numpy as np

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, accept, binary, common_shape, operands
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "bitwise_and",
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "not_equal",
    "where",
]

_ORDERED = "fibO"
_ANY = "fibOc"


def equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether a = b, elementwise with broadcasting, as bools.

    Mirrors `tf.equal`; also `a == b` on tensors, which, unlike in JavaScript, compares the values. Strings are compared
    as well.

    >>> import varigrad as vg
    >>> vg.equal([1, 2], [1, 3]).tolist()
    [True, False]
    """
    return binary("Equal", "equal", a, b, _ANY)


def not_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether a ≠ b, elementwise with broadcasting, as bools. Mirrors `tf.notEqual`; also `a != b` on tensors.

    >>> import varigrad as vg
    >>> vg.not_equal([1, 2], [1, 3]).tolist()
    [False, True]
    """
    return binary("NotEqual", "not_equal", a, b, _ANY)


def less(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether a < b, elementwise with broadcasting, as bools. Mirrors `tf.less`; also `a < b` on tensors.

    >>> import varigrad as vg
    >>> vg.less([1, 2], 2).tolist()
    [True, False]
    """
    return binary("Less", "less", a, b, _ORDERED)


def less_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether a ≤ b, elementwise with broadcasting, as bools. Mirrors `tf.lessEqual`; also `a <= b` on tensors.

    >>> import varigrad as vg
    >>> vg.less_equal([1, 3], 2).tolist()
    [True, False]
    """
    return binary("LessEqual", "less_equal", a, b, _ORDERED)


def greater(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether a > b, elementwise with broadcasting, as bools. Mirrors `tf.greater`; also `a > b` on tensors.

    >>> import varigrad as vg
    >>> vg.greater([1, 3], 2).tolist()
    [False, True]
    """
    return binary("Greater", "greater", a, b, _ORDERED)


def greater_equal(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether a ≥ b, elementwise with broadcasting, as bools. Mirrors `tf.greaterEqual`; also `a >= b` on tensors.

    >>> import varigrad as vg
    >>> vg.greater_equal([1, 2], 2).tolist()
    [False, True]
    """
    return binary("GreaterEqual", "greater_equal", a, b, _ORDERED)


def logical_and(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether both are True, elementwise with broadcasting. Mirrors `tf.logicalAnd`; also `a & b` on bool tensors.

    Raises:
        TypeError: An operand is not bool; compare numbers first, as in `a != 0`.

    >>> import varigrad as vg
    >>> vg.logical_and([True, True], [True, False]).tolist()
    [True, False]
    """
    return binary("LogicalAnd", "logical_and", a, b, "b")


def logical_or(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether either is True, elementwise with broadcasting. Mirrors `tf.logicalOr`; also `a | b` on bool tensors.

    >>> import varigrad as vg
    >>> vg.logical_or([True, False], [False, False]).tolist()
    [True, False]
    """
    return binary("LogicalOr", "logical_or", a, b, "b")


def logical_xor(a: TensorLike, b: TensorLike) -> Tensor:
    """Whether just one is True, elementwise with broadcasting. Mirrors `tf.logicalXor`; also `a ^ b` on bool tensors.

    >>> import varigrad as vg
    >>> vg.logical_xor([True, True], [False, True]).tolist()
    [True, False]
    """
    return binary("LogicalXor", "logical_xor", a, b, "b")


def logical_not(x: TensorLike) -> Tensor:
    """Whether each is False. Mirrors `tf.logicalNot`; also `~x` on bool tensors.

    >>> import varigrad as vg
    >>> vg.logical_not([True, False]).tolist()
    [False, True]
    """
    return run_kernel("LogicalNot", (accept(x, "logical_not", "x", "b"),))


def bitwise_and(a: TensorLike, b: TensorLike) -> Tensor:
    """The bits that both integers have, elementwise with broadcasting.

    Mirrors `tf.bitwiseAnd`, which wants equal shapes; also `a & b` on integer tensors.

    Raises:
        TypeError: An operand holds no integers.

    >>> import varigrad as vg
    >>> vg.bitwise_and(vg.tensor([5, 6], dtype="int32"), vg.tensor([3, 3], dtype="int32")).tolist()
    [1, 2]
    """
    return binary("BitwiseAnd", "bitwise_and", a, b, "i")


def where(condition: TensorLike, a: TensorLike, b: TensorLike) -> Tensor:
    """`a` where the condition is True, and `b` elsewhere; the three are broadcast together.

    Mirrors `tf.where`. The gradient reaches only the side that was chosen: that of `where(x > 0, log(x), 0)` is 0, not
    NaN, where x is 0.

    Args:
        condition: Bools.
        a: The values where it is True, of any dtype.
        b: The values where it is False. The result has the wider of the two dtypes.

    Raises:
        TypeError: The condition is not bool.
        ValueError: The shapes do not broadcast.

    >>> import varigrad as vg
    >>> vg.where([True, False], [1, 2], 0).tolist()
    [1.0, 0.0]
    """
    if not (isinstance(condition, Tensor) and condition.storage.dtype.kind == "b"):
        condition = accept(condition, "where", "condition", "b")
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage.dtype is b.storage.dtype):
        a, b = operands("where", a, b)
    try:
        return run_kernel("Select", (condition, a, b))
    except ValueError:
        _check_where(condition, a, b)
        raise


def _check_where(condition: Tensor, a: Tensor, b: Tensor) -> None:
    """Explains why a choice failed."""
    if common_shape(condition.shape, a.shape, b.shape) is None:
        raise ValueError(
            f"where: condition, a and b cannot be broadcast together (condition: {format_shape(condition.shape)}, "
            f"a: {format_shape(a.shape)}, b: {format_shape(b.shape)})"
        )


# For operators and gradient rules, not exported.


def bitwise_or(a: TensorLike, b: TensorLike) -> Tensor:
    """The bits that either integer has."""
    return binary("BitwiseOr", "bitwise_or", a, b, "i")


def bitwise_xor(a: TensorLike, b: TensorLike) -> Tensor:
    """The bits that just one integer has."""
    return binary("BitwiseXor", "bitwise_xor", a, b, "i")


def bitwise_not(x: TensorLike) -> Tensor:
    """The bits that an integer has not."""
    return run_kernel("BitwiseNot", (accept(x, "bitwise_not", "x", "i"),))


def keep_where(x: Tensor, mask: Tensor) -> Tensor:
    """x where the mask, which broadcasts to it, is True; 0 elsewhere, whatever x is there."""
    return run_kernel("KeepWhere", (x, mask))


def and_(a: TensorLike, b: TensorLike) -> Tensor:
    """The operator `a & b`: logical for bools, bitwise for integers."""
    a, b = operands("&", a, b)
    return (logical_and if a.storage.dtype.kind == "b" else bitwise_and)(a, b)


def or_(a: TensorLike, b: TensorLike) -> Tensor:
    """The operator `a | b`: logical for bools, bitwise for integers."""
    a, b = operands("|", a, b)
    return (logical_or if a.storage.dtype.kind == "b" else bitwise_or)(a, b)


def xor(a: TensorLike, b: TensorLike) -> Tensor:
    """The operator `a ^ b`: logical for bools, bitwise for integers."""
    a, b = operands("^", a, b)
    return (logical_xor if a.storage.dtype.kind == "b" else bitwise_xor)(a, b)


def invert(x: Tensor) -> Tensor:
    """The operator `~x`: logical for bools, bitwise for integers."""
    return (logical_not if x.storage.dtype.kind == "b" else bitwise_not)(x)


def comparable(x: TensorLike, value: object) -> bool:
    """Whether `x == value` compares the values; beside anything else, such as None, Python compares the objects."""
    if isinstance(value, (str, bytes)):
        return x.storage.dtype.kind == "O"
    numbers = (Tensor, int, float, complex, list, tuple, np.ndarray, np.generic)
    return isinstance(value, numbers) or hasattr(value, "to_numpy")

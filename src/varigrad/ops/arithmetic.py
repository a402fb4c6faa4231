"""Binary arithmetic with broadcasting."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, binary
from varigrad.tensor import Tensor

__all__ = ["add", "mul", "sub"]


def add(a: TensorLike, b: TensorLike) -> Tensor:
    """The sum a + b, elementwise with broadcasting.

    Mirrors `tf.add`; also `a + b` on tensors.

    Args:
        a: Numeric, any shape.
        b: Numeric, of a shape that broadcasts with `a`. The result has the wider of the two dtypes.

    Raises:
        ValueError: The shapes do not broadcast.

    >>> import varigrad as vg
    >>> vg.add([1, 2], 10).tolist()
    [11.0, 12.0]
    """
    return binary("Add", "add", a, b)


def sub(a: TensorLike, b: TensorLike) -> Tensor:
    """The difference a - b, elementwise with broadcasting. Mirrors `tf.sub`; also `a - b` on tensors.

    >>> import varigrad as vg
    >>> vg.sub([3, 5], [1, 2]).tolist()
    [2.0, 3.0]
    """
    return binary("Sub", "sub", a, b)


def mul(a: TensorLike, b: TensorLike) -> Tensor:
    """The product a * b, elementwise with broadcasting. Mirrors `tf.mul`; also `a * b` on tensors.

    >>> import varigrad as vg
    >>> vg.mul([1, 2], [3, 4]).tolist()
    [3.0, 8.0]
    """
    return binary("Multiply", "mul", a, b)


# For gradient rules, not exported.


def multiply_no_nan(x: Tensor, weight: Tensor) -> Tensor:
    """x * weight for tensors of one dtype, and 0 wherever `weight` is 0, even if `x` is infinite or NaN there.

    The chain rule with this product keeps a derivative that does not exist out of places whose value is not used: the
    gradient of `where(x > 0, log(x), 0)` is 0, not NaN, where x is 0.
    """
    return run_kernel("MultiplyNoNan", (x, weight))


def scale(x: Tensor, factor: float) -> Tensor:
    """x times a number that is fixed by shapes or by the formula."""
    return run_kernel("Scale", (x,), {"factor": factor})

"""Binary arithmetic with broadcasting.

The operands are brought to one dtype, the wider of the two, which is the result's; a Python number takes the dtype of
the tensor beside it, and bools become int32.
"""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arguments import NUMERIC, REAL, TensorLike, accept, binary, operands, unary
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "add",
    "add_n",
    "atan2",
    "div",
    "div_no_nan",
    "floor_div",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "pow",
    "squared_difference",
    "sub",
]


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


def div(a: TensorLike, b: TensorLike) -> Tensor:
    """The quotient a / b, elementwise with broadcasting; of two integers the whole number below it.

    Mirrors `tf.div`, which gives int32 for int32 operands (and 0 for a division by 0 there). `a / b` on tensors is
    Python's true division, float32 for integers; `a // b` is `vg.floor_div`.

    >>> import varigrad as vg
    >>> vg.div([3, 1], 2).tolist()
    [1.5, 0.5]
    >>> vg.div(vg.tensor([7, -7], dtype="int32"), 2).tolist()
    [3, -4]
    """
    return _quotient("RealDiv", "div", a, b)


def div_no_nan(a: TensorLike, b: TensorLike) -> Tensor:
    """The quotient a / b, and 0 wherever b is 0; integers as in `vg.div`. Mirrors `tf.divNoNan`.

    >>> import varigrad as vg
    >>> vg.div_no_nan([3, 1], [2, 0]).tolist()
    [1.5, 0.0]
    """
    return _quotient("DivNoNan", "div_no_nan", a, b)


def _quotient(kernel: str, op: str, a: TensorLike, b: TensorLike) -> Tensor:
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage.dtype is b.storage.dtype):
        a, b = operands(op, a, b)
    return binary("FloorDiv" if a.storage.dtype.kind in "ib" else kernel, op, a, b)


def true_div(a: TensorLike, b: TensorLike) -> Tensor:
    """The operator `a / b`: like `vg.div`, but of integers the float32 quotient."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and a.storage.dtype is b.storage.dtype):
        a, b = operands("div", a, b)
    return binary("RealDiv", "div", a, b, "fc")


def floor_div(a: TensorLike, b: TensorLike) -> Tensor:
    """The greatest whole number not above a / b, elementwise with broadcasting. Its gradient is 0.

    Mirrors `tf.floorDiv`; also `a // b` on tensors. Floats stay floats, as in Python and NumPy, where TensorFlow.js
    gives int32, which has no infinity. An integer divided by 0 gives 0.

    >>> import varigrad as vg
    >>> vg.floor_div([-7, 7], 2).tolist()
    [-4.0, 3.0]
    """
    return binary("FloorDiv", "floor_div", a, b, REAL)


def mod(a: TensorLike, b: TensorLike) -> Tensor:
    """The remainder a - b floor(a / b), with the sign of b. Mirrors `tf.mod`; also `a % b` on tensors.

    >>> import varigrad as vg
    >>> vg.mod([-7, 7], [3, -3]).tolist()
    [2.0, -2.0]
    """
    return binary("Mod", "mod", a, b, REAL)


def pow(base: TensorLike, exp: TensorLike) -> Tensor:
    """The power base^exp, elementwise with broadcasting. Mirrors `tf.pow`; also `base ** exp` on tensors.

    Of integers it is an integer: a negative power is 0, except of 1 and -1. Gradients are those of the analysis: that
    of x⁰ is 0 and that of x¹ is 1, at x = 0 as well; the exponent's is 0 where the base is not positive.

    >>> import varigrad as vg
    >>> vg.pow([2, 3], [3, 2]).tolist()
    [8.0, 9.0]
    """
    if (exp.__class__ is int or exp.__class__ is float) and exp == 2:
        return unary("Square", "pow", base, kinds=NUMERIC)
    return binary("Pow", "pow", base, exp)


def maximum(a: TensorLike, b: TensorLike) -> Tensor:
    """The greater of a and b, elementwise with broadcasting; NaN where either is. Mirrors `tf.maximum`.

    The gradient goes to the greater one, and to `a` where both are equal.

    >>> import varigrad as vg
    >>> vg.maximum([1, 5], 3).tolist()
    [3.0, 5.0]
    """
    return binary("Maximum", "maximum", a, b, REAL)


def minimum(a: TensorLike, b: TensorLike) -> Tensor:
    """The lesser of a and b, elementwise with broadcasting; NaN where either is. Mirrors `tf.minimum`.

    The gradient goes to the lesser one, and to `a` where both are equal.

    >>> import varigrad as vg
    >>> vg.minimum([1, 5], 3).tolist()
    [1.0, 3.0]
    """
    return binary("Minimum", "minimum", a, b, REAL)


def squared_difference(a: TensorLike, b: TensorLike) -> Tensor:
    """The square (a - b)², elementwise with broadcasting. Mirrors `tf.squaredDifference`.

    >>> import varigrad as vg
    >>> vg.squared_difference([1, 5], 3).tolist()
    [4.0, 4.0]
    """
    return binary("SquaredDifference", "squared_difference", a, b, REAL)


def atan2(a: TensorLike, b: TensorLike) -> Tensor:
    """The angle in radians, from -π to π, of the point with y coordinate `a` and x coordinate `b`. Mirrors `tf.atan2`.

    Integers are taken as float32. The gradient at the origin, where there is no angle, is 0.

    >>> import varigrad as vg
    >>> [f"{angle:.4f}" for angle in vg.atan2([1, 0], [1, -1]).tolist()]
    ['0.7854', '3.1416']
    """
    return binary("Atan2", "atan2", a, b, "f")


def add_n(tensors: Sequence[TensorLike]) -> Tensor:
    """The sum of a list of tensors of one shape and dtype. Mirrors `tf.addN`.

    Raises:
        ValueError: The list is empty, or the tensors differ in shape or dtype.

    >>> import varigrad as vg
    >>> vg.add_n([[1, 2], [3, 4], [5, 6]]).tolist()
    [9.0, 12.0]
    """
    if isinstance(tensors, Tensor) or not isinstance(tensors, (list, tuple)):
        raise TypeError(f"add_n: tensors must be a list of tensors, got {type(tensors).__name__}")
    if not tensors:
        raise ValueError("add_n: needs at least one tensor")
    terms = tuple([accept(x, "add_n", f"tensors[{i}]", NUMERIC) for i, x in enumerate(tensors)])
    first = terms[0]
    for i, x in enumerate(terms):
        if x.shape != first.shape or x.dtype != first.dtype:
            raise ValueError(
                f"add_n: the tensors must have one shape and dtype, but tensors[0] is {format_shape(first.shape)} "
                f"{first.dtype} and tensors[{i}] is {format_shape(x.shape)} {x.dtype}"
            )
    return run_kernel("AddN", terms)


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

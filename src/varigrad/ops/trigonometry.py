"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, floating_unary, unary
from varigrad.tensor import Tensor

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"]


def sin(x: TensorLike) -> Tensor:
    """The sine of `x` in radians. Mirrors `tf.sin`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.sin(0).item()
    0.0
    """
    return floating_unary("Sin", "sin", x)


def cos(x: TensorLike) -> Tensor:
    """The cosine of `x` in radians. Mirrors `tf.cos`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.cos(0).item()
    1.0
    """
    return floating_unary("Cos", "cos", x)


def tan(x: TensorLike) -> Tensor:
    """The tangent of `x` in radians. Mirrors `tf.tan`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.tan(0).item()
    0.0
    """
    return floating_unary("Tan", "tan", x)


def asin(x: TensorLike) -> Tensor:
    """The arcsine in radians, NaN outside [-1, 1]. Mirrors `tf.asin`.

    >>> import varigrad as vg
    >>> f"{vg.asin(1).item():.4f}"
    '1.5708'
    """
    return unary("Asin", "asin", x, kinds="f")


def acos(x: TensorLike) -> Tensor:
    """The arccosine in radians, NaN outside [-1, 1]. Mirrors `tf.acos`.

    >>> import varigrad as vg
    >>> vg.acos(1).item()
    0.0
    """
    return unary("Acos", "acos", x, kinds="f")


def atan(x: TensorLike) -> Tensor:
    """The arctangent in radians; `vg.atan2` knows the quadrant. Mirrors `tf.atan`.

    >>> import varigrad as vg
    >>> f"{vg.atan(1).item():.4f}"
    '0.7854'
    """
    return unary("Atan", "atan", x, kinds="f")


def sinh(x: TensorLike) -> Tensor:
    """The hyperbolic sine. Mirrors `tf.sinh`.

    >>> import varigrad as vg
    >>> vg.sinh(0).item()
    0.0
    """
    return unary("Sinh", "sinh", x)


def cosh(x: TensorLike) -> Tensor:
    """The hyperbolic cosine. Mirrors `tf.cosh`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.cosh(0).item()
    1.0
    """
    return floating_unary("Cosh", "cosh", x)


def tanh(x: TensorLike) -> Tensor:
    """The hyperbolic tangent. Mirrors `tf.tanh`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.tanh([0, 1000]).tolist()
    [0.0, 1.0]
    """
    return floating_unary("Tanh", "tanh", x)


def asinh(x: TensorLike) -> Tensor:
    """The inverse hyperbolic sine. Mirrors `tf.asinh`.

    >>> import varigrad as vg
    >>> vg.asinh(0).item()
    0.0
    """
    return unary("Asinh", "asinh", x, kinds="f")


def acosh(x: TensorLike) -> Tensor:
    """The inverse hyperbolic cosine, NaN below 1. Mirrors `tf.acosh`.

    >>> import varigrad as vg
    >>> vg.acosh(1).item()
    0.0
    """
    return unary("Acosh", "acosh", x, kinds="f")


def atanh(x: TensorLike) -> Tensor:
    """The inverse hyperbolic tangent, NaN outside [-1, 1]. Mirrors `tf.atanh`.

    >>> import varigrad as vg
    >>> vg.atanh([0, 1]).tolist()
    [0.0, inf]
    """
    return unary("Atanh", "atanh", x, kinds="f")


# For gradient rules, not exported.


def tanh_grad(dy: Tensor, y: Tensor) -> Tensor:
    """dy (1 - y²), the derivative of tanh told by its result."""
    return run_kernel("TanhGrad", (dy, y))

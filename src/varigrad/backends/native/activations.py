"""Activations, and their derivatives by the result, as vector code."""

from __future__ import annotations

from varigrad.backends.native.code import Code, Operand
from varigrad.backends.native.vector_math import exp, expm1, is_positive, log1p_of_part, maximum, minimum

__all__ = [
    "elu",
    "elu_grad",
    "leaky_relu",
    "prelu",
    "relu",
    "relu6",
    "relu_grad",
    "sigmoid_cross_entropy",
    "sigmoid_grad",
    "softplus",
]


def relu(code: Code, x: Operand) -> Operand:
    """The larger of x and 0; NaN stays."""
    zero = code.like(x, 0)
    if not x.kind.is_float:
        return maximum(code, x, zero)
    return code.select(code.compare("ole", x, zero), zero, x)


def relu6(code: Code, x: Operand) -> Operand:
    """relu, and at most 6."""
    return minimum(code, relu(code, x), code.like(x, 6))


def relu_grad(code: Code, dy: Operand, y: Operand) -> Operand:
    """dy where y is above 0, and 0 elsewhere."""
    return code.select(is_positive(code, y), dy, code.like(dy, 0))


def leaky_relu(code: Code, x: Operand, alpha: float) -> Operand:
    """x above 0, and alpha times x elsewhere."""
    lower = code.mul(x, code.like(x, alpha))
    if 0 <= alpha <= 1:
        return maximum(code, x, lower)
    return code.select(code.compare("ogt", x, code.like(x, 0)), x, lower)


def prelu(code: Code, x: Operand, alpha: Operand) -> Operand:
    """The same with an alpha for each x."""
    # NaN counts as positive: it is its own result.
    return code.select(code.compare("olt", x, code.like(x, 0)), code.mul(alpha, x), x)


def elu(code: Code, x: Operand, alpha: float = 1.0, scale: float = 1.0) -> Operand:
    """scale times x above 0, and scale alpha (exp(x) - 1) elsewhere."""
    below = code.mul(expm1(code, x), code.like(x, alpha))
    y = code.select(code.compare("ole", x, code.like(x, 0)), below, x)
    return y if scale == 1 else code.mul(y, code.like(x, scale))


def elu_grad(code: Code, dy: Operand, y: Operand, alpha: float = 1.0, scale: float = 1.0) -> Operand:
    """dy times the slope of elu, by its result y."""
    zero = code.like(y, 0)
    slope = code.add(minimum(code, y, zero), code.like(y, scale * alpha))
    if alpha != 1:
        slope = code.select(code.compare("ogt", y, zero), code.like(y, scale), slope)
    return code.mul(slope, dy)


def sigmoid_grad(code: Code, dy: Operand, y: Operand) -> Operand:
    """dy times the slope of the sigmoid, by its result y."""
    return code.mul(code.mul(code.sub(code.like(y, 1), y), y), dy)


def _log1p_exp(code: Code, x: Operand) -> Operand:
    """log(1 + exp(-|x|))."""
    return log1p_of_part(code, exp(code, code.neg(code.intrinsic("fabs", x))))


def softplus(code: Code, x: Operand) -> Operand:
    """log(1 + exp(x))."""
    return code.add(_log1p_exp(code, x), relu(code, x))


def sigmoid_cross_entropy(code: Code, labels: Operand, logits: Operand) -> Operand:
    """The cross entropy of labels and the sigmoid of logits."""
    # The difference first: it is 0 where the label is right, and leaves the logarithm all its digits.
    rest = code.sub(relu(code, logits), code.mul(logits, labels))
    return code.add(_log1p_exp(code, logits), rest)

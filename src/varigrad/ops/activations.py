"""Activations: what neurons make of the sum of their inputs."""

from __future__ import annotations

import math

from varigrad.engine import run_kernel
from varigrad.ops.arguments import REAL, TensorLike, accept, binary, floating_unary, unary
from varigrad.ops.arithmetic import add, mul, multiply_no_nan, scale
from varigrad.ops.elementwise import erf, neg, square
from varigrad.ops.options import flag, number
from varigrad.tensor import Tensor

__all__ = ["elu", "gelu", "leaky_relu", "log_sigmoid", "prelu", "relu", "relu6", "selu", "sigmoid", "softplus"]


def relu(x: TensorLike) -> Tensor:
    """The rectified linear unit max(x, 0); its slope at 0 is 0. Mirrors `tf.relu`.

    >>> import varigrad as vg
    >>> vg.relu([-1, 2]).tolist()
    [0.0, 2.0]
    """
    return unary("Relu", "relu", x, kinds=REAL)


def relu6(x: TensorLike) -> Tensor:
    """`min(max(x, 0), 6)`, elementwise. Mirrors `tf.relu6`.

    >>> import varigrad as vg
    >>> vg.relu6([-1, 2, 8]).tolist()
    [0.0, 2.0, 6.0]
    """
    return unary("Relu6", "relu6", x, kinds=REAL)


def leaky_relu(x: TensorLike, alpha: float = 0.2) -> Tensor:
    """`x` where it is positive, and `alpha * x` elsewhere. Mirrors `tf.leakyRelu`.

    >>> import varigrad as vg
    >>> vg.leaky_relu([-1, 2], 0.5).tolist()
    [-0.5, 2.0]
    """
    return unary("LeakyRelu", "leaky_relu", x, {"alpha": number("leaky_relu", "alpha", alpha)}, "f")


def prelu(x: TensorLike, alpha: TensorLike) -> Tensor:
    """`x` where it is positive, and `alpha * x` elsewhere, with slopes `alpha` that are learned. Mirrors `tf.prelu`.

    Args:
        x: Real, any shape.
        alpha: The slopes, of a shape that broadcasts with `x`.

    Raises:
        ValueError: The shapes do not broadcast.

    >>> import varigrad as vg
    >>> vg.prelu([-1, 2], 0.5).tolist()
    [-0.5, 2.0]
    """
    return binary("Prelu", "prelu", x, alpha, "f")


def elu(x: TensorLike, alpha: float = 1.0) -> Tensor:
    """The exponential linear unit: x where x > 0, and alpha (e^x - 1) elsewhere.

    Mirrors `tf.elu`, which has no `alpha`. An integer tensor is an error; cast it first.

    Source: Clevert et al. 2015, "Fast and accurate deep network learning by exponential linear units".

    >>> import varigrad as vg
    >>> vg.elu([-1000, 2]).tolist()
    [-1.0, 2.0]
    """
    alpha = number("elu", "alpha", alpha)
    return floating_unary("Elu", "elu", x, {"alpha": alpha} if alpha != 1 else {}, "f")


# The values at which activations of mean 0 and variance 1 keep these from layer to layer.
_SELU = {"alpha": 1.6732632423543772, "scale": 1.0507009873554805}


def selu(x: TensorLike) -> Tensor:
    """The scaled exponential linear unit: 1.0507 x where x > 0, and 1.7581 (e^x - 1) elsewhere.

    Mirrors `tf.selu`. Source: Klambauer et al. 2017, "Self-normalizing neural networks".

    >>> import varigrad as vg
    >>> vg.selu([-1000, 0]).tolist()
    [-1.7580993175506592, 0.0]
    """
    return unary("Selu", "selu", x, _SELU, "f")


def sigmoid(x: TensorLike) -> Tensor:
    """The logistic function 1 / (1 + e^-x). Mirrors `tf.sigmoid`. An integer tensor is an error; cast it first.

    >>> import varigrad as vg
    >>> vg.sigmoid([-1000, 0, 1000]).tolist()
    [0.0, 0.5, 1.0]
    """
    return floating_unary("Sigmoid", "sigmoid", x, kinds="f")


def log_sigmoid(x: TensorLike) -> Tensor:
    """The logarithm of the sigmoid, which keeps its digits where the sigmoid would be 0. Mirrors `tf.logSigmoid`.

    >>> import varigrad as vg
    >>> vg.log_sigmoid([-1000, 1000]).tolist()
    [-1000.0, -0.0]
    """
    x = accept(x, "log_sigmoid", "x", "f")
    return neg(softplus(neg(x)))


def softplus(x: TensorLike) -> Tensor:
    """The logarithm log(1 + e^x), a smooth relu, for `x` of any size. Mirrors `tf.softplus`.

    >>> import varigrad as vg
    >>> vg.softplus([-1000, 1000]).tolist()
    [0.0, 1000.0]
    """
    return unary("Softplus", "softplus", x, kinds="f")


def gelu(x: TensorLike, approximate: bool = False) -> Tensor:
    """The Gaussian error linear unit: x times the probability that a normal number is less than `x`.

    TensorFlow.js has it only as an activation of layers: `gelu` there is this one, `gelu_new` the approximate one.
    Source: Hendrycks & Gimpel 2016, "Gaussian error linear units (GELUs)".

    Args:
        x: Real, any shape.
        approximate: Takes tanh(√(2/π) (x + 0.044715 x³)) in place of the error function.

    >>> import varigrad as vg
    >>> vg.gelu([-1000, 0, 1000]).tolist()
    [-0.0, 0.0, 1000.0]
    """
    x = accept(x, "gelu", "x", "f")
    if flag("gelu", "approximate", approximate):
        inner = scale(mul(x, add(scale(square(x), 0.044715), 1.0)), math.sqrt(2 / math.pi))
        twice = add(run_kernel("Tanh", (inner,)), 1.0)
    else:
        twice = add(erf(scale(x, math.sqrt(0.5))), 1.0)
    return multiply_no_nan(x, scale(twice, 0.5))


# For gradient rules, not exported. Each is a derivative told by the function's result `y`, times `dy`.


def relu_grad(dy: Tensor, y: Tensor) -> Tensor:
    """dy where y > 0, and 0 elsewhere; both of one shape and dtype."""
    return run_kernel("ReluGrad", (dy, y))


def sigmoid_grad(dy: Tensor, y: Tensor) -> Tensor:
    """dy y (1 - y)."""
    return run_kernel("SigmoidGrad", (dy, y))

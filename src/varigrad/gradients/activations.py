"""Derivatives of activations."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.gradients.rules import chain, no_slope, sum_to, used
from varigrad.ops.activations import relu_grad, sigmoid, sigmoid_grad
from varigrad.ops.arithmetic import minimum, scale, sub
from varigrad.ops.comparison import equal, greater, keep_where, less, where
from varigrad.ops.elementwise import step
from varigrad.tape import Gradient, inputs, inputs_and_outputs, outputs

__all__ = ["GRADIENTS"]

GRADIENTS: dict[str, Gradient] = {
    "Elu": Gradient(lambda dy, y, **attrs: run_kernel("EluGrad", (dy, y), attrs), outputs),
    "EluGrad": Gradient(
        lambda ddy, dy, y, **attrs: (
            run_kernel("EluGrad", (ddy, y), attrs),
            lambda: keep_where(used(dy, ddy), less(y, 0.0)),
        ),
        inputs,
    ),
    "LeakyRelu": Gradient(lambda dy, x, alpha: chain(step(x, alpha), dy), inputs),
    "Prelu": Gradient(
        lambda dy, x, alpha: (
            lambda: sum_to(chain(where(greater(x, 0.0), 1.0, alpha), dy), x.shape),
            lambda: sum_to(chain(minimum(x, 0.0), dy), alpha.shape),
        ),
        inputs,
    ),
    "Relu": Gradient(lambda dy, y: relu_grad(dy, y), outputs),
    "Relu6": Gradient(lambda dy, x, y: keep_where(relu_grad(dy, y), equal(x, y)), inputs_and_outputs),
    "ReluGrad": Gradient(lambda ddy, dy, y: (relu_grad(ddy, y), lambda: no_slope(y)), inputs),
    "Selu": Gradient(lambda dy, y, **attrs: run_kernel("EluGrad", (dy, y), attrs), outputs),
    "Sigmoid": Gradient(lambda dy, y: sigmoid_grad(dy, y), outputs),
    "SigmoidGrad": Gradient(
        lambda ddy, dy, y: (
            sigmoid_grad(ddy, y),
            lambda: chain(sub(1.0, scale(y, 2.0)), used(dy, ddy)),
        ),
        inputs,
    ),
    "Softplus": Gradient(lambda dy, x: chain(sigmoid(x), dy), inputs),
}

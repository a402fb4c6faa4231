"""The losses in PyTorch, functions of weights and data: `LOSSES[task.model](task)(weights, *data)`.

They are functions, not modules, so that eager mode does nothing besides. Kernels are stored as PyTorch's modules store
them, and images with the channels first.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from tasks import AVERAGING, HEADS, NORM_EPSILON, Task

Loss = Callable[..., torch.Tensor]
ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh}


def first_weights(task: Task) -> list[torch.Tensor]:
    """The weights as PyTorch stores them."""
    return [_with_units_first(a) for a in task.first_weights()]


def data(task: Task) -> list[torch.Tensor]:
    """The data; the directions of hvp are turned as the weights are."""
    arrays = task.arrays()
    if task.model == "hvp":
        directions = [_with_units_first(a) for a in arrays[1:-1]]
        return [torch.from_numpy(arrays[0]), *directions, torch.from_numpy(arrays[-1])]
    return [torch.from_numpy(np.ascontiguousarray(a.transpose(0, 3, 1, 2)) if a.ndim == 4 else a) for a in arrays]


def _with_units_first(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if array.ndim == 4:
        return torch.from_numpy(np.ascontiguousarray(array.transpose(3, 2, 0, 1)))
    return torch.from_numpy(np.ascontiguousarray(array.T))


def _mlp_output(task: Task, weights: list[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    activation = ACTIVATIONS[task.activation]
    last = len(weights) - 2
    for i in range(0, last, 2):
        x = activation(F.linear(x, weights[i], weights[i + 1]))
    return F.linear(x, weights[last], weights[last + 1])


def mlp(task: Task) -> Loss:
    loss_of = F.mse_loss if task.loss == "mean_squared_error" else F.cross_entropy
    return lambda weights, x, y: loss_of(_mlp_output(task, weights, x), y)


def cnn(task: Task) -> Loss:
    def loss(w: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(torch.relu(F.conv2d(x, w[0], w[1])), 2)
        x = F.max_pool2d(torch.relu(F.conv2d(x, w[2], w[3])), 2)
        return F.cross_entropy(F.linear(_flat(x), w[4], w[5]), y)

    return loss


def cnn32(task: Task) -> Loss:
    averages = [(torch.zeros(n), torch.ones(n)) for n in (32, 64, 64)]

    def loss(w: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for i, (mean, variance) in enumerate(averages):
            kernel, bias, gamma, beta = w[4 * i : 4 * i + 4]
            x = torch.relu(F.conv2d(x, kernel, bias, padding=1))
            x = F.batch_norm(x, mean, variance, gamma, beta, True, 1 - AVERAGING, NORM_EPSILON)
            x = F.max_pool2d(x, 2)
        return F.cross_entropy(F.linear(_flat(x), w[12], w[13]), y)

    return loss


def lstm(task: Task, unrolled: bool = False) -> Loss:
    """PyTorch's own LSTM; or, for its compiler, which stops at that, one step after the other."""
    units = task.weights[1].shape[0]
    batch = task.data[0].shape[0]
    state = torch.zeros(1, batch, units)
    no_bias = torch.zeros(4 * units)

    def loss(w: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        parameters = [w[0], w[1], w[2], no_bias]
        _, h, _ = torch.lstm(x, (state, state), parameters, True, 1, 0.0, True, False, True)  # type: ignore
        return F.cross_entropy(F.linear(h[0], w[3], w[4]), y)

    def loss_by_steps(w: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        h = c = state[0]
        for inputs in F.linear(x, w[0], w[2]).unbind(1):
            i, f, g, o = (inputs + F.linear(h, w[1])).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return F.cross_entropy(F.linear(h, w[3], w[4]), y)

    return loss_by_steps if unrolled else loss


def vae(task: Task) -> Loss:
    def loss(w: list[torch.Tensor], x: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        encoded = torch.relu(F.linear(x, w[0], w[1]))
        mean, log_variance = F.linear(encoded, w[2], w[3]), F.linear(encoded, w[4], w[5])
        code = mean + torch.exp(0.5 * log_variance) * noise
        logits = F.linear(torch.relu(F.linear(code, w[6], w[7])), w[8], w[9])
        reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return (reconstruction + divergence) / len(x)

    return loss


def transformer(task: Task) -> Loss:
    def loss(w: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        batch, tokens, size = x.shape
        normal = F.layer_norm(x, (size,), w[0], w[1], NORM_EPSILON)
        parts = F.linear(normal, w[2], w[3]).view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        x = x + F.linear(heads.transpose(1, 2).reshape(batch, tokens, size), w[4], w[5])
        normal = F.layer_norm(x, (size,), w[6], w[7], NORM_EPSILON)
        x = x + F.linear(F.gelu(F.linear(normal, w[8], w[9])), w[10], w[11])
        return F.mse_loss(x, y)

    return loss


def many_vars(task: Task) -> Loss:
    return lambda weights: torch.stack([w.sum() for w in weights]).square().sum()


def hvp(task: Task, functional: bool = False) -> Loss:
    """Through the tape, or through torch.func, which compiles."""

    def inner(weights: list[torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(_mlp_output(task, weights, x), y)

    def loss(weights: list[torch.Tensor], x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
        *direction, y = rest
        if functional:
            gradients = torch.func.grad(inner)(weights, x, y)
        else:
            gradients = torch.autograd.grad(inner(weights, x, y), weights, create_graph=True)
        return sum((g * d).sum() for g, d in zip(gradients, direction))  # type: ignore

    return loss


def _flat(x: torch.Tensor) -> torch.Tensor:
    """The values of each image, the channels last, as the weights after them count."""
    return x.permute(0, 2, 3, 1).flatten(1)


LOSSES: dict[str, Callable[[Task], Loss]] = {
    "mlp": mlp,
    "cnn": cnn,
    "cnn32": cnn32,
    "lstm": lstm,
    "vae": vae,
    "transformer": transformer,
    "many_vars": many_vars,
    "hvp": hvp,
}

# Those that the compiler can take.
COMPILED_LOSSES = LOSSES | {"lstm": partial(lstm, unrolled=True), "hvp": partial(hvp, functional=True)}

"""The losses in JAX: `LOSSES[task.model](task)(weights, averages, *data)` gives the loss and the new averages.

The averages are those of batch normalization, an empty tuple for the other models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from tasks import AVERAGING, HEADS, NORM_EPSILON, Task

Loss = Callable[..., Any]
ACTIVATIONS = {"relu": jax.nn.relu, "tanh": jnp.tanh}


def first_averages(task: Task) -> Any:
    """The moving averages to begin with."""
    return tuple((jnp.zeros(n), jnp.ones(n)) for n in (32, 64, 64)) if task.model == "cnn32" else ()


def _mlp_output(task: Task, weights: Any, x: Any) -> Any:
    activation = ACTIVATIONS[task.activation]
    *hidden, kernel, bias = weights
    for k, b in zip(hidden[::2], hidden[1::2]):
        x = activation(x @ k + b)
    return x @ kernel + bias


def _cross_entropy(logits: Any, y: Any) -> Any:
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * y, axis=1))


def mlp(task: Task) -> Loss:
    def loss(weights: Any, averages: Any, x: Any, y: Any) -> Any:
        output = _mlp_output(task, weights, x)
        if task.loss == "mean_squared_error":
            return jnp.mean((output - y) ** 2), averages
        return _cross_entropy(output, y), averages

    return loss


def _conv(x: Any, kernel: Any, padding: str) -> Any:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _pool(x: Any) -> Any:
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def cnn(task: Task) -> Loss:
    def loss(w: Any, averages: Any, x: Any, y: Any) -> Any:
        x = _pool(jax.nn.relu(_conv(x, w[0], "VALID") + w[1]))
        x = _pool(jax.nn.relu(_conv(x, w[2], "VALID") + w[3]))
        return _cross_entropy(x.reshape(len(x), -1) @ w[4] + w[5], y), averages

    return loss


def cnn32(task: Task) -> Loss:
    def loss(w: Any, averages: Any, x: Any, y: Any) -> Any:
        new_averages = []
        for i, (moving_mean, moving_variance) in enumerate(averages):
            kernel, bias, gamma, beta = w[4 * i : 4 * i + 4]
            x = jax.nn.relu(_conv(x, kernel, "SAME") + bias)
            mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
            new_averages.append((_moved(moving_mean, mean), _moved(moving_variance, variance)))
            x = _pool((x - mean) * (jax.lax.rsqrt(variance + NORM_EPSILON) * gamma) + beta)
        return _cross_entropy(x.reshape(len(x), -1) @ w[12] + w[13], y), tuple(new_averages)

    return loss


def _moved(average: Any, value: Any) -> Any:
    return AVERAGING * average + (1 - AVERAGING) * value


def lstm(task: Task) -> Loss:
    units = task.weights[1].shape[0]

    def loss(w: Any, averages: Any, x: Any, y: Any) -> Any:
        def one(state: Any, inputs: Any) -> Any:
            h, c = state
            i, f, g, o = jnp.split(inputs + h @ w[1], 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((len(x), units))
        (h, _), _ = jax.lax.scan(one, (zeros, zeros), jnp.swapaxes(x @ w[0] + w[2], 0, 1))
        return _cross_entropy(h @ w[3] + w[4], y), averages

    return loss


def vae(task: Task) -> Loss:
    def loss(w: Any, averages: Any, x: Any, noise: Any) -> Any:
        encoded = jax.nn.relu(x @ w[0] + w[1])
        mean, log_variance = encoded @ w[2] + w[3], encoded @ w[4] + w[5]
        code = mean + jnp.exp(0.5 * log_variance) * noise
        logits = jax.nn.relu(code @ w[6] + w[7]) @ w[8] + w[9]
        reconstruction = jnp.sum(jnp.maximum(logits, 0) - logits * x + jnp.log1p(jnp.exp(-jnp.abs(logits))))
        divergence = -0.5 * jnp.sum(1 + log_variance - mean**2 - jnp.exp(log_variance))
        return (reconstruction + divergence) / len(x), averages

    return loss


def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + NORM_EPSILON) * gamma + beta


def transformer(task: Task) -> Loss:
    def loss(w: Any, averages: Any, x: Any, y: Any) -> Any:
        batch, tokens, size = x.shape
        parts = (_layer_norm(x, w[0], w[1]) @ w[2] + w[3]).reshape(batch, tokens, 3, HEADS, -1)
        query, key, value = (parts[:, :, i] for i in range(3))
        heads = jax.nn.dot_product_attention(query, key, value, is_causal=True)
        x = x + heads.reshape(batch, tokens, size) @ w[4] + w[5]
        wide = jax.nn.gelu(_layer_norm(x, w[6], w[7]) @ w[8] + w[9], approximate=False)
        x = x + wide @ w[10] + w[11]
        return jnp.mean((x - y) ** 2), averages

    return loss


def many_vars(task: Task) -> Loss:
    return lambda weights, averages: (sum(jnp.sum(w) ** 2 for w in weights), averages)


def hvp(task: Task) -> Loss:
    def inner(weights: Any, x: Any, y: Any) -> Any:
        return jnp.mean((_mlp_output(task, weights, x) - y) ** 2)

    def loss(weights: Any, averages: Any, x: Any, *rest: Any) -> Any:
        *direction, y = rest
        gradients = jax.grad(inner)(weights, x, y)
        return sum(jnp.sum(g * d) for g, d in zip(gradients, direction)), averages

    return loss


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

"""Layers and losses in NumPy with their derivatives: each returns its value, and a function from its gradient back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.special import erf

Array = np.ndarray[Any, Any]
Back = Callable[[Array], Any]


def dense(x: Array, kernel: Array, bias: Array) -> tuple[Array, Back]:
    """`x @ kernel + bias`, of any rank; backwards: dx, dkernel, dbias."""
    rows = x.reshape(-1, x.shape[-1])

    def back(dy: Array) -> Any:
        dy = dy.reshape(-1, kernel.shape[1])
        return (dy @ kernel.T).reshape(x.shape), rows.T @ dy, dy.sum(axis=0)

    return (rows @ kernel + bias).reshape(*x.shape[:-1], -1), back


def relu(x: Array) -> tuple[Array, Back]:
    y = np.maximum(x, 0)
    return y, lambda dy: dy * (y > 0)


def tanh(x: Array) -> tuple[Array, Back]:
    y = np.tanh(x)
    return y, lambda dy: dy * (1 - y * y)


def gelu(x: Array) -> tuple[Array, Back]:
    below = 0.5 * (1 + erf(x * np.float32(0.5**0.5)))
    density = np.float32((2 * np.pi) ** -0.5)
    return x * below, lambda dy: dy * (below + x * (density * np.exp(-0.5 * x * x)))


def mean_squared_error(output: Array, y: Array) -> tuple[Any, Array]:
    """The loss, and its gradient."""
    difference = output - y
    return np.mean(difference * difference), difference * np.float32(2 / difference.size)


def softmax_cross_entropy(logits: Array, y: Array) -> tuple[Any, Array]:
    """The loss, and its gradient."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    sums = exponentials.sum(axis=1, keepdims=True)
    return -np.mean(((shifted - np.log(sums)) * y).sum(axis=1)), (exponentials / sums - y) / np.float32(len(y))


def conv(x: Array, kernel: Array, bias: Array, pad: int, first: bool = False) -> tuple[Array, Back]:
    """A convolution as a product with a matrix of windows; backwards: dx (None for the first layer), dkernel, dbias."""
    size, _, inputs, filters = kernel.shape
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0))) if pad else x
    windows = sliding_window_view(x, (size, size), (1, 2)).transpose(0, 1, 2, 4, 5, 3)
    shape = windows.shape[:3]
    columns = windows.reshape(-1, size * size * inputs)

    def back(dy: Array) -> Any:
        dy = dy.reshape(-1, filters)
        dkernel, dbias = (columns.T @ dy).reshape(kernel.shape), dy.sum(axis=0)
        if first:
            return None, dkernel, dbias
        dwindows = (dy @ kernel.reshape(-1, filters).T).reshape(windows.shape)
        dx = np.zeros_like(x)
        for i in range(size):
            for j in range(size):
                dx[:, i : i + shape[1], j : j + shape[2]] += dwindows[:, :, :, i, j]
        return dx[:, pad : dx.shape[1] - pad, pad : dx.shape[2] - pad], dkernel, dbias

    return (columns @ kernel.reshape(-1, filters) + bias).reshape(*shape, filters), back


def max_pool(x: Array) -> tuple[Array, Back]:
    """The largest of each square of four values; of equal ones the first gets the gradient."""
    batch, height, width, channels = x.shape
    parts = x.reshape(batch, height // 2, 2, width // 2, 2, channels).transpose(0, 1, 3, 2, 4, 5)
    parts = parts.reshape(batch, height // 2, width // 2, 4, channels)
    chosen = parts.argmax(axis=3, keepdims=True)

    def back(dy: Array) -> Array:
        dparts = np.zeros_like(parts)
        np.put_along_axis(dparts, chosen, dy[:, :, :, None], axis=3)
        dparts = dparts.reshape(batch, height // 2, width // 2, 2, 2, channels)
        return dparts.transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)

    return np.take_along_axis(parts, chosen, axis=3)[:, :, :, 0], back


def normalize(x: Array, gamma: Array, beta: Array, axes: tuple[int, ...], epsilon: float) -> tuple[Array, Back, Any]:
    """`gamma * (x - mean) / sqrt(variance + epsilon) + beta` over some axes; backwards: dx, dgamma, dbeta."""
    mean = x.mean(axis=axes, keepdims=True)
    centred = x - mean
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    scale = 1 / np.sqrt(variance + np.float32(epsilon))
    normal = centred * scale
    leading = tuple(range(x.ndim - 1))

    def back(dy: Array) -> Any:
        dgamma, dbeta = (dy * normal).sum(axis=leading), dy.sum(axis=leading)
        dy = dy * gamma
        dx = dy - dy.mean(axis=axes, keepdims=True) - normal * (dy * normal).mean(axis=axes, keepdims=True)
        return dx * scale, dgamma, dbeta

    return normal * gamma + beta, back, (mean, variance)


def causal_attention(query: Array, key: Array, value: Array) -> tuple[Array, Back]:
    """Attention within `[batch, heads, tokens, size]`, each token to those before it; backwards: three gradients."""
    tokens, size = query.shape[2:]
    scale = np.float32(size**-0.5)
    scores = np.where(np.tri(tokens, dtype=bool), query @ key.swapaxes(2, 3) * scale, np.float32(-1e9))
    weights = np.exp(scores - scores.max(axis=3, keepdims=True))
    weights /= weights.sum(axis=3, keepdims=True)

    def back(dy: Array) -> Any:
        dweights = dy @ value.swapaxes(2, 3)
        dscores = weights * (dweights - (dweights * weights).sum(axis=3, keepdims=True)) * scale
        return dscores @ key, dscores.swapaxes(2, 3) @ query, weights.swapaxes(2, 3) @ dy

    return weights @ value, back


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm(x: Array, kernel: Array, recurrent: Array, bias: Array) -> tuple[Array, Back]:
    """The last output of `[batch, steps, features]`; backwards: dkernel, drecurrent, dbias."""
    batch, steps, features = x.shape
    units = len(recurrent)
    projected = (x.reshape(-1, features) @ kernel + bias).reshape(batch, steps, -1)
    h = c = np.zeros((batch, units), np.float32)
    kept = []
    for t in range(steps):
        z = projected[:, t] + h @ recurrent
        i, f, o = sigmoid(z[:, :units]), sigmoid(z[:, units : 2 * units]), sigmoid(z[:, 3 * units :])
        g = np.tanh(z[:, 2 * units : 3 * units])
        kept.append((h, c, i, f, g, o))
        c = f * c + i * g
        squashed = np.tanh(c)
        kept[-1] = (*kept[-1], squashed)
        h = o * squashed

    def back(dh: Array) -> Any:
        dz = np.empty((batch, steps, 4 * units), np.float32)
        dc = np.zeros_like(dh)
        drecurrent = np.zeros_like(recurrent)
        for t in reversed(range(steps)):
            before, c, i, f, g, o, squashed = kept[t]
            dc = dc + dh * o * (1 - squashed * squashed)
            parts = (dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), dh * squashed * o * (1 - o))
            step = np.concatenate(parts, axis=1, out=dz[:, t])
            drecurrent += before.T @ step
            dh, dc = step @ recurrent.T, dc * f
        rows = dz.reshape(-1, 4 * units)
        return x.reshape(-1, features).T @ rows, drecurrent, rows.sum(axis=0)

    return h, back

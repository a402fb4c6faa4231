"""The step written out in NumPy, as a person does who knows the derivatives by heart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contenders import numpy_layers as nn
from contenders.numpy_layers import Array
from tasks import AVERAGING, BETA1, BETA2, EPSILON, HEADS, MOMENTUM, NORM_EPSILON, Task

# The loss, and its gradients in the order of the weights.
Gradients = Callable[[list[Array]], tuple[Any, list[Array]]]


def make(task: Task) -> Callable[[], float]:
    gradients_of = MODELS[task.model](task)
    weights = task.first_weights()
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    steps = 0

    def step() -> float:
        nonlocal steps
        loss, gradients = gradients_of(weights)
        steps += 1
        if task.optimizer == "adam":
            rate, correction = task.rate / (1 - BETA1**steps), float(1 / np.sqrt(1 - BETA2**steps))
            for w, g, m, v in zip(weights, gradients, first, second):
                m *= BETA1
                m += (1 - BETA1) * g
                v *= BETA2
                v += (1 - BETA2) * g * g
                w -= rate * m / (np.sqrt(v) * correction + EPSILON)
        elif task.optimizer == "momentum":
            for w, g, m in zip(weights, gradients, first):
                m *= MOMENTUM
                m += g
                w -= task.rate * m
        else:
            for w, g in zip(weights, gradients):
                w -= task.rate * g
        return float(loss)

    return step


def mlp(task: Task) -> Gradients:
    x, y = task.arrays()
    activation = nn.relu if task.activation == "relu" else nn.tanh
    loss_of = nn.mean_squared_error if task.loss == "mean_squared_error" else nn.softmax_cross_entropy

    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        activations, derivatives = [x], []
        for i in range(0, len(w) - 2, 2):
            value, back = activation(activations[-1] @ w[i] + w[i + 1])
            activations.append(value)
            derivatives.append(back)
        loss, dz = loss_of(activations[-1] @ w[-2] + w[-1], y)
        gradients: list[Array] = []
        for i in range(len(w) - 2, -1, -2):
            gradients[:0] = [activations[i // 2].T @ dz, dz.sum(axis=0)]
            if i:
                dz = derivatives[i // 2 - 1](dz @ w[i].T)
        return loss, gradients

    return gradients_of


def cnn(task: Task) -> Gradients:
    x, y = task.arrays()

    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        value, conv1 = nn.conv(x, w[0], w[1], pad=0, first=True)
        value, relu1 = nn.relu(value)
        value, pool1 = nn.max_pool(value)
        value, conv2 = nn.conv(value, w[2], w[3], pad=0)
        value, relu2 = nn.relu(value)
        pooled, pool2 = nn.max_pool(value)
        logits, dense = nn.dense(pooled.reshape(len(x), -1), w[4], w[5])
        loss, dy = nn.softmax_cross_entropy(logits, y)
        dy, *dense_gradients = dense(dy)
        dy, *conv2_gradients = conv2(relu2(pool2(dy.reshape(pooled.shape))))
        _, *conv1_gradients = conv1(relu1(pool1(dy)))
        return loss, [*conv1_gradients, *conv2_gradients, *dense_gradients]

    return gradients_of


def cnn32(task: Task) -> Gradients:
    x, y = task.arrays()
    averages = [[np.zeros(n, np.float32), np.ones(n, np.float32)] for n in (32, 64, 64)]

    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        value = x
        derivatives = []
        for i, moving in enumerate(averages):
            value, conv = nn.conv(value, *w[4 * i : 4 * i + 2], pad=1, first=i == 0)
            value, relu = nn.relu(value)
            value, norm, moments = nn.normalize(value, *w[4 * i + 2 : 4 * i + 4], (0, 1, 2), NORM_EPSILON)
            for average, moment in zip(moving, moments):
                average *= AVERAGING
                average += (1 - AVERAGING) * moment.ravel()
            value, pool = nn.max_pool(value)
            derivatives.append((conv, relu, norm, pool))
        logits, dense = nn.dense(value.reshape(len(x), -1), w[12], w[13])
        loss, dy = nn.softmax_cross_entropy(logits, y)
        dy, *gradients = dense(dy)
        dy = dy.reshape(value.shape)
        for conv, relu, norm, pool in reversed(derivatives):
            dy, *norm_gradients = norm(pool(dy))
            dy, *conv_gradients = conv(relu(dy))
            gradients = [*conv_gradients, *norm_gradients, *gradients]
        return loss, gradients

    return gradients_of


def lstm(task: Task) -> Gradients:
    x, y = task.arrays()

    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        h, through_time = nn.lstm(x, w[0], w[1], w[2])
        logits, dense = nn.dense(h, w[3], w[4])
        loss, dy = nn.softmax_cross_entropy(logits, y)
        dh, *dense_gradients = dense(dy)
        return loss, [*through_time(dh), *dense_gradients]

    return gradients_of


def vae(task: Task) -> Gradients:
    x, noise = task.arrays()
    batch = np.float32(len(x))

    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        value, dense1 = nn.dense(x, w[0], w[1])
        encoded, relu1 = nn.relu(value)
        mean, mean_back = nn.dense(encoded, w[2], w[3])
        log_variance, spread_back = nn.dense(encoded, w[4], w[5])
        spread = np.exp(0.5 * log_variance)
        value, dense2 = nn.dense(mean + spread * noise, w[6], w[7])
        value, relu2 = nn.relu(value)
        logits, dense3 = nn.dense(value, w[8], w[9])
        decay = np.exp(-np.abs(logits))
        reconstruction = np.sum(np.maximum(logits, 0) - logits * x + np.log1p(decay))
        divergence = -0.5 * np.sum(1 + log_variance - mean * mean - spread * spread)
        probabilities = np.where(logits >= 0, 1, decay) / (1 + decay)
        dy, *gradients3 = dense3((probabilities - x) / batch)
        dcode, *gradients2 = dense2(relu2(dy))
        dmean = dcode + mean / batch
        dlog_variance = 0.5 * dcode * noise * spread + 0.5 * (spread * spread - 1) / batch
        dfrom_mean, *mean_gradients = mean_back(dmean)
        dfrom_spread, *spread_gradients = spread_back(dlog_variance)
        _, *gradients1 = dense1(relu1(dfrom_mean + dfrom_spread))
        gradients = [*gradients1, *mean_gradients, *spread_gradients, *gradients2, *gradients3]
        return (reconstruction + divergence) / batch, gradients

    return gradients_of


def transformer(task: Task) -> Gradients:
    x, y = task.arrays()
    batch, tokens, _ = x.shape

    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        normal, norm1, _ = nn.normalize(x, w[0], w[1], (2,), NORM_EPSILON)
        parts, project = nn.dense(normal, w[2], w[3])
        parts = parts.reshape(batch, tokens, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
        heads, attend = nn.causal_attention(*parts)
        joined, join = nn.dense(heads.swapaxes(1, 2).reshape(x.shape), w[4], w[5])
        attended = x + joined
        normal, norm2, _ = nn.normalize(attended, w[6], w[7], (2,), NORM_EPSILON)
        value, widen = nn.dense(normal, w[8], w[9])
        value, gelu = nn.gelu(value)
        value, narrow = nn.dense(value, w[10], w[11])
        loss, dy = nn.mean_squared_error(attended + value, y)
        dvalue, *narrow_gradients = narrow(dy)
        dvalue, *widen_gradients = widen(gelu(dvalue))
        dvalue, *norm2_gradients = norm2(dvalue)
        dheads, *join_gradients = join(dy + dvalue)
        dparts = attend(dheads.reshape(batch, tokens, HEADS, -1).swapaxes(1, 2))
        dparts = np.stack(dparts).transpose(1, 3, 0, 2, 4).reshape(batch, tokens, -1)
        dvalue, *project_gradients = project(dparts)
        _, *norm1_gradients = norm1(dvalue)
        gradients = [*norm1_gradients, *project_gradients, *join_gradients]
        return loss, [*gradients, *norm2_gradients, *widen_gradients, *narrow_gradients]

    return gradients_of


def many_vars(task: Task) -> Gradients:
    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        sums = [v.sum() for v in w]
        return sum(s * s for s in sums), [np.full_like(v, 2 * s) for v, s in zip(w, sums)]

    return gradients_of


def hvp(task: Task) -> Gradients:
    """Derivatives along the direction beside each value, then backwards through both (for tanh and one unit)."""
    x, dk1, db1, dk2, db2, y = task.arrays()
    scale = np.float32(2 / len(x))

    def gradients_of(w: list[Array]) -> tuple[Any, list[Array]]:
        k1, b1, k2, b2 = w
        h = np.tanh(x @ k1 + b1)
        slope = 1 - h * h
        along = x @ dk1 + db1
        dh = slope * along
        error = (h @ k2 + b2 - y) * scale
        derror = (dh @ k2 + h @ dk2 + db2) * scale
        gradient = error @ k2.T
        dgradient = derror @ k2.T + error @ dk2.T
        dz = slope * dgradient - 2 * h * dh * gradient
        loss = np.sum(error * (derror / scale))
        return loss, [x.T @ dz, dz.sum(axis=0), h.T @ derror + dh.T @ error, derror.sum(axis=0)]

    return gradients_of


MODELS: dict[str, Callable[[Task], Gradients]] = {
    "mlp": mlp,
    "cnn": cnn,
    "cnn32": cnn32,
    "lstm": lstm,
    "vae": vae,
    "transformer": transformer,
    "many_vars": many_vars,
    "hvp": hvp,
}

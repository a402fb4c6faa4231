"""The losses in TensorFlow: `LOSSES[task.model](task)(weights, *data)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tasks import AVERAGING, HEADS, NORM_EPSILON, Task

Loss = Callable[..., Any]
ACTIVATIONS = {"relu": tf.nn.relu, "tanh": tf.tanh}


def _dense(x: Any, kernel: Any, bias: Any) -> Any:
    return tf.nn.bias_add(tf.linalg.matmul(x, kernel), bias)


def _mlp_output(task: Task, weights: Any, x: Any) -> Any:
    activation = ACTIVATIONS[task.activation]
    last = len(weights) - 2
    for i in range(0, last, 2):
        x = activation(_dense(x, weights[i], weights[i + 1]))
    return _dense(x, weights[last], weights[last + 1])


def _cross_entropy(logits: Any, y: Any) -> Any:
    return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, logits))


def mlp(task: Task) -> Loss:
    def loss(weights: Any, x: Any, y: Any) -> Any:
        output = _mlp_output(task, weights, x)
        if task.loss == "mean_squared_error":
            return tf.reduce_mean(tf.math.squared_difference(output, y))
        return _cross_entropy(output, y)

    return loss


def cnn(task: Task) -> Loss:
    def loss(w: Any, x: Any, y: Any) -> Any:
        for kernel, bias in ((w[0], w[1]), (w[2], w[3])):
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "VALID"), bias))
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        return _cross_entropy(_dense(tf.reshape(x, [len(x), -1]), w[4], w[5]), y)

    return loss


def cnn32(task: Task) -> Loss:
    averages = [(tf.Variable(tf.zeros(n)), tf.Variable(tf.ones(n))) for n in (32, 64, 64)]

    def loss(w: Any, x: Any, y: Any) -> Any:
        for i, moving in enumerate(averages):
            kernel, bias, gamma, beta = w[4 * i : 4 * i + 4]
            x = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, kernel, 1, "SAME"), bias))
            x, *moments = tf.compat.v1.nn.fused_batch_norm(x, gamma, beta, epsilon=NORM_EPSILON)
            for average, value in zip(moving, moments):
                average.assign_sub((1 - AVERAGING) * (average - value))
            x = tf.nn.max_pool2d(x, 2, 2, "VALID")
        return _cross_entropy(_dense(tf.reshape(x, [len(x), -1]), w[12], w[13]), y)

    return loss


def lstm(task: Task) -> Loss:
    units = task.weights[1].shape[0]

    def loss(w: Any, x: Any, y: Any) -> Any:
        h = c = tf.zeros([len(x), units])
        for inputs in tf.unstack(tf.tensordot(x, w[0], 1) + w[2], axis=1):
            i, f, g, o = tf.split(inputs + tf.linalg.matmul(h, w[1]), 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        return _cross_entropy(_dense(h, w[3], w[4]), y)

    return loss


def vae(task: Task) -> Loss:
    def loss(w: Any, x: Any, noise: Any) -> Any:
        encoded = tf.nn.relu(_dense(x, w[0], w[1]))
        mean, log_variance = _dense(encoded, w[2], w[3]), _dense(encoded, w[4], w[5])
        code = mean + tf.exp(0.5 * log_variance) * noise
        logits = _dense(tf.nn.relu(_dense(code, w[6], w[7])), w[8], w[9])
        reconstruction = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(x, logits))
        divergence = -0.5 * tf.reduce_sum(1 + log_variance - tf.square(mean) - tf.exp(log_variance))
        return (reconstruction + divergence) / len(x)

    return loss


def _layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean, variance = tf.nn.moments(x, -1, keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, NORM_EPSILON)


def transformer(task: Task) -> Loss:
    tokens = task.data[0].shape[1]
    hidden = tf.constant(-1e9) * (1 - tf.linalg.band_part(tf.ones([tokens, tokens]), -1, 0))

    def dense(x: Any, kernel: Any, bias: Any) -> Any:
        return tf.reshape(_dense(tf.reshape(x, [-1, x.shape[-1]]), kernel, bias), [*x.shape[:-1], kernel.shape[1]])

    def loss(w: Any, x: Any, y: Any) -> Any:
        batch, tokens, size = x.shape
        parts = tf.reshape(dense(_layer_norm(x, w[0], w[1]), w[2], w[3]), [batch, tokens, 3, HEADS, -1])
        query, key, value = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        scores = tf.linalg.matmul(query, key, transpose_b=True) * (size // HEADS) ** -0.5
        heads = tf.linalg.matmul(tf.nn.softmax(scores + hidden), value)
        x = x + dense(tf.reshape(tf.transpose(heads, [0, 2, 1, 3]), x.shape), w[4], w[5])
        wide = dense(_layer_norm(x, w[6], w[7]), w[8], w[9])
        x = x + dense(tf.nn.gelu(wide), w[10], w[11])
        return tf.reduce_mean(tf.math.squared_difference(x, y))

    return loss


def many_vars(task: Task) -> Loss:
    return lambda weights: tf.add_n([tf.square(tf.reduce_sum(w)) for w in weights])


def hvp(task: Task) -> Loss:
    def loss(weights: Any, x: Any, *rest: Any) -> Any:
        *direction, y = rest
        with tf.GradientTape() as tape:
            inner = tf.reduce_mean(tf.math.squared_difference(_mlp_output(task, weights, x), y))
        gradients = tape.gradient(inner, weights)
        return tf.add_n([tf.reduce_sum(g * d) for g, d in zip(gradients, direction)])

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

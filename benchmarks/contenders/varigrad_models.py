"""The models, as a person writes them with VariGrad: `MODELS[task.model](task)` is a function that gives the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import varigrad as vg
from tasks import AVERAGING, HEADS, NORM_EPSILON, Task

Loss = Callable[[], vg.Tensor]


def mlp(task: Task) -> Loss:
    x, y = (vg.tensor(a) for a in task.arrays())
    model = _mlp(task)
    return lambda: _loss(task, y, model(x))


def cnn(task: Task) -> Loss:
    layers = [
        vg.layers.conv2d(filters=8, kernel_size=5, activation="relu", input_shape=[28, 28, 1]),
        vg.layers.max_pooling2d(pool_size=2),
        vg.layers.conv2d(filters=16, kernel_size=5, activation="relu"),
        vg.layers.max_pooling2d(pool_size=2),
        vg.layers.flatten(),
        vg.layers.dense(units=10),
    ]
    return _classifier(task, vg.sequential(layers=layers))


def cnn32(task: Task) -> Loss:
    model = vg.sequential(layers=[vg.layers.input_layer(input_shape=[32, 32, 3])])
    for filters in (32, 64, 64):
        model.add(vg.layers.conv2d(filters=filters, kernel_size=3, padding="same", activation="relu"))
        model.add(vg.layers.batch_normalization(epsilon=NORM_EPSILON, momentum=AVERAGING))
        model.add(vg.layers.max_pooling2d(pool_size=2))
    model.add(vg.layers.flatten())
    model.add(vg.layers.dense(units=10))
    return _classifier(task, model)


def lstm(task: Task) -> Loss:
    steps, features = task.data[0].shape[1:]
    units = task.weights[1].shape[0]
    model = vg.sequential()
    model.add(vg.layers.lstm(units=units, recurrent_activation="sigmoid", input_shape=[steps, features]))
    model.add(vg.layers.dense(units=10))
    return _classifier(task, model)


def vae(task: Task) -> Loss:
    x, noise = (vg.tensor(a) for a in task.arrays())
    encoder = vg.layers.dense(units=256, activation="relu")
    mean_of, spread_of = vg.layers.dense(units=20), vg.layers.dense(units=20)
    decoder = vg.sequential()
    decoder.add(vg.layers.dense(units=256, activation="relu", input_shape=[20]))
    decoder.add(vg.layers.dense(units=784))

    def loss() -> vg.Tensor:
        encoded = encoder(x)
        mean, log_variance = mean_of(encoded), spread_of(encoded)
        logits = decoder(mean + (log_variance * 0.5).exp() * noise)
        reconstruction = vg.losses.sigmoid_cross_entropy(x, logits) * 784
        divergence = (1 + log_variance - mean.square() - log_variance.exp()).sum() * (-0.5 / len(x))
        return reconstruction + divergence

    loss()
    _set_weights([encoder, mean_of, spread_of, decoder], task.first_weights())
    return loss


def transformer(task: Task) -> Loss:
    x, y = (vg.tensor(a) for a in task.arrays())
    size = x.shape[-1]
    before = vg.layers.layer_normalization(epsilon=NORM_EPSILON)
    attention = vg.layers.multi_head_attention(num_heads=HEADS, key_dim=size // HEADS)
    between = vg.layers.layer_normalization(epsilon=NORM_EPSILON)
    widen = vg.layers.dense(units=4 * size, activation="gelu")
    narrow = vg.layers.dense(units=size)

    def loss() -> vg.Tensor:
        normal = before(x)
        attended = x + attention(normal, normal, use_causal_mask=True)
        output = attended + narrow(widen(between(attended)))
        return (output - y).square().mean()

    loss()
    weights = task.first_weights()
    kernels = [k.reshape(size, HEADS, -1) for k in np.split(weights[2], 3, axis=1)]
    biases = [b.reshape(HEADS, -1) for b in np.split(weights[3], 3)]
    projections = [array for pair in zip(kernels, biases) for array in pair]
    weights[2:5] = [*projections, weights[4].reshape(HEADS, -1, size)]
    _set_weights([before, attention, between, widen, narrow], weights)
    return loss


def many_vars(task: Task) -> Loss:
    variables = [vg.variable(a) for a in task.first_weights()]
    return lambda: vg.add_n([v.sum().square() for v in variables])


def hvp(task: Task) -> Loss:
    x, *direction, y = (vg.tensor(a) for a in task.arrays())
    model = _mlp(task)
    weights = model.trainable_weights

    def loss() -> vg.Tensor:
        grads = vg.variable_grads(lambda: _loss(task, y, model(x)), weights).grads
        return vg.add_n([(grads[w.name] * d).sum() for w, d in zip(weights, direction, strict=True)])

    return loss


MODELS: dict[str, Callable[[Task], Loss]] = {
    "mlp": mlp,
    "cnn": cnn,
    "cnn32": cnn32,
    "lstm": lstm,
    "vae": vae,
    "transformer": transformer,
    "many_vars": many_vars,
    "hvp": hvp,
}


def _mlp(task: Task) -> Any:
    """The dense layers."""
    model = vg.sequential()
    kernels = [numbers.shape for numbers in task.weights[::2]]
    for at, (inputs, units) in enumerate(kernels):
        activation = task.activation if at + 1 < len(kernels) else "linear"
        model.add(vg.layers.dense(units=units, activation=activation, input_shape=[inputs]))
    model.set_weights(task.first_weights())
    return model


def _classifier(task: Task, model: Any) -> Loss:
    """The cross entropy of what a model gives for images or sequences."""
    x, y = (vg.tensor(a) for a in task.arrays())
    _set_weights([model], task.first_weights())
    return lambda: vg.losses.softmax_cross_entropy(y, model(x, training=True))


def _loss(task: Task, y: vg.Tensor, output: vg.Tensor) -> vg.Tensor:
    if task.loss == "mean_squared_error":
        return (output - y).square().mean()
    return vg.losses.softmax_cross_entropy(y, output)


def _set_weights(layers: list[Any], arrays: list[Any]) -> None:
    """Gives the trained weights of some layers these values."""
    weights = [weight for layer in layers for weight in layer.trainable_weights]
    for weight, array in zip(weights, arrays, strict=True):
        weight.assign(vg.tensor(array))

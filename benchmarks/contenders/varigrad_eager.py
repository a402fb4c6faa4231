"""VariGrad's hand-written loop, kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable

import varigrad as vg
from tasks import BETA1, BETA2, EPSILON, LEARNING_RATE, Task


def make(task: Task) -> Callable[[], float]:
    x, y = (vg.tensor(a) for a in task.data())
    model = vg.sequential()
    weights = task.weights()
    for i, (kernel, _) in enumerate(weights):
        inputs, units = kernel.shape
        activation = "relu" if i + 1 < len(weights) else "linear"
        model.add(vg.layers.dense(units=units, activation=activation, input_shape=[inputs]))
    model.set_weights([array for layer in weights for array in layer])
    optimizer = vg.train.adam(LEARNING_RATE, BETA1, BETA2, EPSILON)

    def loss() -> vg.Tensor:
        output = model(x)
        if task.loss == "mean_squared_error":
            return output.sub(y).square().mean()
        return vg.losses.softmax_cross_entropy(y, output)

    def step() -> float:
        value, grads = vg.variable_grads(loss)
        optimizer.apply_gradients(grads)
        return value.item()

    return step

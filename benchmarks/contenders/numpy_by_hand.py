"""The step written out in NumPy, as a person does who knows the derivatives by heart."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tasks import BETA1, BETA2, EPSILON, LEARNING_RATE, Task


def make(task: Task) -> Callable[[], float]:
    x, y = task.data()
    parameters = [p for layer in task.weights() for p in layer]
    first = [np.zeros_like(p) for p in parameters]
    second = [np.zeros_like(p) for p in parameters]
    steps = 0

    def step() -> float:
        nonlocal steps
        activations = [x]
        for i in range(0, len(parameters), 2):
            z = activations[-1] @ parameters[i] + parameters[i + 1]
            activations.append(np.maximum(z, 0) if i + 2 < len(parameters) else z)
        output = activations[-1]
        if task.loss == "mean_squared_error":
            difference = output - y
            loss = np.mean(difference * difference)
            dz = difference * (2 / difference.size)
        else:
            shifted = output - output.max(axis=1, keepdims=True)
            exponentials = np.exp(shifted)
            sums = exponentials.sum(axis=1, keepdims=True)
            loss = -np.mean(((shifted - np.log(sums)) * y).sum(axis=1))
            dz = (exponentials / sums - y) / len(y)
        gradients = []
        for i in range(len(parameters) - 2, -1, -2):
            a = activations[i // 2]
            gradients[:0] = [a.T @ dz, dz.sum(axis=0)]
            if i:
                dz = (dz @ parameters[i].T) * (a > 0)
        steps += 1
        rate, correction = LEARNING_RATE / (1 - BETA1**steps), float(1 / np.sqrt(1 - BETA2**steps))
        for p, g, m, v in zip(parameters, gradients, first, second):
            m *= BETA1
            m += (1 - BETA1) * g
            v *= BETA2
            v += (1 - BETA2) * g * g
            p -= rate * m / (np.sqrt(v) * correction + EPSILON)
        return float(loss)

    return step

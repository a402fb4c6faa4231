"""The tasks: sizes, first weights and data, the same for every contender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LEARNING_RATE, BETA1, BETA2, EPSILON = 0.001, 0.9, 0.999, 1e-7


@dataclass(frozen=True)
class Task:
    """A multi-layer perceptron with relu between its layers, trained by Adam."""

    name: str
    widths: tuple[int, ...]
    batch: int
    loss: str  # "mean_squared_error" or "softmax_cross_entropy"
    steps: int  # in one round

    def data(self) -> tuple[Array, Array]:
        """x `[batch, widths[0]]` and y `[batch, widths[-1]]`."""
        random = np.random.default_rng(1)
        x = random.normal(size=(self.batch, self.widths[0])).astype(np.float32)
        if self.loss == "mean_squared_error":
            return x, random.normal(size=(self.batch, self.widths[-1])).astype(np.float32)
        labels = random.integers(self.widths[-1], size=self.batch)
        return x, np.eye(self.widths[-1], dtype=np.float32)[labels]

    def weights(self) -> list[tuple[Array, Array]]:
        """A kernel `[inputs, units]` and a bias `[units]` for each layer."""
        random = np.random.default_rng(2)
        layers: list[tuple[Array, Array]] = []
        for inputs, units in zip(self.widths, self.widths[1:]):
            kernel = random.normal(scale=np.sqrt(2 / inputs), size=(inputs, units))
            layers.append((kernel.astype(np.float32), np.zeros(units, np.float32)))
        return layers


TASKS = {
    task.name: task
    for task in (
        Task("seed", (5, 10, 1), 2, "mean_squared_error", 200),
        Task("mid", (64, 64, 10), 32, "mean_squared_error", 100),
        Task("mnist-mlp", (784, 512, 10), 128, "softmax_cross_entropy", 10),
    )
}

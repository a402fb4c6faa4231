"""The tasks: sizes, first weights and data, the same for every contender."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Of the optimizers. Every contender computes them by these formulas:
#   sgd       p -= rate * g
#   momentum  a = MOMENTUM * a + g;  p -= rate * a
#   adam      m = BETA1 * m + (1 - BETA1) * g;  v = BETA2 * v + (1 - BETA2) * g²
#             p -= rate * m / (1 - BETA1^t) / (sqrt(v / (1 - BETA2^t)) + EPSILON)
MOMENTUM, BETA1, BETA2, EPSILON = 0.9, 0.9, 0.999, 1e-7

NORM_EPSILON = 1e-3  # added to the variances of batches and of layers
AVERAGING = 0.99  # the part that batch normalization keeps of its moving averages
HEADS = 4


@dataclass(frozen=True)
class Numbers:
    """An array to draw: float32 of some kind and shape."""

    kind: str
    shape: tuple[int, ...]

    def draw(self, random: np.random.Generator) -> Array:
        """The array."""
        if self.kind == "classes":
            return np.eye(self.shape[1], dtype=np.float32)[random.integers(self.shape[1], size=self.shape[0])]
        return np.asarray(_DRAWN[self.kind](random, self.shape), np.float32)


_DRAWN: dict[str, Callable[[np.random.Generator, tuple[int, ...]], Any]] = {
    "normal": lambda random, shape: random.normal(size=shape),
    "uniform": lambda random, shape: random.uniform(size=shape),
    "kernel": lambda random, shape: random.normal(scale=np.prod(shape[:-1]) ** -0.5, size=shape),
    "ones": lambda random, shape: np.ones(shape),
    "zeros": lambda random, shape: np.zeros(shape),
}


@dataclass(frozen=True)
class Task:
    """A training step: one of the models that contenders have under its name, of these sizes, with an optimizer.

    `weights` are the trained ones in the order of the layers, `data` the model's inputs followed by what it learns.
    `rate` is the learning rate. `goal` and `floor` are times as parts of the best peer's: what is aimed at, and what
    products of matrices at full speed and one pass over weights and optimizer state would take.
    """

    name: str
    model: str
    optimizer: str
    weights: tuple[Numbers, ...]
    data: tuple[Numbers, ...]
    rate: float = 0.001
    activation: str = "relu"
    loss: str = "mean_squared_error"
    goal: float = 1.0
    floor: float = 0.0

    def first_weights(self) -> list[Array]:
        """The weights to begin with."""
        random = np.random.default_rng(2)
        return [numbers.draw(random) for numbers in self.weights]

    def arrays(self) -> list[Array]:
        """The data."""
        random = np.random.default_rng(1)
        return [numbers.draw(random) for numbers in self.data]


def _dense(inputs: int, units: int) -> tuple[Numbers, ...]:
    return Numbers("kernel", (inputs, units)), Numbers("zeros", (units,))


def _conv(size: int, inputs: int, filters: int) -> tuple[Numbers, ...]:
    return Numbers("kernel", (size, size, inputs, filters)), Numbers("zeros", (filters,))


def _norm(size: int) -> tuple[Numbers, ...]:
    return Numbers("ones", (size,)), Numbers("zeros", (size,))


def mlp(name: str, widths: tuple[int, ...], batch: int, optimizer: str = "adam", **options: Any) -> Task:
    """Dense layers with an activation between them."""
    weights = tuple(numbers for pair in pairwise(widths) for numbers in _dense(*pair))
    kind = "classes" if options.get("loss") == "softmax_cross_entropy" else "normal"
    data = (Numbers("normal", (batch, widths[0])), Numbers(kind, (batch, widths[-1])))
    return Task(name, "mlp", optimizer, weights, data, **options)


def hvp(name: str, inputs: int, units: int, batch: int, **options: Any) -> Task:
    """A step down the gradient of the inner product of a loss's gradient with a direction: the Hessian times it."""
    weights = (*_dense(inputs, units), *_dense(units, 1))
    direction = tuple(Numbers("normal", numbers.shape) for numbers in weights)
    data = (Numbers("normal", (batch, inputs)), *direction, Numbers("normal", (batch, 1)))
    # It has no lower bound: tiny steps keep it where it is.
    return Task(name, "hvp", "sgd", weights, data, rate=1e-6, activation="tanh", **options)


def lstm(name: str, units: int, steps: int, features: int, batch: int, **options: Any) -> Task:
    """A recurrent layer over a sequence, and a dense one on its last output; gates in the order i, f, g, o."""
    gates = (
        Numbers("kernel", (features, 4 * units)),
        Numbers("kernel", (units, 4 * units)),
        Numbers("zeros", (4 * units,)),
    )
    data = (Numbers("normal", (batch, steps, features)), Numbers("classes", (batch, 10)))
    return Task(name, "lstm", "adam", (*gates, *_dense(units, 10)), data, **options)


def many_vars(name: str, count: int, **options: Any) -> Task:
    """The sum of the squares of the sums of many small variables."""
    return Task(name, "many_vars", "adam", (Numbers("normal", (8,)),) * count, (), **options)


TASKS = {
    task.name: task
    for task in (
        mlp("seed", (5, 10, 1), batch=2, goal=0.10, floor=0.001),
        mlp("mid", (64, 64, 10), batch=32, goal=0.35, floor=0.12),
        mlp("mnist-mlp", (784, 512, 10), batch=128, loss="softmax_cross_entropy", goal=0.80, floor=0.70),
        mlp("deep-mlp", (64,) * 21, batch=32, optimizer="sgd", rate=0.01, activation="tanh", goal=0.60, floor=0.32),
        Task(
            "cnn",
            "cnn",
            "adam",
            (*_conv(5, 1, 8), *_conv(5, 8, 16), *_dense(256, 10)),
            (Numbers("normal", (64, 28, 28, 1)), Numbers("classes", (64, 10))),
            goal=0.45,
            floor=0.14,
        ),
        Task(
            "cnn32",
            "cnn32",
            "momentum",
            (
                *_conv(3, 3, 32),
                *_norm(32),
                *_conv(3, 32, 64),
                *_norm(64),
                *_conv(3, 64, 64),
                *_norm(64),
                *_dense(1024, 10),
            ),
            (Numbers("normal", (32, 32, 32, 3)), Numbers("classes", (32, 10))),
            rate=0.01,
            goal=0.75,
            floor=0.41,
        ),
        lstm("lstm", units=128, steps=32, features=32, batch=64, goal=0.75, floor=0.43),
        Task(
            "vae",
            "vae",
            "adam",
            (*_dense(784, 256), *_dense(256, 20), *_dense(256, 20), *_dense(20, 256), *_dense(256, 784)),
            (Numbers("uniform", (128, 784)), Numbers("normal", (128, 20))),
            goal=0.80,
            floor=0.56,
        ),
        Task(
            "transformer",
            "transformer",
            "adam",
            (*_norm(128), *_dense(128, 384), *_dense(128, 128), *_norm(128), *_dense(128, 512), *_dense(512, 128)),
            (Numbers("normal", (16, 64, 128)), Numbers("normal", (16, 64, 128))),
            goal=0.80,
            floor=0.42,
        ),
        many_vars("many-vars", 400, goal=0.03),
        hvp("hvp", 64, 64, batch=32, goal=0.40, floor=0.07),
    )
}

# Tasks of any size, as in "width-64".
_FAMILIES: dict[str, Callable[[str, int], Task]] = {
    "width": lambda name, n: mlp(name, (10, n, n, 10), batch=100),
    "depth": lambda name, n: mlp(name, (64,) * (n + 1), batch=32, optimizer="sgd", rate=0.01, activation="tanh"),
    "steps": lambda name, n: lstm(name, units=32, steps=n, features=16, batch=16),
    "variables": many_vars,
}


def task_named(name: str) -> Task:
    """A task of the table, or of a family, such as `"width-64"`.

    Raises:
        ValueError: There is no such task.
    """
    family, _, size = name.rpartition("-")
    if name in TASKS:
        return TASKS[name]
    if family in _FAMILIES and size.isdigit():
        return _FAMILIES[family](name, int(size))
    raise ValueError(f"no task {name!r}; there are {', '.join(TASKS)}, and {', '.join(_FAMILIES)} with a size")

"""VariGrad's hand-written loop, kernel by kernel."""

from __future__ import annotations

from collections.abc import Callable

import varigrad as vg
from contenders.varigrad_models import MODELS
from tasks import BETA1, BETA2, EPSILON, MOMENTUM, Task


def training_step(task: Task) -> Callable[[], vg.Tensor]:
    """A function that takes one step and returns the loss as a tensor."""
    loss = MODELS[task.model](task)
    optimizer = {
        "sgd": lambda: vg.train.sgd(task.rate),
        "momentum": lambda: vg.train.momentum(task.rate, MOMENTUM),
        "adam": lambda: vg.train.adam(task.rate, BETA1, BETA2, EPSILON),
    }[task.optimizer]()

    def step() -> vg.Tensor:
        value, grads = vg.variable_grads(loss)
        optimizer.apply_gradients(grads)
        return value

    return step


def make(task: Task) -> Callable[[], float]:
    step = training_step(task)
    return lambda: step().item()

"""PyTorch in eager mode, with its fused optimizers."""

from __future__ import annotations

from collections.abc import Callable

import torch

from contenders.torch_models import LOSSES, Loss, data, first_weights
from tasks import BETA1, BETA2, EPSILON, MOMENTUM, Task


def make(task: Task) -> Callable[[], float]:
    return training_step(task, LOSSES[task.model](task))


def training_step(task: Task, loss_of: Loss) -> Callable[[], float]:
    """A function that takes one step down a loss."""
    weights = [w.requires_grad_() for w in first_weights(task)]
    arrays = data(task)
    optimizer = {
        "sgd": lambda: torch.optim.SGD(weights, task.rate, fused=True),
        "momentum": lambda: torch.optim.SGD(weights, task.rate, MOMENTUM, fused=True),
        "adam": lambda: torch.optim.Adam(weights, task.rate, (BETA1, BETA2), EPSILON, fused=True),
    }[task.optimizer]()

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of(weights, *arrays)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step

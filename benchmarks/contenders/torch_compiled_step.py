"""PyTorch with `torch.compile` of the whole step: gradients by torch.func, the optimizer written out."""

from __future__ import annotations

from collections.abc import Callable

import torch

from contenders.torch_models import COMPILED_LOSSES, data, first_weights
from tasks import BETA1, BETA2, EPSILON, MOMENTUM, Task


def make(task: Task) -> Callable[[], float]:
    gradients_of = torch.func.grad_and_value(COMPILED_LOSSES[task.model](task))
    weights, arrays = first_weights(task), data(task)
    first = [torch.zeros_like(w) for w in weights]
    second = [torch.zeros_like(w) for w in weights]
    count = torch.zeros(())

    def apply(gradients: list[torch.Tensor]) -> None:
        if task.optimizer == "adam":
            count.add_(1)
            rate = task.rate / (1 - BETA1**count)
            correction = torch.rsqrt(1 - BETA2**count)
            for w, g, m, v in zip(weights, gradients, first, second):
                m.mul_(BETA1).add_((1 - BETA1) * g)
                v.mul_(BETA2).add_((1 - BETA2) * g * g)
                w.sub_(rate * m / (v.sqrt() * correction + EPSILON))
        elif task.optimizer == "momentum":
            for w, g, m in zip(weights, gradients, first):
                m.mul_(MOMENTUM).add_(g)
                w.sub_(task.rate * m)
        else:
            for w, g in zip(weights, gradients):
                w.sub_(task.rate * g)

    @torch.compile
    def update() -> torch.Tensor:
        gradients, loss = gradients_of(weights, *arrays)
        apply(gradients)
        return loss

    return lambda: update().item()

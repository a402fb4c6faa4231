"""PyTorch in eager mode, with its default Adam or its fused one."""

from __future__ import annotations

from collections.abc import Callable

import torch

from tasks import BETA1, BETA2, EPSILON, LEARNING_RATE, Task


def make(task: Task, fused: bool = False) -> Callable[[], float]:
    x, y = (torch.from_numpy(a) for a in task.data())
    layers: list[torch.nn.Module] = []
    for kernel, bias in task.weights():
        linear = torch.nn.Linear(*kernel.shape)
        with torch.no_grad():
            linear.weight.copy_(torch.from_numpy(kernel.T))
            linear.bias.copy_(torch.from_numpy(bias))
        layers += [linear, torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.Adam(
        model.parameters(), lr=LEARNING_RATE, betas=(BETA1, BETA2), eps=EPSILON, fused=fused or None
    )
    if task.loss == "mean_squared_error":
        loss_of = torch.nn.functional.mse_loss
    else:
        loss_of = torch.nn.functional.cross_entropy

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step

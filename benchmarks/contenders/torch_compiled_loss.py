"""PyTorch with `torch.compile` of the model and its loss; gradients and fused optimizers as in eager mode."""

from __future__ import annotations

from collections.abc import Callable

import torch

from contenders.torch_eager import training_step
from contenders.torch_models import COMPILED_LOSSES
from tasks import Task


def make(task: Task) -> Callable[[], float]:
    return training_step(task, torch.compile(COMPILED_LOSSES[task.model](task)))

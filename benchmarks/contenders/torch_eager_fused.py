"""PyTorch in eager mode with its fused Adam."""

from __future__ import annotations

from collections.abc import Callable

from contenders import torch_eager
from tasks import Task


def make(task: Task) -> Callable[[], float]:
    return torch_eager.make(task, fused=True)

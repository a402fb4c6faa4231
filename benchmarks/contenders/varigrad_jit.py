"""The same loop under `vg.jit`."""

from __future__ import annotations

from collections.abc import Callable

import varigrad as vg
from contenders.varigrad_eager import training_step
from tasks import Task


def make(task: Task) -> Callable[[], float]:
    step = vg.jit(training_step(task))
    return lambda: step().item()

"""The same loop under `vg.jit`: as machine code, where there is llvmlite."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import varigrad as vg
from contenders.varigrad_eager import training_step
from tasks import Task


def make(task: Task, executor: str | None = "native" if find_spec("llvmlite") else None) -> Callable[[], float]:
    step = vg.jit(training_step(task), executor=executor)
    return lambda: step().item()

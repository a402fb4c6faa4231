"""The same loop under `vg.jit`, by the calls of NumPy that eager mode makes."""

from __future__ import annotations

from collections.abc import Callable

from contenders import varigrad_jit
from tasks import Task


def make(task: Task) -> Callable[[], float]:
    return varigrad_jit.make(task, executor="numpy")

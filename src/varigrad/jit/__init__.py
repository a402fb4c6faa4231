"""Compiled functions: capture of what a function does, the graph of it, passes over the graph, and what runs it."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from varigrad.jit.compiled import CompiledFunction as CompiledFunction
from varigrad.jit.decorator import jit as jit
from varigrad.jit.errors import JitError as JitError
from varigrad.jit.errors import JitWarning as JitWarning


class _CallableModule(ModuleType):
    """A module that is called as its function is.

    `varigrad.jit` is this package to Python and the function to everybody else. What imports packages by their files,
    as test runners do, puts the package where the function was.
    """

    def __call__(self, *args: Any, **options: Any) -> Any:
        return jit(*args, **options)


sys.modules[__name__].__class__ = _CallableModule

"""`vg.jit`, which makes a compiled function of one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from varigrad.jit.compiled import CompiledFunction
from varigrad.jit.executors import check_executor

__all__ = ["jit"]

P = ParamSpec("P")
R = TypeVar("R")


@overload
def jit(f: Callable[P, R], /, *, check: bool = ..., executor: str | None = ...) -> CompiledFunction[P, R]: ...
@overload
def jit(
    f: None = None, /, *, check: bool = ..., executor: str | None = ...
) -> Callable[[Callable[P, R]], CompiledFunction[P, R]]: ...
def jit(f: Any = None, /, *, check: bool = False, executor: str | None = None) -> Any:
    """Compiles a function of tensors, such as a training step with everything that belongs to it.

    The first call runs the function as it is written and writes down every kernel call; later ones run what was
    written down, which is faster and gives the same. The function is compiled anew for other shapes and dtypes, and
    whenever something else that it depends on has changed: arguments that are neither tensors nor floats, variables
    replaced, and what it reads from closures, globals, attributes, lists, dicts and arrays. Floats passed as arguments,
    learning rates, schedules and step counts may change freely. What has been compiled ten times is compiled again only
    for what comes a second time, and runs as it is written until then. `explain()` says what was compiled, and why;
    `graph()` and `source()` show the result.

    Inside, tensors have no values yet, so `float(x)`, `if x > 0` and the like are errors that name the line, and
    reach the caller even if the function catches them: what it did instead would be compiled for all calls. A function
    that changes something besides tensors and variables each time it runs (a counter, a list) is left as it is, with a
    warning; to change a container that was passed to it is an error. Printing happens at the first call only, and so
    does what asks the world outside the program for something, such as a file or `os.environ`, with a warning.

    Results are those of eager mode but for rounding, and NaN and infinity with them, save in the gradient of a
    convolution for its input where the filter is infinite or NaN: machine code sums over zeros around and between the
    numbers of `dy`, and zero times infinity is NaN.

    Args:
        f: A function of tensors, arrays, numbers, containers of these (lists, tuples, dicts, dataclasses), and other
            objects, of which each has a compilation of its own. It returns tensors and plain values, alone or in
            containers. Arrays reach it as tensors.
        check: Run both, compiled and as written, at each call, and compare: for finding out which of the two is wrong.
        executor: `"native"`, the default where it works, for machine code made with llvmlite; `"numpy"` for the same
            NumPy calls as in eager mode, to the bits. Machine code is kept in `~/.cache/varigrad` (macOS:
            `~/Library/Caches/varigrad`, Windows: `%LOCALAPPDATA%\\varigrad\\cache`), which may be removed at any time,
            or in the folder that the environment variable `VARIGRAD_CACHE_DIR` names; at most `VARIGRAD_CACHE_SIZE`
            megabytes of it, 256 unless set, those used last.

    Raises:
        JitError: at the call, if the function does something that cannot be compiled.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0], name="jit_example")
    >>> optimizer = vg.train.sgd(0.25)
    >>> @vg.jit
    ... def step(x):
    ...     value, grads = vg.variable_grads(lambda: ((w - x) ** 2).sum())
    ...     optimizer.apply_gradients(grads)
    ...     return value
    >>> [step(vg.tensor([3.0, 4.0])).item() for _ in range(3)]
    [8.0, 2.0, 0.5]
    >>> step.compilations
    1
    """
    if f is None:
        return functools.partial(jit, check=check, executor=executor)
    if not callable(f):
        kind: str = type(f).__name__
        order = "; write @classmethod above @vg.jit" if kind == "classmethod" else ""
        raise TypeError(f"jit: f must be a function, got {kind}{order}")
    if inspect.iscoroutinefunction(f) or inspect.isgeneratorfunction(f) or inspect.isasyncgenfunction(f):
        raise TypeError("jit: f must be a plain function, neither a coroutine function nor a generator")
    check_executor(executor)
    return CompiledFunction(f, check, executor)

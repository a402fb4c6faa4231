"""`vg.jit(f, check=True)`: the compiled function and the one as written, run side by side from the same state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.jit.effects import Effects, updated_by
from varigrad.jit.errors import JitError
from varigrad.jit.executors import Executor
from varigrad.jit.signature import Build, attributes_of, fields_of
from varigrad.tensor import Tensor, Variable

__all__ = ["compared"]

_RELATIVE = 1e-5  # sums and products may be rounded in another order


def compared(name: str, program: Executor, build: Build, leaves: Sequence[Any], as_written: Callable[[], Any]) -> Any:
    """What the function as written returns, after the compiled one has done the same from the same state.

    Raises:
        JitError: A result, a variable or an optimizer's state differs.
    """
    state = Effects(program.graph, updated_by(program.graph))
    held = state.read()
    compiled = build([Tensor(array) for array in program(leaves)], leaves)
    left = state.read()
    state.write(held)
    written = as_written()
    _compare(name, "its result", compiled, written)
    for tensor, ours, right in zip(state.tensors, left.arrays, state.read().arrays, strict=True):
        label = f"the variable {tensor.name!r}" if isinstance(tensor, Variable) else "an optimizer's slots"
        _compare_arrays(name, label, ours, right)
    return written


def _compare(name: str, label: str, ours: Any, right: Any) -> None:
    if isinstance(right, Tensor):
        _compare_arrays(name, label, ours.storage, right.storage)
    elif isinstance(right, dict):
        for key, item in cast("dict[Any, Any]", right).items():
            _compare(name, f"{label}[{key!r}]", ours[key], item)
    elif isinstance(right, (list, tuple)):
        for place, item in enumerate(cast("Sequence[Any]", right)):
            _compare(name, f"{label}[{place}]", ours[place], item)
    elif isinstance(right, float):
        _compare_arrays(name, label, np.asarray(ours), np.asarray(right))
    fields = attributes_of(right) if isinstance(right, (list, tuple, dict)) else fields_of(right)
    for field, item in (fields or {}).items():
        _compare(name, f"{label}.{field}", getattr(ours, field), item)


def _compare_arrays(name: str, label: str, ours: Array, right: Array) -> None:
    if ours.shape != right.shape or ours.dtype != right.dtype:
        raise JitError(
            f"jit: {name} compiled gives {ours.dtype}{list(ours.shape)} for {label}, and as written "
            f"{right.dtype}{list(right.shape)}"
        )
    if right.dtype.kind not in "fc":
        same = bool((ours == right).all())
    else:
        finite = np.abs(right[np.isfinite(right)])
        scale = float(finite.max()) if finite.size else 0.0
        same = np.allclose(ours, right, rtol=_RELATIVE, atol=_RELATIVE * scale, equal_nan=True)
    if not same:
        place = np.unravel_index(int(np.argmax(ours != right)), ours.shape)
        where = f" at {tuple(int(i) for i in place)}" if place else ""
        raise JitError(
            f"jit: {name} compiled and as written differ in {label}{where}: {ours[place]!r} and {right[place]!r}; "
            "please report it, with the function, unless these are what rounding leaves of numbers that cancel out"
        )

"""Debug mode: who made the first NaN."""

from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from varigrad.dtypes import DIFFERENTIABLE, Array
from varigrad.environment import FlagValue, env
from varigrad.observe import Observer, observe_everywhere, stop_observing
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["NonFiniteWarning", "enable_debug_mode"]

Fault = Literal["NaN", "infinite"]


class NonFiniteWarning(UserWarning):
    """What `vg.enable_debug_mode` warns with: a kernel makes NaN or infinite values out of finite ones."""


class _Caller(NamedTuple):
    """Where a kernel was run from."""

    op: str
    differentiating: str
    file: str
    line: int


class _Debugger(Observer):
    """Looks through the output of every kernel."""

    __slots__ = ("_updated",)
    sees_inside = True

    def __init__(self) -> None:
        self._updated: list[tuple[str, weakref.ref[Variable]]] = []

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        self._look_at_updated()
        for output in outputs:
            fault = _fault(output.storage)
            if fault is None:
                continue
            if kernel == "Constant":
                caller = _caller()
                raise ValueError(
                    f"debug mode: a tensor of shape {format_shape(output.shape)} is made from values "
                    f"{_share(output.storage, fault)} of which are {fault} ({caller.file}:{caller.line})"
                )
            if not _passed_on(fault, inputs):
                _report(kernel, inputs, output, fault)

    def updating(
        self,
        kernel: str,
        targets: tuple[Variable, ...],
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        state: tuple[Tensor, ...],
    ) -> None:
        self._look_at_updated()
        if all(_fault(x.storage) is None for x in (*targets, *inputs)):
            self._updated = [(kernel, weakref.ref(target)) for target in targets]

    def reading(self, tensor: Tensor) -> None:
        self._look_at_updated()

    def _look_at_updated(self) -> None:
        """Looks at the variables that the last update gave new values, which are there only by now."""
        updated, self._updated = self._updated, []
        for kernel, reference in updated:
            variable = reference()
            if variable is None or variable.is_disposed:
                continue
            fault = _fault(variable.storage)
            if fault is not None:
                _warn(
                    f"the update kernel {kernel} made {_share(variable.storage, fault)} values {fault} in the variable "
                    f"{variable.name!r} of shape {format_shape(variable.shape)}",
                    _caller(),
                )


def _fault(values: Array) -> Fault | None:
    if values.dtype.char not in DIFFERENTIABLE or np.isfinite(values).all():
        return None
    return "NaN" if np.isnan(values).any() else "infinite"


def _passed_on(fault: Fault, inputs: Iterable[Tensor]) -> bool:
    """Whether an input has the fault already: infinite values make NaN in ways of their own."""
    faults = {_fault(x.storage) for x in inputs}
    return fault in faults or (fault == "infinite" and "NaN" in faults)


def _share(values: Array, fault: Fault) -> str:
    faulty = np.isnan(values) if fault == "NaN" else np.isinf(values)
    return f"{np.count_nonzero(faulty)} of {values.size}"


def _report(kernel: str, inputs: tuple[Tensor, ...], output: Tensor, fault: Fault) -> None:
    caller = _caller()
    given = ", ".join(f"{format_shape(x.shape)} {x.dtype}" for x in inputs) or "none"
    where = f"{caller.op}: " if caller.op else ""
    during = f" in the gradient of {caller.differentiating}" if caller.differentiating else ""
    _warn(
        f"{where}the kernel {kernel}{during} made {_share(output.storage, fault)} values {fault} "
        f"(inputs: {given}; output: {format_shape(output.shape)} {output.dtype})",
        caller,
    )


def _warn(message: str, caller: _Caller) -> None:
    warnings.warn_explicit(f"debug mode: {message}", NonFiniteWarning, caller.file, caller.line)


def _caller() -> _Caller:
    """The op that runs the kernel, the kernel that is being differentiated if one is, and the line outside VariGrad."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    op = differentiating = ""
    in_op = True
    while frame.f_back is not None and (module := str(frame.f_globals.get("__name__"))).startswith("varigrad."):
        name = frame.f_code.co_name
        if module.startswith("varigrad.ops."):
            # Ops call ops; the outermost of the first run of them is the one that was asked for.
            op = name if in_op and name.isidentifier() else op
        elif op:
            in_op = False
        if module == "varigrad.tape" and name == "gradients" and not differentiating:
            differentiating = frame.f_locals["kernel"]
        frame = frame.f_back
    return _Caller(op, differentiating, frame.f_code.co_filename, frame.f_lineno)


_debugger = _Debugger()


def _switch(value: FlagValue) -> None:
    stop_observing(_debugger)
    if value:
        observe_everywhere(_debugger)


env().register_flag("DEBUG", lambda: False, _switch)


def enable_debug_mode(enabled: bool = True) -> None:
    """Debug mode: every result is looked through for NaN and infinite values, in every thread.

    A kernel that makes some out of finite ones is named in a `NonFiniteWarning`, with the op, the shapes and the line
    that called it; so is an optimizer that makes them in a variable. To stop there, turn the warning into an error:
    `warnings.simplefilter("error", vg.NonFiniteWarning)`. Kernels that pass them on are not named. A tensor made from
    values that hold them is an error. Threads that are inside a `tidy` or a gradient are watched from its end on.
    Everything becomes slower. Mirrors `tf.enableDebugMode`.

    Args:
        enabled: False leaves debug mode.

    >>> import warnings
    >>> import varigrad as vg
    >>> vg.enable_debug_mode()
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", vg.NonFiniteWarning)
    ...     y = vg.log([-1, 1]).sum()
    >>> vg.enable_debug_mode(False)
    >>> for warning in caught:
    ...     print(warning.message)
    debug mode: log: the kernel Log made 1 of 2 values NaN (inputs: [2] float32; output: [2] float32)
    """
    env().set("DEBUG", enabled)

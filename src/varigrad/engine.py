"""The heart: kernels by name and backend, and the one way to run them.

A kernel is a named pure function over backend arrays: positional arrays in, attributes as keywords, an array or a
tuple of arrays out. Arrays are C-contiguous; only `Reshape` and `Identity` may return memory of their input. An
update kernel writes into the arrays of the variables it is given. Names are TensorFlow.js's.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from time import perf_counter_ns
from typing import Any, cast

import numpy as np

from varigrad.changes import count_change
from varigrad.dtypes import HALVES, Array, dtype_name, when_halves_come
from varigrad.errors import KernelError, OutOfMemoryError, VariGradError
from varigrad.halves import widened, widened_update
from varigrad.observe import OBSERVERS
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = [
    "get_backend",
    "kernel_names",
    "make_tensor",
    "register_kernel",
    "register_update",
    "run_kernel",
    "run_kernel_multi",
    "update_variables",
]

Kernel = Callable[..., Any]
Attrs = Mapping[str, Any]

NO_ATTRS: Attrs = {}
REFERENCE = "numpy"  # the backend that has every kernel
KERNELS: dict[str, dict[str, Kernel]] = {REFERENCE: {}}  # by backend
_updates: dict[str, Kernel] = {}
_active: dict[str, Kernel] = KERNELS[REFERENCE]
_active_updates = _updates
_active_name = REFERENCE
_halves = False
_timing = 0
SEVERAL: set[str] = set()  # kernels that gave a tuple, if only of one

# Infinities and NaN are values here, as in TensorFlow.js; NumPy's warnings about them stay with NumPy's own users.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"varigrad\.")


def register_kernel(name: str, backend: str, function: Kernel) -> None:
    """Registers how the kernel `name` runs on `backend`, replacing what was there.

    `function` takes the kernel's input arrays in order and its attributes as keywords, and returns a fresh
    C-contiguous array, or a tuple of them.

    >>> import varigrad as vg
    >>> vg.register_kernel("TimesTwoExample", "numpy", lambda x: x + x)
    >>> vg.run_kernel("TimesTwoExample", (vg.tensor([1, 2]),)).tolist()
    [2.0, 4.0]
    """
    KERNELS.setdefault(backend, {})[name] = function
    use_kernels()


def register_update(name: str, function: Kernel) -> None:
    """Registers an update kernel, which `vg.update_variables` runs.

    `function(targets, inputs, state, **attrs)` takes lists of arrays; it writes the first and the last in place.

    >>> import varigrad as vg
    >>> def halve(targets, inputs, state):
    ...     for values in targets:
    ...         values *= 0.5
    >>> vg.register_update("HalveExample", halve)
    >>> w = vg.variable([2.0, 4.0])
    >>> vg.update_variables("HalveExample", (w,), ())
    >>> w.tolist()
    [1.0, 2.0]
    """
    _updates[name] = function
    use_kernels()


def kernel_names(backend: str = REFERENCE) -> list[str]:
    """The names of the kernels registered for a backend, sorted.

    >>> import varigrad as vg
    >>> "MatMul" in vg.kernel_names(), "BatchMatMul" in vg.kernel_names()
    (False, True)
    """
    return sorted(KERNELS.get(backend, {}))


def get_backend() -> str:
    """The name of the backend in use.

    >>> import varigrad as vg
    >>> vg.get_backend()
    'numpy'
    """
    return _active_name


def use_kernels(backend: str | None = None) -> None:
    """Has the kernels of a backend run from now on, in every thread, and those of the reference where it has none.

    Without a name, takes up what has changed in the tables.
    """
    global _active, _active_updates, _active_name
    count_change(of_kernels=True)
    _active_name = backend or _active_name
    reference = KERNELS[REFERENCE]
    _active = reference if _active_name == REFERENCE else {**reference, **KERNELS.get(_active_name, {})}
    if _halves:
        _active, _active_updates = widened(_active), widened_update(_updates)


def active_kernels() -> tuple[Mapping[str, Kernel], Mapping[str, Kernel]]:
    """The kernels that run now, and the update kernels."""
    return _active, _active_updates


@when_halves_come
def _use_halves() -> None:
    global _halves
    _halves = True
    use_kernels()


def make_tensor(storage: Array) -> Tensor:
    """A tensor over an array that nobody else will write to.

    >>> import numpy as np
    >>> import varigrad as vg
    >>> vg.make_tensor(np.ones(2, np.float32)).tolist()
    [1.0, 1.0]
    """
    tensor = Tensor(storage)
    if storage.dtype.char in HALVES:
        dtype_name(storage.dtype)  # takes the dtype up
    observers = OBSERVERS.get()
    if observers:
        made = (tensor,)
        for observer in observers:
            observer.ran("Constant", (), NO_ATTRS, made, 0)
    return tensor


def run_kernel(name: str, inputs: tuple[Tensor, ...], attrs: Attrs = NO_ATTRS) -> Tensor:
    """Runs a kernel of one output and tells the observers.

    Raises:
        KernelError: no such kernel.
        DisposedError: an input was disposed.
        ValueError: the kernel refused its input; the message names it and the shapes.

    >>> import varigrad as vg
    >>> vg.run_kernel("Add", (vg.tensor([1, 2]), vg.tensor([3, 4]))).tolist()
    [4.0, 6.0]
    """
    started = perf_counter_ns() if _timing else 0
    try:
        if attrs:
            array = _active[name](*[t.storage for t in inputs], **attrs)
        else:
            array = _active[name](*[t.storage for t in inputs])
    except Exception as error:
        array = _recover(name, inputs, attrs, error)
    if array.__class__ is not np.ndarray:
        array = _no_scalar(array)
    output = Tensor(array)
    observers = OBSERVERS.get()
    if observers:
        spent = perf_counter_ns() - started if _timing else 0
        outputs = (output,)
        for observer in observers:
            observer.ran(name, inputs, attrs, outputs, spent)
    return output


def run_kernel_multi(name: str, inputs: tuple[Tensor, ...], attrs: Attrs = NO_ATTRS) -> tuple[Tensor, ...]:
    """`run_kernel` for a kernel of several outputs.

    >>> import varigrad as vg
    >>> vg.register_kernel("SignsExample", "numpy", lambda x: (x + 0, -x))
    >>> plus, minus = vg.run_kernel_multi("SignsExample", (vg.tensor([1, 2]),))
    >>> minus.tolist()
    [-1.0, -2.0]
    """
    started = perf_counter_ns() if _timing else 0
    try:
        arrays = _active[name](*[t.storage for t in inputs], **attrs)
    except Exception as error:
        arrays = _recover(name, inputs, attrs, error)
    outputs = tuple([Tensor(_no_scalar(array)) for array in arrays])
    observers = OBSERVERS.get()
    if observers:
        SEVERAL.add(name)
        spent = perf_counter_ns() - started if _timing else 0
        for observer in observers:
            observer.ran(name, inputs, attrs, outputs, spent)
    return outputs


def host_tensors(compute: Callable[[], Sequence[Array]]) -> tuple[Tensor, ...]:
    """Tensors of numbers that the host computes anew at each step, such as a learning rate.

    To observers they are no constants: a compiled step calls `compute` too, each time it runs. Where `compute` has a
    method `into`, the step calls what `compute.into(arrays)` gives instead, which writes the numbers into these arrays.
    """
    tensors = tuple([Tensor(array) for array in compute()])
    for observer in OBSERVERS.get():
        observer.computing(compute, tensors)
    return tensors


@contextmanager
def timing_kernels() -> Generator[None]:
    """Has observers told how long kernels take, inside the block; otherwise the clock is not read."""
    global _timing
    _timing += 1
    try:
        yield
    finally:
        _timing -= 1


def update_variables(
    name: str,
    targets: tuple[Variable, ...],
    inputs: tuple[Tensor, ...],
    attrs: Attrs = NO_ATTRS,
    state: tuple[Tensor, ...] = (),
) -> None:
    """Runs an update kernel, which gives `targets` new values.

    Values are written in place where nobody else holds the memory; a tensor that shares it (a reshape, a value
    saved for a gradient, an array from `np.asarray`) keeps what it had. `state` is memory that only the caller
    holds (an optimizer's slots); it is always written in place.

    >>> import varigrad as vg
    >>> w = vg.variable([1.0, 2.0])
    >>> vg.update_variables("Assign", (w,), (vg.tensor([3.0, 4.0]),))
    >>> w.tolist()
    [3.0, 4.0]
    """
    for observer in OBSERVERS.get():
        observer.updating(name, targets, inputs, attrs, state)
    written = own(targets)
    run_quietly(_active_updates[name], written, [t.storage for t in inputs], [t.storage for t in state], **attrs)


def share_values(variable: Variable, value: Tensor) -> None:
    """Gives a variable the values of a tensor of its shape and dtype, without a copy: the update kernel `"Assign"`.

    They hold the same memory until one of them is written to, and then no longer.
    """
    for observer in OBSERVERS.get():
        observer.updating("Assign", (variable,), (value,), NO_ATTRS, ())
    variable.storage = value.storage


# NumPy keeps what it does about overflow in the context. Running in a copy of one that ignores it costs a tenth of
# np.errstate.
_QUIET = Context()
_QUIET.run(np.seterr, all="ignore")


def run_quietly(function: Callable[..., Any], *args: Any, **attrs: Any) -> Any:
    """Calls a function with NumPy's warnings about overflow off, and no observers."""
    return _QUIET.copy().run(function, *args, **attrs)


# What getrefcount says of an array that only its tensor holds depends on the Python version: measured, not assumed.
_FREE = Tensor(np.zeros(1))
_HOLDERS_OF_FREE = sys.getrefcount(_FREE.storage)


def own(variables: Sequence[Variable]) -> list[Array]:
    """The variables' arrays, those that something else holds (views hold them too) copied first."""
    arrays: list[Array] = []
    for variable in variables:
        if sys.getrefcount(variable.storage) > _HOLDERS_OF_FREE or variable.storage.base is not None:
            variable.storage = variable.storage.copy()
        arrays.append(variable.storage)
    return arrays


def _no_scalar(array: Any) -> Any:
    """NumPy's functions give scalars in place of arrays of rank 0; a tensor holds arrays."""
    return np.asarray(cast("Any", array)) if isinstance(array, np.generic) else array


def _recover(name: str, inputs: Sequence[Tensor], attrs: Attrs, error: Exception) -> Any:
    """Runs the kernel again where only a floating-point warning stopped it; explains any other failure."""
    if isinstance(error, VariGradError):
        raise error
    if name not in _active:
        raise KernelError(f"no kernel {name!r} is registered for backend {_active_name!r}") from None
    if isinstance(error, (RuntimeWarning, FloatingPointError)):
        with np.errstate(all="ignore"):
            return _active[name](*[t.storage for t in inputs], **attrs)
    if isinstance(error, MemoryError):
        raise OutOfMemoryError(f"{_called_as(name)}: {error}") from None
    given = ", ".join(f"{format_shape(t.shape)} {t.dtype}" for t in inputs)
    kind = TypeError if isinstance(error, TypeError) else ValueError
    raise kind(f"{_called_as(name)}: {error} (inputs: {given})") from error


def _called_as(kernel: str) -> str:
    """The op that led to a kernel, as the user called it; the kernel itself if it was run without one."""
    name = kernel
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith("varigrad.ops."):
            if frame.f_code.co_name[0] not in "_<" and module != "varigrad.ops.arguments":
                name = frame.f_code.co_name
        elif module != __name__:
            break
        frame = frame.f_back
    return name

"""Backends, and the kernels that each has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from varigrad.engine import KERNELS, REFERENCE, Kernel, get_backend, register_kernel, use_kernels
from varigrad.errors import KernelError
from varigrad.memory_counts import memory

__all__ = [
    "KernelBackend",
    "KernelConfig",
    "backend",
    "copy_registered_kernels",
    "find_backend",
    "find_backend_factory",
    "get_kernel",
    "get_kernels_for_backend",
    "ready",
    "register_backend",
    "remove_backend",
    "set_backend",
    "unregister_kernel",
]


class KernelConfig(NamedTuple):
    """What `vg.get_kernel` gives: a kernel as it is registered."""

    kernel_name: str
    backend_name: str
    kernel_func: Kernel


class KernelBackend:
    """What `vg.backend` gives, unless the backend's factory makes something else. Mirrors `tf.KernelBackend`.

    >>> import varigrad as vg
    >>> vg.backend().name, vg.backend().epsilon()
    ('numpy', 1e-07)
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def epsilon(self) -> float:
        """The small number that keeps divisions finite at this precision."""
        return 1e-7 if self.float_precision() == 32 else 1e-4

    def float_precision(self) -> int:
        """How many bits the floats that tensors have by default are computed with."""
        return 32

    def num_data_ids(self) -> int:
        """How many buffers tensors hold."""
        return memory().num_data_buffers


_factories: dict[str, Callable[[], Any]] = {REFERENCE: lambda: KernelBackend(REFERENCE)}
_made: dict[str, Any] = {}


def register_backend(name: str, factory: Callable[[], Any] | None = None) -> bool:
    """Adds a backend, with kernels to follow by `vg.register_kernel`. Mirrors `tf.registerBackend`.

    Args:
        name: Its name, for `vg.set_backend`.
        factory: Called once, when the backend is first chosen or looked for; it may register the kernels, and returns
            the object that `vg.backend` gives.

    Returns:
        False, with nothing changed, if there is a backend of this name.

    >>> import varigrad as vg
    >>> vg.register_backend("twice_example")
    True
    >>> vg.register_kernel("Square", "twice_example", lambda x: x + x)
    >>> vg.set_backend("twice_example")
    True
    >>> vg.square([1, 2]).tolist()
    [2.0, 4.0]
    >>> vg.remove_backend("twice_example")
    >>> vg.get_backend(), vg.square([1, 2]).tolist()
    ('numpy', [1.0, 4.0])
    """
    if name in _factories:
        return False
    _factories[name] = factory or (lambda: KernelBackend(name))
    return True


def set_backend(name: str) -> bool:
    """Chooses the backend that runs kernels from now on, in every thread.

    Kernels that it lacks run on the `numpy` backend, the reference. Returns True, as TensorFlow.js does. Mirrors
    `tf.setBackend`.

    Raises:
        ValueError: There is no such backend.

    >>> import varigrad as vg
    >>> vg.set_backend("numpy")
    True
    """
    if name not in _factories and name not in KERNELS:
        raise ValueError(
            f"set_backend: no backend named {name!r}; there is {', '.join(sorted(_factories.keys() | KERNELS))}"
        )
    find_backend(name)
    use_kernels(name)
    return True


def backend() -> Any:
    """The backend in use, as its factory made it. Mirrors `tf.backend`.

    >>> import varigrad as vg
    >>> vg.backend().float_precision()
    32
    """
    return find_backend(get_backend())


def find_backend(name: str) -> Any:
    """A backend by name, made now if it was not in use before; None if there is none. Mirrors `tf.findBackend`.

    >>> import varigrad as vg
    >>> vg.find_backend("webgl") is None
    True
    """
    if name not in _made:
        if name in KERNELS:
            register_backend(name)
        elif name not in _factories:
            return None
        _made[name] = _factories[name]()
    return _made[name]


def find_backend_factory(name: str) -> Callable[[], Any] | None:
    """The factory with which a backend was registered, or None. Mirrors `tf.findBackendFactory`.

    >>> import varigrad as vg
    >>> vg.find_backend_factory("numpy")().name
    'numpy'
    """
    return _factories.get(name)


def remove_backend(name: str) -> None:
    """Removes a backend and its kernels, after its `dispose()` if it has one. Mirrors `tf.removeBackend`.

    If it was in use, `numpy` is from now on.

    Raises:
        ValueError: There is no such backend, or it is `numpy`, on which the others fall back.

    >>> import varigrad as vg
    >>> _ = vg.register_backend("short_lived_example")
    >>> vg.remove_backend("short_lived_example")
    """
    if name == REFERENCE:
        raise ValueError(f"remove_backend: {REFERENCE!r} stays, for the others fall back on it")
    if name not in _factories and name not in KERNELS:
        raise ValueError(f"remove_backend: no backend named {name!r}")
    made = _made.pop(name, None)
    _factories.pop(name, None)
    KERNELS.pop(name, None)
    if get_backend() == name:
        use_kernels(REFERENCE)
    if callable(dispose := getattr(made, "dispose", None)):
        dispose()


async def ready() -> None:
    """Returns at once, for a backend is made when it is chosen. Mirrors `tf.ready`.

    >>> import asyncio
    >>> import varigrad as vg
    >>> asyncio.run(vg.ready())
    """


def get_kernel(kernel_name: str, backend_name: str) -> KernelConfig | None:
    """A kernel as a backend has it, or None. Mirrors `tf.getKernel`.

    >>> import numpy as np
    >>> import varigrad as vg
    >>> vg.get_kernel("Square", "numpy").kernel_func(np.array([3.0]))
    array([9.])
    """
    function = KERNELS.get(backend_name, {}).get(kernel_name)
    return None if function is None else KernelConfig(kernel_name, backend_name, function)


def get_kernels_for_backend(backend_name: str) -> list[KernelConfig]:
    """Every kernel that a backend has itself, by name. Mirrors `tf.getKernelsForBackend`.

    >>> import varigrad as vg
    >>> vg.get_kernels_for_backend("numpy")[0].kernel_name
    'Abs'
    """
    return [KernelConfig(name, backend_name, f) for name, f in sorted(KERNELS.get(backend_name, {}).items())]


def unregister_kernel(kernel_name: str, backend_name: str) -> None:
    """Takes a kernel from a backend. Mirrors `tf.unregisterKernel`.

    Raises:
        KernelError: The backend has no such kernel.

    >>> import varigrad as vg
    >>> vg.register_kernel("ThriceExample", "numpy", lambda x: 3 * x)
    >>> vg.unregister_kernel("ThriceExample", "numpy")
    >>> vg.get_kernel("ThriceExample", "numpy") is None
    True
    """
    if KERNELS.get(backend_name, {}).pop(kernel_name, None) is None:
        raise KernelError(f"unregister_kernel: no kernel {kernel_name!r} is registered for backend {backend_name!r}")
    use_kernels()


def copy_registered_kernels(registered_backend_name: str, new_backend_name: str) -> None:
    """Gives a backend the kernels of another as well. Mirrors `tf.copyRegisteredKernels`.

    >>> import varigrad as vg
    >>> vg.copy_registered_kernels("numpy", "copy_example")
    >>> len(vg.get_kernels_for_backend("copy_example")) == len(vg.kernel_names())
    True
    >>> vg.remove_backend("copy_example")
    """
    for name, function in list(KERNELS.get(registered_backend_name, {}).items()):
        register_kernel(name, new_backend_name, function)

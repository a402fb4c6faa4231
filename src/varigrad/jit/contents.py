"""What is in objects that are compared as a whole, such as arrays, buffers and sets; and what else holds values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, cast

import numpy as np

from varigrad.dtypes import Array

__all__ = ["attributes_that_hold", "contents_of", "is_whole", "value_in"]

# Attributes in which objects of classes outside the user's code keep what they hold.
_HOLDING: Mapping[str, tuple[str, ...]] = {
    "collections.ChainMap": ("maps",),
    "collections.UserDict": ("data",),
    "collections.UserList": ("data",),
    "collections.UserString": ("data",),
    "configparser.RawConfigParser": ("_defaults", "_sections"),
    "varigrad.buffers.TensorBuffer": ("values",),
}


def attributes_that_hold(cls: type) -> Iterator[str]:
    """The attributes in which objects of a class keep what they hold, where no code of the user's tells."""
    for base in cls.__mro__:
        yield from _HOLDING.get(f"{base.__module__}.{base.__qualname__}", ())


def value_in(holder: Any, _: Any) -> Any:
    """What a context variable or a weak reference stands for; None where there is nothing."""
    return cast("Any", holder).get(None) if isinstance(holder, ContextVar) else holder()


def is_whole(value: Any) -> bool:
    """Whether a value is compared as a whole: nothing of VariGrad's, where symbolic tensors turn into no array."""
    cls: Any = cast("Any", type(value))
    if isinstance(value, (np.ndarray, set, frozenset)):
        return True
    if str(cls.__module__).startswith("varigrad."):
        return False
    return hasattr(cls, "__array__") or _memory_of(value) is not None


def contents_of(value: Any) -> Any:
    """A copy of the contents of such a value or of a long list of numbers, to be compared with later."""
    if isinstance(value, np.ndarray):
        array = cast("Array", value)
        return array.shape, array.dtype, array.tobytes()
    if isinstance(value, (list, deque)):
        return tuple(cast("Sequence[Any]", value))
    if isinstance(value, dict):
        return dict(cast("dict[Any, Any]", value))
    if isinstance(value, (set, frozenset)):
        return set(cast("set[Any]", value))
    memory = _memory_of(value)
    return _array_in(value) if memory is None else memory.tobytes()


def _memory_of(value: Any) -> memoryview | None:
    """The memory of a buffer, such as a `bytearray` or an `array.array`; None of anything else."""
    try:
        return memoryview(value)
    except (TypeError, ValueError, NotImplementedError):
        return None


def _array_in(value: Any) -> Any:
    """What an object that turns into an array holds, such as a table of pandas'."""
    try:
        array = np.asarray(value)
    except Exception as error:  # whatever it is, it is no array now
        return repr(error)
    return repr(array.tolist()) if array.dtype.kind == "O" else contents_of(array)

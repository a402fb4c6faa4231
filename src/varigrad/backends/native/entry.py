"""How Python enters machine code for a small program: by a built-in function that is made while the process runs.

A call through `ctypes` takes longer than a small program does: it converts numbers, and lets other threads run
meanwhile. A built-in function is called as those of the interpreter itself are. Large programs, during which others
should run, stay with `ctypes`, and so does everything where no built-in function can be made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from varigrad.backends.native.runtime import ENTER

if TYPE_CHECKING:
    from varigrad.backends.native.machine import Library
    from varigrad.backends.native.state import State

__all__ = ["Enter", "Entry", "entry_text", "make_builtin"]

# Runs a program on the arrays of a call; gives what its machine code gives.
Enter = Callable[[list[Any]], int]

_NAME = "varigrad_builtin"
_METH_O = 0x0008  # of Python's stable ABI: a function of one object


def entry_text() -> str:
    """The function's text: its `self` is an array of two addresses, those of the state and of PyLong_FromLong."""
    return f"""
define ptr @{_NAME}(ptr %self, ptr %list) {{
  %place = getelementptr i8, ptr %self, i64 {object.__basicsize__}
  %addresses = load ptr, ptr %place
  %state = load ptr, ptr %addresses
  %second = getelementptr ptr, ptr %addresses, i64 1
  %to_object = load ptr, ptr %second
  %code = call i64 @{ENTER}(ptr %state, ptr %list)
  %object = call ptr %to_object(i64 %code)
  ret ptr %object
}}
"""


class Entry:
    """The memory of one call at a time, and what runs the program in it, on one thread or on several."""

    __slots__ = ("enter", "enter_shared", "state")

    def __init__(self, state: State, enter: Enter, enter_shared: Enter | None = None) -> None:
        self.state = state
        self.enter = enter
        self.enter_shared = enter_shared or enter


class _MethodDef(ctypes.Structure):
    """`PyMethodDef` of Python's stable ABI."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class _Self(np.ndarray[Any, np.dtype[np.int64]]):
    """The addresses that a function works with; it keeps what it needs as long as it is."""

    keeps: tuple[Any, ...]


def make_builtin(library: Library, state: int) -> Enter:
    """A function that runs the program whose state is at an address, where machine code can read arrays
    (`runtime.arrays_can_be_read`)."""
    python: Any = ctypes.pythonapi
    definition = _MethodDef(b"run", library.address(_NAME), _METH_O, None)
    given = np.array([state, ctypes.cast(python.PyLong_FromLong, ctypes.c_void_p).value], np.int64).view(_Self)
    given.keeps = definition, library
    prototype = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
    new: Any = prototype(("PyCFunction_NewEx", python))
    return new(ctypes.addressof(definition), given, None)

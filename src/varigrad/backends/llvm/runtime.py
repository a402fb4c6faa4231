"""The few functions that run a program: they look up where arrays lie, and call one kernel after the other.

A kernel is `void kernel(ptr table, ptr arguments, i64 begin, i64 end)`: the table holds the addresses of the arena and
of the arrays of this call; the arguments are pairs of a place in the table and an offset in bytes, then integers.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

__all__ = ["ENTER", "RUNTIME", "arrays_can_be_read"]

ENTER = "varigrad_enter"

# A NumPy array has its address, and a list the address of its items, at these places (CPython's and NumPy's own ABI).
_DATA = object.__basicsize__
_ITEMS = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)

# state: table, first and last place to look up, steps, number of steps; a step: kernel, arguments, parts.
RUNTIME = f"""
define void @{ENTER}(ptr %state, ptr %list) {{
entry:
  %table = load ptr, ptr %state
  %q1 = getelementptr i64, ptr %state, i64 1
  %first = load i64, ptr %q1
  %q2 = getelementptr i64, ptr %state, i64 2
  %last = load i64, ptr %q2
  %q3 = getelementptr i64, ptr %state, i64 3
  %steps = load ptr, ptr %q3
  %q4 = getelementptr i64, ptr %state, i64 4
  %count = load i64, ptr %q4
  %where = getelementptr i8, ptr %list, i64 {_ITEMS}
  %known = icmp eq ptr %list, null
  br i1 %known, label %ready, label %read
read:
  %items = load ptr, ptr %where
  %any = icmp slt i64 %first, %last
  br i1 %any, label %look, label %ready
look:
  %i = phi i64 [%first, %read], [%i2, %look]
  %ip = getelementptr ptr, ptr %items, i64 %i
  %object = load ptr, ptr %ip
  %dp = getelementptr i8, ptr %object, i64 {_DATA}
  %data = load ptr, ptr %dp
  %tp = getelementptr ptr, ptr %table, i64 %i
  store ptr %data, ptr %tp
  %i2 = add i64 %i, 1
  %more = icmp slt i64 %i2, %last
  br i1 %more, label %look, label %ready
ready:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %step, label %done
step:
  %k = phi i64 [0, %ready], [%k2, %step]
  %k3 = mul i64 %k, 3
  %sp = getelementptr i64, ptr %steps, i64 %k3
  %kernel = load ptr, ptr %sp
  %ap = getelementptr i64, ptr %sp, i64 1
  %arguments = load ptr, ptr %ap
  %np = getelementptr i64, ptr %sp, i64 2
  %parts = load i64, ptr %np
  call void %kernel(ptr %table, ptr %arguments, i64 0, i64 %parts)
  %k2 = add i64 %k, 1
  %again = icmp slt i64 %k2, %count
  br i1 %again, label %step, label %done
done:
  ret void
}}
"""


def _can_read() -> bool:
    probe = np.arange(3)
    holder = [probe]
    try:
        items = ctypes.c_void_p.from_address(id(holder) + _ITEMS).value or 0
        found = ctypes.c_void_p.from_address(items).value or 0
        data = ctypes.c_void_p.from_address(found + _DATA).value
    except (ValueError, OSError):
        return False
    return found == id(probe) and data == probe.ctypes.data


def arrays_can_be_read() -> bool:
    """Whether native code finds the addresses of arrays in a list; where not, Python looks them up."""
    return sys.implementation.name == "cpython" and not hasattr(sys, "getobjects") and _can_read()

"""The few functions that run a program: they look up where arrays lie, and call one kernel after the other.

What a program writes to, the last arrays of a call's list, must be in nobody else's hands; where it is, nothing runs
and 1 is returned. Where a check finds indices wrong, it writes its number before the first entry of the table; nothing
runs after it, and 2 is returned.

A kernel is `void kernel(ptr table, ptr arguments, i64 begin, i64 end)`: the table holds the addresses of the arena and
of the arrays of this call; the arguments are pairs of a place in the table and an offset in bytes, then integers; begin
and end say which part of the work to do.

Large steps are shared with worker threads (`sharing`).
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from varigrad.backends.native.sharing import BUSY, place_in_pool, sharing_text

__all__ = ["ENTER", "STATE_SIZE", "STEP_SIZE", "arrays_can_be_read", "runtime_text"]

ENTER = "varigrad_enter"

# A NumPy array has its address, and a list the address of its items, at these places (CPython's and NumPy's own ABI).
_DATA = object.__basicsize__
_ITEMS = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
_BASE = _DATA + 32  # what a view is a view of
_HOLDERS = 2  # of the memory of a variable that nobody else holds: the variable, and the list of this call

STATE_SIZE = (
    7  # numbers: table, first and last place to look up, steps, how many, pool (or 0), first that is written to
)
STEP_SIZE = 4  # numbers: kernel, arguments, parts, parts of a chunk (0: not shared)


def runtime_text() -> str:
    """The text of the functions."""
    return f"""
{sharing_text()}
define i64 @{ENTER}(ptr %state, ptr %list) {{
entry:
  %table = load ptr, ptr %state
  %failed = getelementptr i64, ptr %table, i64 -1
  %q1 = getelementptr i64, ptr %state, i64 1
  %first = load i64, ptr %q1
  %q2 = getelementptr i64, ptr %state, i64 2
  %last = load i64, ptr %q2
  %q3 = getelementptr i64, ptr %state, i64 3
  %steps = load ptr, ptr %q3
  %q4 = getelementptr i64, ptr %state, i64 4
  %count = load i64, ptr %q4
  %q5 = getelementptr i64, ptr %state, i64 5
  %pool = load ptr, ptr %q5
  %where = getelementptr i8, ptr %list, i64 {_ITEMS}
  %unknown = icmp eq ptr %list, null
  br i1 %unknown, label %ready, label %read
read:
  %items = load ptr, ptr %where
  %q6 = getelementptr i64, ptr %state, i64 6
  %written = load i64, ptr %q6
  %writes = icmp slt i64 %written, %last
  br i1 %writes, label %check, label %checked
check:
  %u = phi i64 [%written, %read], [%u2, %free]
  %up = getelementptr ptr, ptr %items, i64 %u
  %mine = load ptr, ptr %up
  %holders = load i32, ptr %mine
  %shared_memory = icmp ugt i32 %holders, {_HOLDERS}
  %bp = getelementptr i8, ptr %mine, i64 {_BASE}
  %base = load ptr, ptr %bp
  %view = icmp ne ptr %base, null
  %bad = or i1 %shared_memory, %view
  br i1 %bad, label %refuse, label %free
refuse:
  ret i64 1
free:
  %u2 = add i64 %u, 1
  %rest = icmp slt i64 %u2, %last
  br i1 %rest, label %check, label %checked
checked:
  %any = icmp slt i64 %first, %last
  br i1 %any, label %look, label %ready
look:
  %i = phi i64 [%first, %checked], [%i2, %look]
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
  %alone = icmp eq ptr %pool, null
  br i1 %alone, label %start, label %claim
claim:
  {place_in_pool("busy", BUSY)}
  %pair = cmpxchg ptr %busy, i64 0, i64 1 acq_rel acquire
  %got = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %got, label %wake, label %start
wake:
  call void @wake(ptr %pool)
  br label %start
start:
  %shared = phi i1 [false, %ready], [false, %claim], [true, %wake]
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %step, label %finish
step:
  %k = phi i64 [0, %start], [%k2, %next]
  %k3 = mul i64 %k, {STEP_SIZE}
  %sp = getelementptr i64, ptr %steps, i64 %k3
  %kernel = load ptr, ptr %sp
  %ap = getelementptr i64, ptr %sp, i64 1
  %arguments = load ptr, ptr %ap
  %np = getelementptr i64, ptr %sp, i64 2
  %parts = load i64, ptr %np
  %cp = getelementptr i64, ptr %sp, i64 3
  %chunk = load i64, ptr %cp
  %large = icmp ne i64 %chunk, 0
  %both = and i1 %large, %shared
  br i1 %both, label %together, label %by_itself
together:
  call void @share(ptr %pool, ptr %kernel, ptr %table, ptr %arguments, i64 %parts, i64 %chunk)
  br label %next
by_itself:
  call void %kernel(ptr %table, ptr %arguments, i64 0, i64 %parts)
  br label %next
next:
  %k2 = add i64 %k, 1
  %unfinished = icmp slt i64 %k2, %count
  %status = load i64, ptr %failed
  %well = icmp eq i64 %status, 0
  %again = and i1 %unfinished, %well
  br i1 %again, label %step, label %finish
finish:
  br i1 %shared, label %release, label %done
release:
  {place_in_pool("busy2", BUSY)}
  store atomic i64 0, ptr %busy2 release, align 8
  br label %done
done:
  %outcome = load i64, ptr %failed
  %wrong = icmp ne i64 %outcome, 0
  %code = select i1 %wrong, i64 2, i64 0
  ret i64 %code
}}
"""


def _can_read() -> bool:
    probe = np.arange(3)
    view = probe[1:]
    holder = [probe, view]

    def pointer(address: int) -> int:
        return ctypes.c_void_p.from_address(address).value or 0

    try:
        items = pointer(id(holder) + _ITEMS)
        found = [pointer(items), pointer(items + ctypes.sizeof(ctypes.c_void_p))]
        bases = [pointer(address + _BASE) for address in found]
        data = pointer(found[1] + _DATA)
        holders = ctypes.c_uint32.from_address(found[1]).value
    except (ValueError, OSError):
        return False
    as_known = found == [id(probe), id(view)] and data == view.ctypes.data and bases == [0, id(probe)]
    lone = object()
    asking = sys.getrefcount(lone) - 1  # whether getrefcount counts itself depends on the Python version
    return as_known and holders == sys.getrefcount(view) - asking


def arrays_can_be_read() -> bool:
    """Whether native code finds the addresses of arrays in a list; where not, Python looks them up."""
    return sys.implementation.name == "cpython" and not hasattr(sys, "getobjects") and _can_read()

"""The few functions that run a program: they look up where arrays lie, and call one kernel after the other.

What a program writes to, the last arrays of a call's list, must be in nobody else's hands; where it is, nothing runs
and 1 is returned. Where a check finds indices wrong, it writes its number before the first entry of the table; nothing
runs after it, and 2 is returned.

A kernel is `void kernel(ptr table, ptr arguments, i64 begin, i64 end)`: the table holds the addresses of the arena and
of the arrays of this call; the arguments are pairs of a place in the table and an offset in bytes, then integers; begin
and end say which part of the work to do.

Large steps are shared with worker threads. A job is published by its generation; whoever has a moment takes the next
chunk of it, by a counter that holds the generation too, so that a thread that comes late takes nothing of another job.
Workers stay awake from one call to the next, if that comes soon.
"""

from __future__ import annotations

import ctypes
import platform
import sys

import numpy as np

__all__ = ["ENTER", "POOL_SIZE", "SEMAPHORE", "STATE_SIZE", "STEP_SIZE", "WORKER", "arrays_can_be_read", "runtime_text"]

ENTER = "varigrad_enter"
WORKER = "varigrad_worker"

# A NumPy array has its address, and a list the address of its items, at these places (CPython's and NumPy's own ABI).
_DATA = object.__basicsize__
_ITEMS = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
_BASE = _DATA + 32  # what a view is a view of
_HOLDERS = 2  # of the memory of a variable that nobody else holds: the variable, and the list of this call

STATE_SIZE = (
    7  # numbers: table, first and last place to look up, steps, how many, pool (or 0), first that is written to
)
STEP_SIZE = 4  # numbers: kernel, arguments, parts, parts of a chunk (0: not shared)
# Numbers of the pool, far enough apart that what one thread writes does not slow down what another reads.
POOL_SIZE = 96
SEMAPHORE = 72
_BUSY, _ACTIVE, _GENERATION, _NEXT, _FINISHED, _JOB = (
    0,
    8,
    16,
    24,
    32,
    40,
)  # a job: kernel, table, arguments, parts, chunk
_ASLEEP = 48  # how many workers sleep
_PATIENCE = 8000  # looks at an idle pool, some tenths of a millisecond, before a worker sleeps


def _pause() -> tuple[str, str]:
    """The instruction by which a waiting thread gives way to the other one on its core, and its declaration."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    if machine in ("arm64", "aarch64"):
        return "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    return "", ""


def _pool(name: str, place: int) -> str:
    return f"%{name} = getelementptr i64, ptr %pool, i64 {place}"


def runtime_text() -> str:
    """The text of the functions."""
    pause, declaration = _pause()
    threads = sys.platform == "linux"
    wait = f"%s = getelementptr i64, ptr %pool, i64 {SEMAPHORE}\n  %w = call i32 @sem_wait(ptr %s)" if threads else ""
    post = "%posted = call i32 @sem_post(ptr %semaphore)" if threads else ""
    imports = "declare i32 @sem_wait(ptr)\ndeclare i32 @sem_post(ptr)\ndeclare i32 @sched_yield()" if threads else ""
    places = {"next": _NEXT, "finished": _FINISHED, **{f"j{i}": _JOB + i for i in range(5)}}
    job = "\n  ".join([_pool(name, place) for name, place in places.items()])
    give_way = "%y = call i32 @sched_yield()" if threads else ""
    return f"""
{declaration}
{imports}

define internal void @take_chunks(ptr %pool, i64 %generation) {{
entry:
  {job}
  br label %look
look:
  %kernel = load ptr, ptr %j0
  %table = load ptr, ptr %j1
  %arguments = load ptr, ptr %j2
  %parts = load i64, ptr %j3
  %chunk = load i64, ptr %j4
  %n = load atomic i64, ptr %next acquire, align 8
  %high = lshr i64 %n, 32
  %same = icmp eq i64 %high, %generation
  br i1 %same, label %open, label %out
open:
  %begin = and i64 %n, 4294967295
  %left = icmp ult i64 %begin, %parts
  br i1 %left, label %take, label %out
take:
  %to = add i64 %begin, %chunk
  %short = icmp ult i64 %to, %parts
  %end = select i1 %short, i64 %to, i64 %parts
  %shifted = shl i64 %generation, 32
  %new = or i64 %shifted, %end
  %pair = cmpxchg ptr %next, i64 %n, i64 %new acq_rel acquire
  %mine = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %mine, label %do, label %look
do:
  call void %kernel(ptr %table, ptr %arguments, i64 %begin, i64 %end)
  %done = sub i64 %end, %begin
  %before = atomicrmw add ptr %finished, i64 %done acq_rel
  br label %look
out:
  ret void
}}

define internal void @share(ptr %pool, ptr %kernel, ptr %table, ptr %arguments, i64 %parts, i64 %chunk) {{
entry:
  {_pool("where", _GENERATION)}
  {job}
  %old = load i64, ptr %where
  %counted = add i64 %old, 1
  %generation = and i64 %counted, 2147483647
  %shifted = shl i64 %generation, 32
  %closed = or i64 %shifted, 4294967295
  store atomic i64 %closed, ptr %next seq_cst, align 8
  fence seq_cst
  store ptr %kernel, ptr %j0
  store ptr %table, ptr %j1
  store ptr %arguments, ptr %j2
  store i64 %parts, ptr %j3
  store i64 %chunk, ptr %j4
  store atomic i64 0, ptr %finished release, align 8
  store atomic i64 %shifted, ptr %next release, align 8
  store atomic i64 %generation, ptr %where release, align 8
  call void @take_chunks(ptr %pool, i64 %generation)
  br label %wait
wait:
  %spins = phi i64 [0, %entry], [%spins2, %again]
  %f = load atomic i64, ptr %finished acquire, align 8
  %all = icmp eq i64 %f, %parts
  br i1 %all, label %out, label %spin
spin:
  {pause}
  %spins2 = add i64 %spins, 1
  %long = icmp ugt i64 %spins2, 20000
  br i1 %long, label %yield, label %again
yield:
  {give_way}
  br label %again
again:
  br label %wait
out:
  ret void
}}

define void @{WORKER}(ptr %pool) {{
entry:
  {_pool("where", _GENERATION)}
  {_pool("active", _ACTIVE)}
  {_pool("asleep", _ASLEEP)}
  br label %sleep
sleep:
  %before = atomicrmw add ptr %asleep, i64 1 seq_cst
  %a0 = load atomic i64, ptr %active seq_cst, align 8
  %called = icmp ne i64 %a0, 0
  br i1 %called, label %awake, label %doze
doze:
  {wait}
  br label %awake
awake:
  %then = atomicrmw sub ptr %asleep, i64 1 seq_cst
  br label %look
look:
  %last = phi i64 [0, %awake], [%last, %idle], [%g, %work]
  %spins = phi i64 [0, %awake], [%spins2, %idle], [0, %work]
  %g = load atomic i64, ptr %where acquire, align 8
  %new = icmp ne i64 %g, %last
  br i1 %new, label %work, label %rest
work:
  call void @take_chunks(ptr %pool, i64 %g)
  br label %look
rest:
  %a = load atomic i64, ptr %active acquire, align 8
  %on = icmp ne i64 %a, 0
  %more = add i64 %spins, 1
  %spins2 = select i1 %on, i64 0, i64 %more
  %tired = icmp ugt i64 %spins2, {_PATIENCE}
  br i1 %tired, label %sleep, label %idle
idle:
  {pause}
  br label %look
}}

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
  {_pool("busy", _BUSY)}
  %pair = cmpxchg ptr %busy, i64 0, i64 1 acq_rel acquire
  %got = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %got, label %wake, label %start
wake:
  {_pool("active", _ACTIVE)}
  store atomic i64 1, ptr %active seq_cst, align 8
  {_pool("sleepers", _ASLEEP)}
  %asleep = load atomic i64, ptr %sleepers seq_cst, align 8
  {_pool("semaphore", SEMAPHORE)}
  %anybody = icmp sgt i64 %asleep, 0
  br i1 %anybody, label %call, label %start
call:
  %k0 = phi i64 [0, %wake], [%k1, %call]
  {post}
  %k1 = add i64 %k0, 1
  %others = icmp slt i64 %k1, %asleep
  br i1 %others, label %call, label %start
start:
  %shared = phi i1 [false, %ready], [false, %claim], [true, %wake], [true, %call]
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
  {_pool("active2", _ACTIVE)}
  store atomic i64 0, ptr %active2 release, align 8
  {_pool("busy2", _BUSY)}
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

"""How threads share a large step: functions in LLVM's language, of the thread that has the work and of its workers.

A job is published by its generation; whoever has a moment takes the next chunk of it, by a counter that holds the
generation too, so that a thread that comes late takes nothing of another job. Workers stay awake from one job to the
next, if that comes soon: their cores are for others while a thread works alone.

A worker may lose its core to another process in the midst of a chunk. The thread that waits for it much longer than
the work takes gives way, and then works alone for some time, so that this costs a part of the time at most.
"""

from __future__ import annotations

import platform
import sys

__all__ = ["BUSY", "POOL_SIZE", "SEMAPHORE", "WORKER", "place_in_pool", "sharing_text"]

WORKER = "varigrad_worker"

# Numbers of the pool, far enough apart that what one thread writes does not slow down what another reads.
POOL_SIZE = 96
SEMAPHORE = 72
BUSY, _UNTIL, _GENERATION, _NEXT, _FINISHED = 0, 8, 16, 24, 32
_JOB = 40  # kernel, table, arguments, parts, chunk
_ASLEEP = 48  # how many workers sleep, or are about to
_PATIENCE = 8000  # looks at an idle pool, some tenths of a millisecond, before a worker sleeps
_LATE = 4096  # and at an unfinished job, before the one that waits asks whether a worker has lost its core
_ALONE = 2  # times as long as it has waited, it then works alone
_LONGEST = 1 << 36  # of the clock's units, half a minute: a later time is left from a clock that was set back


def _pause() -> tuple[str, str]:
    """The instruction by which a waiting thread gives way to the other one on its core, and its declaration."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        return "call void @llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    if machine in ("arm64", "aarch64"):
        return "call void @llvm.aarch64.hint(i32 1)", "declare void @llvm.aarch64.hint(i32)"
    return "", ""


def _clock() -> tuple[str, str]:
    """What tells the time, in whatever units, and its declaration: a number of the processor, where all may read it."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        return "  %now = call i64 @llvm.readcyclecounter()", "declare i64 @llvm.readcyclecounter()"
    lines = """  %time = alloca [2 x i64]
  %told = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest = getelementptr i64, ptr %time, i64 1
  %nanoseconds = load i64, ptr %rest
  %scaled = mul i64 %seconds, 1000000000
  %now = add i64 %scaled, %nanoseconds"""
    return lines, "declare i32 @clock_gettime(i32, ptr)"


def place_in_pool(name: str, place: int) -> str:
    """The address of a number of the pool."""
    return f"%{name} = getelementptr i64, ptr %pool, i64 {place}"


def sharing_text() -> str:
    """The text of `share`, by which one thread has a kernel done by all, of `wake`, and of what workers run."""
    pause, declaration = _pause()
    threads = sys.platform == "linux"
    clock, of_clock = _clock() if threads else ("  %now = add i64 0, 0", "")
    wait = "%w = call i32 @sem_wait(ptr %semaphore)" if threads else ""
    post = "%posted = call i32 @sem_post(ptr %semaphore)" if threads else ""
    imports = "declare i32 @sem_wait(ptr)\ndeclare i32 @sem_post(ptr)\ndeclare i32 @sched_yield()" if threads else ""
    places = {"next": _NEXT, "finished": _FINISHED, **{f"j{i}": _JOB + i for i in range(5)}}
    job = "\n  ".join([place_in_pool(name, place) for name, place in places.items()])
    give_way = "%y = call i32 @sched_yield()" if threads else ""
    return f"""
{declaration}
{of_clock}
{imports}

define internal i64 @clock() {{
{clock}
  ret i64 %now
}}

define internal void @wake(ptr %pool) {{
entry:
  {place_in_pool("sleepers", _ASLEEP)}
  {place_in_pool("semaphore", SEMAPHORE)}
  %looked = load atomic i64, ptr %sleepers seq_cst, align 8
  %perhaps = icmp sgt i64 %looked, 0
  br i1 %perhaps, label %take, label %out
take:
  %asleep = atomicrmw xchg ptr %sleepers, i64 0 seq_cst
  %any = icmp sgt i64 %asleep, 0
  br i1 %any, label %call, label %out
call:
  %k = phi i64 [0, %take], [%k2, %call]
  {post}
  %k2 = add i64 %k, 1
  %others = icmp slt i64 %k2, %asleep
  br i1 %others, label %call, label %out
out:
  ret void
}}

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
  {place_in_pool("where", _GENERATION)}
  {place_in_pool("until", _UNTIL)}
  {job}
  %started = call i64 @clock()
  %then = load i64, ptr %until
  %ahead = sub i64 %then, %started
  %alone = icmp ult i64 %ahead, {_LONGEST}
  br i1 %alone, label %by_itself, label %publish
by_itself:
  call void %kernel(ptr %table, ptr %arguments, i64 0, i64 %parts)
  ret void
publish:
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
  store atomic i64 %generation, ptr %where seq_cst, align 8
  call void @wake(ptr %pool)
  call void @take_chunks(ptr %pool, i64 %generation)
  %ready = call i64 @clock()
  %worked = sub i64 %ready, %started
  br label %wait
wait:
  %spins = phi i64 [0, %publish], [%spins2, %spin], [%spins2, %ask], [%spins2, %yield]
  %late = phi i1 [false, %publish], [%late, %spin], [%long, %ask], [true, %yield]
  %f = load atomic i64, ptr %finished acquire, align 8
  %all = icmp eq i64 %f, %parts
  br i1 %all, label %done, label %more
more:
  %spins2 = add i64 %spins, 1
  br i1 %late, label %yield, label %spin
yield:
  {give_way}
  br label %wait
spin:
  {pause}
  %times = and i64 %spins2, {_LATE - 1}
  %look = icmp eq i64 %times, 0
  br i1 %look, label %ask, label %wait
ask:
  %now = call i64 @clock()
  %waited = sub i64 %now, %ready
  %long = icmp ugt i64 %waited, %worked
  br label %wait
done:
  br i1 %late, label %note, label %out
note:
  %end = call i64 @clock()
  %lost = sub i64 %end, %ready
  %pause = mul i64 %lost, {_ALONE}
  %again = add i64 %end, %pause
  store i64 %again, ptr %until
  br label %out
out:
  ret void
}}

define void @{WORKER}(ptr %pool) {{
entry:
  {place_in_pool("where", _GENERATION)}
  {place_in_pool("asleep", _ASLEEP)}
  {place_in_pool("semaphore", SEMAPHORE)}
  br label %sleep
sleep:
  %before = phi i64 [0, %entry], [%last, %rest]
  %counted = atomicrmw add ptr %asleep, i64 1 seq_cst
  %seen = load atomic i64, ptr %where seq_cst, align 8
  %none = icmp eq i64 %seen, %before
  br i1 %none, label %doze, label %back
back:
  %n = load atomic i64, ptr %asleep seq_cst, align 8
  %called = icmp eq i64 %n, 0
  br i1 %called, label %doze, label %leave
leave:
  %fewer = sub i64 %n, 1
  %pair = cmpxchg ptr %asleep, i64 %n, i64 %fewer seq_cst seq_cst
  %left = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %left, label %awake, label %back
doze:
  {wait}
  br label %awake
awake:
  br label %look
look:
  %last = phi i64 [%before, %awake], [%last, %idle], [%g, %work]
  %spins = phi i64 [0, %awake], [%spins2, %idle], [0, %work]
  %g = load atomic i64, ptr %where acquire, align 8
  %new = icmp ne i64 %g, %last
  br i1 %new, label %work, label %rest
work:
  call void @take_chunks(ptr %pool, i64 %g)
  br label %look
rest:
  %spins2 = add i64 %spins, 1
  %tired = icmp ugt i64 %spins2, {_PATIENCE}
  br i1 %tired, label %sleep, label %idle
idle:
  {pause}
  br label %look
}}
"""

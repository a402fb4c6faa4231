"""What a compiled step costs besides its work: a call, the first call, threads, and the smallest steps.

    python benchmarks/calls.py [--parts call,compile,threads,sample] [--repeats 5] [--one-core]

- call: from Python into a compiled function and back.
- compile: the first call, with an empty cache and with the machine code already there, each in a new process.
- threads: a small model with threads as they come and with one; each of two processes at once, threads as they come,
  against one alone: two that share two cores have one each, and so small a step takes little longer on one, so what is
  lost is what threads do to each other (on busy machines, what others take counts too); and the processor time of a
  loop that mostly sleeps.
- sample: fitting a single sample, as in reinforcement learning.

`--one-core`, for busy machines, binds all to one core and shows the time that the processor spends.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from names import among, names
from tasks import task_named
from workers import bind_to_one_core, without_blas_settings

MOST_SECONDS = {"seed": 0.5, "cnn": 2.0, "cnn32": 2.0, "lstm": 3.0}  # the first call; a quarter of that from the cache
LEAST_SPEED = 0.9  # with threads as they come, of that with one
MOST_SLEEPING = 0.1  # of one core, in a loop that sleeps
MOST_FIT, MOST_STEP = 5e-3, 0.5e-3  # seconds for a sample


def call(options: argparse.Namespace) -> None:
    """A call of a compiled function."""
    import varigrad as vg

    x = vg.ones([8])
    plus = vg.jit(lambda x: x + x)
    v = vg.variable(np.ones(8))

    @vg.jit
    def assign(x: Any) -> None:
        v.assign(x)

    array = np.ones(8, np.float32)
    rows: list[tuple[str, Callable[[], Any]]] = [
        ("vg.jit(x + x), 8 values", lambda: plus(x)),
        ("vg.jit(v.assign(x)), 8 values", lambda: assign(x)),
        ("VariGrad eager x + x", lambda: x + x),
        ("NumPy x + x", lambda: array + array),
    ]
    if importlib.util.find_spec("jax"):
        import jax

        jitted, given = jax.jit(lambda x: x + x), jax.numpy.ones(8)
        rows.append(("jax.jit(x + x)", lambda: jitted(given).block_until_ready()))
    for title, function in rows:
        print(f"{title}: {_per_call(function, options.repeats) * 1e6:.2f} µs")


def compile_cost(options: argparse.Namespace) -> None:
    """First calls."""
    for task, most in MOST_SECONDS.items():
        found: dict[str, list[dict[str, float]]] = {"cold": [], "cached": []}
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as folder:
                for state in found:
                    found[state].append(_child("first_call", task, VARIGRAD_CACHE_DIR=folder))
        line = [f"first call of {task}"]
        for state, limit in (("cold", most), ("cached", most / 4)):
            seconds, cpu = (median(f[key] for f in found[state]) for key in ("seconds", "cpu"))
            line.append(f"{state} {seconds:.2f} s ({cpu:.2f} s of the processor, at most {limit:.2f})")
        print(": ".join([line[0], ", ".join(line[1:])]))


def first_call(task: str) -> dict[str, float]:
    """The first call of a compiled step."""
    from contenders.varigrad_jit import make

    step = make(task_named(task))
    started, cpu = time.perf_counter(), time.process_time()
    step()
    return {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}


def threads(options: argparse.Namespace) -> None:
    """Threads as they come against one, and two processes against one."""
    ratios, together = [], []
    for _ in range(options.repeats):
        default = _child("small_steps", "")["seconds"]
        single = _child("small_steps", "", OMP_NUM_THREADS="1")["seconds"]
        ratios.append(single / default)
        both = [_start("small_steps", "") for _ in range(2)]
        together.append(max(_finish(process)["seconds"] for process in both) / default)
    print(f"speed with threads as they come over that with one: {median(ratios):.2f} (at least {LEAST_SPEED})")
    print(f"time in each of two processes over that of one alone: {median(together):.2f} (at most 1.2 on idle cores)")
    cpu = _child("sleeping_loop", "")["cpu"]
    print(f"processor time of a loop that sleeps: {cpu:.1%} of a core (at most {MOST_SLEEPING:.0%})")


def _small_step() -> Callable[[], Any]:
    """A 100-100 net with sigmoid at batch 4, with SGD."""
    import varigrad as vg

    model = vg.sequential()
    for _ in range(2):
        model.add(vg.layers.dense(units=100, activation="sigmoid", input_shape=[100]))
    x, y = vg.random_normal([4, 100]), vg.random_uniform([4, 100])
    optimizer = vg.train.sgd(0.1)

    @vg.jit
    def step() -> Any:
        value, grads = vg.variable_grads(lambda: vg.losses.mean_squared_error(y, model(x)))
        optimizer.apply_gradients(grads)
        return value

    return step


def small_steps(_: str) -> dict[str, float]:
    """The time of a step of a small model."""
    step = _small_step()
    return {"seconds": _per_call(step, 20)}


def sleeping_loop(_: str) -> dict[str, float]:
    """The processor time, as a part of the time, of small assignments with pauses of a millisecond."""
    import varigrad as vg

    step, v, x = _small_step(), vg.variable(0.0), vg.scalar(1.0)
    for _ in range(100):
        step()
    started, cpu = time.perf_counter(), time.process_time()
    for _ in range(1000):
        v.assign(x)
        time.sleep(1e-3)
    return {"cpu": (time.process_time() - cpu) / (time.perf_counter() - started)}


def sample(options: argparse.Namespace) -> None:
    """A sample at a time."""
    import varigrad as vg

    x, y = vg.random_normal([1, 803]), vg.random_normal([1, 3])
    model = vg.sequential()
    model.add(vg.layers.dense(units=128, activation="relu", input_shape=[803]))
    model.add(vg.layers.dense(units=128, activation="relu"))
    model.add(vg.layers.dense(units=3))
    model.compile(optimizer="adam", loss="mean_squared_error")
    optimizer = vg.train.adam()

    @vg.jit
    def step(x: Any, y: Any) -> Any:
        value, grads = vg.variable_grads(lambda: vg.losses.mean_squared_error(y, model(x)))
        optimizer.apply_gradients(grads)
        return value

    rows: list[tuple[str, Callable[[], Any], float]] = [
        ("fit of one sample", lambda: model.fit(x, y, epochs=1, verbose=0), MOST_FIT),
        ("train_on_batch of one sample", lambda: model.train_on_batch(x, y), MOST_STEP),
        ("vg.jit step of one sample", lambda: step(x, y).item(), MOST_STEP),
    ]
    for title, function, most in rows:
        seconds = _per_call(function, options.repeats, 0.2)
        print(f"{title}: {seconds * 1e3:.3f} ms (at most {most * 1e3:g})")


def _per_call(function: Callable[[], Any], repeats: int, seconds: float = 0.05) -> float:
    """The median of the mean time of a call, in stretches of about so many seconds."""
    clock = time.process_time if _is_on_one_core() else time.perf_counter
    for _ in range(10):
        function()
    started = time.perf_counter()
    function()
    count = max(1, round(seconds / (time.perf_counter() - started)))
    found = []
    for _ in range(repeats):
        started = clock()
        for _ in range(count):
            function()
        found.append((clock() - started) / count)
    return median(found)


def _is_on_one_core() -> bool:
    return len(os.sched_getaffinity(0)) == 1


def _start(work: str, argument: str, **settings: str) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--work", work, "--argument", argument]
    environment = without_blas_settings() | settings
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode beside it
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def _finish(process: subprocess.Popen[str]) -> dict[str, float]:
    output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"a process failed: {process.args}")
    return json.loads(output)


def _child(work: str, argument: str, **settings: str) -> dict[str, float]:
    """What one of the functions measures in a process of its own, with these environment variables."""
    return _finish(_start(work, argument, **settings))


PARTS: dict[str, Callable[[argparse.Namespace], None]] = {
    "call": call,
    "compile": compile_cost,
    "threads": threads,
    "sample": sample,
}
WORK: dict[str, Callable[[str], dict[str, float]]] = {
    "first_call": first_call,
    "small_steps": small_steps,
    "sleeping_loop": sleeping_loop,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=names(among(PARTS)), default=",".join(PARTS))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("--argument", default="", help=argparse.SUPPRESS)
    parser.add_argument("--one-core", action="store_true")
    options = parser.parse_args()
    if any(name.startswith("OPENBLAS_") for name in os.environ):
        os.execve(sys.executable, [sys.executable, *sys.argv], without_blas_settings())
    if options.one_core:
        bind_to_one_core()
    if options.work:
        print(json.dumps(WORK[options.work](options.argument)))
        return
    print(f"load {os.getloadavg()[0]:.1f}")
    for part in options.parts:
        PARTS[part](options)


if __name__ == "__main__":
    main()

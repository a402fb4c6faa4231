"""How time and memory grow with the width and depth of a model, the steps of a recurrence, the number of variables.

    python benchmarks/scaling.py [--families width,depth,steps,variables,memory] [--sizes 8,512]
                                 [--contenders varigrad_jit,jax_jit] [--rounds 10] [--one-core]

- width: a 10-w-w-10 perceptron at batch 100, w from 8 to 2048, against the best of the peers; and the processor time
  as a multiple of the wall time, which shows where threads begin, and what they cost.
- depth, steps, variables: the time and the memory of each layer, step and variable, which stay the same where both
  grow linearly; and what the first step takes, compiling included.
- memory: the most that a process holds while it takes steps of each task of run.py.

Memory is what a process holds at most while it takes steps, less the same for the smallest size of a family (for the
tasks of run.py, less that for `seed`): so the library itself does not count.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from names import among, names
from tasks import TASKS
from workers import CONTENDERS, OURS, PEERS, Failed, Worker

SIZES = {
    "width": (8, 16, 32, 45, 46, 64, 128, 256, 512, 1024, 2048),
    "depth": (8, 32, 128, 512),
    "steps": (8, 32, 128, 512),
    "variables": (10, 100, 1000, 10_000),
}
FAMILIES = (*SIZES, "memory")
MOST_CPU = 2.2  # processor time over wall time, with two cores


@dataclass
class Measured:
    """What a contender took for a step of a task."""

    first: float  # seconds of the first step
    seconds: list[float]
    cpu: list[float]
    peak: float  # bytes

    @property
    def cores(self) -> float:
        """The processor time over the wall time."""
        return median(cpu / wall for cpu, wall in zip(self.cpu, self.seconds))


def measure(task: str, options: argparse.Namespace) -> dict[str, Measured]:
    """All contenders at a task, taking turns; without those that fail."""
    workers: dict[str, Worker] = {}
    first: dict[str, float] = {}
    steps: dict[str, int] = {}
    peaks: dict[str, float] = {}
    try:
        for name in options.contenders:
            workers[name] = Worker(name, task, options.one_core)
            try:
                workers[name].ready(options.limit)
                first[name] = workers[name].take(1, options.limit)["seconds"]
                workers[name].take(4)
                steps[name] = max(1, min(1000, round(options.seconds / workers[name].take(2)["seconds"])))
                peaks[name] = _peak(workers[name])
            except Failed as failure:
                print(f"{task}, {CONTENDERS[name].title}: {failure}")
                workers.pop(name).close()
        for _ in range(options.rounds):
            for name, worker in workers.items():
                worker.measure(steps[name])
                time.sleep(0.02)
        return {n: Measured(first[n], w.times.seconds, w.times.cpu, peaks[n]) for n, w in workers.items()}
    finally:
        for worker in workers.values():
            worker.close()


def _peak(worker: Worker) -> float:
    """The most bytes that a process holds while it takes a few steps."""
    process = Path("/proc") / str(worker.pid)
    (process / "clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    worker.take(3)
    status = (process / "status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def compare_widths(options: argparse.Namespace) -> None:
    """Prints a row a width."""
    print("| width | " + " | ".join(_titles(options)) + " | ours / best peer | processor / wall time |")
    print("|---" * (len(_titles(options)) + 3) + "|")
    for size in _sizes("width", options):
        found = measure(f"width-{size}", options)
        times = [_time(_clock(found[n], options)) if n in found else "—" for n in options.contenders]
        ours = next((n for n in OURS if n in found), None)
        peers = [n for n in found if n in PEERS]
        ratio = cores = "—"
        if ours and peers:
            best = min(peers, key=lambda n: median(_clock(found[n], options)))
            pairs = zip(_clock(found[ours], options), _clock(found[best], options))
            ratio = f"{median(a / b for a, b in pairs):.2f} ({CONTENDERS[best].title})"
        if ours:
            cores = f"{found[ours].cores:.2f}{'' if found[ours].cores <= MOST_CPU else ' too much'}"
        print(f"| {size} | {' | '.join(times)} | {ratio} | {cores} |", flush=True)


def follow(family: str, options: argparse.Namespace) -> None:
    """Prints a row a size: what one layer, step or variable takes."""
    columns = [f"{title}: time, memory of one; first step" for title in _titles(options)]
    print(f"| {family} | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    least, *_ = sizes = _sizes(family, options)
    smallest: dict[str, Measured] = {}
    for size in sizes:
        found = measure(f"{family}-{size}", options)
        smallest = smallest or found
        cells: list[str] = []
        for name in options.contenders:
            if name not in found:
                cells.append("—")
                continue
            time_of_one = median(_clock(found[name], options)) / size
            cell = f"{time_of_one * 1e6:.2f} µs"
            if size > least and name in smallest:
                cell += f", {(found[name].peak - smallest[name].peak) / (size - least) / 1024:.1f} KB"
            cells.append(f"{cell}; {found[name].first:.2f} s")
        print(f"| {size} | {' | '.join(cells)} |", flush=True)


def compare_memory(options: argparse.Namespace) -> None:
    """Prints a row a task of the table."""
    smallest = measure("seed", options)
    print("| task | " + " | ".join(_titles(options)) + " |")
    print("|---" * (len(_titles(options)) + 1) + "|")
    for task in TASKS:
        found = measure(task, options)
        held = {n: (found[n].peak - smallest[n].peak) / 2**20 for n in found if n in smallest}
        cells = [f"{held[n]:.1f} MB" if n in held else "—" for n in options.contenders]
        print(f"| {task} | {' | '.join(cells)} |", flush=True)


def _sizes(family: str, options: argparse.Namespace) -> list[int]:
    return options.sizes or list(SIZES[family])


def _titles(options: argparse.Namespace) -> list[str]:
    return [CONTENDERS[name].title for name in options.contenders]


def _clock(measured: Measured, options: argparse.Namespace) -> list[float]:
    return measured.cpu if options.one_core else measured.seconds


def _time(seconds: list[float]) -> str:
    return f"{median(seconds) * 1e6:,.0f} µs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--families", type=names(among(FAMILIES)), default=",".join(FAMILIES))
    parser.add_argument("--sizes", type=names(int), help="those of the one family, if not all: 8,512")
    parser.add_argument(
        "--contenders",
        type=names(among(CONTENDERS)),
        default="varigrad_jit,varigrad_eager,jax_jit,torch_eager,numpy_by_hand",
    )
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.1, help="how long a turn takes")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which compiling is given up")
    parser.add_argument("--one-core", action="store_true", help="for busy machines: processor time, on one core")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the workers are ended too
    for family in options.families:
        if family == "width":
            compare_widths(options)
        elif family == "memory":
            compare_memory(options)
        else:
            follow(family, options)
        print()


if __name__ == "__main__":
    main()

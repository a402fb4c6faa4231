"""Runs the tasks with all contenders taking turns, and prints VariGrad's times as ratios to the best peer's.

    python benchmarks/run.py [--tasks seed,mid] [--contenders varigrad_jit,jax_jit] [--rounds 30] [--one-core] [--write]

README.md beside this file says how it is measured.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from statistics import median

from names import among, names
from tasks import TASKS, Task, task_named
from workers import CONTENDERS, HERE, OURS, PEERS, Failed, Times, Worker, versions

README = HERE.parent / "README.md"
WARM_UP_STEPS = 20  # whose losses are compared
PAUSE = 0.12  # seconds between turns, for threads of the one before to fall asleep: OpenBLAS's take 0.1
MARKS = ("<!-- benchmarks: begin -->", "<!-- benchmarks: end -->")


class Results:
    """What all contenders took, by task and contender, and why some did not."""

    def __init__(self, contenders: list[str], clock: str) -> None:
        self.contenders = contenders
        self.clock = clock
        self.times: dict[str, dict[str, Times]] = {}
        self.failures: list[str] = []

    def of(self, task: str, contender: str) -> list[float]:
        """The times of a step, one a round; empty where the contender failed."""
        times = self.times[task].get(contender)
        return getattr(times, self.clock) if times else []

    def best_peer(self, task: str) -> str | None:
        """The peer of the smallest median."""
        peers = [name for name in self.contenders if name in PEERS and self.of(task, name)]
        return min(peers, key=lambda name: median(self.of(task, name)), default=None)

    def ratio(self, task: str, contender: str, other: str) -> float:
        """The median over the rounds of one's time over the other's."""
        return median(a / b for a, b in zip(self.of(task, contender), self.of(task, other)))


def run_task(task: Task, options: argparse.Namespace, results: Results) -> None:
    """All contenders at one task."""
    workers: dict[str, Worker] = {}
    steps: dict[str, int] = {}
    try:
        for name in results.contenders:
            workers[name] = Worker(name, task.name, options.one_core)
            try:
                steps[name] = _warm_up(workers[name], options)
            except Failed as failure:
                results.failures.append(f"{task.name}, {CONTENDERS[name].title}: {failure}")
                workers.pop(name).close()
        _check_losses(task, workers, results)
        for number in range(options.rounds):
            for name in list(workers) if number % 2 else reversed(list(workers)):
                workers[name].measure(steps[name])
                time.sleep(PAUSE)
        results.times[task.name] = {name: worker.times for name, worker in workers.items()}
    finally:
        for worker in workers.values():
            worker.close()


def _warm_up(worker: Worker, options: argparse.Namespace) -> int:
    """Takes the first steps, and says how many fill a turn."""
    worker.ready(options.limit)
    worker.times.losses = worker.take(WARM_UP_STEPS, options.limit)["losses"]
    seconds = worker.take(3)["seconds"]
    return max(1, min(1000, round(options.seconds / seconds)))


def _check_losses(task: Task, workers: dict[str, Worker], results: Results) -> None:
    """Leaves out who computes other losses than most others do."""
    losses = {name: worker.times.losses for name, worker in workers.items()}
    agreed = {name: sum(_agree(mine, theirs) for theirs in losses.values()) for name, mine in losses.items()}
    if not agreed:
        return
    reference = max(agreed, key=lambda name: agreed[name])
    for name, found in losses.items():
        if not _agree(found, losses[reference]):
            step = next(i for i, pair in enumerate(zip(found, losses[reference])) if not _agree(*([v] for v in pair)))
            other = (
                f"loss {found[step]:.6g} at step {step}, {CONTENDERS[reference].title} {losses[reference][step]:.6g}"
            )
            results.failures.append(f"{task.name}, {CONTENDERS[name].title}: {other}")
            workers.pop(name).close()


def _agree(found: list[float], expected: list[float]) -> bool:
    return all(abs(a - b) <= 1e-3 * max(1, abs(b)) for a, b in zip(found, expected, strict=True))


def ratios_table(results: Results) -> str:
    """Markdown: how each of ours stands beside the best peer."""
    ours = [name for name in OURS if name in results.contenders]
    rows = [["task", *[f"{CONTENDERS[name].title} / best peer" for name in ours], "goal", "floor", "best peer"]]
    for task in results.times:
        best = results.best_peer(task)
        row = [f"{results.ratio(task, n, best):.2f}" if best and results.of(task, n) else "—" for n in ours]
        goal, floor = task_named(task).goal, task_named(task).floor
        peer = f"{CONTENDERS[best].title}, {_time(results.of(task, best))}" if best else "—"
        rows.append([task, *row, f"≤ {goal:.2f}", f"{floor:.3g}", peer])
    return _markdown(rows)


def times_table(results: Results) -> str:
    """Markdown: the median time of a step of every contender."""
    rows = [["task", *[CONTENDERS[name].title for name in results.contenders]]]
    rows += [[task, *[_time(results.of(task, name)) for name in results.contenders]] for task in results.times]
    return _markdown(rows)


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def _time(seconds: list[float]) -> str:
    if not seconds:
        return "—"
    microseconds = median(seconds) * 1e6
    return f"{microseconds:,.0f} µs" if microseconds < 1000 else f"{microseconds / 1000:,.2f} ms"


def report(results: Results, options: argparse.Namespace) -> str:
    """All that is shown and written."""
    clock = "processor time on one core" if options.one_core else f"wall time on {len(os.sched_getaffinity(0))} cores"
    load = os.getloadavg()[1]
    head = f"Median of {options.rounds} rounds, {clock}, load {load:.1f}; {versions(results.contenders)}."
    failures = "\n".join(f"- {failure}" for failure in results.failures)
    tables = f"{head}\n\n{ratios_table(results)}\n\nEvery contender's time:\n\n{times_table(results)}"
    return f"{tables}\n\nNot run, or not counted:\n\n{failures}" if failures else tables


def write_readme(text: str, path: Path = README) -> None:
    """Replaces the tables in the README."""
    begin, end = MARKS
    content = path.read_text(encoding="utf-8")
    head, _, rest = content.partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f"{path.name} has no lines {begin} and {end}")
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--tasks", type=names(task_named), default=",".join(TASKS), help="of the table, or of any size, as in width-64"
    )
    parser.add_argument("--contenders", type=names(among(CONTENDERS)), default=",".join(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.1, help="how long a turn takes")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which compiling is given up")
    parser.add_argument("--one-core", action="store_true", help="for busy machines: processor time, on one core")
    parser.add_argument("--write", action="store_true", help="put the tables into the project's README.md")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the workers are ended too
    results = Results(options.contenders, "cpu" if options.one_core else "seconds")
    for task in options.tasks:
        run_task(task, options, results)
        print(task.name, "done", file=sys.stderr)
    text = report(results, options)
    print(text)
    if options.write:
        write_readme(text)


if __name__ == "__main__":
    main()

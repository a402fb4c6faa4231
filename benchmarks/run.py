"""Runs the tasks with all contenders taking turns, and prints each one's time as a ratio to VariGrad's.

python benchmarks/run.py [--tasks seed,mid] [--contenders numpy_by_hand,...] [--rounds 30] [--write]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from tasks import TASKS, Task

HERE = Path(__file__).parent
README = HERE.parent / "README.md"
CONTENDERS = {
    "varigrad_eager": "VariGrad eager",
    "numpy_by_hand": "NumPy by hand",
    "torch_eager_fused": "PyTorch eager, fused Adam",
    "torch_eager": "PyTorch eager",
    "jax_jit": "JAX jit",
}
BASE = "varigrad_eager"
WARM_UP_STEPS = 20
MARKS = ("<!-- benchmarks: begin -->", "<!-- benchmarks: end -->")


class Worker:
    """A contender at one task, in a process of its own."""

    def __init__(self, contender: str, task: Task) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "worker.py"), contender, task.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.seconds: list[float] = []
        self.losses: list[float] = []

    def take(self, steps: int) -> dict[str, Any]:
        """Takes steps and returns the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"a worker stopped: {' '.join(map(str, self.process.args))}")
        return json.loads(answer)

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def run_task(task: Task, contenders: list[str], rounds: int) -> dict[str, list[float]]:
    """The seconds a step took, a round each, by contender."""
    workers = {name: Worker(name, task) for name in contenders}
    for worker in workers.values():
        worker.losses += worker.take(WARM_UP_STEPS)["losses"]
    for _ in range(rounds):
        for worker in workers.values():
            answer = worker.take(task.steps)
            worker.seconds.append(answer["seconds"])
    check_losses(task, {name: worker.losses for name, worker in workers.items()})
    for worker in workers.values():
        worker.close()
    return {name: worker.seconds for name, worker in workers.items()}


def check_losses(task: Task, losses: dict[str, list[float]]) -> None:
    """Fails unless all contenders computed the same losses."""
    reference = losses[next(iter(losses))]
    for name, found in losses.items():
        for step, (ours, theirs) in enumerate(zip(found, reference, strict=True)):
            if not abs(ours - theirs) <= 1e-3 * max(1, abs(theirs)):
                raise SystemExit(f"{task.name}: {name} has loss {ours} at step {step}, others {theirs}")


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Markdown: a row a task, a column a contender; time a step, and its ratio to VariGrad's, round by round."""
    contenders = list(next(iter(results.values())))
    rows = [
        "| task | " + " | ".join(CONTENDERS[name] for name in contenders) + " |",
        "|---" * (len(contenders) + 1) + "|",
    ]
    for task, seconds in results.items():
        cells = []
        for name in contenders:
            cell = f"{median(seconds[name]) * 1e6:,.0f} µs"
            if name != BASE and BASE in seconds:
                ratio = median(ours / theirs for ours, theirs in zip(seconds[BASE], seconds[name]))
                cell += f" (ours {ratio:.2f})"
            cells.append(cell)
        rows.append(f"| {task} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def write_readme(text: str) -> None:
    """Replaces the table in the README."""
    begin, end = MARKS
    content = README.read_text(encoding="utf-8")
    head, _, rest = content.partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f"README.md has no lines {begin} and {end}")
    README.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    options = parser.parse_args()
    contenders = options.contenders.split(",")
    results = {name: run_task(TASKS[name], contenders, options.rounds) for name in options.tasks.split(",")}
    text = table(results)
    print(text)
    if options.write:
        write_readme(text)


if __name__ == "__main__":
    main()

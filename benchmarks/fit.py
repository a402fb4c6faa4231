"""`fit` on models of MNIST's size, against Keras's `fit` on each backend that is installed.

    python benchmarks/fit.py [--tasks dense,convolutional] [--contenders varigrad,keras-jax] [--rounds 7] [--one-core]

Every contender starts from the same weights, sees the same images in the same order and must report the same losses
to 1e-3 in the first epochs, or the run fails. Each runs in a process of its own; they take turns, an epoch each. The
table shows the median epoch, and ours as a ratio to Keras's, round by round: on a shared machine only the ratios mean
something. Beside it stands the first epoch, in which steps are compiled, or not yet. Where other programs are at work
on all cores, threads that wait for one another spoil even these: `--one-core` binds each process to one core and counts
the time that the processor spends on it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from names import among, names

Array = np.ndarray[Any, Any]

BACKENDS = {"keras-jax": "jax", "keras-torch": "torch", "keras-tensorflow": "tensorflow"}
BASE, EAGER = "varigrad", "varigrad-eager"
WARM_UP_EPOCHS = 4  # in which VariGrad compiles, once enough batches have come
SAME_EPOCHS = 2


@dataclass(frozen=True)
class Task:
    """A model, and how many images make an epoch."""

    name: str
    samples: int
    batch: int
    image: tuple[int, ...]
    layers: tuple[tuple[str, dict[str, Any]], ...]  # Keras's class, and options that both libraries call the same

    def data(self) -> tuple[Array, Array]:
        """Images and one-hot labels."""
        random = np.random.default_rng(1)
        x = random.uniform(size=(self.samples, *self.image)).astype(np.float32)
        return x, np.eye(10, dtype=np.float32)[random.integers(10, size=self.samples)]


TASKS = {
    task.name: task
    for task in (
        Task(
            "dense",
            6400,
            128,
            (784,),
            (("Dense", {"units": 512, "activation": "relu"}), ("Dense", {"units": 10, "activation": "softmax"})),
        ),
        Task(
            "convolutional",
            1280,
            128,
            (28, 28, 1),
            (
                ("Conv2D", {"filters": 16, "kernel_size": 3, "activation": "relu"}),
                ("MaxPooling2D", {"pool_size": 2}),
                ("Conv2D", {"filters": 32, "kernel_size": 3, "activation": "relu"}),
                ("MaxPooling2D", {"pool_size": 2}),
                ("Flatten", {}),
                ("Dense", {"units": 10, "activation": "softmax"}),
            ),
        ),
    )
}


def varigrad_epoch(task: Task, jit: bool | None) -> Callable[[], float]:
    """A function that trains for an epoch and returns its loss."""
    import varigrad as vg

    factories = {
        "Dense": vg.layers.dense,
        "Conv2D": vg.layers.conv2d,
        "MaxPooling2D": vg.layers.max_pooling2d,
        "Flatten": vg.layers.flatten,
    }
    model = vg.sequential(layers=[vg.layers.input_layer(input_shape=task.image)])
    for kind, options in task.layers:
        model.add(factories[kind](**options))
    model.set_weights(first_weights([w.shape for w in model.weights]))
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"], jit=jit)
    x, y = task.data()
    return lambda: model.fit(x, y, batch_size=task.batch, shuffle=False, verbose=0).history["loss"][0]


def keras_epoch(task: Task) -> Callable[[], float]:
    """The same with Keras, on the backend of KERAS_BACKEND."""
    import keras

    layers = [getattr(keras.layers, kind)(**options) for kind, options in task.layers]
    model = keras.Sequential([keras.Input(task.image), *layers])
    model.set_weights(first_weights([w.shape for w in model.weights]))
    model.compile(optimizer=keras.optimizers.Adam(0.001), loss="categorical_crossentropy", metrics=["accuracy"])
    x, y = task.data()
    return lambda: model.fit(x, y, batch_size=task.batch, shuffle=False, verbose=0).history["loss"][0]


def first_weights(shapes: list[tuple[int, ...]]) -> list[Array]:
    """Small kernels, and biases of 0."""
    random = np.random.default_rng(2)
    return [
        np.zeros(shape, np.float32)
        if len(shape) == 1
        else random.normal(scale=np.sqrt(2 / np.prod(shape[:-1])), size=shape).astype(np.float32)
        for shape in shapes
    ]


def work(contender: str, task: Task, one_core: bool) -> None:
    """Trains for an epoch for each line of standard input, and answers with the time and the loss."""
    clock = time.process_time if one_core else time.perf_counter
    if one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    jit = False if contender == EAGER else None
    epoch = keras_epoch(task) if contender in BACKENDS else varigrad_epoch(task, jit)
    for _ in sys.stdin:
        started = clock()
        loss = epoch()
        print(json.dumps({"seconds": clock() - started, "loss": float(loss)}), flush=True)


class Worker:
    """A contender at one task, in a process of its own."""

    def __init__(self, contender: str, task: Task, one_core: bool) -> None:
        environment = {**os.environ, "KERAS_BACKEND": BACKENDS.get(contender, "jax")}
        if one_core:
            environment["OPENBLAS_NUM_THREADS"] = "1"
        command = [sys.executable, __file__, "--work", contender, "--tasks", task.name]
        self.process = subprocess.Popen(
            [*command, "--one-core"] if one_core else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.first = 0.0
        self.seconds: list[float] = []
        self.losses: list[float] = []

    def epoch(self, counts: bool) -> None:
        """Trains for an epoch."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"a worker stopped: {' '.join(map(str, self.process.args))}")
        answer = json.loads(line)
        self.losses.append(answer["loss"])
        self.first = self.first or answer["seconds"]
        if counts:
            self.seconds.append(answer["seconds"])

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def run_task(task: Task, contenders: list[str], rounds: int, one_core: bool) -> dict[str, list[float]]:
    """The seconds of the first epoch and of each counted one, by contender."""
    workers = {name: Worker(name, task, one_core) for name in contenders}
    for number in range(WARM_UP_EPOCHS + rounds):
        for worker in workers.values():
            worker.epoch(counts=number >= WARM_UP_EPOCHS)
    reference = workers[contenders[0]].losses
    for name, worker in workers.items():
        worker.close()
        # Later on, rounding has been multiplied by hundreds of steps.
        for epoch, (theirs, ours) in enumerate(zip(worker.losses[:SAME_EPOCHS], reference)):
            if not abs(theirs - ours) <= 1e-3 * max(1, abs(ours)):
                raise SystemExit(f"{task.name}: {name} has loss {theirs} in epoch {epoch}, {contenders[0]} {ours}")
    return {name: [worker.first, *worker.seconds] for name, worker in workers.items()}


def table(results: dict[str, dict[str, list[float]]]) -> str:
    """Markdown: a row a task, a column a contender."""
    contenders = list(next(iter(results.values())))
    rows = ["| task | " + " | ".join(contenders) + " |", "|---" * (len(contenders) + 1) + "|"]
    for task, seconds in results.items():
        cells: list[str] = []
        for name in contenders:
            first, *counted = seconds[name]
            cell = f"{median(counted) * 1e3:,.0f} ms, first {first * 1e3:,.0f} ms"
            if name != BASE and BASE in seconds:
                ratio = median(ours / theirs for ours, theirs in zip(seconds[BASE][1:], counted))
                cell += f" (ours {ratio:.2f})"
            cells.append(cell)
        rows.append(f"| {task} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    contenders = [BASE, EAGER]
    if importlib.util.find_spec("keras"):
        contenders += [name for name, module in BACKENDS.items() if importlib.util.find_spec(module)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=names(among(TASKS)), default=",".join(TASKS))
    parser.add_argument("--contenders", type=names(among(contenders)), default=",".join(contenders))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--one-core", action="store_true")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, TASKS[options.tasks[0]], options.one_core)
        return
    print(table({n: run_task(TASKS[n], options.contenders, options.rounds, options.one_core) for n in options.tasks}))


if __name__ == "__main__":
    main()

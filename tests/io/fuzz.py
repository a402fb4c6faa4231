"""Files that were changed at random must end in what they hold or in one clear error; never in a crash or a hang.

    python -m tests.io.fuzz model --count 100000

runs the given number of changed files past a reader and prints how they ended. What ends in anything but the reader's
own errors, takes longer than `LIMIT_SECONDS`, or asks for more than `LIMIT_MEMORY` of memory is a find: it is printed,
kept in the folder `--finds`, and makes the exit status 1.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np

import varigrad as vg
from varigrad.io import npz, safetensors
from varigrad.io.weights import ModelFileError

LIMIT_SECONDS = 10.0
LIMIT_MEMORY = 1024**3  # beyond what the process has when it begins

HERE = Path(__file__).parent

# What a value in JSON becomes.
ODD_VALUES = [
    None, True, False, 0, 1, -1, 2, 7, 2**31, 2**53, 2**63, 10**30, -(10**18), 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "x", "same", "valid", "relu", "channelsFirst", "../x", "/etc/passwd", "é" * 50, "float16",
    "int32", "string", "bool", "complex64", "uint8", [], {}, [[]], [0], [1, 2], [None], [None, 3], [-1],
    [1] * 40, {"a": 1},
    {"class_name": "Dense", "config": {}}, {"class_name": "Lambda", "config": {"name": "l"}}, {"class_name": None},
    {"class_name": "Zeros", "config": {}}, ["a", 0, 0], [["a", 0, 0, {}]], {"dtype": "uint8", "scale": 1, "min": 0},
]  # fmt: skip
ODD_BYTES = [
    b"\0",
    b"\xff",
    b"{",
    b"}",
    b"[",
    b"]",
    b'"',
    b",",
    b"null",
    b"1e999",
    b"-",
    b"9" * 25,
    b"\\u0000",
    b"PK\1\2",
]


def change_bytes(rng: random.Random, data: bytes) -> bytes:
    """The bytes with a few of them changed, left out, put in, doubled, or cut off."""
    content = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 3, 8])):
        at = rng.randrange(len(content) + 1)
        length = rng.choice([1, 2, 4, 16, 100])
        match rng.randrange(7):
            case 0:
                content[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del content[at : at + length]
            case 2:
                content[at:at] = rng.choice(ODD_BYTES)
            case 3:
                content[at:at] = content[max(0, at - length) : at]
            case 4:
                del content[at:]
            case 5:
                content[at : at + length] = rng.randbytes(len(content[at : at + length]))
            case _:
                if at < len(content):
                    content[at] ^= 1 << rng.randrange(8)
    return bytes(content)


def places(value, path=()):
    """The paths of all values inside a value of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def value_at(document, path):
    """The value at a path; the last on the way, where the path is no more."""
    for step in path:
        try:
            document = document[step]
        except (LookupError, TypeError):
            break
    return document


def change_json(rng: random.Random, document):
    """A value of JSON with a few values in it replaced, left out, moved, or turned around."""
    document = json.loads(json.dumps(document))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        known = list(places(document))
        if not known:
            return document
        *parents, key = rng.choice(known)
        holder = document
        for step in parents:
            holder = holder[step]
        match rng.randrange(8):
            case 0 | 1 | 2:
                holder[key] = json.loads(json.dumps(rng.choice(ODD_VALUES)))
            case 3:
                del holder[key]
            case 4:  # another value of the document
                holder[key] = json.loads(json.dumps(value_at(document, rng.choice(known))))
            case 5 if isinstance(holder, dict):
                holder[rng.choice(["name", "class_name", "config", "x", "dtype", "shape", str(key) + "_"])] = (
                    holder.pop(key)
                )
            case 6 if isinstance(holder[key], list):
                rng.shuffle(holder[key])
            case 7 if isinstance(holder[key], (int, float)) and not isinstance(holder[key], bool):
                holder[key] = rng.choice([holder[key] + 1, -holder[key], holder[key] * 2, holder[key] * 10**9])
            case _:
                if isinstance(holder, list):
                    holder.insert(key, json.loads(json.dumps(holder[key])))
        if len(json.dumps(document)) > 400_000:
            return document
    return document


class ModelFiles:
    """model.json and its weights: those of the tests, and one with every layer, quantized, with an optimizer."""

    errors = (ModelFileError, FileNotFoundError)

    def __init__(self, folder: Path) -> None:
        made = folder / "made"
        every_kind().save(made, quantize={"uint8": "*kernel", "float16": "*bias"}, include_optimizer=True)
        folders = [*sorted((HERE / "reference").iterdir()), *sorted((HERE / "keras_3").glob("*/")), made]
        self.seeds = [(f, json.loads((f / "model.json").read_text())) for f in folders if (f / "model.json").is_file()]
        self.target = folder / "changed"

    def make(self, rng: random.Random) -> None:
        source, document = rng.choice(self.seeds)
        shutil.rmtree(self.target, ignore_errors=True)
        self.target.mkdir()
        for file in source.glob("*.bin"):
            shutil.copy(file, self.target)
        kind = rng.randrange(10)
        if kind < 8:
            (self.target / "model.json").write_text(json.dumps(change_json(rng, document)))
            return
        text = json.dumps(document).encode()
        (self.target / "model.json").write_bytes(change_bytes(rng, text) if kind == 8 else text)
        if kind == 9:
            shard = rng.choice(sorted(self.target.glob("*.bin")))
            shard.write_bytes(change_bytes(rng, shard.read_bytes()))

    def read(self) -> None:
        vg.load_layers_model(self.target, strict=True)


class WeightFiles:
    """One file of weights, read by `reader`."""

    errors = (ModelFileError,)

    def __init__(self, folder: Path, reader, seeds: list[bytes], repair) -> None:
        self.reader, self.seeds, self.repair = reader, seeds, repair
        self.target = folder / "changed"

    def make(self, rng: random.Random) -> None:
        self.target.write_bytes(self.repair(rng, rng.choice(self.seeds)))

    def read(self) -> None:
        self.reader(self.target)


def every_kind():
    """A graph with most kinds of layers, compiled and trained for a step."""
    x, y = vg.input(shape=[6, 4], name="x"), vg.input(shape=[8, 8, 2], name="y")
    a = vg.layers.bidirectional(layer=vg.layers.lstm(units=2, return_sequences=True), name="both")(x)
    a = vg.layers.time_distributed(layer=vg.layers.dense(units=3), name="each")(a)
    a = vg.layers.gru(units=2, name="gru")(vg.layers.layer_normalization(name="ln")(a))
    b = vg.layers.separable_conv2d(filters=3, kernel_size=3, name="sep")(y)
    b = vg.layers.batch_normalization(name="bn")(vg.layers.depthwise_conv2d(kernel_size=2, name="dw")(b))
    b = vg.layers.conv2d_transpose(filters=2, kernel_size=2, name="ct")(vg.layers.leaky_re_lu(name="lr")(b))
    b = vg.layers.global_average_pooling2d(name="gap")(vg.layers.zero_padding2d(name="zp")(b))
    inner = vg.sequential(name="inner", layers=[vg.layers.dense(units=4, input_shape=[4], name="id")])
    z = inner(vg.layers.concatenate(name="cat")([a, b]))
    z = vg.layers.add(name="add")([z, inner(z)])
    model = vg.model(inputs=[x, y], outputs=vg.layers.dense(units=1, name="out")(z), name="every")
    model.compile(optimizer="adam", loss="mean_squared_error", metrics=["mae"])
    rng = np.random.default_rng(0)
    model.train_on_batch([rng.normal(size=[2, 6, 4]), rng.normal(size=[2, 8, 8, 2])], np.zeros([2, 1]))
    return model


ARRAYS = {
    "a/kernel": np.arange(12, dtype=np.float32).reshape(3, 4),
    "b": np.array([True, False]),
    "i": np.int32([1, 2, 3]),
    "h": np.float16([[1.5]]),
    "e": np.zeros([0, 2], np.float32),
}


def npz_files(folder: Path) -> WeightFiles:
    named = {"text": np.array(["é", "x"]), **ARRAYS}
    np.savez(folder / "a.npz", **named)
    np.savez_compressed(folder / "b.npz", **named)
    seeds = [(folder / name).read_bytes() for name in ("a.npz", "b.npz")]

    def repaired(rng: random.Random, data: bytes) -> bytes:
        """Half of the files keep their archive whole, with right checksums, around changed arrays."""
        if rng.random() < 0.5:
            return change_bytes(rng, data)
        (folder / "seed.npz").write_bytes(data)
        with zipfile.ZipFile(folder / "seed.npz") as old, zipfile.ZipFile(folder / "new.npz", "w") as new:
            for name in old.namelist():
                content = old.read(name)
                new.writestr(name, change_bytes(rng, content) if rng.random() < 0.5 else content)
        return (folder / "new.npz").read_bytes()

    return WeightFiles(folder, npz.read_weights, seeds, repaired)


def safetensors_files(folder: Path) -> WeightFiles:
    safetensors.write_weights(folder / "a.safetensors", ARRAYS, None)
    seed = (folder / "a.safetensors").read_bytes()

    def repaired(rng: random.Random, data: bytes) -> bytes:
        """Two thirds of the files have a header of the right length around changed JSON."""
        if rng.random() < 1 / 3:
            return change_bytes(rng, data)
        end = 8 + int.from_bytes(data[:8], "little")
        header = json.dumps(change_json(rng, json.loads(data[8:end]))).encode()
        return len(header).to_bytes(8, "little") + header + data[end:]

    return WeightFiles(folder, safetensors.read_weights, [seed], repaired)


def keras_files(folder: Path):
    from tests.io.keras import changed  # it needs the changes above

    return changed.keras_files(folder)


def h5_files(folder: Path):
    from tests.io.keras import changed

    return changed.h5_files(folder)


def hdf5_files(folder: Path):
    from tests.io.keras import changed

    return changed.Hdf5Files(folder)


READERS = {
    "h5": h5_files,
    "hdf5": hdf5_files,
    "keras": keras_files,
    "model": ModelFiles,
    "npz": npz_files,
    "safetensors": safetensors_files,
}


class TooLong(BaseException):
    """An input took longer than the limit."""


def run(name: str, count: int, seed: int = 0, finds: Path | None = None, first: int = 0) -> collections.Counter[str]:
    """Reads `count` changed files and counts how they ended; what should not be is counted under `"find"`."""
    ends: collections.Counter[str] = collections.Counter()

    def stop(*_):
        raise TooLong

    previous = signal.signal(signal.SIGALRM, stop)
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        files = READERS[name](folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number in range(first, first + count):
                files.make(random.Random(f"{seed}/{number}"))
                signal.setitimer(signal.ITIMER_REAL, LIMIT_SECONDS)
                try:
                    files.read()
                    end = "read"
                except files.errors as error:
                    end = type(error).__name__
                except (Exception, TooLong) as error:
                    end = "find"
                    print(f"{name} {seed}/{number}: {type(error).__name__}: {str(error)[:200]}")
                    print("".join(traceback.format_tb(error.__traceback__)[-2:]))
                    if finds is not None:
                        keep = finds / f"{name}-{seed}-{number}"
                        keep.parent.mkdir(parents=True, exist_ok=True)
                        (shutil.copytree if files.target.is_dir() else shutil.copy)(files.target, keep)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
                ends[end] += 1
    finally:
        signal.signal(signal.SIGALRM, previous)
        shutil.rmtree(folder, ignore_errors=True)
    return ends


def limit_memory() -> None:
    """From here on, this process gets no more than `LIMIT_MEMORY` of memory on top of what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + LIMIT_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--finds", type=Path)
    options = parser.parse_args()
    limit_memory()
    counts = run(options.reader, options.count, options.seed, options.finds, options.first)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{options.reader}: {sum(counts.values()):,} files: {dict(counts)}; peak memory {peak // 1024} MB")
    sys.exit(1 if counts["find"] else 0)

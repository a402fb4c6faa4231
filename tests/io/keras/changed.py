"""Keras files changed at random, for `tests.io.fuzz`: the archive, its JSON, and the HDF5 file byte by byte."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from pathlib import Path

import h5py
import numpy as np

import varigrad as vg
from varigrad.io.keras.hdf5 import File
from varigrad.io.weights import ModelFileError

from ..fuzz import change_bytes, change_json, every_kind
from .files import LAYOUTS, hdf5

REFERENCE = Path(__file__).parent / "reference"
# Addresses and sizes that a file has no use for.
ODD_NUMBERS = [0, 1, 7, 8, 96, 2**16 - 1, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]


class KerasFiles:
    """Files of one suffix."""

    errors = (ModelFileError, FileNotFoundError)

    def __init__(self, folder: Path, suffix: str, change) -> None:
        every_kind().save(folder / f"made{suffix}", include_optimizer=True)
        paths = [folder / f"made{suffix}", *sorted(REFERENCE.glob(f"*{suffix}"))]
        self.seeds = [path.read_bytes() for path in paths]
        self.target = folder / f"changed{suffix}"
        self.change = change

    def make(self, rng: random.Random) -> None:
        self.target.write_bytes(self.change(rng, rng.choice(self.seeds)))

    def read(self) -> None:
        vg.load_layers_model(self.target)


class Hdf5Files:
    """HDF5 files of every layout, walked through to the last value."""

    errors = (ModelFileError,)

    def __init__(self, folder: Path) -> None:
        self.seeds = [hdf5(_every_layout, libver=libver) for libver in ("earliest", "latest")]
        self.target = folder / "changed"
        self.data = b""

    def make(self, rng: random.Random) -> None:
        self.data = change_hdf5(rng, rng.choice(self.seeds))
        self.target.write_bytes(self.data)

    def read(self) -> None:
        walk(File(self.data).root, 0)


def _every_layout(file) -> None:
    file.attrs["text"] = "a" * 50
    file.attrs["names"] = ["x", "yy"]
    for number, options in enumerate(LAYOUTS.values()):
        values = np.arange(42, dtype=np.float32).reshape(6, 7)
        made = file.create_dataset(f"group/{number}/values", data=values, **options)
        made.attrs["list"] = np.array([b"ab", b"c"])
    file["group/scalar"] = 2.5


def walk(group, depth: int) -> None:
    """Reads everything in a group, as a program would that trusts the file: a cycle ends in an error."""
    if depth > 50:
        raise ModelFileError("too deep")
    group.attributes  # noqa: B018
    for name in group:
        if group.is_dataset(name):
            group.dataset(name).attributes  # noqa: B018
            group.dataset(name).read()
        else:
            walk(group.group(name), depth + 1)


def change_numbers(rng: random.Random, data: bytes) -> bytes:
    """The bytes with one or two of the numbers in them, of 2, 4 or 8 bytes, replaced by another or by an odd one."""
    content = bytearray(data)
    for _ in range(rng.choice([1, 1, 2])):
        size = rng.choice([2, 4, 8])
        at = rng.randrange(0, len(content) - 8, 2)
        other = rng.randrange(0, len(content) - 8, 8)
        value = rng.choice([int.from_bytes(content[other : other + size], "little"), other, *ODD_NUMBERS])
        content[at : at + size] = struct.pack("<Q", value & (2**64 - 1))[:size]
    return bytes(content)


def change_hdf5(rng: random.Random, data: bytes) -> bytes:
    """An HDF5 file with changed bytes or numbers."""
    return change_bytes(rng, data) if rng.random() < 0.4 else change_numbers(rng, data)


def change_archive(rng: random.Random, data: bytes) -> bytes:
    """An archive with changed bytes; or whole, with changed members."""
    kind = rng.randrange(10)
    if kind == 0:
        return change_bytes(rng, data)
    members = {}
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        members = {name: old.read(name) for name in old.namelist()}
    if kind < 6:
        members["config.json"] = json.dumps(change_json(rng, json.loads(members["config.json"]))).encode()
    else:
        members["model.weights.h5"] = change_hdf5(rng, members["model.weights.h5"])
    packing = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", packing) as new:
        for name, content in members.items():
            new.writestr(name, content)
    return written.getvalue()


def change_h5(rng: random.Random, data: bytes) -> bytes:
    """An `.h5` file with changed bytes; or whole, with changed JSON."""
    if rng.random() < 0.6:
        return change_hdf5(rng, data)
    buffer = io.BytesIO(data)
    with h5py.File(buffer, "r+") as file:
        name = rng.choice([name for name in ("model_config", "model_config", "training_config") if name in file.attrs])
        file.attrs[name] = json.dumps(change_json(rng, json.loads(file.attrs[name])))
    return buffer.getvalue()


def keras_files(folder: Path) -> KerasFiles:
    """Archives."""
    return KerasFiles(folder, ".keras", change_archive)


def h5_files(folder: Path) -> KerasFiles:
    """Files in the older form."""
    return KerasFiles(folder, ".h5", change_h5)

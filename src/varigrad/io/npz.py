"""Weights in NumPy's `.npz` files: a zip archive with an array in each entry. Nothing pickled is read."""

from __future__ import annotations

import errno
import math
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from numpy.lib.format import write_array

from varigrad.dtypes import Array
from varigrad.io.replacing import atomic_file
from varigrad.io.weights import ModelFileError, byte_view
from varigrad.tensor import format_shape

__all__ = ["read_weights", "write_weights"]

_SUFFIX = ".npy"

# Trained weights hardly shrink when compressed. What would grow to more than this many times the file's size is a bomb,
# unless it is small.
_LARGEST_GROWTH = 100
_SMALL = 64 * 1024 * 1024

# How many bytes tell the header's length, by the version of the format.
_WIDTHS = {b"\x01\x00": 2, b"\x02\x00": 4}
_LONGEST_HEADER = 10_000
_HEADER = re.compile(
    r"\{'descr': '([<>|=][A-Za-z]\d*)', 'fortran_order': (True|False), 'shape': \((\d*(?:, ?\d+)*,?)\), ?\}\s*"
)

# NumPy's kinds of arrays that weights can be: numbers, bools and text.
_KINDS = "fiubcU"

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, TypeError, NotImplementedError, RuntimeError)


def read_weights(path: Path) -> dict[str, Array]:
    """The weights in an `.npz` file.

    Raises:
        FileNotFoundError: There is no such file.
        ModelFileError: The file is damaged, contradicts itself, holds objects, or would take far more memory than it is
            long.
    """
    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                _check_sizes(path, archive.infolist(), os.fstat(file.fileno()).st_size)
                return {entry.filename.removesuffix(_SUFFIX): _read(archive, entry) for entry in archive.infolist()}
        except ModelFileError:
            raise
        except (*_DAMAGE, OSError) as error:
            if isinstance(error, OSError) and error.errno != errno.EINVAL:  # a place before the file's beginning
                raise
            raise ModelFileError(f"{path} is no npz file of weights: {error}") from None


def _check_sizes(path: Path, entries: list[zipfile.ZipInfo], size: int) -> None:
    names = [entry.filename for entry in entries]
    if len(set(names)) != len(names):
        raise ModelFileError(f"{path} has two entries of one name")
    if sum(entry.compress_size for entry in entries) > size:
        raise ModelFileError(f"{path} is no npz file of weights: its entries overlap")
    total = sum(entry.file_size for entry in entries)
    if total > max(_SMALL, _LARGEST_GROWTH * size):
        raise ModelFileError(f"{path} has {size:,} bytes and would grow to {total:,}; weights do not shrink like that")


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    name = entry.filename
    if not name.endswith(_SUFFIX):
        raise ModelFileError(f"{archive.filename or 'the file'} holds {name!r}, which is no array")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ModelFileError(f"{name!r} is compressed in a way that NumPy does not write")
    with archive.open(entry) as stream:
        shape, fortran_order, dtype = _read_header(stream)
        if dtype.kind not in _KINDS:
            raise ModelFileError(f"{name!r} holds {dtype}, which are no weights")
        wanted = math.prod(shape) * dtype.itemsize
        left = entry.file_size - stream.tell()
        if wanted != left:
            raise ModelFileError(
                f"{name!r} of shape {format_shape(shape)} and dtype {dtype} takes {wanted:,} bytes, but has {left:,}"
            )
        values = np.empty(shape[::-1] if fortran_order else shape, dtype)
        _fill(stream, values)
    values = values.T if fortran_order else values
    values = values.astype(dtype.newbyteorder("="), copy=False)
    return _strings(name, values) if dtype.kind == "U" else values


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether columns come first, and dtype, from what NumPy writes before the numbers.

    The header is a Python literal. NumPy evaluates it; this takes nothing but the one form that NumPy writes.
    """
    start = stream.read(8)
    width = _WIDTHS.get(start[6:8])
    if start[:6] != b"\x93NUMPY" or width is None:
        raise ValueError("an entry is no array, or of a later version")
    length = int.from_bytes(stream.read(width), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"the header of an array is {length:,} bytes long")
    match = _HEADER.fullmatch(stream.read(length).decode("latin-1"))
    if match is None:
        raise ValueError("the header of an array is not as NumPy writes it")
    shape = tuple(int(n) for n in match[3].split(",") if n.strip())
    return shape, match[2] == "True", np.dtype(match[1])


def _strings(name: str, values: Array) -> Array:
    """Text as Python strings, whose characters NumPy does not check."""
    if values.nbytes and values.reshape(-1).view(np.uint32).max() > sys.maxunicode:
        raise ModelFileError(f"{name!r} holds characters that do not exist")
    return values.astype(object)


def _fill(stream: IO[bytes], values: Array) -> None:
    target = byte_view(values)
    while len(target):
        count = cast("Any", stream).readinto(target)
        if not count:
            raise EOFError("an array ends too early")
        target = target[count:]
    stream.read(1)  # the end, at which the checksum is compared


def write_weights(path: Path, weights: Mapping[str, Array], model: Any) -> None:
    """Writes the weights, bfloat16 as float32; a file that was there before stays whole until the new one is."""
    with atomic_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, array in weights.items():
            if array.dtype.kind == "O":
                array = array.astype(np.str_)
            elif array.dtype.name == "bfloat16":
                array = array.astype(np.float32)
            with archive.open(zipfile.ZipInfo(name + _SUFFIX), "w", force_zip64=True) as stream:
                write_array(stream, array, allow_pickle=False)

"""Weights in safetensors files: a length, a JSON header that says where each tensor lies, and the tensors end to end.

The format needs no library: https://github.com/huggingface/safetensors#format.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.replacing import atomic_file
from varigrad.io.weights import ModelFileError, byte_view
from varigrad.tensor import format_shape

__all__ = ["read_weights", "write_weights"]

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),  # the upper halves of float32
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
    "C64": np.dtype("<c8"),
}
_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "bool": "BOOL",
    "complex64": "C64",
}

# As in the reference implementation; a header is a few dozen bytes a tensor.
_LONGEST_HEADER = 100_000_000
_METADATA = "__metadata__"
# Headers are padded so that the tensors begin at a multiple of this.
_ALIGNMENT = 8


class _Entry(NamedTuple):
    """Where a tensor lies among the tensors, checked."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def read_weights(path: Path) -> dict[str, Array]:
    """The weights in a safetensors file, each read into memory of its own.

    Raises:
        FileNotFoundError: There is no such file.
        ModelFileError: The file is damaged, or contradicts itself.
    """
    with FileIO(path) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little") if size >= 8 else -1
        if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
            raise ModelFileError(f"{path} is no safetensors file: its header cannot be {length:,} bytes of {size:,}")
        entries = _parse_header(path, file.read(length), size - 8 - length)
        return {entry.name: _read(path, file, entry) for entry in entries}


def _parse_header(path: Path, text: bytes, size: int) -> list[_Entry]:
    """The entries in the order in which they lie in the file, which they must fill without gaps."""
    try:
        header = json.loads(text.decode(), object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is no safetensors file: its header is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"{path} is no safetensors file: its header is a {type(header).__name__}")
    named = cast("dict[str, Any]", header).items()
    entries = sorted((_parse_entry(path, k, v) for k, v in named if k != _METADATA), key=lambda e: (e.start, e.end))
    end = 0
    for entry in entries:
        if entry.start != end:
            raise ModelFileError(f"{path}: {entry.name!r} begins at byte {entry.start:,}, but the last ends at {end:,}")
        end = entry.end
    if end != size:
        raise ModelFileError(f"{path}: the tensors should take {end:,} bytes, but the file holds {size:,}")
    return entries


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name comes twice")
    return fields


def _parse_entry(path: Path, name: str, stored: Any) -> _Entry:
    fields = cast("dict[str, Any]", stored) if isinstance(stored, dict) else {}
    dtype = fields.get("dtype")
    shape, offsets = _lengths(fields.get("shape")), _lengths(fields.get("data_offsets"))
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ModelFileError(f"{path}: {name!r} has dtype {dtype!r:.100}; read are {', '.join(_DTYPES)}")
    if shape is None or offsets is None or len(offsets) != 2:
        raise ModelFileError(f"{path}: {name!r} needs a shape and two data_offsets, got {fields!r:.200}")
    start, end = offsets
    wanted = math.prod(shape) * _DTYPES[dtype].itemsize
    if end - start != wanted:
        raise ModelFileError(
            f"{path}: {name!r} of shape {format_shape(shape)} and dtype {dtype} takes {wanted:,} bytes, but has "
            f"{end - start:,}"
        )
    return _Entry(name, dtype, tuple(shape), start, end)


def _lengths(value: Any) -> list[int] | None:
    """The value, if it is a list of lengths."""
    if not isinstance(value, list) or not all(type(n) is int and n >= 0 for n in cast("list[Any]", value)):
        return None
    return cast("list[int]", value)


def _read(path: Path, file: FileIO, entry: _Entry) -> Array:
    try:
        values = np.empty(entry.shape, _DTYPES[entry.dtype])
    except ValueError:  # no elements, but lengths beyond what NumPy can count, or too many axes
        raise ModelFileError(f"{path}: {entry.name!r} has the impossible shape {format_shape(entry.shape)}") from None
    target = byte_view(values)
    while len(target):
        count = file.readinto(target)
        if not count:
            raise ModelFileError(f"{path} became shorter while it was read")
        target = target[count:]
    if entry.dtype == "BF16":
        return (values.astype(np.uint32) << 16).view(np.float32)
    if entry.dtype == "BOOL":
        return values.view(np.uint8) != 0
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def write_weights(path: Path, weights: Mapping[str, Array], model: Any) -> None:
    """Writes the weights in their own dtypes; a file that was there before stays whole until the new one is."""
    header: dict[str, Any] = {_METADATA: {"format": "np"}}
    arrays: list[Array] = []
    end = 0
    # Large dtypes first, as the reference implementation does, so that every tensor is aligned.
    for name, array in sorted(weights.items(), key=lambda item: -item[1].dtype.itemsize):
        dtype = _NAMES.get(array.dtype.name)
        if dtype is None:
            raise ValueError(f"save_weights: {name!r} is {array.dtype}, which safetensors files cannot hold")
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
        arrays.append(array)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    with atomic_file(path) as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for array in arrays:
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            file.write(byte_view(np.ascontiguousarray(little)))

"""Datatypes and dataspaces: what one value is, and how many there are ("Disk Format: Level 2A2")."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from varigrad.io.keras.hdf5.span import Cursor
from varigrad.io.weights import ModelFileError

__all__ = ["Datatype", "read_datatype", "read_shape"]

_FIXED, _FLOAT, _STRING, _OPAQUE, _ENUM, _VARIABLE = 0, 1, 3, 5, 8, 9
# By size: bits of the exponent, bits of the mantissa, and the exponent's bias (IEEE 754).
_FLOATS = {2: (5, 10, 15), 4: (8, 23, 127), 8: (11, 52, 1023)}
_MOST_AXES = 32


class Datatype(NamedTuple):
    """One value: how NumPy sees it, and whether it stands for text that is kept elsewhere."""

    stored: np.dtype[Any]
    variable_text: bool = False

    @property
    def is_text(self) -> bool:
        """Whether values are strings."""
        return self.variable_text or self.stored.kind == "S"


def read_datatype(cursor: Cursor) -> Datatype:
    """The type that a datatype message describes.

    Raises:
        ModelFileError: It is none that Keras's files have.
    """
    first = cursor.integer(1)
    kind, version = first & 15, first >> 4
    bits = int.from_bytes(cursor.take(3), "little")
    size = cursor.integer(4)
    order = ">" if bits & 1 else "<"
    if version not in range(1, 6) or size == 0:
        raise ModelFileError(f"the HDF5 file is damaged: a datatype has version {version} and size {size}")
    if kind == _FIXED and size in (1, 2, 4, 8):
        offset, precision = cursor.integers(2, 2)
        if (offset, precision) == (0, 8 * size):
            return Datatype(np.dtype(f"{order}{'i' if bits & 8 else 'u'}{size}"))
    elif kind == _FLOAT and size in _FLOATS and not bits & 0x40:
        offset, precision = cursor.integers(2, 2)
        exponent_at, exponent, mantissa_at, mantissa = cursor.integers(1, 4)
        layout = (offset, precision, mantissa_at, exponent_at, exponent, mantissa, cursor.integer(4))
        bits_exponent, bits_mantissa, bias = _FLOATS[size]
        if layout == (0, 8 * size, 0, bits_mantissa, bits_exponent, bits_mantissa, bias):
            return Datatype(np.dtype(f"{order}f{size}"))
    elif kind == _STRING and size <= 1 << 20:
        return Datatype(np.dtype(f"S{size}"))
    elif kind == _OPAQUE and size == 2:  # how h5py keeps bfloat16
        return Datatype(np.dtype("V2"))
    elif kind == _ENUM and size == 1:  # how h5py keeps booleans
        if read_datatype(cursor).stored.kind in "iu":
            return Datatype(np.dtype(np.bool_))
    elif kind == _VARIABLE and bits & 15 == 1 and size == 16:
        return Datatype(np.dtype("V16"), variable_text=True)
    raise ModelFileError(f"the HDF5 file has values of a kind that weights never have (class {kind}, {size} bytes)")


def read_shape(cursor: Cursor) -> tuple[int, ...] | None:
    """The shape that a dataspace message describes; None if there are no values at all."""
    version = cursor.version("dataspace", (1, 2))
    rank, _ = cursor.integers(1, 2)
    kind = cursor.integer(1)
    if version == 1:
        cursor.skip(4)
    elif kind == 2:
        return None
    if rank > _MOST_AXES:
        raise ModelFileError(f"the HDF5 file is damaged: something has {rank} axes")
    shape = cursor.integers(8, rank)
    if math.prod(max(length, 1) for length in shape) > 1 << 48:  # NumPy counts so too, where there are no values
        raise ModelFileError(f"the HDF5 file claims something of the impossible shape {list(shape)}")
    return shape

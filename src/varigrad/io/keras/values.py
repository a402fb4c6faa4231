"""Values of weights in HDF5 files, read and written."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.keras.hdf5 import Dataset
from varigrad.io.weights import ModelFileError

__all__ = ["hdf5_bytes", "read_values", "writable"]

# What NumPy has no dtype for is kept bit by bit, and marked by an attribute with its name.
_BFLOAT16 = "bfloat16"


def read_values(dataset: Dataset) -> Array:
    """The values of a weight, in memory of their own."""
    values = dataset.read()
    if values.dtype.kind == "V":
        if dataset.attributes.get("dtype") != _BFLOAT16:
            raise ModelFileError(f"{dataset.name!r} has values of two bytes that are not marked as bfloat16")
        return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return values


def hdf5_bytes(fill: Callable[[Any], None]) -> bytes:
    """An HDF5 file, which `fill` writes into."""
    try:
        import h5py  # only writing such files needs it
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "writing Keras files needs h5py: pip install 'varigrad[keras]'", name="h5py"
        ) from None

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", libver="earliest") as file:  # pyright: ignore
        fill(file)
    return buffer.getvalue()


def writable(values: Array) -> Array:
    """The values in a dtype that Keras reads: bfloat16 as float32, which holds all of it."""
    known = values.dtype.kind in "fiub" and values.dtype.isbuiltin == 1
    return np.asarray(values, None if known else np.float32, order="C")

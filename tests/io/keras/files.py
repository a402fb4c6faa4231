"""HDF5 files made by h5py, for the reader that has no use for it."""

import io

import h5py
import numpy as np

VALUES = {
    "float32": np.arange(70, dtype=np.float32).reshape(7, 10) / 7,
    "float64, big-endian": np.linspace(-1, 1, 24).reshape(2, 3, 4).astype(">f8"),
    "float16": np.arange(5, dtype=np.float16),
    "int64": np.arange(-3, 3),
    "uint8": np.arange(256, dtype=np.uint8),
    "bool": np.array([True, False, True]),
    "scalar": np.float32(2.5),
    "empty": np.zeros([0, 3], np.float32),
}

# How h5py can be asked to lay values out.
LAYOUTS = {
    "plain": {},
    "chunks": {"chunks": (3, 4)},
    "gzip": {"compression": "gzip"},
    "all filters": {"chunks": (4, 3), "compression": "gzip", "shuffle": True, "fletcher32": True},
}


def hdf5(fill, **options):
    """The bytes of a file that `fill` wrote into."""
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", **options) as file:
        fill(file)
    return buffer.getvalue()

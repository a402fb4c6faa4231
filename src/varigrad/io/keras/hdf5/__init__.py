"""HDF5 files, as far as Keras's have use of them, read in Python alone.

The HDF5 library is written in C and takes files at their word: a damaged or hostile one can crash the process, follow
links to other files, or claim any amount of memory. Here every address is checked against the file's length, and every
size against the bytes that are there, before memory is taken. What Keras never writes (links to elsewhere, virtual
datasets, external storage) does not exist.

`File(data).root` is the outermost group; a `Group` has `attributes` and members, a `Dataset` has `shape`, `dtype` and
`read()`. The format is described in the HDF5 File Format Specification, version 3.0; sections are cited by its names.
"""

from __future__ import annotations

from varigrad.io.keras.hdf5.objects import Dataset as Dataset
from varigrad.io.keras.hdf5.objects import File as File
from varigrad.io.keras.hdf5.objects import Group as Group

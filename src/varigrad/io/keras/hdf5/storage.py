"""The bytes of a dataset: in one piece, in the header, or in chunks that may be compressed."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.keras.hdf5.groups import tree_leaves
from varigrad.io.keras.hdf5.span import UNDEFINED, Cursor, Span, unsupported
from varigrad.io.weights import ModelFileError

__all__ = ["read_filters", "read_values"]

_DEFLATE, _SHUFFLE, _FLETCHER32 = 1, 2, 3
_COMPACT, _CONTIGUOUS, _CHUNKED = 0, 1, 2
# A file that was made to fill memory has more values for its bytes than any that holds weights; small ones may.
_MOST_EXPANSION, _ALWAYS_ALLOWED = 100, 64 << 20


def read_filters(cursor: Cursor) -> list[int]:
    """The steps of a filter pipeline message that chunks went through, by their numbers, first to last."""
    version = cursor.version("filter pipeline", (1, 2))
    count = cursor.integer(1)
    if version == 1:
        cursor.skip(6)
    filters: list[int] = []
    for _ in range(count):
        number = cursor.integer(2)
        name_length = cursor.integer(2) if version == 1 or number >= 256 else 0
        _flags, values = cursor.integers(2, 2)
        cursor.skip((name_length + 7) // 8 * 8 if version == 1 else name_length)
        cursor.skip(4 * (values + values % 2 if version == 1 else values))
        filters.append(number)
        if number not in (_DEFLATE, _SHUFFLE, _FLETCHER32):
            raise ModelFileError(f"the HDF5 file is compressed by a filter that is not supported (number {number})")
    return filters


def read_values(
    span: Span, layout: Cursor, filters: Sequence[int], shape: tuple[int, ...], stored: np.dtype[Any]
) -> Array:
    """The values of a dataset, `stored` in the file's byte order, in memory of their own."""
    version = layout.version("data layout", (3, 4))  # they differ for chunks alone
    kind = layout.integer(1)
    size = math.prod(shape) * stored.itemsize
    if kind == _CHUNKED:
        if version > 3:
            raise unsupported("data layout of chunks", version)
        rank = layout.integer(1)
        tree = layout.integer(8)
        if rank != len(shape) + 1:
            raise ModelFileError(f"the HDF5 file is damaged: chunks have {rank - 1} axes, the data {len(shape)}")
        chunk = layout.integers(4, rank)
        if 0 in chunk or chunk[-1] != stored.itemsize:
            raise ModelFileError(f"the HDF5 file is damaged: chunks have the shape {list(chunk)}")
        return _read_chunks(span, tree, chunk[:-1], filters, shape, stored)
    if kind == _COMPACT:
        raw = layout.take(layout.integer(2))
    elif kind == _CONTIGUOUS:
        address, length = layout.integers(8, 2)
        if address == UNDEFINED:
            if size:
                raise ModelFileError(f"the HDF5 file holds no values for something of shape {list(shape)}")
            length, address = 0, 0
        raw = span.slice(address, length)
    else:
        raise ModelFileError("the HDF5 file has virtual datasets, which are refused")
    if len(raw) != size:
        raise ModelFileError(
            f"the HDF5 file is damaged: values of shape {list(shape)} take {size:,} bytes, but there are {len(raw):,}"
        )
    values = np.empty(shape, stored)
    # As bytes, which is faster where the file has the values at odd addresses.
    values.reshape(-1).view(np.uint8)[...] = np.frombuffer(raw, np.uint8)
    return values


def _read_chunks(
    span: Span,
    tree: int,
    chunk: tuple[int, ...],
    filters: Sequence[int],
    shape: tuple[int, ...],
    stored: np.dtype[Any],
) -> Array:
    counts = [-(-length // step) for length, step in zip(shape, chunk)]
    if math.prod(shape) == 0:
        return np.empty(shape, stored)
    expected = math.prod(counts)
    chunk_bytes = math.prod(chunk) * stored.itemsize
    if expected > len(span) // 8:
        raise ModelFileError(f"the HDF5 file is too short for the {expected:,} chunks of shape {list(shape)}")
    found: dict[tuple[int, ...], tuple[int, int, int]] = {}
    for key, address in tree_leaves(span, tree, kind=1, key_size=8 * (len(chunk) + 2)):
        cursor = Cursor(Span(key))
        length, skipped = cursor.integers(4, 2)
        found[cursor.integers(8, len(chunk))] = (address, length, skipped)
    held = sum(length for _, length, _ in found.values())
    total = max(math.prod(shape) * stored.itemsize, chunk_bytes)
    if held > len(span) or total > max(_ALWAYS_ALLOWED, _MOST_EXPANSION * held):
        raise ModelFileError(
            f"the HDF5 file claims {total:,} bytes for something of shape {list(shape)} but holds {held:,}; refused"
        )
    values = np.empty(shape, stored)
    for corner in product(*(range(0, count * step, step) for count, step in zip(counts, chunk))):
        if corner not in found:
            raise ModelFileError(f"the HDF5 file lacks a part, at {list(corner)}, of something of shape {list(shape)}")
        address, length, skipped = found[corner]
        raw = _unfilter(span.slice(address, length), filters, skipped, stored.itemsize, chunk_bytes)
        block = np.frombuffer(raw, stored).reshape(chunk)
        inside = tuple(slice(start, start + step) for start, step in zip(corner, chunk))
        target = values[inside]
        target[...] = block[tuple(slice(0, n) for n in target.shape)]
    return values


def _unfilter(
    raw: memoryview | bytes, filters: Sequence[int], skipped: int, itemsize: int, wanted: int
) -> memoryview | bytes:
    """A chunk as it was before its filters, of exactly `wanted` bytes."""
    for position in range(len(filters) - 1, -1, -1):
        number = filters[position]
        if skipped >> position & 1:
            continue
        if number == _FLETCHER32:
            raw = raw[:-4]
        elif number == _DEFLATE:
            inflater = zlib.decompressobj()
            try:
                raw = inflater.decompress(raw, wanted + 5)
            except zlib.error as error:
                raise ModelFileError(f"the HDF5 file is damaged: a part cannot be decompressed: {error}") from None
        elif itemsize > 1 and len(raw) % itemsize == 0:
            raw = np.frombuffer(raw, np.uint8).reshape(itemsize, -1).T.tobytes()
    if len(raw) != wanted:
        raise ModelFileError(f"the HDF5 file is damaged: a part has {len(raw):,} bytes in place of {wanted:,}")
    return raw

"""Event files, as TensorBoard reads them: records with checksums, each a protocol buffer, written without TensorFlow.

The messages are few and small, so they are encoded here field by field; numbers of fields are those of TensorFlow's
`event.proto` and `summary.proto`.
"""

from __future__ import annotations

import os
import socket
import struct
import time
import zlib
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import BinaryIO

import numpy as np

from varigrad.dtypes import Array

__all__ = ["EventFile", "histogram_value", "image_value", "scalar_value"]

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5  # wire types
_numbers = count()


class EventFile:
    """A file of events in a folder, which is made if it is missing."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}.v2"
        self._file: BinaryIO = Path(folder, name).open("wb")  # noqa: SIM115 (open until `close`)
        self._write(_event(0) + _bytes(3, b"brain.Event:2"))

    def add(self, value: bytes, step: int) -> None:
        """Writes an event of one summary value."""
        self._write(_event(step) + _bytes(5, _bytes(1, value)))

    def flush(self) -> None:
        """Has what was written reach the disk, for a TensorBoard that looks on."""
        self._file.flush()

    def close(self) -> None:
        """Ends the file."""
        self._file.close()

    def _write(self, event: bytes) -> None:
        length = struct.pack("<Q", len(event))
        self._file.write(length + _checksum(length) + event + _checksum(event))


def scalar_value(tag: str, value: float) -> bytes:
    """The summary value of a number."""
    return _bytes(1, tag.encode()) + _key(2, _FLOAT) + struct.pack("<f", value)


def histogram_value(tag: str, values: Array, buckets: int) -> bytes:
    """The summary value of how numbers, float64 `[count]`, are distributed; those that are not finite are left out."""
    numbers = values[np.isfinite(values)]
    counts, edges = np.histogram(numbers, buckets)
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    sums = (low, high, float(numbers.size), float(numbers.sum()), float(np.square(numbers).sum()))
    message = b"".join(_key(field, _DOUBLE) + struct.pack("<d", value) for field, value in enumerate(sums, start=1))
    message += _bytes(6, _doubles(edges[1:].tolist())) + _bytes(7, _doubles(counts.tolist()))
    return _bytes(1, tag.encode()) + _bytes(5, message)


def image_value(tag: str, pixels: Array) -> bytes:
    """The summary value of a picture, uint8 `[height, width, channels]`."""
    height, width, channels = pixels.shape
    sizes = b"".join(_key(field, _VARINT) + _varint(size) for field, size in ((1, height), (2, width), (3, channels)))
    return _bytes(1, tag.encode()) + _bytes(4, sizes + _bytes(4, _png(pixels)))


def _event(step: int) -> bytes:
    return _key(1, _DOUBLE) + struct.pack("<d", time.time()) + _key(2, _VARINT) + _varint(step)


def _key(field: int, wire_type: int) -> bytes:
    return _varint(field << 3 | wire_type)


def _bytes(field: int, content: bytes) -> bytes:
    return _key(field, _BYTES) + _varint(len(content)) + content


def _doubles(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def _varint(number: int) -> bytes:
    number &= 0xFFFFFFFFFFFFFFFF  # as protocol buffers write negative ones
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


# How PNG calls pictures of 1 to 4 channels: grey, grey and alpha, colours, colours and alpha.
_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}


def _png(pixels: Array) -> bytes:
    height, width, channels = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    rows = pixels.reshape(height, -1)
    unfiltered = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(unfiltered.tobytes())), (b"IEND", b""))
    framed = (
        struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        for kind, content in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def _crc_table() -> list[int]:
    table: list[int] = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_CRC_TABLE = _crc_table()


def _checksum(data: bytes) -> bytes:
    """The masked CRC-32C of TensorFlow's records."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

"""Files, groups, datasets and their attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.keras.hdf5.groups import read_members
from varigrad.io.keras.hdf5.headers import Message, read_messages
from varigrad.io.keras.hdf5.span import UNDEFINED, Cursor, Span, text
from varigrad.io.keras.hdf5.storage import read_filters, read_values
from varigrad.io.keras.hdf5.types import Datatype, read_datatype, read_shape
from varigrad.io.weights import ModelFileError

__all__ = ["Dataset", "File", "Group"]

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_DATASPACE, _DATATYPE, _EXTERNAL, _LAYOUT, _FILTERS, _ATTRIBUTE, _ATTRIBUTE_INFO = 1, 3, 7, 8, 11, 12, 21


class File:
    """An HDF5 file in memory, or mapped into it.

    Raises:
        ModelFileError: It is none.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self.span = Span(data)
        if len(self.span) < 48 or bytes(self.span.slice(0, 8)) != _SIGNATURE:
            raise ModelFileError("this is not an HDF5 file")
        cursor = Cursor(self.span, 8)
        version = cursor.version("superblock", (0, 1, 2, 3))
        if version < 2:
            cursor.skip(4)
        sizes = cursor.integers(1, 2)
        if version < 2:
            cursor.skip(9 if version == 0 else 13)
            base, _, end, _, _ = cursor.integers(8, 5)
        else:
            cursor.skip(1)
            base, _, end = cursor.integers(8, 3)
        if sizes != (8, 8) or base:
            raise ModelFileError("the HDF5 file has addresses that are not of 8 bytes, or not from its start")
        if end > len(self.span):
            raise ModelFileError(f"the HDF5 file is cut off: of {end:,} bytes, {len(self.span):,} are there")
        self.root = Group(self.span, cursor.integer(8), "")


class _Object:
    def __init__(self, span: Span, address: int, name: str, messages: list[Message] | None = None) -> None:
        self.span = span
        self.name = name
        self._messages = read_messages(span, address) if messages is None else messages

    @cached_property
    def attributes(self) -> dict[str, Any]:
        """Text as `str` or a list of it, numbers as arrays; those that Keras has no use for are left out."""
        found: dict[str, Any] = {}
        for message in self._messages:
            if message.type == _ATTRIBUTE:
                name, value = _read_attribute(self.span, message.cursor())
                found[name] = value
            elif message.type == _ATTRIBUTE_INFO:
                cursor = message.cursor()
                cursor.version("attribute information", (0,))
                cursor.skip(2 if cursor.integer(1) & 1 else 0)
                if cursor.integer(8) != UNDEFINED:
                    raise ModelFileError(f"the HDF5 file keeps the attributes of {self.name!r} in a form not supported")
        return found

    def _message(self, kind: int) -> Cursor:
        for message in self._messages:
            if message.type == kind:
                return message.cursor()
        raise ModelFileError(f"the HDF5 file is damaged: {self.name!r:.200} lacks a part of its description")

    def _has(self, kind: int) -> bool:
        return any(message.type == kind for message in self._messages)


class Group(_Object):
    """Members by name."""

    @cached_property
    def _members(self) -> dict[str, int]:
        members = read_members(self.span, self._messages)
        if members is None:
            raise ModelFileError(f"the HDF5 file has values, or nothing, at {self.name!r:.200} in place of a group")
        return members

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def group(self, path: str) -> Group:
        """The group of a path below this one.

        Raises:
            ModelFileError: There is none.
        """
        found: Group = self
        for part in path.split("/"):
            found = Group(self.span, found._address(part), f"{found.name}/{part}".lstrip("/"))
        return found

    def dataset(self, path: str) -> Dataset:
        """The dataset of a path below this group.

        Raises:
            ModelFileError: There is none.
        """
        above, _, last = path.rpartition("/")
        group = self.group(above) if above else self
        return Dataset(self.span, group._address(last), f"{group.name}/{last}".lstrip("/"))

    def is_dataset(self, name: str) -> bool:
        """Whether the member of this name holds values."""
        return read_members(self.span, read_messages(self.span, self._members[name])) is None

    def _address(self, part: str) -> int:
        if part not in self._members:
            raise ModelFileError(f"the HDF5 file has no {f'{self.name}/{part}'.lstrip('/')!r:.300}")
        return self._members[part]


class Dataset(_Object):
    """Values of one dtype and a shape."""

    @cached_property
    def _type(self) -> Datatype:
        return read_datatype(self._message(_DATATYPE))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values as they are stored."""
        return self._type.stored

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        shape = read_shape(self._message(_DATASPACE))
        return (0,) if shape is None else shape

    def read(self) -> Array:
        """The values, in this machine's byte order and in memory of their own."""
        if self._has(_EXTERNAL):
            raise ModelFileError(f"the values of {self.name!r:.200} are in another file; that is refused")
        if self._type.is_text:
            raise ModelFileError(f"{self.name!r:.200} holds text in place of numbers")
        filters = read_filters(self._message(_FILTERS)) if self._has(_FILTERS) else []
        values = read_values(self.span, self._message(_LAYOUT), filters, self.shape, self.dtype)
        if values.dtype.kind == "V":
            return values
        return values.astype(values.dtype.newbyteorder("="), copy=False)


def _read_attribute(span: Span, cursor: Cursor) -> tuple[str, Any]:
    """Name and value of an attribute message."""
    version = cursor.version("attribute", (1, 2, 3))
    flags = cursor.integer(1)
    name_size, type_size, shape_size = cursor.integers(2, 3)
    cursor.skip(1 if version == 3 else 0)
    if version > 1 and flags & 3:
        raise ModelFileError("the HDF5 file has shared datatypes, which are not supported")
    parts: list[memoryview] = []
    for size in (name_size, type_size, shape_size):
        parts.append(cursor.take(size))
        if version == 1:
            cursor.skip(-size % 8)
    name = text(parts[0])
    try:
        datatype = read_datatype(Cursor(Span(parts[1])))
    except ModelFileError:  # such as references, which Keras has no use for
        return name, None
    shape = read_shape(Cursor(Span(parts[2])))
    if shape is None:
        return name, None
    raw = cursor.take(math.prod(shape) * datatype.stored.itemsize)
    values = np.frombuffer(raw, datatype.stored)
    if not datatype.is_text:
        return name, values.reshape(shape)
    if datatype.variable_text:
        strings = _variable_text(span, [bytes(value) for value in values])
    else:
        strings = [text(value) for value in values]
    return name, strings if shape else strings[0]


def _variable_text(span: Span, references: list[bytes]) -> list[str]:
    """The strings that references into global heaps stand for ("Global Heap")."""
    found: list[str] = []
    total = 0
    for reference in references:
        cursor = Cursor(Span(reference))
        length, heap, number = cursor.integer(4), cursor.integer(8), cursor.integer(4)
        total += length
        if total > len(span):
            raise ModelFileError("the HDF5 file is damaged: its texts are longer than itself")
        found.append(text(_heap_object(span, heap, number)[:length]) if length else "")
    return found


def _heap_object(span: Span, heap: int, number: int) -> memoryview:
    """An object in a global heap."""
    cursor = span.expect(heap, b"GCOL", "global heap")
    cursor.version("global heap", (1,))
    cursor.skip(3)
    end = heap + cursor.integer(8)
    while cursor.position + 16 <= end:
        span.charge(16)
        index, _ = cursor.integers(2, 2)
        cursor.skip(4)
        size = cursor.integer(8)
        if index == 0:
            break
        if index == number:
            return cursor.take(size)
        cursor.skip((size + 7) // 8 * 8)
    raise ModelFileError("the HDF5 file is damaged: a text is missing from its heap")

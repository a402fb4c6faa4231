"""Object headers: the list of messages that says what a group or dataset is ("Disk Format: Level 2A")."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

from varigrad.io.keras.hdf5.span import Cursor, Span
from varigrad.io.weights import ModelFileError

__all__ = ["Message", "read_messages"]

_MESSAGE = Struct("<HHB3x")  # type, size, flags
_CONTINUATION = 0x10
_SHARED = 0x02  # the flag of a message that is kept elsewhere
# Far more than Keras's files have: an attribute each, and a few more.
_MOST_MESSAGES = 100_000


class Message(NamedTuple):
    """One message: its type, a number of the specification, and its bytes."""

    type: int
    body: memoryview
    shared: bool

    def cursor(self) -> Cursor:
        """A cursor at the start of the bytes.

        Raises:
            ModelFileError: The message is kept elsewhere, as Keras never does.
        """
        if self.shared:
            raise ModelFileError("the HDF5 file has shared messages, which are not supported")
        return Cursor(Span(self.body))


def read_messages(span: Span, address: int) -> list[Message]:
    """The messages of the object whose header is at `address`; each header is read once."""
    known = span.headers.get(address)
    if known is None:
        newer = bytes(span.slice(address, 4)) == b"OHDR"
        known = span.headers[address] = _version_2(span, address) if newer else _version_1(span, address)
    return known


def _version_1(span: Span, address: int) -> list[Message]:
    cursor = Cursor(span, address)
    cursor.version("object header", (1,))
    cursor.skip(1)
    count = cursor.integer(2)
    cursor.skip(4)
    size = cursor.integer(4)
    blocks = [(address + 16, size)]
    messages: list[Message] = []
    for start, length in _each_once(blocks):
        span.charge(length)
        block = Span(span.slice(start, length))
        position = 0
        while length - position >= 8 and len(messages) < count:
            kind, size, flags = _MESSAGE.unpack_from(block.data, position)
            _add(messages, blocks, Message(kind, block.slice(position + 8, size), bool(flags & _SHARED)))
            position += 8 + size
    return messages


def _version_2(span: Span, address: int) -> list[Message]:
    cursor = span.expect(address, b"OHDR", "object header")
    cursor.version("object header", (2,))
    flags = cursor.integer(1)
    cursor.skip((16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0))
    size = cursor.integer(1 << (flags & 3))
    blocks = [(cursor.position, size)]
    messages: list[Message] = []
    extra = 2 if flags & 4 else 0
    for number, (start, length) in enumerate(_each_once(blocks)):
        if number:  # a signature in front, a checksum behind
            span.expect(start, b"OCHK", "continuation of an object header")
            start, length = start + 4, length - 8
        span.charge(length)
        block = Cursor(Span(span.slice(start, length)))
        while length - block.position >= 4 + extra:
            kind, size, flags = block.integer(1), block.integer(2), block.integer(1)
            block.skip(extra)
            _add(messages, blocks, Message(kind, block.take(size), bool(flags & _SHARED)))
    return messages


def _add(messages: list[Message], blocks: list[tuple[int, int]], message: Message) -> None:
    """Keeps a message; one that says where the header goes on adds a block."""
    if message.type == _CONTINUATION:
        start, length = message.cursor().integers(8, 2)
        blocks.append((start, length))
    messages.append(message)
    if len(messages) > _MOST_MESSAGES:
        raise ModelFileError(f"the HDF5 file is damaged: an object header has over {_MOST_MESSAGES:,} messages")


def _each_once(blocks: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The blocks, which may become more while they are read, but never one that was there before."""
    seen: set[int] = set()
    for start, length in blocks:
        if start in seen:
            raise ModelFileError("the HDF5 file is damaged: an object header goes in circles")
        seen.add(start)
        yield start, length

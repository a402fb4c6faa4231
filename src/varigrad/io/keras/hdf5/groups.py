"""The members of a group: names, and where the headers of what they name are ("Disk Format: Level 1")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from struct import Struct

from varigrad.io.keras.hdf5.headers import Message
from varigrad.io.keras.hdf5.span import UNDEFINED, Cursor, Span, text
from varigrad.io.weights import ModelFileError

__all__ = ["read_members", "tree_leaves"]

_SYMBOL = Struct("<QQI20x")  # where its name is, where its header is, what is cached of it
_LINK_INFO, _LINK, _SYMBOL_TABLE = 0x02, 0x06, 0x11
_GROUP_MESSAGES = {_LINK_INFO, _LINK, _SYMBOL_TABLE, 0x0A}
_HARD_LINK = 0
_LINKED = 2  # the kind of a symbol table's entry that is a link by path


def read_members(span: Span, messages: Sequence[Message]) -> dict[str, int] | None:
    """The address of each member's header by its name; None if the object is no group.

    Raises:
        ModelFileError: A member is a link to a path or to another file.
    """
    if not any(message.type in _GROUP_MESSAGES for message in messages):
        return None
    members: dict[str, int] = {}
    for message in messages:
        if message.type == _SYMBOL_TABLE:
            tree, heap = message.cursor().integers(8, 2)
            found = _symbols(span, tree, heap)
        elif message.type == _LINK:
            found = [_link(message.cursor())]
        else:
            if message.type == _LINK_INFO:
                _check_compact(message.cursor())
            continue
        for name, address in found:
            if name in members:
                raise ModelFileError(f"the HDF5 file is damaged: a group has two members {name!r:.60}")
            members[name] = address
    return members


def _symbols(span: Span, tree: int, heap: int) -> Iterator[tuple[str, int]]:
    """Names and headers of a symbol table, the older form of groups."""
    cursor = span.expect(heap, b"HEAP", "heap of names")
    cursor.version("local heap", (0,))
    cursor.skip(3)
    size, _, start = cursor.integers(8, 3)
    names = span.slice(start, size)
    for _, leaf in tree_leaves(span, tree, kind=0, key_size=8):
        cursor = span.expect(leaf, b"SNOD", "node of a symbol table")
        cursor.version("symbol table node", (1,))
        cursor.skip(1)
        count = cursor.integer(2)
        span.charge(40 * count)
        for offset, header, cached in _SYMBOL.iter_unpack(cursor.take(40 * count)):
            if offset >= len(names):
                raise ModelFileError("the HDF5 file is damaged: a name is outside of its heap")
            name = _name_at(names, offset)
            span.charge(len(name))
            if cached == _LINKED:
                raise ModelFileError(f"the HDF5 file has the link {name!r:.60}; links are refused")
            yield name, header


def _name_at(names: memoryview, offset: int) -> str:
    """The name that starts there and ends in a zero."""
    end = offset
    while end < len(names) and names[end]:
        end += 1
        if end - offset > 4096:
            raise ModelFileError("the HDF5 file is damaged: a name is over 4,096 bytes long")
    return text(names[offset:end])


def tree_leaves(span: Span, root: int, kind: int, key_size: int) -> Iterator[tuple[memoryview, int]]:
    """Key and address of everything that a version 1 B-tree holds, in order, each node once.

    Args:
        span: The file.
        root: The address of the tree's root.
        kind: 0 for groups, 1 for chunks.
        key_size: The bytes of a key.
    """
    seen: set[int] = set()

    def walk(address: int, above: int | None) -> Iterator[tuple[memoryview, int]]:
        if address in seen:
            raise ModelFileError("the HDF5 file is damaged: a B-tree goes in circles")
        seen.add(address)
        cursor = span.expect(address, b"TREE", "B-tree")
        found, level, count = cursor.integer(1), cursor.integer(1), cursor.integer(2)
        if found != kind or level != (level if above is None else above - 1) or level > 16:
            raise ModelFileError("the HDF5 file is damaged: a B-tree has nodes of another kind or level")
        cursor.skip(16)
        span.charge((key_size + 8) * count)
        for _ in range(count):
            key = cursor.take(key_size)
            child = cursor.integer(8)
            if level:
                yield from walk(child, level)
            elif child in seen:
                raise ModelFileError("the HDF5 file is damaged: a B-tree holds the same place twice")
            else:
                seen.add(child)
                yield key, child

    return walk(root, None)


def _link(cursor: Cursor) -> tuple[str, int]:
    """Name and header of a link message, the newer form of groups."""
    cursor.version("link", (1,))
    flags = cursor.integer(1)
    kind = cursor.integer(1) if flags & 8 else _HARD_LINK
    cursor.skip((8 if flags & 4 else 0) + (1 if flags & 16 else 0))
    name = text(cursor.take(cursor.integer(1 << (flags & 3))))
    if kind != _HARD_LINK:
        raise ModelFileError(f"the HDF5 file has the link {name!r:.60}; links are refused")
    return name, cursor.integer(8)


def _check_compact(cursor: Cursor) -> None:
    """Raises an error if the group's links are not in its header."""
    cursor.version("link information", (0,))
    flags = cursor.integer(1)
    cursor.skip(8 if flags & 1 else 0)
    if cursor.integer(8) != UNDEFINED:
        raise ModelFileError(
            "the HDF5 file keeps large groups in the newer form, which is not supported; "
            "write it again with Keras, or with h5py and libver='earliest'"
        )

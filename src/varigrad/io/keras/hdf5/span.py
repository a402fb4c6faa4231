"""The bytes of a file, which are only read where there are any."""

from __future__ import annotations

from struct import Struct
from typing import Any

from varigrad.io.weights import ModelFileError

__all__ = ["UNDEFINED", "Cursor", "Span", "text", "unsupported"]

# The address of what is nowhere.
UNDEFINED = 0xFFFFFFFFFFFFFFFF

_INTEGERS = {1: Struct("<B"), 2: Struct("<H"), 4: Struct("<I"), 8: Struct("<Q")}


class Span:
    """A run of bytes."""

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = memoryview(data)
        self._allowance = 64 * len(self.data) + (1 << 20)
        self.headers: dict[int, list[Any]] = {}  # those read so far, by address

    def __len__(self) -> int:
        return len(self.data)

    def charge(self, count: int) -> None:
        """Notes that `count` bytes of structure are about to be read.

        Raises:
            ModelFileError: So many were before that parts of the file must be there for many others at once, as in one
                that was made to take forever.
        """
        self._allowance -= count
        if self._allowance < 0:
            raise ModelFileError("the HDF5 file is damaged: its parts overlap")

    def slice(self, address: int, count: int) -> memoryview:
        """`count` bytes from `address` on.

        Raises:
            ModelFileError: The file ends before.
        """
        if address < 0 or count < 0 or address + count > len(self.data):
            raise ModelFileError(
                f"the HDF5 file is damaged or cut off: {count:,} bytes are wanted at {address:,}, "
                f"but it is {len(self.data):,} long"
            )
        return self.data[address : address + count]

    def expect(self, address: int, signature: bytes, what: str) -> Cursor:
        """A cursor behind the signature that a structure begins with."""
        if bytes(self.slice(address, len(signature))) != signature:
            raise ModelFileError(f"the HDF5 file is damaged: there is no {what} at {address:,}")
        return Cursor(self, address + len(signature))


class Cursor:
    """A place in the bytes that moves on as they are read."""

    def __init__(self, span: Span, position: int = 0) -> None:
        self.span = span
        self.position = position

    def take(self, count: int) -> memoryview:
        """The next bytes."""
        taken = self.span.slice(self.position, count)
        self.position += count
        return taken

    def integer(self, size: int) -> int:
        """The next unsigned integer, of 1, 2, 4 or 8 bytes."""
        return _INTEGERS[size].unpack(self.take(size))[0]

    def integers(self, size: int, count: int) -> tuple[int, ...]:
        """The next unsigned integers of `size` bytes each."""
        self.span.slice(self.position, size * count)
        return tuple(self.integer(size) for _ in range(count))

    def skip(self, count: int) -> None:
        """Leaves bytes out."""
        self.take(count)

    def version(self, what: str, known: tuple[int, ...]) -> int:
        """The next byte, a version number of a structure.

        Raises:
            ModelFileError: It is none of those known.
        """
        version = self.integer(1)
        if version not in known:
            raise unsupported(what, version)
        return version


def unsupported(what: str, version: int) -> ModelFileError:
    """The error of a structure of a version that is not read here."""
    return ModelFileError(
        f"the HDF5 file has a {what} of version {version}, which is not supported; "
        "write it again with Keras, or with h5py and libver='earliest'"
    )


def text(data: Any) -> str:
    """UTF-8 bytes, up to the first zero, as text."""
    raw = bytes(data).split(b"\0", 1)[0]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ModelFileError(f"the HDF5 file has a name or text that is not UTF-8: {raw!r:.60}") from None

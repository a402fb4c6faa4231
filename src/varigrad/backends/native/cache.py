"""The cache of machine code on disk: a file for each text, which starts with a digest of the rest.

It lies in `~/.cache/varigrad` (macOS: `~/Library/Caches/varigrad`, Windows: `%LOCALAPPDATA%\\varigrad\\cache`), or in
the folder that `VARIGRAD_CACHE_DIR` names; to empty it, remove the folder. It holds about 256 MB at most, or as many as
`VARIGRAD_CACHE_SIZE` says, 0 for none; what was used longest ago makes way. Any number of processes may share it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path

__all__ = ["folder", "limit", "read", "reduce", "write"]

_MEGABYTES = 256
_LEFT = 0.75  # of the limit, of a cache that had outgrown it
# Looking through a full cache takes as long as compiling something: it is done once in so much of the limit written, by
# whatever process.
_LOOKED_AT_AFTER = 1 / 64
_OURS = re.compile(r"[0-9a-f]{64}\.o|varigrad-.*\.new")  # the folder may hold other things


def folder() -> Path:
    """Where the cache is, there or not.

    Raises:
        RuntimeError: The user has no home, and nothing else says where.
    """
    given = os.environ.get("VARIGRAD_CACHE_DIR")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "varigrad" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "varigrad"
    caches = os.environ.get("XDG_CACHE_HOME", "")  # by its specification it counts only if it is a whole path
    return (Path(caches) if os.path.isabs(caches) else Path.home() / ".cache") / "varigrad"


def limit() -> int:
    """How many bytes it may hold."""
    given = os.environ.get("VARIGRAD_CACHE_SIZE", "").strip()
    return (int(given) if given.isdecimal() else _MEGABYTES) * 2**20


def read(key: str) -> bytes:
    """The machine code of a key, 64 hexadecimal digits.

    Raises:
        OSError: There is none, or it is damaged.
        RuntimeError: There is no place for a cache.
    """
    path = folder() / f"{key}.o"
    content = path.read_bytes()
    digest, object_code = content[:32], content[32:]
    if hashlib.sha256(object_code).digest() != digest:
        raise OSError("damaged")
    with contextlib.suppress(OSError):  # of a cache that may only be read
        os.utime(path)  # used now: see `reduce`
    return object_code


def write(key: str, object_code: bytes) -> None:
    """Keeps machine code under a key, if that works: beside its place first, so that nobody reads half of it."""
    most = limit()
    if not most:
        return
    with contextlib.suppress(OSError, RuntimeError):
        path = folder() / f"{key}.o"
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, hashlib.sha256(object_code).digest() + object_code)
        # Keys are as good as random numbers: where one is small enough for what was written, it is time to look.
        if int(key[:8], 16) / 2**32 < len(object_code) / (most * _LOOKED_AT_AFTER):
            reduce(path.parent, most)


def _replace(path: Path, content: bytes) -> None:
    """Writes a file as a whole, or not at all."""
    descriptor, name = tempfile.mkstemp(".new", "varigrad-", path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def reduce(place: Path, most: int) -> None:
    """Removes the files used longest ago from a cache of more than `most` bytes.

    Others may do so at the same time: what is gone already is all right.
    """
    found: list[tuple[float, int, str]] = []
    with contextlib.suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    status = entry.stat()
                    found.append((status.st_mtime, status.st_size, entry.path))
    total = sum([size for _, size, _ in found])
    if total <= most:
        return
    for _, size, path in sorted(found):
        if total <= _LEFT * most:
            return
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size

"""Where a model's files are: in a folder, or on a web server."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BufferedIOBase, FileIO, RawIOBase
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

from varigrad.io.weights import ModelFileError

__all__ = [
    "Folder",
    "Location",
    "OpenFile",
    "ShardReader",
    "Shards",
    "UrlConverter",
    "check_below",
    "check_relative",
    "converted_shards",
    "is_web",
    "locate",
    "prefixed",
    "resolve_path",
]

# From the name of a file of weights, as the manifest has it, to the URL or path where it is.
UrlConverter: TypeAlias = Callable[[str], str]

_URL = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


class OpenFile(NamedTuple):
    """A file open for reading, and its size."""

    file: RawIOBase | BufferedIOBase
    size: int


class Shards(NamedTuple):
    """Files of weights: each opened when its turn comes, and their size in all where it is known before that."""

    files: Iterator[OpenFile]
    total: int | None


class Location(Protocol):
    """Where a JSON file is, and the files of weights that it names."""

    @property
    def name(self) -> str:
        """What messages call the JSON file."""
        ...

    def read_document(self) -> bytes:
        """The bytes of the JSON file."""
        ...

    def shards(self, paths: Sequence[str], limit: int | None) -> Shards:
        """The files that a manifest names, which may hold `limit` bytes in all, if that is known."""
        ...


def resolve_path(path: str | os.PathLike[str], suffixes: Iterable[str] = (".json",)) -> Path:
    """The file that a path or a `file://` URL means; a path that ends in none of the suffixes is a folder with a
    `model.json`."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"the path of a model must be text or a path, got {path!r:.80}")
    text = os.fspath(path)
    if not text:
        raise ValueError("the path of a model is empty; '.' is the current folder")
    scheme = _URL.match(text)
    if scheme:
        if is_web(text):
            raise ValueError(f"a file is needed here, not the URL {text!r}")
        if scheme[1].lower() != "file":
            raise ValueError(f"models are in files or on web servers, not in {scheme[1]} ({text!r})")
        text = _path_of_url(text)
    resolved = Path(text).expanduser()
    return resolved if resolved.name.lower().endswith(tuple(suffixes)) else resolved / "model.json"


def is_web(path: Any) -> bool:
    """Whether the path is the URL of something on a web server."""
    scheme = _URL.match(path) if isinstance(path, str) else None
    return scheme is not None and scheme[1].lower() in ("http", "https")


def _path_of_url(url: str) -> str:
    # Only URLs need them.
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    return url2pathname(urlsplit(url).path)


def locate(
    path: str | os.PathLike[str], weight_url_converter: UrlConverter | None = None, timeout: float = 60.0
) -> Location:
    """The place of a model, from a folder, the path of its JSON file, or a URL of either.

    Args:
        path: Where it is.
        weight_url_converter: Tells where each file of weights is; by default beside the JSON file.
        timeout: How many seconds a web server may stay silent.
    """
    if is_web(path):
        from varigrad.io.web import Website  # loads the network libraries

        return Website(os.fspath(path), weight_url_converter, timeout)
    return Folder(resolve_path(path), weight_url_converter, timeout)


class Folder:
    """A model in files of this machine."""

    def __init__(self, json_path: Path, converter: UrlConverter | None = None, timeout: float = 60.0) -> None:
        self.json_path = json_path
        self._converter = converter
        self._timeout = timeout

    @property
    def name(self) -> str:
        return str(self.json_path)

    def read_document(self) -> bytes:
        if not self.json_path.is_file():
            raise FileNotFoundError(
                f"there is no model at {self.json_path.parent}: {self.json_path} is missing or not a file"
            )
        return self.json_path.read_bytes()

    def shards(self, paths: Sequence[str], limit: int | None) -> Shards:
        if self._converter is not None:
            return converted_shards(self._converter, paths, limit, self._timeout)
        return _local_shards([_inside(self.json_path.parent, path) for path in paths])


def converted_shards(converter: UrlConverter, paths: Sequence[str], limit: int | None, timeout: float) -> Shards:
    """Files of weights at the places that the caller's function names, which may be anywhere."""
    places = [converter(path) for path in paths]
    for place in places:
        if not isinstance(place, (str, os.PathLike)):
            raise TypeError(f"weight_url_converter must return a URL or a path, got {place!r:.100}")
    on_the_web = [is_web(place) for place in places]
    if any(on_the_web):
        from varigrad.io.web import download_all  # loads the network libraries

        if not all(on_the_web):
            raise ValueError("weight_url_converter must name files, or URLs, but not both in one model")
        return download_all(places, limit, timeout)
    files = [Path(_path_of_url(place) if _URL.match(place) else place) for place in places]
    for file in files:
        if not file.is_file():
            raise ModelFileError(f"weight_url_converter or weight_path_prefix means {str(file)!r}, which is no file")
    return _local_shards(files)


def _local_shards(files: Sequence[Path]) -> Shards:
    sizes = [os.stat(file).st_size for file in files]

    return Shards((OpenFile(FileIO(file), size) for file, size in zip(files, sizes)), sum(sizes))


def _inside(folder: Path, path: str) -> Path:
    """The file that a manifest names, which must lie in the model's folder."""
    check_relative(path)
    try:
        home = folder.resolve()
        found = (home / path).resolve()
        is_file = found.is_file()
    except (OSError, RuntimeError) as error:
        raise ModelFileError(f"the path {path!r:.200} is no file name: {error}") from None
    if not found.is_relative_to(home):
        raise ModelFileError(f"the path {path!r:.200} leaves the model's folder")
    if is_file:
        return found
    if "%" in path:
        from urllib.parse import unquote  # only paths that a browser has escaped need it

        unescaped = unquote(path)
        if unescaped != path:
            return _inside(folder, unescaped)
    raise ModelFileError(f"the file of weights {path!r:.200} is missing from {folder}")


def check_relative(path: str) -> None:
    """Raises an error for a name in a manifest that is none of a file beside the JSON file."""
    if not path or "\0" in path:
        raise ModelFileError(f"weightsManifest has the path {path!r:.100}, which is no file name")
    if _URL.match(path):
        raise ModelFileError(
            f"the weights {path!r:.200} are elsewhere; download them to the model's folder, or say where they are with "
            "weight_url_converter"
        )
    if Path(path).is_absolute() or PureWindowsPath(path).is_absolute():
        raise ModelFileError(f"the path {path!r:.200} leaves the model's folder")


def check_below(path: str) -> None:
    """Raises an error for a name in a manifest that is none of a file below the JSON file's folder, on any server."""
    check_relative(path)
    if ".." in path.replace("\\", "/").replace("%2e", ".").replace("%2E", ".").split("/"):
        raise ModelFileError(f"the path {path!r:.200} leaves the model's folder")


def prefixed(prefix: str) -> UrlConverter:
    """A function that puts a prefix before the names in a manifest, of files below it."""

    def convert(path: str) -> str:
        check_below(path)
        return prefix + path

    return convert


class ShardReader:
    """Several files, read as one; each is opened when it is needed, and closed when it has been read."""

    def __init__(self, shards: Shards) -> None:
        self.total = shards.total
        self._coming = shards.files
        self._open: deque[OpenFile] = deque()
        self._left_in_open = 0
        self._read = 0

    def available(self, wanted: int) -> int:
        """How many bytes are left; where that is not known yet, it may stop counting at `wanted`."""
        if self.total is not None:
            return self.total - self._read
        while self._left_in_open < wanted and self._open_next():
            pass
        return self._left_in_open

    def readinto(self, target: memoryview) -> None:
        while len(target):
            if not self._open and not self._open_next():
                raise ModelFileError("the files of weights became shorter while they were read")
            count = self._open[0].file.readinto(target) or 0
            if not count:
                self._open.popleft().file.close()
            target = target[count:]
            self._left_in_open -= count
            self._read += count

    def _open_next(self) -> bool:
        following = next(self._coming, None)
        if following is None:
            return False
        self._open.append(following)
        self._left_in_open += following.size
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for opened in self._open:
            opened.file.close()

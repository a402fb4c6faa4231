"""`model.json` and the files of weights beside it: the layout that TensorFlow.js models have on disk.

What the topology in it means is the business of `varigrad.layers`; this file reads and writes the layout.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import FileIO
from pathlib import Path, PureWindowsPath
from typing import Any, cast

from varigrad.dtypes import Array
from varigrad.io.replacing import replace_model
from varigrad.io.weights import EncodedWeights, ModelFileError, WeightSpec, read_weights

__all__ = ["read_document", "read_manifest", "resolve_json_path", "write_model"]

_SHARD_NAME = re.compile(r"group\d+-shard\d+of\d+\.bin")


def resolve_json_path(path: str | os.PathLike[str]) -> Path:
    """The JSON file that a folder, a `file://` URL or a path of the file itself means."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"the path of a model must be text or a path, got {path!r:.80}")
    text = os.fspath(path)
    if not text:
        raise ValueError("the path of a model is empty; '.' is the current folder")
    scheme = re.match(r"([a-z][a-z0-9+.-]+)://", text, re.IGNORECASE)
    if scheme:
        if scheme[1].lower() != "file":
            raise ValueError(f"models are read from and written to files, not {scheme[1]} ({text!r})")
        # Only URLs need them.
        from urllib.parse import urlsplit
        from urllib.request import url2pathname

        text = url2pathname(urlsplit(text).path)
    resolved = Path(text).expanduser()
    return resolved if resolved.suffix == ".json" else resolved / "model.json"


# Writing


def write_model(
    path: str | os.PathLike[str], document: Mapping[str, Any], weights: EncodedWeights, shard_size: int
) -> tuple[Path, int]:
    """Writes the JSON file, with the manifest of the weights, and the weights in files of at most `shard_size` bytes.

    Returns:
        The JSON file and the bytes that the weights' specifications take in it.
    """
    if shard_size < 1:
        raise ValueError(f"save: weight_shard_size_bytes must be positive, got {shard_size}")
    json_path = resolve_json_path(path)
    json_path.parent.mkdir(parents=True, exist_ok=True)
    data = memoryview(weights.data)
    pieces = [data[start : start + shard_size] for start in range(0, len(data), shard_size)] or [data]
    shards = [(f"group1-shard{i}of{len(pieces)}.bin", piece) for i, piece in enumerate(pieces, 1)]

    def render(names: list[str]) -> bytes:
        manifest = [{"paths": names, "weights": weights.specs}]
        return json.dumps({**document, "weightsManifest": manifest}, allow_nan=False, separators=(",", ":")).encode()

    replace_model(json_path, shards, render, outdated=_own_shards(json_path))
    return json_path, len(json.dumps(weights.specs))


def _own_shards(json_path: Path) -> list[str]:
    """The files of weights that a model written before has, as far as their names are those given here."""
    try:
        document = _parse(json_path)
        manifest = document["weightsManifest"]
        paths = [path for group in manifest for path in group["paths"]]
    except (OSError, ModelFileError, LookupError, TypeError):
        return []
    return [path for path in paths if isinstance(path, str) and _SHARD_NAME.fullmatch(path)]


# Reading


def read_document(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Path]:
    """The JSON file's content, and the folder that its weights are in.

    Raises:
        FileNotFoundError: There is none.
        ModelFileError: It is not JSON, or not an object.
    """
    json_path = resolve_json_path(path)
    if not json_path.is_file():
        raise FileNotFoundError(f"there is no model at {os.fspath(path)!r}: {json_path} is missing or not a file")
    return _parse(json_path), json_path.parent


def _parse(json_path: Path) -> dict[str, Any]:
    try:
        document = json.loads(json_path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{json_path} is not a JSON file: {error}") from None
    if not isinstance(document, dict):
        raise ModelFileError(f"{json_path} is not a model: it holds a {type(document).__name__}, not an object")
    return cast("dict[str, Any]", document)


def read_manifest(manifest: Any, folder: Path) -> tuple[list[WeightSpec], dict[str, Array]]:
    """The weights that a manifest lists, from the files that it names.

    Raises:
        ModelFileError: A file is missing or outside of the folder, or sizes and specifications do not fit.
    """
    if not isinstance(manifest, list):
        raise ModelFileError(f"weightsManifest must be a list, got {manifest!r:.100}")
    all_specs: list[WeightSpec] = []
    weights: dict[str, Array] = {}
    for group in cast("list[Any]", manifest):
        fields = cast("dict[str, Any]", group) if isinstance(group, dict) else {}
        paths, entries = fields.get("paths"), fields.get("weights")
        if not isinstance(paths, list) or not isinstance(entries, list):
            raise ModelFileError(f"a group of weightsManifest needs paths and weights, both lists, got {group!r:.100}")
        specs = [WeightSpec.parse(entry) for entry in cast("list[Any]", entries)]
        with _open_shards([_inside(folder, path) for path in cast("list[Any]", paths)]) as reader:
            read = read_weights(specs, reader)
        twice = weights.keys() & read.keys()
        if twice:
            raise ModelFileError(f"weight {min(twice)!r} is listed twice")
        all_specs += specs
        weights.update(read)
    return all_specs, weights


def _inside(folder: Path, path: Any) -> Path:
    """The file that a manifest names, which must lie in the model's folder."""
    if not isinstance(path, str) or not path or "\0" in path:
        raise ModelFileError(f"weightsManifest has the path {path!r:.100}, which is no file name")
    if "://" in path:
        raise ModelFileError(f"the weights {path!r:.200} are elsewhere; download them to the model's folder")
    if Path(path).is_absolute() or PureWindowsPath(path).is_absolute():
        raise ModelFileError(f"the path {path!r:.200} leaves the model's folder")
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


class _ShardReader:
    """Several files, read as one."""

    def __init__(self, files: Sequence[FileIO], sizes: Sequence[int]) -> None:
        self._files: Iterator[FileIO] = iter(files)
        self._current: FileIO | None = next(self._files, None)
        self.remaining = sum(sizes)

    def readinto(self, target: memoryview) -> None:
        while len(target):
            if self._current is None:
                raise ModelFileError("the files of weights became shorter while they were read")
            count = self._current.readinto(target)
            if not count:
                self._current = next(self._files, None)
            target = target[count:]
            self.remaining -= count


@contextmanager
def _open_shards(paths: Sequence[Path]) -> Generator[_ShardReader]:
    with ExitStack() as stack:
        files = [stack.enter_context(FileIO(path)) for path in paths]
        yield _ShardReader(files, [os.fstat(file.fileno()).st_size for file in files])

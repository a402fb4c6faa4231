"""Writing a model's files so that there is a whole model at every moment, whatever stops the writing.

The JSON file names the files of weights, so replacing it is the moment at which the new model takes over. Where an old
model has the names that the new files want, the new ones are first written beside it under names of their own and taken
over by a JSON file that says so; only then are they given the usual names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_file", "replace_model", "write_atomically"]


@contextmanager
def atomic_file(path: Path) -> Generator[BinaryIO]:
    """A file to write that takes the path's place when the block ends, and leaves no trace if it ends in an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    try:
        with _open_safely(staged) as file:
            yield file
        os.replace(staged, path)
    finally:
        staged.unlink(missing_ok=True)


def write_atomically(path: Path, pieces: Iterable[bytes | memoryview]) -> None:
    """Writes a file, given in pieces, so that there is always the old one or the new one, whole."""
    with atomic_file(path) as file:
        for piece in pieces:
            file.write(piece)


def replace_model(
    json_path: Path,
    names: Sequence[str],
    contents: Iterable[Iterable[memoryview]],
    render: Callable[[Sequence[str]], bytes],
    outdated: Sequence[str] = (),
) -> None:
    """Writes a model's JSON file and its files of weights.

    Args:
        json_path: The JSON file.
        names: The names of the files of weights.
        contents: The bytes of each, in pieces; each file's are used up before the next are asked for.
        render: Makes the JSON file's bytes, given the names of the files of weights.
        outdated: Files of the old model to remove at the end, unless the new one has them.
    """
    folder = json_path.parent
    token = os.urandom(4).hex()
    staged = [f"{name.removesuffix('.bin')}.{token}.bin" for name in names]
    taken_over = False
    try:
        for name, pieces in zip(staged, contents, strict=True):
            _write(folder / name, pieces)
        if json_path.exists():
            write_atomically(json_path, [render(staged)])
            taken_over = True
            for source, name in zip(staged, names):
                _place_copy(folder / source, folder / name)
            write_atomically(json_path, [render(names)])
            taken_over = False
        else:
            for source, name in zip(staged, names):
                os.replace(folder / source, folder / name)
            write_atomically(json_path, [render(names)])
    finally:
        if not taken_over:
            for name in staged:
                (folder / name).unlink(missing_ok=True)
    for name in set(outdated) - set(names):
        with suppress(OSError):
            (folder / name).unlink()


def _write(path: Path, pieces: Iterable[memoryview]) -> None:
    with _open_safely(path) as file:
        for piece in pieces:
            file.write(piece)


@contextmanager
def _open_safely(path: Path) -> Generator[BinaryIO]:
    """A file to write, which is on the disk when the block ends."""
    with open(path, "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _place_copy(source: Path, target: Path) -> None:
    """Puts a second file with the source's content in the target's place."""
    staged = target.with_name(f".{source.name}")
    try:
        try:
            os.link(source, staged)
        except OSError:  # a file system without links
            from shutil import copyfile  # it loads the compression libraries, and is hardly ever needed

            copyfile(source, staged)
        os.replace(staged, target)
    finally:
        staged.unlink(missing_ok=True)

"""Writing results so that nothing is ever half-written."""

from __future__ import annotations

import csv
import os
import re
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from varigrad.cli.errors import CommandError
from varigrad.cli.training import History

__all__ = ["FILES", "staged_file", "staged_folder", "write_history"]

# What `varigrad train` writes.
FILES = {
    "model": "model.json",
    "preprocessing": "preprocessing.json",
    "history": "history.csv",
    "training": "training.json",
    "plot": "history.png",
    "gradients": "gradient_norms.png",
}
_WEIGHTS = re.compile(r"group\d+-shard\d+of\d+(\.bin)?")


@contextmanager
def staged_folder(out: Path) -> Generator[Path]:
    """A new folder to write into. When the block ends well it takes the place of `out`; otherwise it is removed.

    Raises:
        CommandError: `out` can't be written, or is a folder with files that are not a model's: those stay.
    """
    target = out.absolute() if not out.is_symlink() else out.resolve()
    _check_replaceable(out, target)
    around = target.parent
    while not around.exists():
        around = around.parent
    stage = around / f".{target.name}.{secrets.token_hex(4)}.partial"
    try:
        stage.mkdir()
    except OSError as error:
        raise CommandError(f"--out {out}: can't be written: {error.strerror}") from None
    try:
        yield stage
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(stage, target)
    except OSError as error:
        raise CommandError(f"--out {out}: can't be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _check_replaceable(out: Path, target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise CommandError(f"--out {out}: is a file; choose a folder")
    if target == Path.cwd() or target in Path.cwd().parents:
        raise CommandError(f"--out {out}: is the current folder or around it; choose one inside it")
    ours = set(FILES.values())
    others = sorted(name for name in os.listdir(target) if name not in ours and not _WEIGHTS.fullmatch(name))
    if others:
        raise CommandError(f"--out {out}: holds other files ({', '.join(others[:3])}); choose a new or empty folder")


def _replace(stage: Path, target: Path) -> None:
    """Puts `stage` where `target` is or will be; a folder that was there comes back if that fails."""
    if not target.exists():
        stage.rename(target)
        return
    before = stage.with_suffix(".before")
    target.rename(before)
    try:
        stage.rename(target)
    except BaseException:
        before.rename(target)
        raise
    shutil.rmtree(before, ignore_errors=True)


@contextmanager
def staged_file(out: Path) -> Generator[Path]:
    """A file to write, which takes the place of `out` when the block ends well; otherwise it is removed."""
    stage = out.parent / f".{out.name}.{secrets.token_hex(4)}.partial"
    try:
        if out.is_dir():
            raise CommandError(f"--out {out}: is a folder; choose a file")
        stage.touch()
        yield stage
        stage.replace(out)
    except OSError as error:
        raise CommandError(f"--out {out}: can't be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            stage.unlink()


def write_history(path: Path, history: History) -> None:
    """Writes an epoch a row: losses, metrics, the norm of all gradients, and of each variable's."""
    columns = {**history.curves, **{f"gradient_norm/{name}": v for name, v in history.gradient_norms.items()}}
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["epoch", *columns])
        for epoch, row in enumerate(zip(*columns.values(), strict=True), 1):
            writer.writerow([epoch, *[f"{value:.9g}" for value in row]])

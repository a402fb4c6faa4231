"""Results appear whole or not at all, and nobody else's files are touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from varigrad.cli.errors import CommandError
from varigrad.cli.output import staged_file, staged_folder, write_history
from varigrad.cli.training import History


def fill(out: Path, text: str = "new", error: BaseException | None = None) -> None:
    with staged_folder(out) as stage:
        assert stage != out
        (stage / "model.json").write_text(text)
        if error is not None:
            raise error


def write(out: Path, text: str, error: BaseException | None = None) -> None:
    with staged_file(out) as stage:
        stage.write_text(text)
        assert stage != out
        if error is not None:
            raise error


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_when_it_is_complete(tmp_path: Path) -> None:
    fill(tmp_path / "run")
    assert names(tmp_path) == ["run"]
    assert (tmp_path / "run" / "model.json").read_text() == "new"


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    fill(tmp_path / "a" / "b" / "run")
    assert names(tmp_path / "a" / "b") == ["run"]


def test_an_older_model_is_replaced_whole(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("model.json", "group1-shard1of2.bin", "history.csv"):
        (run / name).write_text("old")
    fill(run)
    assert names(tmp_path) == ["run"]
    assert names(run) == ["model.json"]


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    fill(tmp_path / "run")
    assert names(tmp_path / "run") == ["model.json"]


@pytest.mark.parametrize("error", [RuntimeError(), KeyboardInterrupt()])
def test_nothing_is_left_of_a_failure_and_the_older_model_stays(tmp_path: Path, error: BaseException) -> None:
    fill(tmp_path / "run", "old")
    for folder in (tmp_path / "run", tmp_path / "deep" / "run"):
        with pytest.raises(type(error)):
            fill(folder, "half", error)
    assert names(tmp_path) == ["run"]
    assert (tmp_path / "run" / "model.json").read_text() == "old"


def test_a_folder_with_other_files_is_refused_and_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CommandError, match=r"holds other files \(notes.txt\); choose a new or empty folder"):
        fill(tmp_path)
    assert names(tmp_path) == ["notes.txt"]


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(CommandError, match="is a file; choose a folder"):
        fill(tmp_path / "file")
    with pytest.raises(CommandError, match="can't be written: Not a directory"):
        fill(tmp_path / "file" / "run")
    with pytest.raises(CommandError, match="can't be written: Not a directory"):
        fill(tmp_path / "file" / "deep" / "run")
    assert (tmp_path / "file").read_text() == "mine"


def test_the_current_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CommandError, match="is the current folder"):
        fill(Path())


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fill(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "real") == ["model.json"]


def test_a_write_that_fails_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="can't be written: No space left"):
        fill(tmp_path / "run", "half", OSError(28, "No space left on device"))
    assert names(tmp_path) == []


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    out = tmp_path / "p.csv"
    write(out, "new")
    assert (names(tmp_path), out.read_text()) == (["p.csv"], "new")
    with pytest.raises(RuntimeError):
        write(out, "half", RuntimeError())
    assert (names(tmp_path), out.read_text()) == (["p.csv"], "new")


def test_a_file_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out, reason in (
        (tmp_path / "none" / "p.csv", "can't be written: No such file"),
        (tmp_path / "file" / "p.csv", "can't be written: Not a directory"),
        (tmp_path, "is a folder; choose a file"),
    ):
        with pytest.raises(CommandError, match=reason):
            write(out, "x")


def test_history_is_written_an_epoch_a_row(tmp_path: Path) -> None:
    history = History()
    history.add({"loss": 0.5, "gradient_norm": 2.0}, {"dense/kernel": 1.25})
    history.add({"loss": 0.25, "gradient_norm": 1.0}, {"dense/kernel": 1.0})
    write_history(tmp_path / "history.csv", history)
    assert (tmp_path / "history.csv").read_text() == (
        "epoch,loss,gradient_norm,gradient_norm/dense/kernel\n1,0.5,2,1.25\n2,0.25,1,1\n"
    )

"""The program itself, as a process: its script, its exit codes, Ctrl-C, and what it says without its extras."""

from __future__ import annotations

import csv
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import varigrad as vg

from .conftest import Run, house_rows, write_csv

COMMAND = [sys.executable, "-m", "varigrad"]


@pytest.fixture
def big_table(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "big.csv", ["area", "city", "garden", "price"], house_rows(3000))


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "train", *words], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def read_until(process: subprocess.Popen[str], pattern: str) -> str:
    """Output up to the first line with the pattern."""
    assert process.stdout is not None
    seen = ""
    for line in process.stdout:
        seen += line
        if re.search(pattern, line):
            return seen
    pytest.fail(f"no {pattern!r} in:\n{seen}\n{process.stderr.read() if process.stderr else ''}")


def test_the_script_is_installed_and_says_its_version() -> None:
    script = Path(sys.executable).with_name("varigrad")
    for command in ([str(script)], COMMAND) if script.exists() else (COMMAND,):
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
        assert done.stdout == f"varigrad {vg.__version__}\n"


def test_train_and_predict_as_processes(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ["x", "y"], [[i, 3 * i - 7] for i in range(80)])
    done = subprocess.run(
        [*COMMAND, "train", "t.csv", "--target", "y", "--out", "m", "--epochs", "30"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert re.search(
        r"^epoch  1/30  loss [\d.]+  mean absolute error [\d.]+  val loss .*  gradient norm", done.stdout, re.M
    )
    done = subprocess.run([*COMMAND, "predict", "m", "t.csv"], cwd=tmp_path, capture_output=True, text=True, check=True)
    rows = list(csv.reader(done.stdout.splitlines()))
    assert (rows[0], len(rows)) == (["y"], 81)


def test_an_error_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "train", "none"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "varigrad: there is no file none, and no built-in data set of that name (digits, iris, mnist5k)\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_the_epoch_and_saves(big_table: Path, tmp_path: Path) -> None:
    process = start(
        tmp_path, "big.csv", "--target", "price", "--out", "m", "--epochs", "100000", "--patience", "100000"
    )
    read_until(process, r"^epoch +2/")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert "Ctrl-C: ending the epoch and saving" in out
    assert re.search(r"\(interrupted in epoch \d+\); kept the weights of epoch \d+", out)
    assert {path.name for path in (tmp_path / "m").iterdir()} >= {"model.json", "history.csv", "preprocessing.json"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["big.csv", "m"]
    vg.load_layers_model(tmp_path / "m")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_pressed_twice_quits_and_leaves_nothing(big_table: Path, tmp_path: Path) -> None:
    process = start(
        tmp_path, "big.csv", "--target", "price", "--out", "m", "--epochs", "100000", "--patience", "100000"
    )
    read_until(process, r"^epoch +2/")
    process.send_signal(signal.SIGINT)
    read_until(process, "Ctrl-C: ending the epoch and saving")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert out.endswith("quit without saving\n")
    assert [path.name for path in tmp_path.iterdir()] == ["big.csv"]


@pytest.mark.parametrize("absent", ["typer", "rich", "threadpoolctl"])
def test_without_its_extra_the_command_line_says_what_to_install(absent: str) -> None:
    program = f"import sys; sys.modules[{absent!r}] = None; from varigrad.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"varigrad: the command line needs {absent}: pip install 'varigrad[cli]'\n"


def test_importing_varigrad_imports_neither_the_command_line_nor_plots_nor_data() -> None:
    program = """
import sys
import varigrad
ours = {"varigrad.cli", "varigrad.vis", "varigrad.data"}
print(sorted({"typer", "rich", "matplotlib", "sklearn", "pandas", *ours} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help_names_the_commands(run: Run, words: list[str]) -> None:
    code, out, _ = run(*words)
    assert code == 0
    assert "train" in out
    assert "predict" in out


def test_help_of_train_names_every_option(run: Run) -> None:
    code, out, _ = run("train", "--help")
    assert code == 0
    for option in ("--target", "--layers", "--conv", "--optimizer", "--clip-norm", "--patience", "--seed", "--out"):
        assert option in out

"""What the benchmarks say of options that they cannot take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("script", "option", "text", "wrong", "among"),
    [
        ("run.py", "--contenders", "varigrad_jit,wrongname", "wrongname", "numpy_by_hand"),
        ("run.py", "--tasks", "seed,wrongname", "wrongname", "many-vars"),
        ("run.py", "--tasks", "width-many", "width-many", "width"),
        ("calls.py", "--parts", "wrongname", "wrongname", "threads"),
        ("scaling.py", "--families", "wrongname", "wrongname", "memory"),
        ("scaling.py", "--contenders", "wrongname", "wrongname", "jax_jit"),
        ("fit.py", "--tasks", "wrongname", "wrongname", "convolutional"),
        ("fit.py", "--contenders", "wrongname", "wrongname", "varigrad-eager"),
    ],
)
def test_an_unknown_name_is_one_message_that_lists_those_there_are(
    script: str, option: str, text: str, wrong: str, among: str
) -> None:
    run = subprocess.run(
        [sys.executable, str(BENCHMARKS / script), option, text], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    message = run.stderr.splitlines()[-1]
    assert f"argument {option}" in message
    assert repr(wrong) in message
    assert among in message

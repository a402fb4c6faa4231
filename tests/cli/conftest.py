"""A command line to call, and tables to train on."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from varigrad.cli import app


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


def call(*words: Any) -> Outcome:
    """Runs `varigrad` with these words."""
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    return Outcome(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `varigrad` with these words in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")
    return call


def write_csv(path: Path, names: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(rows)
    return path


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def house_rows(count: int, seed: int = 0) -> list[list[Any]]:
    """Area, city, garden and price, which follows from them; every tenth area and every fifteenth city is missing."""
    random = np.random.default_rng(seed)
    worth = {"Bern": 100_000, "Genève, GE": 250_000, 'the "Ort"': -50_000}
    rows: list[list[Any]] = []
    for number in range(count):
        area, city, garden = (
            float(random.uniform(40, 160)),
            str(random.choice(list(worth))),
            bool(random.random() < 0.5),
        )
        price = 3000 * area + worth[city] + 40_000 * garden + random.normal(0, 5000)
        shown_area = "" if number % 10 == 9 else f"{area:.1f}"
        shown_city = "NA" if number % 15 == 14 else city
        rows.append([shown_area, shown_city, "yes" if garden else "no", f"{price:.2f}"])
    return rows


HOUSE_COLUMNS = ["area", "city", "garden", "price"]


@pytest.fixture
def houses(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "houses.csv", HOUSE_COLUMNS, house_rows(300))

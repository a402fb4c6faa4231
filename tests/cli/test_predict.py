"""`varigrad predict`: a trained model's answers in the data's own terms."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from varigrad.data import load_sample

from .conftest import HOUSE_COLUMNS, Run, call, house_rows, read_csv, write_csv


@pytest.fixture(scope="module")
def trained_prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("prices")
    write_csv(folder / "houses.csv", HOUSE_COLUMNS, house_rows(300))
    assert call("train", folder / "houses.csv", "--target", "price", "--out", folder / "price").code == 0
    return folder / "price"


@pytest.fixture
def price_model(trained_prices: Path, tmp_path: Path) -> Path:
    """A model of the prices of houses."""
    return shutil.copytree(trained_prices, tmp_path / "price")


def test_prices_come_back_in_their_own_unit(run: Run, price_model: Path, tmp_path: Path) -> None:
    known = [row for row in house_rows(60, seed=5) if row[0] and row[1] != "NA"]
    # Columns in another order, and one more; the target is not there.
    rows = [[garden, "x", city, area] for area, city, garden, _ in known]
    new = write_csv(tmp_path / "new.csv", ["garden", "note", "city", "area"], rows)
    code, out, err = run("predict", price_model, new)
    assert (code, err) == (0, "columns not used: note\n")
    predicted = read_csv(out)
    assert [list(row) for row in predicted] == [["price"]] * len(known)
    off = [abs(float(row["price"]) - float(price)) for row, (*_, price) in zip(predicted, known, strict=True)]
    assert np.mean(off) < 25_000  # prices differ by some 110,000 from their mean


def test_missing_values_are_filled_in_and_told(run: Run, price_model: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "new.csv", HOUSE_COLUMNS[:3], [["100", "Bern", "yes"], ["?", "", "no"]])
    code, out, err = run("predict", price_model, new)
    assert code == 0
    assert err.splitlines() == [
        "column 'area': 1 value missing (row 3): filled in",
        "column 'city': 1 value missing (row 3): filled in",
    ]
    assert all(float(row["price"]) for row in read_csv(out))


def test_a_column_may_be_missing_all_through(run: Run, price_model: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "new.csv", HOUSE_COLUMNS[:3], [["", "Bern", "yes"]])
    assert run("predict", price_model, new).code == 0


def test_rows_dropped_in_training_get_no_prediction(run: Run, houses: Path, tmp_path: Path) -> None:
    assert run("train", houses, "--target", "price", "--out", "m", "--missing", "drop", "--epochs", 1).code == 0
    new = write_csv(tmp_path / "new.csv", HOUSE_COLUMNS[:3], [["", "Bern", "yes"], ["80", "Bern", "no"]])
    code, out, err = run("predict", "m", new)
    assert (code, err) == (0, "column 'area': 1 value missing (row 2): no prediction\n")
    assert [bool(line) for line in out.splitlines()] == [True, False, True] or out.splitlines()[1] == '""'
    only = write_csv(tmp_path / "only.csv", HOUSE_COLUMNS[:3], [["", "Bern", "yes"]])
    code, out, _ = run("predict", "m", only)
    assert (code, read_csv(out)) == (0, [{"price": ""}])


def test_missing_values_refused_in_training_are_refused(run: Run, tmp_path: Path) -> None:
    rows = [[i, 2 * i + 0.5] for i in range(40)]
    write_csv(tmp_path / "t.csv", ["x", "y"], rows)
    assert run("train", "t.csv", "--target", "y", "--missing", "error", "--epochs", 1, "--out", "m").code == 0
    new = write_csv(tmp_path / "new.csv", ["x", "z"], [["1", "a"], ["", "a"]])
    code, _, err = run("predict", "m", new)
    assert code == 2
    assert "column 'x': 1 value missing (row 3); the model was trained with --missing error" in err


def test_classes_come_back_by_name_with_probabilities(run: Run, tmp_path: Path) -> None:
    assert run("train", "iris", "--out", "iris", "--epochs", 40).code == 0
    frame = load_sample("iris").frame
    features = [c for c in frame.columns if c.name != "species"]
    new = write_csv(
        tmp_path / "new.csv", [c.name for c in features], [list(row) for row in zip(*(c.values for c in features))]
    )
    code, out, err = run("predict", "iris", new)
    assert (code, err) == (0, "")
    rows = read_csv(out)
    names = ["setosa", "versicolor", "virginica"]
    assert list(rows[0]) == ["species", *[f"probability of {name}" for name in names]]
    right = [row["species"] == species for row, species in zip(rows, frame["species"].values, strict=True)]
    assert np.mean(right) >= 0.93
    for row in rows:
        chances = {name: float(row[f"probability of {name}"]) for name in names}
        assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
        assert row["species"] == max(chances, key=lambda name: chances[name])


def test_predictions_go_to_a_file(run: Run, price_model: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "new.csv", HOUSE_COLUMNS[:3], [["100", "Bern", "yes"]])
    shown = run("predict", price_model, new).out
    code, out, err = run("predict", price_model, new, "--out", "p.csv")
    assert (code, out, err) == (0, "", "")
    assert (tmp_path / "p.csv").read_text() == shown
    assert run("predict", price_model / "model.json", new).out == shown


def test_a_semicolon_file_with_decimal_commas_predicts_the_same(run: Run, price_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("area,city,garden\n100.5,Bern,yes\n")
    (tmp_path / "b.csv").write_text("garden;area;city\nyes;100,5;Bern\n")
    assert run("predict", price_model, "a.csv").out == run("predict", price_model, "b.csv").out


def test_unknown_categories_stop_or_are_taken_as_none(run: Run, price_model: Path, tmp_path: Path) -> None:
    new = write_csv(tmp_path / "new.csv", HOUSE_COLUMNS[:3], [["100", "Bern", "yes"], ["90", "Basel", "no"]])
    code, out, err = run("predict", price_model, new)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "column 'city' has 'Basel' in row 3, but the model knows only Bern, Genève, GE, the \"Ort\"" in err
    code, out, err = run("predict", price_model, new, "--unknown", "ignore")
    assert (code, len(read_csv(out))) == (0, 2)
    assert err.endswith(": taken as none of them\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area,city\n1,Bern\n", "new.csv lacks the column 'garden'"),
        ("a,b\n1,2\n", "new.csv lacks the columns 'area', 'city', 'garden'"),
        ("area,city,garden\nbig,Bern,yes\n", "new.csv: row 2, column 'area': 'big' is not a number"),
        ("area,city,garden\n1,Bern\n", "new.csv: row 2 has 2 cells, but the header has 3"),
        ("area,city,garden\n", "new.csv has a header (row 1) but no rows below it"),
        ("", "new.csv is empty"),
        (None, "there is no file new.csv"),
    ],
)
def test_tables_that_do_not_fit_are_one_line(
    run: Run, price_model: Path, tmp_path: Path, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / "new.csv").write_text(text)
    code, out, err = run("predict", price_model, "new.csv", "--out", "p.csv")
    assert (code, out, err) == (2, "", f"varigrad: {message}\n")
    assert not (tmp_path / "p.csv").exists()


def test_unwritable_files_are_one_line(run: Run, price_model: Path, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("area,city,garden\n1,Bern,yes\n")
    for out, message in (("new.csv/p.csv", "can't be written"), (".", "is a folder; choose a file")):
        code, _, err = run("predict", price_model, "new.csv", "--out", out)
        assert (code, err.count("\n")) == (2, 1)
        assert message in err


def damage_weights(folder: Path) -> None:
    weights = next(folder.glob("*.bin"))
    weights.write_bytes(weights.read_bytes()[:-8])


def damage_target(folder: Path) -> None:
    config = json.loads((folder / "preprocessing.json").read_text())
    config["target"] = {"name": "price", "kind": "categorical", "categories": ["low", "high"]}
    (folder / "preprocessing.json").write_text(json.dumps(config))


def damage_features(folder: Path) -> None:
    config = json.loads((folder / "preprocessing.json").read_text())
    config["features"].pop()
    (folder / "preprocessing.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_weights, "price: the model can't be loaded: "),
        (damage_target, "price: the model gives [1] a row, its preprocessing expects [2]"),
        (damage_features, "price: the model does not fit its preprocessing: "),
        (lambda folder: (folder / "model.json").write_text("{}"), "price: the model can't be loaded: "),
        (lambda folder: (folder / "model.json").unlink(), "price: the model can't be loaded: "),
        (lambda folder: (folder / "preprocessing.json").unlink(), "preprocessing.json can't be read: No such file"),
        (lambda folder: (folder / "preprocessing.json").write_text("[]"), "is not a preprocessing file"),
    ],
)
def test_damaged_models_are_one_line(run: Run, price_model: Path, tmp_path: Path, damage: Any, message: str) -> None:
    (tmp_path / "new.csv").write_text("area,city,garden\n1,Bern,yes\n")
    damage(price_model)
    code, out, err = run("predict", "price", "new.csv")
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]


def test_a_model_that_is_not_there_is_one_line(run: Run) -> None:
    assert run("predict", "none", "new.csv") == (2, "", "varigrad: there is no folder none\n")

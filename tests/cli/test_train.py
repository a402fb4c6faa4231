"""`varigrad train` from end to end."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import varigrad as vg
from varigrad.data import CategoricalField, NumericField, Preprocessing

from .conftest import Run, write_csv

FILES = {
    "model.json",
    "group1-shard1of1.bin",
    "preprocessing.json",
    "history.csv",
    "training.json",
    "history.png",
    "gradient_norms.png",
}


def history(folder: Path) -> list[dict[str, float]]:
    with (folder / "history.csv").open(newline="") as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def record(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "training.json").read_text())


def test_iris_is_learned_and_everything_is_written(run: Run, tmp_path: Path) -> None:
    code, out, err = run("train", "iris", "--out", "runs/iris")
    assert (code, err) == (0, "")
    folder = tmp_path / "runs" / "iris"
    assert {path.name for path in folder.iterdir()} == FILES
    assert [path.name for path in folder.parent.iterdir()] == ["iris"]
    assert record(folder)["test_result"]["accuracy"] >= 0.9
    assert "classification of 'species' into 3 classes from 4 columns; 105 rows to train on" in out
    assert "test: loss " in out
    for plot in ("history.png", "gradient_norms.png"):
        assert (folder / plot).read_bytes().startswith(b"\x89PNG")


def test_digits_reach_97_percent_on_held_out_images(run: Run, tmp_path: Path) -> None:
    code, _, _ = run("train", "digits")
    assert code == 0
    result = record(tmp_path / "runs" / "digits")["test_result"]
    assert result["rows"] == 270
    assert result["accuracy"] >= 0.97


def test_the_saved_model_gives_probabilities_in_the_order_of_the_classes(run: Run, tmp_path: Path) -> None:
    run("train", "iris", "--out", "m")
    model = vg.load_layers_model(tmp_path / "m")
    preprocessing = Preprocessing.load(tmp_path / "m" / "preprocessing.json")
    assert isinstance(preprocessing.target, CategoricalField)
    assert preprocessing.target.categories == ("setosa", "versicolor", "virginica")
    sample = vg.data.load_sample("iris").frame
    probabilities = model.predict(preprocessing.encode(sample)).numpy()
    np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
    right = np.array(preprocessing.target.decode(probabilities)) == sample["species"].values
    assert right.mean() >= 0.95


def test_the_model_saved_is_that_of_the_best_epoch(run: Run, tmp_path: Path) -> None:
    run("train", "iris", "--out", "m", "--patience", 3, "--learning-rate", 0.05)
    rows = history(tmp_path / "m")
    result = record(tmp_path / "m")
    losses = [row["val_loss"] for row in rows]
    assert result["best_epoch"] == int(np.argmin(losses)) + 1
    assert result["epochs_done"] == len(rows) == result["best_epoch"] + 3
    assert result["ended"] == "no improvement for 3 epochs"
    assert result["validation_result"]["loss"] == pytest.approx(min(losses), rel=1e-6)


def test_without_patience_the_last_weights_stay(run: Run, tmp_path: Path) -> None:
    run("train", "iris", "--out", "m", "--patience", 0, "--epochs", 5, "--learning-rate", 0.5)
    rows = history(tmp_path / "m")
    result = record(tmp_path / "m")
    assert (result["best_epoch"], result["epochs_done"]) == (5, 5)
    assert result["validation_result"]["loss"] == pytest.approx(rows[-1]["val_loss"], rel=1e-6)


def test_history_has_losses_metrics_and_gradient_norms_of_every_variable(run: Run, tmp_path: Path) -> None:
    run("train", "iris", "--out", "m", "--epochs", 3, "--layers", 6)
    rows = history(tmp_path / "m")
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    variables = ["dense_1/kernel", "dense_1/bias", "logits/kernel", "logits/bias"]
    assert list(rows[0]) == [
        "epoch",
        "loss",
        "accuracy",
        "val_loss",
        "val_accuracy",
        "gradient_norm",
        *[f"gradient_norm/{name}" for name in variables],
    ]
    assert all(value > 0 for row in rows for name, value in row.items() if "norm" in name)


def test_a_table_is_learned_in_its_own_units(run: Run, houses: Path, tmp_path: Path) -> None:
    code, out, err = run("train", houses, "--target", "price", "--out", "m")
    assert (code, err) == (0, "")
    assert "column 'area': 30 values missing (rows 11, 21, 31, 41, 51 and 25 more): filled in" in out
    assert "column 'city': 20 values missing (rows 16, 31, 46, 61, 76 and 15 more): filled in" in out
    assert "regression of 'price' from 3 columns" in out
    result = record(tmp_path / "m")["test_result"]
    # A tenth of the areas and a fifteenth of the cities are unknown; a mean-only guess is off by 130,000.
    assert 3000 < result["mean_absolute_error"] < 40_000
    preprocessing = Preprocessing.load(tmp_path / "m" / "preprocessing.json")
    assert [type(field) for field in preprocessing.features] == [NumericField, CategoricalField, CategoricalField]


def test_missing_rows_can_be_dropped_or_refused(run: Run, houses: Path) -> None:
    code, out, _ = run("train", houses, "--target", "price", "--out", "m", "--missing", "drop", "--epochs", 1)
    assert code == 0
    assert "40 rows with missing values left out" in out
    code, _, err = run("train", houses, "--target", "price", "--out", "n", "--missing", "error")
    assert (code, err.count("\n")) == (2, 1)
    assert "column 'area': 30 values missing (rows 11, 21" in err


def test_rows_without_a_target_are_left_out_and_told(run: Run, tmp_path: Path) -> None:
    rows = [[i, "" if i in (3, 4) else 2 * i + 0.5] for i in range(60)]
    write_csv(tmp_path / "t.csv", ["x", "y"], rows)
    code, out, _ = run("train", "t.csv", "--target", "y", "--epochs", 1)
    assert code == 0
    assert "target 'y' missing in rows 5, 6: 2 rows left out" in out
    assert (tmp_path / "runs" / "t").is_dir()


def test_the_task_can_be_chosen(run: Run, tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ["x", "stars"], [[i, i % 3] for i in range(60)])
    for options, task in (([], "classification"), (["--task", "regression"], "regression")):
        code, out, _ = run("train", "t.csv", "--target", "stars", "--epochs", 1, *options)
        assert code == 0
        assert f"{task} of 'stars'" in out


@pytest.mark.parametrize(
    "optimizer", ["sgd", "momentum", "nesterov", "adagrad", "adadelta", "adam", "adamax", "rmsprop"]
)
def test_every_optimizer_learns_iris_at_its_usual_rate(run: Run, tmp_path: Path, optimizer: str) -> None:
    code, _, _ = run("train", "iris", "--optimizer", optimizer, "--out", "m", "--epochs", 60)
    assert code == 0
    assert record(tmp_path / "m")["validation_result"]["accuracy"] >= 0.9


def test_the_same_seed_gives_the_same_files_and_another_seed_others(run: Run, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run("train", "iris", "--seed", seed, "--out", name, "--epochs", 4, "--dropout", 0.2).code == 0
    content = {name: {file: (tmp_path / name / file).read_bytes() for file in FILES - {"model.json"}} for name in "abc"}
    assert content["a"] == content["b"]
    assert content["a"]["group1-shard1of1.bin"] != content["c"]["group1-shard1of1.bin"]


def test_clipping_limits_what_a_step_changes(run: Run, tmp_path: Path) -> None:
    clips = {"value": "--clip-value", "norm": "--clip-norm", "global_norm": "--clip-global-norm"}
    common = ["train", "iris", "--optimizer", "sgd", "--epochs", 1, "--patience", 0]
    run(*common, "--out", "start", "--learning-rate", 1e-12)
    run(*common, "--out", "free", "--learning-rate", 0.1)
    for name, option in clips.items():
        run(*common, "--out", name, "--learning-rate", 0.1, option, 1e-6)

    def weights(name: str) -> np.ndarray[Any, Any]:
        return np.concatenate([w.numpy().ravel() for w in vg.load_layers_model(tmp_path / name).get_weights()])

    def moved(name: str) -> float:
        return float(np.abs(weights(name) - weights("start")).max())

    assert moved("free") > 1e-3
    for name in clips:
        assert 0 < moved(name) <= 4 * 0.1 * 1e-6 + 1e-7  # 4 steps


def test_images_from_a_table_go_through_conv2d(run: Run, tmp_path: Path) -> None:
    sample = vg.data.load_sample("digits").frame
    names = sample.names
    rows = [list(row) for row in zip(*(column.values[:200] for column in sample.columns))]
    write_csv(tmp_path / "d.csv", names, rows)
    code, out, _ = run("train", "d.csv", "--target", "digit", "--image", "8x8", "--epochs", 2, "--out", "m")
    assert code == 0
    assert "conv2d_1 [8, 8, 16] -> max_pooling2d_1 [4, 4, 16] -> conv2d_2 [4, 4, 32]" in out
    assert Preprocessing.load(tmp_path / "m" / "preprocessing.json").image == (8, 8, 1)


def test_a_built_in_set_can_predict_another_column(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("train", "iris", "--target", "petal_width_cm", "--drop", "species", "--epochs", 1, "--out", "m")
    assert code == 0
    assert "regression of 'petal_width_cm' from 3 columns" in out


def test_no_test_rows_and_no_validation_rows_are_possible(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("train", "iris", "--validation", 0, "--test", 0, "--epochs", 2, "--out", "m")
    assert code == 0
    assert "150 rows to train on\n" in out
    assert "val_loss" not in history(tmp_path / "m")[0]
    assert "test_result" not in record(tmp_path / "m")


def test_training_again_replaces_the_model(run: Run, tmp_path: Path) -> None:
    for epochs in (1, 2):
        assert run("train", "iris", "--out", "m", "--epochs", epochs).code == 0
    assert len(history(tmp_path / "m")) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_without_matplotlib_everything_but_plots_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    code, out, _ = run("train", "iris", "--out", "m", "--epochs", 1)
    assert code == 0
    assert "no plots: plots need Matplotlib: pip install 'varigrad[plots]'" in out
    assert {path.name for path in (tmp_path / "m").iterdir()} == {f for f in FILES if not f.endswith(".png")}


GOOD = "a,b,y\n" + "".join(f"{i},{'uvw'[i % 3]},{i * 1.5 + 0.25}\n" for i in range(40))


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (GOOD, [], "--target says which column of t.csv to predict; it has a, b, y"),
        (GOOD, ["--target", "z"], "t.csv has no column 'z'; it has a, b, y"),
        (GOOD, ["--target", "y", "--drop", "z"], "t.csv has no column 'z'; it has a, b, y"),
        (GOOD, ["--target", "y", "--drop", "y"], "the target column 'y' can't be dropped"),
        (GOOD, ["--target", "y", "--drop", "a", "--drop", "b"], "t.csv has no column to predict 'y' from"),
        (
            GOOD,
            ["--target", "b", "--task", "regression"],
            "--task regression needs a target of numbers, but 'b' is 'u'",
        ),
        (GOOD, ["--target", "y", "--conv", "4"], "--conv: needs images"),
        (
            GOOD,
            ["--target", "y", "--image", "8x8"],
            "t.csv has 2 columns of features, but an image of 8 x 8 x 1 has 64",
        ),
        (GOOD, ["--target", "y", "--image", "8"], "--image: takes a size"),
        (GOOD, ["--target", "y", "--layers", "big"], "--layers: takes numbers such as 64,32, or none, got 'big'"),
        (GOOD, ["--target", "y", "--activation", "wavy"], "--activation: unknown activation 'wavy'"),
        (GOOD, ["--target", "y", "--optimizer", "adamm"], "--optimizer: there is no 'adamm'; choose one of adam, sgd"),
        (GOOD, ["--target", "y", "--learning-rate", "0"], "--learning-rate: must be a number above 0, got 0"),
        (GOOD, ["--target", "y", "--learning-rate", "1e30"], "the loss became"),
        (GOOD, ["--target", "y", "--clip-norm", "-1"], "--clip-norm: must be a number above 0, got -1"),
        (GOOD, ["--target", "y", "--epochs", "0"], "Invalid value for '--epochs'"),
        (GOOD, ["--target", "y", "--epochs", "many"], "Invalid value for '--epochs'"),
        (
            GOOD,
            ["--target", "y", "--validation", "0.6", "--test", "0.6"],
            "fractions must be 0 or more and sum to less",
        ),
        (GOOD, ["--target", "y", "--missing", "guess"], "Invalid value for '--missing'"),
        (GOOD, ["--target", "y", "--delimiter", "ab"], "the delimiter must be"),
        (GOOD, ["--target", "y", "--no-such-option"], "No such option"),
        (GOOD, ["--target", "y", "--out", "t.csv"], "--out t.csv: is a file; choose a folder"),
        (GOOD, ["--target", "y", "--out", "t.csv/run"], "--out t.csv/run: can't be written: Not a directory"),
        (GOOD, ["--target", "y", "--out", "."], "--out .: is the current folder"),
        ("", ["--target", "y"], "t.csv is empty"),
        ("a,y\n", ["--target", "y"], "t.csv has a header (row 1) but no rows below it"),
        ("a,y\n1\n", ["--target", "y"], "t.csv: row 2 has 1 cell, but the header has 2"),
        ("a,y\n,1\n,2\n", ["--target", "y"], "t.csv: column 'a' has no value in any row"),
        ("a,y\n1,\n2,\n", ["--target", "y"], "t.csv: column 'y' has no value in any row"),
        (
            "a,y\n" + "".join(f"{'x' if i == 7 else i},{i}\n" for i in range(40)),
            ["--target", "y"],
            "t.csv: row 9, column 'a': 'x' is not a number",
        ),
        ("a,y\n1,2\n", ["--target", "y"], "t.csv: 1 row left to train on; it takes 2 or more"),
        ("a,y\n1,u\n2,u\n3,u\n", ["--target", "y"], "the target 'y' is 'u' in every row"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(
    run: Run, tmp_path: Path, text: str, options: list[str], message: str
) -> None:
    (tmp_path / "t.csv").write_text(text)
    code, _, err = run("train", "t.csv", *options)
    assert code == 2
    assert err.startswith("varigrad: ")
    assert message in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["wine"], "there is no file wine, and no built-in data set of that name (digits, iris, mnist5k)"),
        (["none.csv", "--target", "y"], "there is no file none.csv"),
        ([], "Missing argument 'SOURCE'"),
        (["iris", "--target", "scent"], "iris has no column 'scent'; it has sepal_length_cm"),
        (["iris", "--image", "2x2"], "--image is for CSV files; iris is a built-in data set"),
        (["digits", "--conv", "4,4,4,4"], "--conv: an image of 8 x 8 takes at most 3 layers"),
    ],
)
def test_sources_that_are_not_there_are_one_line(run: Run, tmp_path: Path, words: list[str], message: str) -> None:
    code, _, err = run("train", *words)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []

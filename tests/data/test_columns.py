"""Which columns are numbers, which are categories, and what is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from varigrad.data import Frame, Table, describe_missing, format_rows, parse_columns, parse_table
from varigrad.errors import DataError


def table(**columns: list[str]) -> Table:
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return Table("t.csv", list(columns), rows, list(range(2, len(rows) + 2)))


def refusal(source: Table, *args: Any, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        parse_table(source, *args, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_column_of_numbers_is_numeric_and_one_of_words_is_categorical() -> None:
    frame = parse_table(table(age=["1", "2.5"], coat=["red", "grey"], code=["a1", "7"]))
    assert [column.kind for column in frame.columns] == ["numeric", "categorical", "categorical"]
    assert frame["age"].values.tolist() == [1.0, 2.5]
    assert frame["coat"].values.tolist() == ["red", "grey"]


@pytest.mark.parametrize("text", ["", "NA", "na", "N/A", "NaN", "nan", "NULL", "null", "?"])
def test_what_stands_for_missing_is_missing(text: str) -> None:
    frame = parse_table(table(age=["1", text], coat=["red", text]))
    assert np.isnan(frame["age"].values[1])
    assert frame["coat"].values[1] is None
    assert frame["age"].missing.tolist() == frame["coat"].missing.tolist() == [False, True]


def test_more_texts_can_stand_for_missing() -> None:
    frame = parse_table(table(age=["1", "-", "-999"]), missing_text=["-", "-999"])
    assert frame["age"].missing.tolist() == [False, True, True]


def test_missing_values_are_described_by_row() -> None:
    ages = ["1", "", "", "4", "", "", "", "", "", "9"]
    frame = parse_table(table(age=ages, coat=["red"] * 9 + [""], size=["1"] * 10))
    assert describe_missing(frame) == [
        "column 'age': 7 values missing (rows 3, 4, 6, 7, 8 and 2 more)",
        "column 'coat': 1 value missing (row 11)",
    ]
    assert format_rows([4]) == "row 4"


def test_a_word_among_numbers_is_refused_with_its_place_and_the_ways_out() -> None:
    ages = [str(i) for i in range(20)]
    ages[4] = "twelve"
    assert refusal(table(age=ages)) == (
        "t.csv: row 6, column 'age': 'twelve' is not a number; correct it, or use --missing-text 'twelve' if it stands "
        "for a missing value, or --categorical 'age' if the column holds categories"
    )
    ages[7] = "x" * 60
    assert "'twelve' is not a number (nor is 1 more there); correct it" in refusal(table(age=ages))
    assert parse_table(table(age=ages), missing_text=["Twelve", "x" * 60])["age"].missing.sum() == 2


def test_half_numbers_and_half_words_are_categories_with_a_note() -> None:
    frame = parse_table(table(size=["1", "2", "L"]))
    assert frame["size"].kind == "categorical"
    assert frame.notes == (
        "t.csv: row 4, column 'size': 'L' is not a number, so that the column is taken as categories",
    )


def test_missing_cells_do_not_count_as_numbers_or_words() -> None:
    cells = [""] * 50 + ["1", "2", "red"]
    assert parse_table(table(mixed=cells))["mixed"].kind == "categorical"


def test_words_among_numbers_are_categories_if_asked_for() -> None:
    ages = ["1"] * 19 + ["old"]
    frame = parse_table(table(age=ages, size=["1", "2"] * 10), categorical=["age", "size"])
    assert [column.kind for column in frame.columns] == ["categorical", "categorical"]


def test_a_column_without_values_is_refused() -> None:
    message = refusal(table(age=["", "NA"], coat=["red", "grey"]))
    assert message == "t.csv: column 'age' has no value in any row; leave it out: --drop 'age'"


def test_a_column_without_values_can_be_dropped() -> None:
    assert parse_table(table(age=["", "NA"], coat=["red", "grey"]), drop=["age"]).names == ["coat"]


def test_a_column_that_names_its_rows_is_left_out_with_a_note() -> None:
    names = [f"name {i}" for i in range(120)]
    source = table(name=names, size=["1", "2"] * 60)
    frame = parse_table(source)
    assert frame.names == ["size"]
    assert frame.notes == (
        "column 'name' is left out: it has 120 different texts in 120 rows (--categorical 'name' keeps it)",
    )
    assert parse_table(source, categorical=["name"]).names == ["name", "size"]
    assert parse_table(source, "name").names == ["name", "size"]


def test_unknown_columns_are_refused_with_those_there_are() -> None:
    source = table(age=["1"], coat=["red"])
    assert refusal(source, "weight") == "t.csv has no column 'weight'; it has age, coat"
    assert refusal(source, "Age") == "t.csv has no column 'Age'; it has age"
    assert refusal(source, drop=["x"]) == "t.csv has no column 'x'; it has age, coat"
    assert refusal(source, "age", drop=["age"]) == "the target column 'age' can't be dropped"


def test_frames_take_rows_and_leave_columns_out() -> None:
    frame = parse_table(table(age=["1", "2", "3"], coat=["a", "b", "c"]))
    part = frame.take(np.array([True, False, True]))
    assert isinstance(part, Frame)
    assert (len(part), part.row_numbers.tolist(), part["coat"].values.tolist()) == (2, [2, 4], ["a", "c"])
    assert part.without("age").names == ["coat"]


def test_columns_of_known_types_are_read_in_the_order_asked_for() -> None:
    source = table(extra=["x"], age=[""], coat=["7"])
    frame = parse_columns(source, {"coat": "categorical", "age": "numeric"})
    assert frame.names == ["coat", "age"]
    assert frame["coat"].values.tolist() == ["7"]
    assert frame["age"].missing.tolist() == [True]


def test_absent_columns_and_words_where_numbers_belong_are_refused() -> None:
    source = table(age=["1", "old"])
    with pytest.raises(DataError, match=r"^t.csv lacks the columns 'a', 'b'$"):
        parse_columns(source, {"a": "numeric", "age": "numeric", "b": "numeric"})
    with pytest.raises(DataError, match=r"^t.csv: row 3, column 'age': 'old' is not a number$"):
        parse_columns(source, {"age": "numeric"})


def test_a_frame_shows_what_it_is_in_one_line():
    few = parse_table(table(a=["1", "2"], b=["x", "y"]))
    assert repr(few) == "Frame('t.csv', 2 rows, 2 columns: a, b)"
    many = parse_table(table(**{name: ["1"] for name in "abcdefg"}))
    assert repr(many) == "Frame('t.csv', 1 row, 7 columns: a, b, c, …, g)"

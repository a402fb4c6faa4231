"""CSV files as people really write them."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from varigrad.data import Table, read_table
from varigrad.errors import DataError


def read(folder: Path, text: str | bytes, **options: str) -> Table:
    file = folder / "table.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_table(file, **options)


def refusal(folder: Path, text: str | bytes, **options: str) -> str:
    with pytest.raises(DataError) as caught:
        read(folder, text, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(folder) + "/", "")


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('a,b\n"x, y",2\n', [["x, y", "2"]]),
        ('a,b\n"he said ""hi""",2\n', [['he said "hi"', "2"]]),
        ('a,b\n"two\nlines",2\n', [["two\nlines", "2"]]),
        ('a\tb\n"one\ttab"\t2\n', [["one\ttab", "2"]]),
        ('"a","b"\n1,2\n', [["1", "2"]]),
        ("a,b\r\n1,2\r\n", [["1", "2"]]),
        ("a,b\r1,2\r", [["1", "2"]]),
        ("a,b\n1,2", [["1", "2"]]),
        ("a, b\n 1 , 2 \n", [["1", "2"]]),
        ('a, b\n1, "x, y"\n', [["1", "x, y"]]),
        ("a;b\n1;2\n", [["1", "2"]]),
        ('"a;1","b;2"\n1;2,3;4\n', [["1;2", "3;4"]]),
        ("\n\na,b\n\n1,2\n   \n3,4\n\n", [["1", "2"], ["3", "4"]]),
        ("a,b\n,\n", [["", ""]]),
    ],
)
def test_cells_are_read_as_written(tmp_path: Path, text: str, rows: list[list[str]]) -> None:
    table = read(tmp_path, text)
    assert table.rows == rows


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffa,b\n1,2\n").names == ["a", "b"]


def test_utf16_as_spreadsheets_export_it_is_read(tmp_path: Path) -> None:
    table = read(tmp_path, "größe\tb\n1\t2\n".encode("utf-16"))
    assert (table.names, table.rows) == (["größe", "b"], [["1", "2"]])


def test_rows_are_numbered_as_a_spreadsheet_shows_them(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,b\n"two\nlines",1\n\nx,2\n')
    assert table.row_numbers == [2, 4]


@pytest.mark.parametrize("given", ["|", "tab", "\\t", "\t", ";"])
def test_the_delimiter_can_be_given(tmp_path: Path, given: str) -> None:
    mark = "\t" if given in ("tab", "\\t") else given
    table = read(tmp_path, f"a,x{mark}b\n1,5{mark}2,5\n", delimiter=given)
    assert (table.names, table.rows) == (["a,x", "b"], [["1,5", "2,5"]])


def test_a_semicolon_file_with_decimal_commas_has_numbers(tmp_path: Path) -> None:
    table = read(tmp_path, "price;size\n1,5;20\n-2,25;30\n")
    assert [table.parse_number(cell) for cell in table.cells("price")] == [1.5, -2.25]
    assert table.parse_number("1.234,5") is None


def test_a_semicolon_file_with_decimal_points_keeps_them(tmp_path: Path) -> None:
    table = read(tmp_path, "price;note\n1.5;1,2\n")
    assert (table.parse_number("1.5"), table.parse_number("1,2")) == (1.5, None)


def test_the_decimal_mark_can_be_given(tmp_path: Path) -> None:
    table = read(tmp_path, 'a,b\n"1,5",2\n', decimal=",")
    assert table.parse_number("1,5") == 1.5


@pytest.mark.parametrize(("text", "value"), [("7", 7.0), ("-1.5e-3", -0.0015), (".5", 0.5), ("5.", 5.0), ("+2", 2.0)])
def test_numbers_are_parsed(text: str, value: float) -> None:
    assert Table("t", [], [], []).parse_number(text) == value


@pytest.mark.parametrize("text", ["", "x", "inf", "-Infinity", "nan", "1_000", "1,000", "12 kg", "٣", "0x10", "1e999"])
def test_other_texts_are_not_numbers(text: str) -> None:
    assert Table("t", [], [], []).parse_number(text) is None


def test_a_column_without_a_name_is_called_by_its_place(tmp_path: Path) -> None:
    assert read(tmp_path, ",a\n0,1\n").names == ["column 1", "a"]


def test_a_trailing_delimiter_makes_no_column(tmp_path: Path) -> None:
    table = read(tmp_path, "a,b,\n1,2,\n")
    assert (table.names, table.rows) == (["a", "b"], [["1", "2"]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table.csv is empty"),
        ("\n  \n\n", "table.csv is empty"),
        ("\ufeff", "table.csv is empty"),
        ("a,b\n", "table.csv has a header (row 1) but no rows below it"),
        ("a,b\n1,2\n3\n", "table.csv: row 3 has 1 cell, but the header has 2"),
        ("a,b\n\n1,2,3\n", "table.csv: row 3 has 3 cells, but the header has 2"),
        ("a,b,a\n1,2,3\n", "table.csv: the column name 'a' occurs twice (columns 1, 3)"),
        (
            "5.1,3.5,5.1\n4.9,3.0,1.4\n",
            "table.csv: the column name '5.1' occurs twice (columns 1, 3); does the file lack a header row?",
        ),
        ('a,b\n1,"2\n3,4\n', 'table.csv: row 2 (line 3) opens a quote (") that is never closed'),
        (b"a,b\n1,\xe9\n", "table.csv is not UTF-8 text (line 2); save it as CSV in UTF-8"),
        ("a,b\n1,\0\n", "table.csv is not a text file: it holds a zero byte"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert refusal(tmp_path, text) == message


def test_text_after_a_closing_quote_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path, 'a,b\n"x"y,2\n').startswith("table.csv: row 2 (line 2) can't be parsed:")


@pytest.mark.parametrize(("option", "value"), [("delimiter", "ab"), ("delimiter", ""), ("decimal", ";")])
def test_options_out_of_range_are_refused(tmp_path: Path, option: str, value: str) -> None:
    assert "must be" in refusal(tmp_path, "a,b\n1,2\n", **{option: value})


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(DataError, match="can't be read: Is a directory"):
        read_table(tmp_path)


_cell = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@settings(max_examples=50)
@given(
    rows=st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(_cell, min_size=n, max_size=n), min_size=1, max_size=5)),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_what_pythons_writer_writes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], delimiter: str
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerow([f"name {i}" for i in range(len(rows[0]))])
    writer.writerows(rows)
    table = read(tmp_path_factory.mktemp("csv"), text.getvalue(), delimiter=delimiter)
    assert table.rows == [[cell.strip() for cell in row] for row in rows]

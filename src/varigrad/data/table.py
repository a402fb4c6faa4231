"""Reading a CSV file into a table of text cells.

Python's `csv` module does the parsing, strictly: pandas would fill short rows, rename repeated columns and lose which
row a cell came from, and all of that is what a person has to be told about.
"""

from __future__ import annotations

import codecs
import csv
import io
import math
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from varigrad.errors import DataError

if TYPE_CHECKING:
    from _csv import Reader

__all__ = ["Table", "read_table"]

_DELIMITERS = {",": ",", ";": ";", "\t": "\t", "tab": "\t", "\\t": "\t", "|": "|"}
_SNIFFED = (",", ";", "\t")
_SNIFFED_ROWS = 50
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?", re.ASCII)
_DECIMAL_POINT = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Table:
    """A CSV file's cells as text, blanks around them removed.

    `row_numbers[i]` is the number of `rows[i]` as a spreadsheet shows it: the header is row 1, blank lines count.
    `decimal` is the mark between a number's whole and fractional part, `"."` or `","`.

    >>> import varigrad as vg
    >>> table = vg.data.Table("cats.csv", ["age", "coat"], [["3", "red"], ["5", "grey"]], row_numbers=[2, 3])
    >>> table.cells("coat"), table.parse_number("1e3")
    (['red', 'grey'], 1000.0)
    """

    source: str
    names: list[str]
    rows: list[list[str]]
    row_numbers: list[int]
    decimal: str = "."

    def cells(self, name: str) -> list[str]:
        """The cells of one column, from top to bottom."""
        at = self.names.index(name)
        return [row[at] for row in self.rows]

    def parse_number(self, text: str) -> float | None:
        """The finite number that a cell writes out, or None."""
        if self.decimal == ",":
            if "." in text:
                return None
            text = text.replace(",", ".")
        try:
            value = float(text)
        except ValueError:
            return None
        # float() also takes inf, 1_000 and digits of other scripts.
        return value if math.isfinite(value) and "_" not in text and text.isascii() else None


def read_table(path: str | Path, delimiter: str | None = None, decimal: str | None = None) -> Table:
    r"""Reads a CSV file (UTF-8, or UTF-16 with a byte order mark), whose first row names the columns.

    Args:
        path: The file.
        delimiter: `","`, `";"`, `"|"`, or a tab (`"\t"` or `"tab"`); by default whichever of comma, semicolon and tab
            splits the first rows evenly.
        decimal: `"."` or `","`; by default a comma if the delimiter is not one, some cell is written like `3,5` and
            none like `3.5`.

    Raises:
        DataError: The file can't be read, is empty or not text; a column name occurs twice; a row has too few or too
            many cells; a quote is never closed. The message names the file and the row.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp(), "houses.csv")
    >>> _ = file.write_text('city,price\n"Bern, BE",12.5\n')
    >>> read_table(file).rows
    [['Bern, BE', '12.5']]
    """
    source = str(path)
    if delimiter is not None and delimiter not in _DELIMITERS:
        raise DataError(f"the delimiter must be a comma, a semicolon, a tab or |, got {delimiter!r}")
    if decimal not in (None, ".", ","):
        raise DataError(f"the decimal mark must be . or a comma, got {decimal!r}")
    text = _read_text(path)
    mark = _DELIMITERS[delimiter] if delimiter else _sniff(text)
    numbered = [(number, row) for number, row in _records(source, text, mark) if row]
    if not numbered:
        raise DataError(f"{source} is empty")
    header_number, names = numbered[0]
    _check_rows(source, names, numbered[1:])
    rows = [row for _, row in numbered[1:]]
    names = _name_columns(source, names, rows)
    if not rows:
        raise DataError(f"{source} has a header (row {header_number}) but no rows below it")
    if decimal is None:
        decimal = "," if mark != "," and _uses_decimal_comma(rows) else "."
    return Table(source, names, rows, [number for number, _ in numbered[1:]], decimal)


def _read_text(path: str | Path) -> str:
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from None
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = content.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path} is not UTF-8 text (line {line}); save it as CSV in UTF-8") from None
    if "\0" in text:
        raise DataError(f"{path} is not a text file: it holds a zero byte")
    return text


def _sniff(text: str) -> str:
    """The delimiter that splits the first rows into the most cells, all rows alike if there is such a one."""

    def evenness(mark: str) -> tuple[bool, int]:
        counts: list[int] = []
        with suppress(csv.Error):
            counts.extend(len(row) for row in islice(_reader(text, mark), _SNIFFED_ROWS) if row)
            return (len(set(counts)) == 1 and counts[0] > 1), max(counts, default=0)
        return False, max(counts, default=0)

    return max(_SNIFFED, key=evenness)


def _reader(text: str, mark: str) -> Reader:
    return csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=mark != "\t", strict=True)


def _records(source: str, text: str, mark: str) -> list[tuple[int, list[str]]]:
    """Every record with its number; a blank line is an empty one."""
    reader = _reader(text, mark)
    records: list[tuple[int, list[str]]] = []
    try:
        for number, row in enumerate(reader, 1):
            cells = [cell.strip() for cell in row]
            records.append((number, [] if cells == [""] else cells))
    except csv.Error as error:
        row = f"row {len(records) + 1} (line {reader.line_num})"
        if "unexpected end of data" in str(error):
            raise DataError(f'{source}: {row} opens a quote (") that is never closed') from None
        raise DataError(f"{source}: {row} can't be parsed: {error}") from None
    return records


def _check_rows(source: str, names: list[str], numbered: list[tuple[int, list[str]]]) -> None:
    for number, row in numbered:
        if len(row) != len(names):
            raise DataError(
                f"{source}: row {number} has {len(row)} cell{'s' * (len(row) != 1)}, but the header has {len(names)}"
            )


def _name_columns(source: str, names: list[str], rows: list[list[str]]) -> list[str]:
    """The column names; those that the header leaves empty are `column 3` and so on, or gone if they hold nothing."""
    for at in reversed([i for i, name in enumerate(names) if not name]):
        if not any(row[at] for row in rows) and len(names) > 1:
            for row in (names, *rows):
                del row[at]
    named = [name or f"column {position}" for position, name in enumerate(names, 1)]
    repeated = [name for name, count in Counter(named).items() if count > 1]
    if repeated:
        places = ", ".join(str(i) for i, name in enumerate(named, 1) if name == repeated[0])
        numeric = all(name.replace(".", "", 1).isdigit() for name in named)
        hint = "; does the file lack a header row?" if numeric else ""
        raise DataError(f"{source}: the column name {repeated[0]!r} occurs twice (columns {places}){hint}")
    return named


def _uses_decimal_comma(rows: list[list[str]]) -> bool:
    commas = False
    for row in rows:
        for cell in row:
            if "." in cell and _DECIMAL_POINT.fullmatch(cell):
                return False
            commas = commas or ("," in cell and _DECIMAL_COMMA.fullmatch(cell) is not None)
    return commas

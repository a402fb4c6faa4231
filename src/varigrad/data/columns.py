"""From a table of text to typed columns: which are numbers, which are categories, and which values are missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from varigrad.data.table import Table
from varigrad.dtypes import Array
from varigrad.errors import DataError

__all__ = ["MISSING_TEXT", "Column", "Frame", "Kind", "describe_missing", "format_rows", "parse_columns", "parse_table"]

# What stands for a missing value, in any case.
MISSING_TEXT = ("", "NA", "N/A", "NaN", "null", "?")

_MOSTLY_NUMERIC_PERCENT = 90
_MOST_CATEGORIES = 1000
_FEW_CATEGORIES = 50

Kind = Literal["numeric", "categorical"]


@dataclass(frozen=True)
class Column:
    """A named column: float64 numbers with NaN where missing, or text (an object array) with None where missing.

    >>> import varigrad as vg
    >>> import numpy as np
    >>> age = vg.data.Column("age", "numeric", np.array([3.0, np.nan]))
    >>> age.missing.tolist(), age.take(np.array([0])).values.tolist()
    ([False, True], [3.0])
    """

    name: str
    kind: Kind
    values: Array

    @property
    def missing(self) -> Array:
        """Where values are missing: bools, `[rows]`."""
        if self.kind == "numeric":
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], bool)

    def take(self, rows: Array) -> Column:
        """The column at some rows, given as indices or bools."""
        return replace(self, values=self.values[rows])


@dataclass(frozen=True, repr=False)
class Frame:
    """Typed columns of one length. `row_numbers`, `[rows]`, are those of the file; `notes` say what was left out.

    >>> import varigrad as vg
    >>> import numpy as np
    >>> ages = vg.data.Column("age", "numeric", np.array([3.0, 5.0]))
    >>> frame = vg.data.Frame("cats.csv", [ages], row_numbers=np.array([2, 3]))
    >>> len(frame), frame["age"].values.tolist()
    (2, [3.0, 5.0])
    """

    source: str
    columns: list[Column]
    row_numbers: Array
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = self.names
        shown = ", ".join(names if len(names) <= 5 else [*names[:3], "…", names[-1]])
        rows, columns = len(self), len(names)
        size = f"{rows} row{'s' * (rows != 1)}, {columns} column{'s' * (columns != 1)}"
        return f"Frame({self.source!r}, {size}: {shown})"

    def __len__(self) -> int:
        return len(self.row_numbers)

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> list[str]:
        """The columns' names, in order."""
        return [column.name for column in self.columns]

    def take(self, rows: Array) -> Frame:
        """The frame at some rows, given as indices or bools."""
        return replace(self, columns=[c.take(rows) for c in self.columns], row_numbers=self.row_numbers[rows])

    def without(self, *names: str) -> Frame:
        """The frame without some columns."""
        return replace(self, columns=[c for c in self.columns if c.name not in names])


def parse_table(
    table: Table,
    target: str | None = None,
    *,
    drop: Collection[str] = (),
    categorical: Collection[str] = (),
    missing_text: Collection[str] = (),
) -> Frame:
    """Gives each column of a table the type that its cells have.

    A column is numeric if every cell that isn't missing is a number, and categorical otherwise. A column in which at
    least 90 % of the cells are numbers is an error, since the others are most likely mistakes. A categorical column
    with more than 1000 different values, or more than 50 and more than one for every two rows, names its rows more
    than it describes them: it is left out, with a note.

    Args:
        table: The text.
        target: The column to be predicted, which is never left out.
        drop: Columns to leave out.
        categorical: Columns to take as categories whatever they hold.
        missing_text: What else stands for a missing value, besides `MISSING_TEXT`.

    Raises:
        DataError: No such column; a column without any value; a cell that is no number among numbers.

    >>> import varigrad.data as data
    >>> table = data.Table("cats.csv", ["age", "coat"], [["3", "red"], ["?", "grey"]], [2, 3])
    >>> [(column.name, column.kind) for column in data.parse_table(table).columns]
    [('age', 'numeric'), ('coat', 'categorical')]
    """
    for name in [*([] if target is None else [target]), *drop, *categorical]:
        _check_column(table, name)
    if target in drop:
        raise DataError(f"the target column {target!r} can't be dropped")
    missing = _missing(missing_text)
    columns: list[Column] = []
    notes: list[str] = []
    for name in table.names:
        if name in drop:
            continue
        if name in categorical:
            column = _categories(name, table.cells(name), missing)
        else:
            column, note = _infer(table, name, missing)
            notes.extend(note)
        if column.missing.all():
            raise DataError(f"{table.source}: column {name!r} has no value in any row; leave it out: --drop {name!r}")
        if column.kind == "numeric" or name == target or name in categorical or not _names_its_rows(column):
            columns.append(column)
        else:
            notes.append(
                f"column {name!r} is left out: it has {_different(column)} different texts in {len(table.rows)} rows "
                f"(--categorical {name!r} keeps it)"
            )
    return Frame(table.source, columns, np.array(table.row_numbers), tuple(notes))


def parse_columns(table: Table, kinds: Mapping[str, Kind], missing_text: Collection[str] = ()) -> Frame:
    """Reads columns of known types from a table, which may have others.

    Raises:
        DataError: A column is not there; a cell of a numeric column is no number.

    >>> import varigrad as vg
    >>> table = vg.data.Table("cats.csv", ["age", "coat"], [["3", "red"], ["", "grey"]], [2, 3])
    >>> vg.data.parse_columns(table, {"age": "numeric"})["age"].values.tolist()
    [3.0, nan]
    """
    absent = [repr(name) for name in kinds if name not in table.names]
    if absent:
        more = f" and {len(absent) - 10} more" if len(absent) > 10 else ""
        raise DataError(f"{table.source} lacks the column{'s' * (len(absent) > 1)} {', '.join(absent[:10])}{more}")
    missing = _missing(missing_text)
    columns: list[Column] = []
    for name, kind in kinds.items():
        cells = table.cells(name)
        if kind == "categorical":
            columns.append(_categories(name, cells, missing))
            continue
        column, wrong = _numbers(table, name, cells, missing)
        if wrong:
            raise DataError(_not_a_number(table, name, cells, wrong))
        columns.append(column)
    return Frame(table.source, columns, np.array(table.row_numbers))


def _missing(missing_text: Collection[str]) -> set[str]:
    return {text.casefold() for text in (*MISSING_TEXT, *missing_text)}


def _infer(table: Table, name: str, missing: set[str]) -> tuple[Column, list[str]]:
    """A column of the type that most of its cells have, and what there is to note about it."""
    cells = table.cells(name)
    column, wrong = _numbers(table, name, cells, missing)
    if not wrong:
        return column, []
    present = len(wrong) + int((~column.missing).sum())
    numbers = present - len(wrong)
    if 100 * numbers >= _MOSTLY_NUMERIC_PERCENT * present:
        first = cells[wrong[0]]
        raise DataError(
            f"{_not_a_number(table, name, cells, wrong)}; correct it, or use --missing-text {_shorten(first)} "
            f"if it stands for a missing value, or --categorical {name!r} if the column holds categories"
        )
    notes: list[str] = []
    if 2 * numbers >= present:
        notes.append(f"{_not_a_number(table, name, cells, wrong)}, so that the column is taken as categories")
    return _categories(name, cells, missing), notes


def _numbers(table: Table, name: str, cells: list[str], missing: set[str]) -> tuple[Column, list[int]]:
    """A numeric column, and which cells are neither missing nor a number."""
    values = np.full(len(cells), np.nan)
    wrong: list[int] = []
    for at, cell in enumerate(cells):
        if cell.casefold() in missing:
            continue
        number = table.parse_number(cell)
        if number is None:
            wrong.append(at)
        else:
            values[at] = number
    return Column(name, "numeric", values), wrong


def _categories(name: str, cells: list[str], missing: set[str]) -> Column:
    return Column(name, "categorical", np.array([None if c.casefold() in missing else c for c in cells], object))


def _names_its_rows(column: Column) -> bool:
    different = _different(column)
    return different > _MOST_CATEGORIES or (different > _FEW_CATEGORIES and 2 * different > len(column.values))


def _different(column: Column) -> int:
    return len(set(column.values[~column.missing]))


def _not_a_number(table: Table, name: str, cells: list[str], wrong: list[int]) -> str:
    others = f" (nor {'is' if len(wrong) == 2 else 'are'} {len(wrong) - 1} more there)" if len(wrong) > 1 else ""
    row = table.row_numbers[wrong[0]]
    return f"{table.source}: row {row}, column {name!r}: {_shorten(cells[wrong[0]])} is not a number{others}"


def describe_missing(frame: Frame) -> list[str]:
    """A line for each column with missing values: how many, and in which rows.

    >>> import numpy as np, varigrad.data as data
    >>> age = data.Column("age", "numeric", np.array([3.0, np.nan]))
    >>> data.describe_missing(data.Frame("cats.csv", [age], np.array([2, 3])))
    ["column 'age': 1 value missing (row 3)"]
    """
    lines: list[str] = []
    for column in frame.columns:
        rows = frame.row_numbers[column.missing]
        if len(rows):
            lines.append(
                f"column {column.name!r}: {len(rows)} value{'s' * (len(rows) > 1)} missing ({format_rows(rows)})"
            )
    return lines


def format_rows(rows: Sequence[int] | Array, most: int = 5) -> str:
    """`row 7`, or `rows 7, 19, 28` with those beyond `most` counted.

    >>> format_rows([2, 3, 5, 7, 11, 13, 17])
    'rows 2, 3, 5, 7, 11 and 2 more'
    """
    shown = ", ".join(str(row) for row in rows[:most])
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return f"row{'s' * (len(rows) > 1)} {shown}{more}"


def _check_column(table: Table, name: str) -> None:
    if name in table.names:
        return
    near = [other for other in table.names if other.casefold() == name.casefold()]
    listed = near or table.names[:20]
    more = f" and {len(table.names) - 20} more" if not near and len(table.names) > 20 else ""
    raise DataError(f"{table.source} has no column {name!r}; it has {', '.join(listed)}{more}")


def _shorten(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")

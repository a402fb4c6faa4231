"""Real data for training: tables from CSV files, built-in data sets, and the preprocessing that a model needs."""

from __future__ import annotations

import sys as _sys

from varigrad.data.columns import (
    MISSING_TEXT,
    Column,
    Frame,
    Kind,
    describe_missing,
    format_rows,
    parse_columns,
    parse_table,
)
from varigrad.data.preprocessing import (
    CategoricalField,
    Field,
    MissingPolicy,
    NumericField,
    Preprocessing,
    Task,
    as_classes,
    decide_task,
)
from varigrad.data.samples import DATASETS, Sample, load_sample
from varigrad.data.splitting import Split, split_rows
from varigrad.data.table import Table, read_table
from varigrad.namespaces import answer_names as _answer_names

__all__ = [
    "DATASETS",
    "MISSING_TEXT",
    "CategoricalField",
    "Column",
    "Field",
    "Frame",
    "Kind",
    "MissingPolicy",
    "NumericField",
    "Preprocessing",
    "Sample",
    "Split",
    "Table",
    "Task",
    "as_classes",
    "decide_task",
    "describe_missing",
    "format_rows",
    "load_sample",
    "parse_columns",
    "parse_table",
    "read_table",
    "split_rows",
]

_answer_names(data=_sys.modules[__name__])

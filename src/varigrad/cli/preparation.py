"""From a SOURCE on the command line to arrays to train on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from varigrad.cli.errors import CommandError
from varigrad.cli.training import Examples
from varigrad.data import (
    DATASETS,
    Column,
    Frame,
    MissingPolicy,
    Preprocessing,
    Sample,
    Task,
    as_classes,
    decide_task,
    describe_missing,
    format_rows,
    load_sample,
    parse_table,
    read_table,
    split_rows,
)
from varigrad.errors import DataError

__all__ = ["Prepared", "load_source", "prepare"]


@dataclass(frozen=True)
class Prepared:
    """Rows divided and encoded, and what to tell the user about them."""

    preprocessing: Preprocessing
    train: Examples
    validation: Examples | None
    test: Examples | None
    notes: list[str]


def load_source(
    source: str,
    target: str | None,
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    missing_text: Sequence[str] = (),
    delimiter: str | None = None,
    decimal: str | None = None,
    image: tuple[int, int, int] | None = None,
) -> Sample:
    """The data that a SOURCE names: a built-in data set by its name, or else a CSV file."""
    if source in DATASETS:
        for_files = {
            "--categorical": categorical,
            "--missing-text": missing_text,
            "--delimiter": delimiter,
            "--decimal": decimal,
            "--image": image,
        }
        given = [option for option, value in for_files.items() if value]
        if given:
            raise CommandError(f"{given[0]} is for CSV files; {source} is a built-in data set")
        sample = load_sample(source)
        for name in [*drop, *([target] if target is not None else [])]:
            if name not in sample.frame.names:
                raise CommandError(f"{source} has no column {name!r}; it has {_listed(sample.frame.names)}")
        chosen = target or sample.target
        if chosen in drop:
            raise CommandError(f"the target column {chosen!r} can't be dropped")
        whole = chosen == sample.target and not drop
        return Sample(sample.frame.without(*drop), chosen, sample.image if whole else None)
    if not Path(source).exists():
        raise CommandError(f"there is no file {source}, and no built-in data set of that name ({', '.join(DATASETS)})")
    table = read_table(source, delimiter, decimal)
    if target is None:
        raise CommandError(f"--target says which column of {source} to predict; it has {_listed(table.names)}")
    frame = parse_table(table, target, drop=drop, categorical=categorical, missing_text=missing_text)
    return Sample(frame, target, image)


def prepare(
    sample: Sample,
    random: np.random.Generator,
    *,
    task: Literal["auto"] | Task = "auto",
    missing: MissingPolicy = "impute",
    missing_text: Collection[str] = (),
    validation: float = 0.15,
    test: float = 0.15,
) -> Prepared:
    """Decides the task, sees to missing values, divides the rows and encodes them."""
    frame, target, image = sample.frame, sample.target, sample.image
    notes = list(frame.notes)
    frame, dropped = _with_target(frame, target)
    notes += dropped
    frame = _for_task(frame, target, decide_task(frame[target]) if task == "auto" else task)
    frame, handled = _without_gaps(frame, target, missing)
    notes += handled
    if len(frame) < 2:
        raise DataError(
            f"{frame.source}: {len(frame)} row{'s' * (len(frame) != 1)} left to train on; it takes 2 or more"
        )

    goal = frame[target]
    labels = np.unique(goal.values.astype(str), return_inverse=True)[1] if goal.kind == "categorical" else None
    split = split_rows(len(frame), validation, test, random, labels)
    preprocessing = Preprocessing.fit(
        frame, target, split.train, image=image, missing=missing, missing_text=tuple(missing_text)
    )
    x, y = preprocessing.encode(frame), preprocessing.encode_target(frame)
    train, held_out, judged = (Examples(x[rows], y[rows]) if len(rows) else None for rows in split)
    if train is None:
        raise DataError(f"{frame.source}: no row is left to train on after the validation and test parts are held out")
    return Prepared(preprocessing, train, held_out, judged, notes)


def _with_target(frame: Frame, target: str) -> tuple[Frame, list[str]]:
    """The rows whose target is known."""
    gone = frame[target].missing
    if not gone.any():
        return frame, []
    rows = frame.row_numbers[gone]
    note = f"target {target!r} missing in {format_rows(rows)}: {len(rows)} row{'s' * (len(rows) > 1)} left out"
    return frame.take(~gone), [note]


def _for_task(frame: Frame, target: str, task: Task) -> Frame:
    """The frame with a target of the kind that the task needs."""
    column = frame[target]
    if task == "regression" and column.kind == "categorical":
        raise DataError(
            f"--task regression needs a target of numbers, but {target!r} is {column.values[0]!r} in row "
            f"{frame.row_numbers[0]}"
        )
    wanted: Column = as_classes(column) if task == "classification" else column
    return replace(frame, columns=[wanted if c.name == target else c for c in frame.columns])


def _without_gaps(frame: Frame, target: str, missing: MissingPolicy) -> tuple[Frame, list[str]]:
    """The frame as the policy for missing values has it. Values to be imputed are still missing in it."""
    lines = describe_missing(frame.without(target))
    if not lines:
        return frame, []
    if missing == "error":
        raise DataError(f"{frame.source}: {lines[0]}")
    if missing == "impute":
        return frame, [f"{line}: filled in" for line in lines]
    gaps = np.any([column.missing for column in frame.without(target).columns], axis=0)
    count = int(gaps.sum())
    return frame.take(~gaps), [*lines, f"{count} row{'s' * (count > 1)} with missing values left out"]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")

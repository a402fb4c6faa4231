"""`varigrad predict`: what a trained model says about new rows, in the data's own terms."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np
import typer

import varigrad as vg
from varigrad.cli import options
from varigrad.cli.errors import CommandError
from varigrad.cli.output import FILES, staged_file
from varigrad.data import (
    CategoricalField,
    Frame,
    Kind,
    Preprocessing,
    Table,
    describe_missing,
    parse_columns,
    read_table,
)
from varigrad.dtypes import Array
from varigrad.errors import VariGradError

__all__ = ["predict"]


def predict(
    model: options.Model,
    file: options.NewRows,
    out: options.PredictionFile = None,
    unknown: options.Unknown = options.UnknownChoice.error,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
) -> None:
    """Apply the model in the folder MODEL, written by varigrad train, to the rows of NEW.csv.

    Writes CSV, a row for each row of NEW.csv: the number in its own unit; or the class, and the probability of each
    class. Columns are found by name; those that the model does not use are ignored. Missing values are treated as in
    training: filled in; or, if such rows were dropped there, left without a prediction.
    """
    folder = model.parent if model.name == FILES["model"] else model
    if not folder.is_dir():
        raise CommandError(f"there is no folder {folder}")
    preprocessing = Preprocessing.load(folder / FILES["preprocessing"])
    try:
        network = vg.load_layers_model(folder)
    except (ValueError, OSError, VariGradError) as error:
        raise CommandError(f"{folder}: the model can't be loaded: {error}") from None

    table = read_table(file, delimiter, decimal)
    kinds: dict[str, Kind] = {field.name: field.kind for field in preprocessing.features}
    frame = parse_columns(table, kinds, preprocessing.missing_text)
    _report(table, frame, preprocessing, unknown)
    usable = ~preprocessing.incomplete(frame) if preprocessing.missing == "drop" else np.ones(len(frame), bool)
    outputs = _run(folder, network, preprocessing, frame.take(usable))
    if out is None:
        _write(sys.stdout, preprocessing, usable, outputs)
        return
    with staged_file(out) as stage, stage.open("w", newline="", encoding="utf-8") as stream:
        _write(stream, preprocessing, usable, outputs)


def _report(table: Table, frame: Frame, preprocessing: Preprocessing, unknown: options.UnknownChoice) -> None:
    """Tells, on stderr, what in the rows is out of the ordinary; stops at what must not pass."""
    extra = [name for name in table.names if name not in frame.names and name != preprocessing.target.name]
    if extra:
        typer.echo(f"columns not used: {', '.join(extra)}", err=True)
    gaps = describe_missing(frame)
    if gaps and preprocessing.missing == "error":
        raise CommandError(f"{table.source}: {gaps[0]}; the model was trained with --missing error")
    treatment = "no prediction" if preprocessing.missing == "drop" else "filled in"
    for line in gaps:
        typer.echo(f"{line}: {treatment}", err=True)
    for field in preprocessing.features:
        if not isinstance(field, CategoricalField):
            continue
        strange = field.describe_unknown(frame[field.name], frame.row_numbers)
        if strange is None:
            continue
        if unknown is options.UnknownChoice.error:
            raise CommandError(f"{table.source}: {strange}; --unknown ignore takes it as none of them")
        typer.echo(f"{strange}: taken as none of them", err=True)


def _run(folder: Path, network: vg.layers.LayersModel, preprocessing: Preprocessing, frame: Frame) -> Array:
    """The model's outputs, `[rows, outputs]`."""
    width = preprocessing.target.width
    if not len(frame):
        return np.zeros((0, width), np.float32)
    try:
        outputs = network.predict(preprocessing.encode(frame), batch_size=256).numpy()
    except ValueError as error:
        raise CommandError(f"{folder}: the model does not fit its preprocessing: {error}") from None
    if outputs.shape != (len(frame), width):
        raise CommandError(
            f"{folder}: the model gives {list(outputs.shape[1:])} a row, its preprocessing expects [{width}]"
        )
    return outputs


def _write(stream: IO[str], preprocessing: Preprocessing, usable: Array, outputs: Array) -> None:
    """A header and a row for each input row; an empty one where there is no prediction."""
    target = preprocessing.target
    names, cells = [target.name], [_format_values(target.decode(outputs))]
    if isinstance(target, CategoricalField):
        names += [f"probability of {category}" for category in target.categories]
        cells += [_format_values(probabilities) for probabilities in outputs.T]
    predicted = iter(zip(*cells))
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(next(predicted) if there else [""] * len(names) for there in usable)


def _format_values(values: Sequence[str] | Array) -> Sequence[str]:
    return [f"{value:.7g}" for value in values] if isinstance(values, np.ndarray) else values

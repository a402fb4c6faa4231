"""The options of the commands: what they are called, what they take, and what the help says."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from varigrad.cli.errors import CommandError
from varigrad.cli.network import OPTIMIZERS
from varigrad.data import DATASETS

__all__ = ["MissingChoice", "TaskChoice", "UnknownChoice", "check_positive", "parse_counts", "parse_image"]


class TaskChoice(StrEnum):
    """What to train for."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class MissingChoice(StrEnum):
    """What happens to rows with missing values."""

    impute = "impute"
    drop = "drop"
    error = "error"


class UnknownChoice(StrEnum):
    """What happens to a category that the model was not trained on."""

    error = "error"
    ignore = "ignore"


def _option(panel: str, text: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=panel, **settings)


def _data(text: str, *names: str, **settings: Any) -> Any:
    return _option("Data", text, *names, **settings)


def _model(text: str, *names: str, **settings: Any) -> Any:
    return _option("Model", text, *names, **settings)


def _training(text: str, *names: str, **settings: Any) -> Any:
    return _option("Training", text, *names, **settings)


Source = Annotated[
    str, typer.Argument(help=f"A CSV file, or a built-in data set: {', '.join(DATASETS)}.", metavar="SOURCE")
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="The folder to write to.", show_default="runs/NAME-OF-SOURCE", metavar="FOLDER"),
]

Target = Annotated[str | None, _data("The column to predict.", metavar="COLUMN")]
Task = Annotated[
    TaskChoice,
    _data(
        "auto is classification for text, and for whole numbers of at most 20 different values, 5 rows or more each."
    ),
]
Drop = Annotated[list[str] | None, _data("A column to leave out. Can be repeated.", metavar="COLUMN")]
Categorical = Annotated[
    list[str] | None, _data("A column to take as categories whatever it holds. Can be repeated.", metavar="COLUMN")
]
Missing = Annotated[
    MissingChoice,
    _data("Missing features: impute fills in the mean, or no category; drop leaves out the row; error stops."),
]
MissingText = Annotated[
    list[str] | None,
    _data("What stands for a missing value beside nothing, NA, N/A, NaN, null and ?. Can be repeated.", metavar="TEXT"),
]
Delimiter = Annotated[
    str | None, _data("Between cells: a comma, a semicolon, | or tab.", show_default="found out", metavar="MARK")
]
Decimal = Annotated[str | None, _data("In numbers: a point or a comma.", show_default="found out", metavar="MARK")]
Image = Annotated[
    str | None, _data("The columns are pixels of images of this size: 28x28, or 32x32x3 with colours.", metavar="HxW")
]
Validation = Annotated[float, _data("The part of the rows that chooses the best epoch.", min=0, max=0.9)]
Test = Annotated[float, _data("The part of the rows that judges the result, and does nothing else.", min=0, max=0.9)]

Layers = Annotated[
    str | None,
    _model(
        "The units of each dense layer; none for a linear model.",
        show_default="64 for digits and mnist5k, else 64,32",
        metavar="UNITS,...",
    ),
]
Conv = Annotated[
    str | None,
    _model(
        "For images, the filters of each conv2d layer (3x3, with max_pooling2d); or none.",
        show_default="32,64 for digits, else 16,32",
        metavar="FILTERS,...",
    ),
]
Activation = Annotated[str, _model("Of all layers but the last.", metavar="NAME")]
Dropout = Annotated[
    float | None,
    _model(
        "The part of each dense layer's outputs to drop in training.",
        show_default="0.3 for mnist5k, else 0",
        min=0,
        max=0.99,
    ),
]

Optimizer = Annotated[str, _training(f"{', '.join(OPTIMIZERS)}.", metavar="NAME")]
LearningRate = Annotated[float | None, _training("The size of a step.", show_default="by optimizer; 0.002 for adam")]
ClipValue = Annotated[
    float | None, _training("Clip each number in the gradients to -C at least and C at most.", metavar="C")
]
ClipNorm = Annotated[float | None, _training("Scale each variable's gradient down to this norm.", metavar="C")]
ClipGlobalNorm = Annotated[float | None, _training("Scale all gradients down to this norm together.", metavar="C")]
Epochs = Annotated[
    int | None, _training("How many at most.", show_default="25 for digits, 12 for mnist5k, else 200", min=1)
]
BatchSize = Annotated[int, _training("Rows a step.", min=1)]
Patience = Annotated[
    int, _training("Stop after so many epochs without improvement, and keep the best; 0 keeps the last.", min=0)
]
Threads = Annotated[
    int,
    _training(
        "Threads for matrix products. More pay for large models only, and give other roundings.", min=1, max=1024
    ),
]
Jit = Annotated[
    bool,
    _training("Compile steps as soon as that pays; without, they run as eager mode runs them, to the last bit."),
]
Seed = Annotated[int, _training("The same seed gives the same result.", min=0)]

Model = Annotated[Path, typer.Argument(help="A folder that varigrad train wrote.", metavar="MODEL")]
NewRows = Annotated[
    Path, typer.Argument(help="A CSV file with the columns that the model was trained on.", metavar="NEW.csv")
]
PredictionFile = Annotated[
    Path | None, typer.Option("--out", "-o", help="The file to write to.", show_default="the terminal", metavar="FILE")
]
Unknown = Annotated[
    UnknownChoice, _data("A category that training did not meet: error stops; ignore takes it as none of them.")
]


def parse_counts(option: str, text: str) -> list[int]:
    """`64,32` as numbers, and `none` as no numbers."""
    if text.strip().lower() in ("", "none"):
        return []
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[1-9]\d{0,5}", part, re.ASCII) for part in parts):
        raise CommandError(f"{option}: takes numbers such as 64,32, or none, got {text!r}")
    return [int(part) for part in parts]


def parse_image(text: str) -> tuple[int, int, int]:
    """`28x28` or `32x32x3` as `(height, width, channels)`."""
    if not re.fullmatch(r"[1-9]\d{0,4}(x[1-9]\d{0,4}){1,2}", text, re.ASCII):
        raise CommandError(f"--image: takes a size such as 28x28 or 32x32x3, got {text!r}")
    height, width, *channels = (int(length) for length in text.split("x"))
    return height, width, channels[0] if channels else 1


def check_positive(**options: float | None) -> None:
    """Refuses numbers that are not above 0; an option is named as its parameter is."""
    for name, value in options.items():
        if value is not None and not 0 < value < float("inf"):
            raise CommandError(f"--{name.replace('_', '-')}: must be a number above 0, got {value:g}")

"""What turns a table into a model's input and the model's output back into the table's terms.

Numbers are standardised with the mean and standard deviation of the training rows; a category becomes a vector with a
1 at its place. It is all kept in one JSON file beside the model.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast, get_args

import numpy as np

from varigrad.data.columns import Column, Frame, Kind, format_rows
from varigrad.dtypes import Array
from varigrad.errors import DataError

__all__ = [
    "CategoricalField",
    "Field",
    "MissingPolicy",
    "NumericField",
    "Preprocessing",
    "Task",
    "as_classes",
    "decide_task",
]

Task = Literal["regression", "classification"]
MissingPolicy = Literal["impute", "drop", "error"]

_FORMAT = "varigrad-preprocessing"
_VERSION = 1
_MOST_INTEGER_CLASSES = 20
_ROWS_PER_INTEGER_CLASS = 5


@dataclass(frozen=True)
class NumericField:
    """A number, encoded as `(value - mean) / scale`; a missing one as the mean, 0.

    >>> import varigrad as vg
    >>> import numpy as np
    >>> ages = vg.data.Column("age", "numeric", np.array([3.0, 5.0]))
    >>> field = vg.data.NumericField.fit(ages)
    >>> field.mean, field.scale, field.encode(ages).tolist()
    (4.0, 1.0, [[-1.0], [1.0]])
    """

    kind: ClassVar[Kind] = "numeric"
    name: str
    mean: float
    scale: float

    @classmethod
    def fit(cls, column: Column) -> NumericField:
        """Mean and standard deviation of the values present; the scale is 1 where they are all alike."""
        present = column.values[~column.missing]
        if not len(present):
            raise DataError(f"column {column.name!r} has no value in any row to train on; leave it out")
        with np.errstate(over="ignore", invalid="ignore"):
            mean, scale = float(present.mean()), float(present.std())
        if not (math.isfinite(mean) and math.isfinite(scale)):
            raise DataError(
                f"column {column.name!r} holds numbers too large to standardise (up to {np.abs(present).max():g})"
            )
        return cls(column.name, mean, scale if scale > 1e-12 * abs(mean) else 1.0)

    @property
    def width(self) -> int:
        """How many numbers it is encoded as."""
        return 1

    def encode(self, column: Column) -> Array:
        """`[rows, 1]`."""
        scaled = (column.values - self.mean) / self.scale
        return np.where(column.missing, 0.0, scaled)[:, None]

    def decode(self, outputs: Array) -> Array:
        """The values, `[rows]`, in the data's own units."""
        return outputs[:, 0].astype(np.float64) * self.scale + self.mean

    def to_config(self) -> dict[str, Any]:
        """What the JSON file holds."""
        return {"name": self.name, "kind": self.kind, "mean": self.mean, "scale": self.scale}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> NumericField:
        """The field that `to_config` described."""
        mean, scale = float(config["mean"]), float(config["scale"])
        if not (math.isfinite(mean) and math.isfinite(scale) and scale > 0):
            raise ValueError(f"{config['name']!r} has mean {mean:g} and scale {scale:g}")
        return cls(str(config["name"]), mean, scale)


@dataclass(frozen=True)
class CategoricalField:
    """One of several texts, encoded with a 1 at its place among them; a missing one as zeros.

    >>> import varigrad as vg
    >>> import numpy as np
    >>> coats = vg.data.Column("coat", "categorical", np.array(["red", "grey"], object))
    >>> field = vg.data.CategoricalField.fit(coats)
    >>> field.categories, field.encode(coats).tolist()
    (('grey', 'red'), [[0.0, 1.0], [1.0, 0.0]])
    """

    kind: ClassVar[Kind] = "categorical"
    name: str
    categories: tuple[str, ...]

    @classmethod
    def fit(cls, column: Column) -> CategoricalField:
        """The different texts present, in numeric order if all are numbers, else in alphabetical order."""
        texts = {str(value) for value in column.values[~column.missing]}
        return cls(column.name, tuple(_in_order(texts)))

    @property
    def width(self) -> int:
        """How many numbers it is encoded as."""
        return len(self.categories)

    def encode(self, column: Column) -> Array:
        """`[rows, categories]`; a text that is none of them becomes zeros."""
        place = {text: at for at, text in enumerate(self.categories)}
        encoded = np.zeros((len(column.values), len(self.categories)))
        for row, value in enumerate(column.values):
            at = place.get(value)
            if at is not None:
                encoded[row, at] = 1
        return encoded

    def decode(self, outputs: Array) -> list[str]:
        """The likeliest category of each row."""
        return [self.categories[at] for at in outputs.argmax(1)]

    def describe_unknown(self, column: Column, row_numbers: Array) -> str | None:
        """What is in the column that is none of the categories, and in which rows; None if there is nothing."""
        known = {*self.categories, None}
        strange = [text for text in dict.fromkeys(column.values) if text not in known]
        if not strange:
            return None
        places = [f"{text!r} in {format_rows(row_numbers[column.values == text])}" for text in strange[:3]]
        more = f" and {len(strange) - 3} others" if len(strange) > 3 else ""
        listed = ", ".join(self.categories[:10]) + (", ..." if len(self.categories) > 10 else "")
        return f"column {self.name!r} has {', '.join(places)}{more}, but the model knows only {listed}"

    def to_config(self) -> dict[str, Any]:
        """What the JSON file holds."""
        return {"name": self.name, "kind": self.kind, "categories": list(self.categories)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> CategoricalField:
        """The field that `to_config` described."""
        categories = tuple(str(text) for text in _list(config["categories"]))
        if not categories:
            raise ValueError(f"{config['name']!r} has no categories")
        return cls(str(config["name"]), categories)


Field = NumericField | CategoricalField


@dataclass(frozen=True)
class Preprocessing:
    """Everything between a table and a model, both ways.

    `features` are the columns in the order in which the model takes them; `image` is the shape into which they are
    put, if the model takes images.

    >>> import varigrad as vg
    >>> import numpy as np
    >>> frame = vg.data.load_sample("iris").frame
    >>> fitted = vg.data.Preprocessing.fit(frame, "species", train=np.arange(100))
    >>> fitted.task, fitted.encode(frame).shape
    ('classification', (150, 4))
    """

    features: tuple[Field, ...]
    target: Field
    image: tuple[int, int, int] | None = None
    missing: MissingPolicy = "impute"
    missing_text: tuple[str, ...] = ()

    @classmethod
    def fit(
        cls,
        frame: Frame,
        target: str,
        train: Array,
        *,
        image: tuple[int, int, int] | None = None,
        missing: MissingPolicy = "impute",
        missing_text: Sequence[str] = (),
    ) -> Preprocessing:
        """Learns means and scales from the rows `train` alone, and categories from all rows.

        Args:
            frame: All rows; none without a target.
            target: The column to predict.
            train: The indices of the rows to train on.
            image: `[height, width, channels]` if the features are the pixels of images: they share one scale, the
                largest there is.
            missing: What happens to rows with missing values: `"impute"` (the mean, or no category), `"drop"`, or
                `"error"`.
            missing_text: What else stands for a missing value in the file.

        Raises:
            DataError: No features; a feature without values; features that are not the pixels of the image.

        >>> import numpy as np, varigrad.data as data
        >>> frame = data.load_sample("iris").frame
        >>> fitted = data.Preprocessing.fit(frame, "species", np.arange(150))
        >>> fitted.encode(frame).shape, fitted.target.categories
        ((150, 4), ('setosa', 'versicolor', 'virginica'))
        """
        features = frame.without(target).columns
        if not features:
            raise DataError(f"{frame.source} has no column to predict {target!r} from")
        if image is not None:
            fields = _fit_pixels(frame.source, features, train, image)
        else:
            fields = tuple(
                NumericField.fit(c.take(train)) if c.kind == "numeric" else CategoricalField.fit(c) for c in features
            )
        column = frame[target]
        goal = NumericField.fit(column.take(train)) if column.kind == "numeric" else CategoricalField.fit(column)
        if isinstance(goal, CategoricalField) and len(goal.categories) < 2:
            raise DataError(
                f"the target {target!r} is {column.values[0]!r} in every row: there is nothing to tell apart"
            )
        return cls(fields, goal, image, missing, tuple(missing_text))

    @property
    def task(self) -> Task:
        """What the model does."""
        return "regression" if isinstance(self.target, NumericField) else "classification"

    @property
    def input_shape(self) -> list[int]:
        """The shape of one row for the model."""
        return list(self.image) if self.image else [sum(field.width for field in self.features)]

    def encode(self, frame: Frame) -> Array:
        """The model's input: float32, `[rows, features]` or `[rows, height, width, channels]`."""
        columns = {column.name: column for column in frame.columns}
        parts = [field.encode(columns[field.name]) for field in self.features]
        with np.errstate(over="ignore"):  # a value far from all training values becomes infinite
            return np.concatenate(parts, axis=1).astype(np.float32).reshape(len(frame), *self.input_shape)

    def encode_target(self, frame: Frame) -> Array:
        """What the model should give: float32, `[rows, 1]`, or `[rows, classes]` with a 1 at the class."""
        return self.target.encode(frame[self.target.name]).astype(np.float32)

    def incomplete(self, frame: Frame) -> Array:
        """Which rows lack the value of some feature: bools, `[rows]`."""
        names = {field.name for field in self.features}
        return np.any([column.missing for column in frame.columns if column.name in names], axis=0)

    def save(self, path: str | Path) -> None:
        """Writes the JSON file."""
        config = {
            "format": _FORMAT,
            "version": _VERSION,
            "task": self.task,
            "missing": self.missing,
            "missing_text": list(self.missing_text),
            "image": list(self.image) if self.image else None,
            "target": self.target.to_config(),
            "features": [field.to_config() for field in self.features],
        }
        Path(path).write_text(_dump(config), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Preprocessing:
        """Reads the JSON file.

        Raises:
            DataError: It is not there, or not such a file.
        """
        try:
            config: Any = json.loads(Path(path).read_text(encoding="utf-8"))
            if config["format"] != _FORMAT or config["version"] != _VERSION:
                raise ValueError(f"format {config['format']!r} version {config['version']!r}")
            missing = config["missing"]
            if missing not in get_args(MissingPolicy):
                raise ValueError(f"missing is {missing!r}")
            fields = tuple(_field(entry) for entry in _list(config["features"]))
            image = tuple(int(length) for length in config["image"]) if config["image"] else None
            if image is not None and (len(image) != 3 or math.prod(image) != len(fields)):
                raise ValueError(f"{len(fields)} features do not fill the image {list(image)}")
            missing_text = tuple(str(text) for text in _list(config["missing_text"]))
            return cls(fields, _field(config["target"]), image, missing, missing_text)
        except OSError as error:
            raise DataError(f"{path} can't be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            detail = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            raise DataError(f"{path} is not a preprocessing file of this version: {detail}") from None


def decide_task(column: Column) -> Task:
    """Whether a target asks for classes or for a number.

    Classes if it holds text; or whole numbers of at most 20 different values, each on average in five rows or more.

    >>> import numpy as np
    >>> decide_task(Column("grade", "numeric", np.tile([1.0, 2.0, 3.0], 5)))
    'classification'
    >>> decide_task(Column("height", "numeric", np.array([1.8, 1.6, 1.7])))
    'regression'
    """
    if column.kind == "categorical":
        return "classification"
    present = column.values[~column.missing]
    different = len(np.unique(present))
    whole = bool(np.all(present == np.floor(present)))
    few = different <= _MOST_INTEGER_CLASSES and len(present) >= _ROWS_PER_INTEGER_CLASS * different
    return "classification" if whole and few else "regression"


def as_classes(column: Column) -> Column:
    """A target as classes: numbers become the texts that name them, 3.0 as `3`.

    >>> import varigrad as vg
    >>> import numpy as np
    >>> vg.data.as_classes(vg.data.Column("grade", "numeric", np.array([3.0, 1.5]))).values.tolist()
    ['3', '1.5']
    """
    if column.kind == "categorical":
        return column
    texts = [None if math.isnan(value) else f"{value:.15g}" for value in column.values]
    return Column(column.name, "categorical", np.array(texts, object))


def _fit_pixels(source: str, columns: list[Column], train: Array, image: tuple[int, int, int]) -> tuple[Field, ...]:
    shape = " x ".join(str(length) for length in image)
    if math.prod(image) != len(columns):
        raise DataError(
            f"{source} has {len(columns)} columns of features, but an image of {shape} has {math.prod(image)}"
        )
    for column in columns:
        if column.kind != "numeric":
            raise DataError(f"{source}: column {column.name!r} is to be a pixel of an image but does not hold numbers")
    largest = max(float(np.nanmax(np.abs(column.values[train]), initial=0)) for column in columns)
    return tuple(NumericField(column.name, 0.0, largest or 1.0) for column in columns)


def _in_order(texts: set[str]) -> list[str]:
    try:
        return sorted(texts, key=lambda text: (float(text), text))
    except ValueError:
        return sorted(texts)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return cast("list[Any]", value)


def _field(config: Any) -> Field:
    kinds: dict[str, type[Field]] = {"numeric": NumericField, "categorical": CategoricalField}
    if config["kind"] not in kinds:
        raise ValueError(f"unknown kind {config['kind']!r}")
    return kinds[config["kind"]].from_config(config)


def _dump(config: dict[str, Any]) -> str:
    """JSON with a line for each feature, however many there are."""
    *head, (_, features) = config.items()
    lines = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}," for key, value in head]
    rows = ",\n".join(f"    {json.dumps(feature, ensure_ascii=False)}" for feature in features)
    return "\n".join(["{", *lines, '  "features": [', rows, "  ]", "}", ""])

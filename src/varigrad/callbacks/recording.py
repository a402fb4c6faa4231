"""Callbacks that write down what happens, or set the learning rate by the epoch."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from varigrad.callbacks.base import Callback, Logs
from varigrad.callbacks.options import count, flag, path, text
from varigrad.keywords import takes_options

__all__ = ["CSVLogger", "LearningRateScheduler"]


class LearningRateScheduler(Callback):
    """Sets the learning rate at the start of each epoch. As `keras.callbacks.LearningRateScheduler`.

    For a rate that changes from step to step, give the optimizer a schedule of `vg.train`.

    Args:
        schedule: A function of the epoch, from 0, and of the learning rate so far (it may take the epoch alone), that
            returns the new one.
        verbose: 1 to print the learning rate.

    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    >>> model.compile(optimizer="sgd", loss="mean_squared_error")
    >>> callback = vg.callbacks.learning_rate_scheduler(lambda epoch, rate: 0.5 if epoch == 0 else rate / 2)
    >>> model.fit([0.0], [0.0], epochs=3, callbacks=callback, verbose=0).history["learning_rate"]
    [0.5, 0.25, 0.125]
    """

    @takes_options
    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        if not callable(schedule):
            raise TypeError(f"LearningRateScheduler: schedule must be a function of the epoch, got {schedule!r}")
        self.schedule = schedule
        self.verbose = count(type(self).__name__, "verbose", verbose)
        self._takes_rate = _positional(schedule) != 1

    def on_epoch_begin(self, epoch: int, logs: Logs) -> None:
        optimizer = self.model.optimizer
        rate: Any = optimizer.learning_rate
        if callable(rate):
            rate = rate(optimizer.iterations)
        new = self.schedule(epoch, float(rate)) if self._takes_rate else self.schedule(epoch)
        try:
            optimizer.learning_rate = float(new)
        except (TypeError, ValueError):
            raise TypeError(f"LearningRateScheduler: the schedule must return a number, got {new!r}") from None
        if self.verbose:
            print(f"epoch {epoch + 1}: learning rate {float(new):.3g}")

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        logs["learning_rate"] = float(self.model.optimizer.learning_rate)


def _positional(function: Callable[..., Any]) -> int | None:
    """How many positional arguments a function takes, if it tells."""
    import inspect

    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


class CSVLogger(Callback):
    """Writes a row of the logs after each epoch into a CSV file. As `keras.callbacks.CSVLogger`.

    Args:
        filename: Where.
        separator: What stands between the cells.
        append: Whether to go on with a file that is there, under its own header.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import varigrad as vg
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     logger = vg.callbacks.csv_logger(folder + "/log.csv")
    ...     logger.on_train_begin({})
    ...     logger.on_epoch_end(0, {"loss": 0.5, "acc": 1.0})
    ...     logger.on_train_end({})
    ...     print(Path(folder, "log.csv").read_text().strip())
    epoch,acc,loss
    0,1.0,0.5
    """

    @takes_options
    def __init__(self, filename: str | os.PathLike[str], separator: str = ",", append: bool = False) -> None:
        owner = type(self).__name__
        self.filename = Path(path(owner, "filename", filename))
        self.separator = text(owner, "separator", separator)
        if len(separator) != 1:
            raise ValueError(f"{owner}: separator must be one character, got {separator!r}")
        self.append = flag(owner, "append", append)
        self._file: TextIO | None = None
        self._names: list[str] | None = None

    def on_train_begin(self, logs: Logs) -> None:
        self._names = self._header() if self.append else None
        mode = "a" if self.append else "w"
        self._file = self.filename.open(mode, newline="", encoding="utf-8")

    def _header(self) -> list[str] | None:
        if not self.filename.exists():
            return None
        with self.filename.open(newline="", encoding="utf-8") as file:
            return next(csv.reader(file, delimiter=self.separator), None)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        assert self._file is not None
        writer = csv.writer(self._file, delimiter=self.separator, lineterminator="\n")
        if self._names is None:
            self._names = ["epoch", *sorted(logs)]
            writer.writerow(self._names)
        row = {"epoch": epoch, **logs}
        writer.writerow([row.get(name, "") for name in self._names])
        self._file.flush()

    def on_train_end(self, logs: Logs) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

"""A picture of training that is drawn anew while it runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from varigrad.callbacks import Callback, Logs
from varigrad.vis.training import plot_history

__all__ = ["fit_callbacks"]


def fit_callbacks(
    path: str | Path, metrics: Sequence[str] | None = None, *, title: str | None = None, seconds: float = 1.0
) -> Callback:
    """A callback for `fit` that draws losses and metrics into a file after epochs, for a viewer that looks on.

    Mirrors `tfvis.show.fitCallbacks`.

    Args:
        path: Where, as `plot_history` takes it.
        metrics: Which names of the logs to draw, with their `val_` twins; all by default.
        title: Above all panels.
        seconds: How long to wait at least from one drawing to the next; the last epoch is always drawn.

    >>> import tempfile
    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    >>> model.compile(optimizer="sgd", loss="mean_squared_error")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     callback = vg.vis.fit_callbacks(folder + "/loss.png", ["loss"])
    ...     history = model.fit([1.0], [2.0], epochs=3, callbacks=callback, verbose=0)
    """
    return _Drawing(Path(path), metrics, title, seconds)


class _Drawing(Callback):
    def __init__(self, path: Path, metrics: Sequence[str] | None, title: str | None, seconds: float) -> None:
        self._path = path
        self._metrics = None if metrics is None else {*metrics, *(f"val_{name}" for name in metrics)}
        self._title = title
        self._seconds = seconds
        self._begin()

    def _begin(self) -> None:
        self._curves: dict[str, list[float]] = {}
        self._drawn_at: float | None = None
        self._up_to_date = True

    def on_train_begin(self, logs: Logs) -> None:
        self._begin()

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        for name, value in logs.items():
            if self._metrics is None or name in self._metrics:
                self._curves.setdefault(name, []).append(value)
        if not self._curves:
            raise ValueError(f"fit_callbacks: the logs have none of the metrics, only {', '.join(logs)}")
        self._up_to_date = False
        if self._drawn_at is None or time.monotonic() - self._drawn_at >= self._seconds:
            self._draw()

    def on_train_end(self, logs: Logs) -> None:
        if not self._up_to_date:
            self._draw()

    def _draw(self) -> None:
        plot_history(self._curves, self._path, title=self._title)
        self._drawn_at, self._up_to_date = time.monotonic(), True

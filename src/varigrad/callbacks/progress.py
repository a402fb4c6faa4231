"""How training looks while it runs: a bar on a terminal, a line an epoch elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any, Protocol

from varigrad.callbacks.base import Callback, Logs

__all__ = ["Progress", "format_logs"]

_BETWEEN = 0.1  # seconds from one picture of the bar to the next


class _Bar(Protocol):
    def show(self, done: int, text: str) -> None: ...

    def close(self) -> None: ...


class Progress(Callback):
    """What `fit` shows for `verbose` 1 and 2.

    `verbose` 1 is a bar of Rich on a terminal (`pip install 'varigrad[cli]'`), with the means of the epoch so far;
    without either, and for 2, it is a line an epoch.

    >>> import varigrad as vg
    >>> progress = vg.callbacks.Progress()
    >>> progress.set_params({"epochs": 10, "verbose": 2})
    >>> progress.on_epoch_begin(0, {})
    >>> progress.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.625}) # doctest: +ELLIPSIS
    epoch  1/10  ... s  loss 0.5  val_loss 0.625
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._began = 0.0
        self._shown = 0.0
        self._samples = 0
        self._totals: dict[str, float] = {}  # of the epoch so far
        self._bar: _Bar | None = None

    def on_train_begin(self, logs: Logs) -> None:
        if self.params.get("verbose") == 1 and sys.stdout.isatty():
            self._bar = _rich_bar(self.params.get("steps"))

    def on_epoch_begin(self, epoch: int, logs: Logs) -> None:
        self._epoch = epoch
        self._began = time.perf_counter()
        self._samples = 0
        self._totals = {}

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        if self._bar is None:
            return
        size = logs["size"]
        self._samples += size
        for name, value in logs.items():
            if name not in ("batch", "size"):
                self._totals[name] = self._totals.get(name, 0.0) + value * size
        now = time.perf_counter()
        if now - self._shown >= _BETWEEN:
            self._shown = now
            means = {name: total / self._samples for name, total in self._totals.items()}
            self._bar.show(batch + 1, f"{self._place(self._epoch)}  {format_logs(means)}")

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        seconds = time.perf_counter() - self._began
        line = f"{self._place(epoch)}  {seconds:.1f} s  {format_logs(logs)}"
        if self._bar is not None:
            self._bar.close()
            self._bar = _rich_bar(self.params.get("steps")) if epoch + 1 < self.params["epochs"] else None
        print(line, flush=True)

    def on_train_end(self, logs: Logs) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _place(self, epoch: int) -> str:
        epochs = self.params["epochs"]
        return f"epoch {epoch + 1:{len(str(epochs))}}/{epochs}"


def format_logs(logs: Mapping[str, Any]) -> str:
    """Losses and metrics in a line.

    >>> format_logs({"loss": 0.123456, "val_acc": 0.9})
    'loss 0.12346  val_acc 0.9'
    """
    return "  ".join(
        f"{name} {value:.5g}" if isinstance(value, (int, float)) else f"{name} {value}" for name, value in logs.items()
    )


def _rich_bar(steps: int | None) -> _Bar | None:
    try:
        from rich.console import Console  # optional, and slow to import
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
    except ModuleNotFoundError:
        return None
    columns = (
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.description}"),
    )
    progress = RichProgress(*columns, console=Console(), transient=True, auto_refresh=False)
    task = progress.add_task("", total=steps)
    progress.start()

    class Bar:
        def show(self, done: int, text: str) -> None:
            progress.update(task, completed=done, description=text)
            progress.refresh()

        def close(self) -> None:
            progress.stop()

    return Bar()

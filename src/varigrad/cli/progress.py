"""How training looks while it runs: a bar on a terminal, a line an epoch elsewhere."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from varigrad.cli.training import Watcher

__all__ = ["format_curves", "watching"]


@contextmanager
def watching(console: Console, epochs: int, batches: int, metric_name: str) -> Generator[Watcher]:
    """Shows training on the console inside the block.

    Args:
        console: Where.
        epochs: How many there are at most.
        batches: How many each has.
        metric_name: What the metric is called.
    """
    if not console.is_terminal:
        yield _Lines(console, epochs)
        return
    columns = (
        TextColumn("epoch {task.fields[epoch]}/" + str(epochs)),
        BarColumn(bar_width=10),
        TextColumn("{task.fields[shown]}"),
    )
    with Progress(*columns, console=console) as progress:
        yield _Bar(progress, epochs * batches, batches, metric_name)


class _Lines:
    """A line an epoch."""

    def __init__(self, console: Console, epochs: int) -> None:
        self._console = console
        self._epochs = epochs

    def batch_done(self, epoch: int, loss: float, metric: float, gradient_norm: float) -> None:
        """Says nothing."""

    def epoch_done(self, epoch: int, curves: dict[str, float]) -> None:
        """Prints the epoch's losses and metrics."""
        place = f"epoch {epoch:{len(str(self._epochs))}}/{self._epochs}"
        self._console.print(f"{place}  {format_curves(curves)}")


class _Bar:
    """A progress bar over all steps, with names short enough for a terminal of 80 columns."""

    def __init__(self, progress: Progress, steps: int, batches: int, metric_name: str) -> None:
        self._progress = progress
        self._batches = batches
        self._metric_name = {"mean_absolute_error": "error"}.get(metric_name, metric_name)
        self._held_out = ""
        self._task = progress.add_task("", total=steps, epoch=1, shown="")

    def batch_done(self, epoch: int, loss: float, metric: float, gradient_norm: float) -> None:
        """Moves the bar, and shows the means of the epoch so far."""
        measures = f"loss {_number(loss, 3)} {self._metric_name} {_number(metric, 4)} grad {_number(gradient_norm, 3)}"
        self._progress.update(self._task, advance=1, epoch=epoch, shown=measures + self._held_out)

    def epoch_done(self, epoch: int, curves: dict[str, float]) -> None:
        """Shows the validation results from here on."""
        held_out = [_number(value, 4) for name, value in curves.items() if name.startswith("val_")]
        self._held_out = f" val {' '.join(held_out)}" if held_out else ""
        self._progress.update(self._task, completed=epoch * self._batches)


def format_curves(curves: Mapping[str, float]) -> str:
    """`loss 0.1234  accuracy 0.9876`.

    >>> format_curves({"loss": 0.12345, "val_mean_absolute_error": 12345.678})
    'loss 0.12345  val mean absolute error 12346'
    """
    return "  ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in curves.items())


def _number(value: float, digits: int = 5) -> str:
    """A number in so many digits, or all those before the point if that is more."""
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e10 else f"{value:.{digits}g}"

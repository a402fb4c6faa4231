"""Plots of what a training loop wrote down: losses, metrics, and the norms of gradients.

They are drawn on a Matplotlib `Figure` of their own, never through pyplot, so that a program's or notebook's own plots,
backend and settings stay as they are.
"""

# pyright: reportUnknownMemberType=false
# (Matplotlib leaves its **kwargs without types.)

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from varigrad.dtypes import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_gradient_norms", "plot_history"]

# Okabe and Ito's colours, which stay apart for colour-blind readers.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
_DASHES = ("-", "--", ":", "-.")
_GREY = "#666666"
_HELD_OUT = "val_"
_WIDE_RANGE = 20  # from here on a quantity that is never negative is drawn on a logarithmic axis


def plot_history(
    history: Any,
    path: str | Path | None = None,
    *,
    title: str | None = None,
    x_label: str = "epoch",
    y_labels: Mapping[str, str] | None = None,
    best: int | None = None,
) -> Figure:
    """Draws every loss and metric over the epochs, one panel for each, with its `val_` twin in the same panel.

    Args:
        history: A mapping from names to equally long sequences of numbers, such as
            `{"loss": [...], "val_loss": [...]}`, or an object with such a mapping in `.history`. A NaN leaves a gap.
        path: Where to save it, by extension PNG, SVG or PDF.
        title: Above all panels.
        x_label: What one number stands for.
        y_labels: What to write beside a panel instead of its name, with the unit for instance.
        best: The epoch, counted from 1, to mark as the one whose weights were kept.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ValueError: There is nothing to draw, or the sequences differ in length.
        ModuleNotFoundError: Matplotlib is not installed.

    >>> figure = plot_history({"loss": [2.0, 1.0], "val_loss": [2.1, 1.3]})
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['loss']
    """
    curves = _curves("plot_history", getattr(history, "history", history))
    panels = [name for name in curves if not (name.startswith(_HELD_OUT) and name[len(_HELD_OUT) :] in curves)]
    columns = min(len(panels), 2)
    figure, axes = _panels(len(panels), columns, 5.2 if columns > 1 else 7.0, 3.8)
    for ax, name in zip(axes, panels):
        twin = curves.get(_HELD_OUT + name)
        _draw(ax, curves[name], "training" if twin is not None else name, _COLOURS[0])
        if twin is not None:
            _draw(ax, twin, "validation", _COLOURS[1])
        if best is not None:
            ax.axvline(best, color=_GREY, linewidth=1, linestyle=":", label=f"kept: {x_label} {best}")
        shown = [curves[name]] if twin is None else [curves[name], twin]
        _finish(ax, shown, x_label, (y_labels or {}).get(name, name.replace("_", " ")))
        if twin is not None or best is not None:
            ax.legend(facecolor="white", framealpha=0.8, edgecolor="none")
    return _save(figure, title, path)


def plot_gradient_norms(
    norms: Any,
    path: str | Path | None = None,
    *,
    title: str | None = "Gradient norms by variable",
    x_label: str = "epoch",
) -> Figure:
    """Draws the norm of each variable's gradient over the epochs, on a logarithmic axis: a colour for each layer.

    Curves that fall to nothing show a layer that has stopped learning; curves that grow without end, a learning rate
    too high or a loss in need of clipping.

    Args:
        norms: A mapping from variables' names to equally long sequences of norms, 0 or more.
        path: Where to save it, by extension PNG, SVG or PDF.
        title: Above the plot.
        x_label: What one number stands for.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ValueError: There is nothing to draw, the sequences differ in length, or a norm is negative.
        ModuleNotFoundError: Matplotlib is not installed.

    >>> figure = plot_gradient_norms({"dense/kernel": [2.0, 0.5], "dense/bias": [0.1, 0.02]})
    >>> figure.axes[0].get_yscale()
    'log'
    """
    curves = _curves("plot_gradient_norms", norms)
    for name, values in curves.items():
        if (values < 0).any():
            raise ValueError(f"plot_gradient_norms: {name!r} has the norm {np.nanmin(values):g}, which is negative")
    figure, (ax,) = _panels(1, 1, 8.0, 4.4)
    layers: dict[str, list[str]] = {}
    for name in curves:
        layers.setdefault(name.rpartition("/")[0] or name, []).append(name)
    for colour, names in zip(_colours(len(layers)), layers.values()):
        for name, line in zip(names, cycle(_DASHES)):
            # A zero has no place on a logarithmic axis: it leaves a gap.
            _draw(ax, np.where(curves[name] > 0, curves[name], np.nan), name, colour, line)
    _finish(ax, list(curves.values()), x_label, "norm of the gradient (L2)", logarithmic=True)
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize="small")
    return _save(figure, title, path)


def _curves(op: str, history: Any) -> dict[str, Array]:
    if not isinstance(history, Mapping) or not history:
        raise ValueError(f"{op}: needs a mapping from names to numbers, such as {{'loss': [0.9, 0.5]}}")
    curves = {
        str(name): np.asarray(values, np.float64)
        for name, values in cast("Mapping[Any, Sequence[float]]", history).items()
    }
    lengths = {name: values.shape for name, values in curves.items()}
    if (
        any(len(shape) != 1 for shape in lengths.values())
        or len(set(lengths.values())) != 1
        or not next(iter(curves.values())).size
    ):
        listed = ", ".join(f"{name} {list(shape)}" for name, shape in lengths.items())
        raise ValueError(f"{op}: needs equally many numbers, at least one, under each name, got shapes {listed}")
    return curves


def _panels(count: int, columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    try:
        from matplotlib.figure import Figure  # optional, and slow to import
    except ModuleNotFoundError:
        raise ModuleNotFoundError("plots need Matplotlib: pip install 'varigrad[plots]'") from None
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained", facecolor="white")
    return figure, [figure.add_subplot(rows, columns, position) for position in range(1, count + 1)]


def _colours(count: int) -> Sequence[Any]:
    """Colours that stay apart; for many layers, a scale from dark (the first) to light (the last)."""
    from matplotlib import colormaps

    return _COLOURS if count <= len(_COLOURS) else list(colormaps["viridis"](np.linspace(0, 0.9, count)))


def _draw(ax: Axes, values: Array, label: str, colour: Any, line: str = "-") -> None:
    marker = "o" if len(values) <= 30 else None
    steps = np.arange(1, len(values) + 1)
    ax.plot(steps, values, color=colour, linestyle=line, linewidth=1.6, marker=marker, markersize=3, label=label)


def _finish(ax: Axes, shown: list[Array], x_label: str, y_label: str, logarithmic: bool | None = None) -> None:
    from matplotlib.ticker import MaxNLocator

    values = np.concatenate(shown)
    positive = values[np.isfinite(values) & (values > 0)]
    if logarithmic is None:
        logarithmic = not (values <= 0).any() and positive.size > 0 and positive.max() > _WIDE_RANGE * positive.min()
    if logarithmic and positive.size:
        ax.set_yscale("log")
    ax.set_xlabel(x_label)
    ax.set_ylabel(y_label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(True, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, title: str | None, path: str | Path | None) -> Figure:
    if title:
        figure.suptitle(title, fontsize="large")
    if path is not None:
        figure.savefig(path, dpi=130)
    return figure

"""Plots of training: what they show, where they are saved, and that they leave Matplotlib's own state alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from varigrad import vis

pytest.importorskip("matplotlib", reason="plots need Matplotlib")

HISTORY = {
    "loss": [2.0, 1.0, 0.5],
    "accuracy": [0.2, 0.7, 0.9],
    "val_loss": [2.1, 1.2, 0.9],
    "val_accuracy": [0.1, 0.6, 0.8],
}


def lines(ax: Any) -> dict[str, list[float]]:
    return {line.get_label(): list(line.get_ydata()) for line in ax.get_lines()}


def test_losses_and_metrics_have_a_panel_each_with_their_validation_twin() -> None:
    figure = vis.plot_history(HISTORY, title="digits", y_labels={"accuracy": "accuracy (fraction)"})
    loss, accuracy = figure.axes
    assert (loss.get_ylabel(), accuracy.get_ylabel(), loss.get_xlabel()) == ("loss", "accuracy (fraction)", "epoch")
    assert lines(loss) == {"training": HISTORY["loss"], "validation": HISTORY["val_loss"]}
    assert lines(accuracy) == {"training": HISTORY["accuracy"], "validation": HISTORY["val_accuracy"]}
    assert [text.get_text() for text in loss.get_legend().get_texts()] == ["training", "validation"]
    assert figure.get_suptitle() == "digits"
    assert list(loss.get_lines()[0].get_xdata()) == [1, 2, 3]


def test_the_epoch_kept_is_marked() -> None:
    figure = vis.plot_history({"loss": [3.0, 1.0, 2.0]}, best=2)
    (ax,) = figure.axes
    assert "kept: epoch 2" in lines(ax)


def test_an_object_with_a_history_is_taken() -> None:
    figure = vis.plot_history(SimpleNamespace(history={"loss": np.array([1.0, 0.5])}))
    assert lines(figure.axes[0]) == {"loss": [1.0, 0.5]}


@pytest.mark.parametrize(
    ("losses", "scale"),
    [([2.0, 1.0], "linear"), ([100.0, 1.0], "log"), ([100.0, 1.0, 0.0], "linear"), ([1e3, -1.0], "linear")],
)
def test_losses_over_a_wide_range_are_drawn_on_a_logarithmic_axis(losses: list[float], scale: str) -> None:
    assert vis.plot_history({"loss": losses}).axes[0].get_yscale() == scale


def test_gradient_norms_have_a_line_for_each_variable_and_a_colour_for_each_layer() -> None:
    norms = {"dense/kernel": [2.0, 0.5], "dense/bias": [0.1, 0.0], "logits/kernel": [1.0, 1.0]}
    (ax,) = vis.plot_gradient_norms(norms).axes
    drawn = lines(ax)
    assert list(drawn) == list(norms)
    assert drawn["dense/kernel"] == [2.0, 0.5]
    assert np.isnan(drawn["dense/bias"][1])
    assert ax.get_yscale() == "log"
    kernel, bias, other = ax.get_lines()
    assert kernel.get_color() == bias.get_color() != other.get_color()
    assert kernel.get_linestyle() != bias.get_linestyle()


def test_many_layers_have_colours_of_their_own() -> None:
    (ax,) = vis.plot_gradient_norms({f"layer_{i}/kernel": [1.0] for i in range(12)}).axes
    assert len({tuple(line.get_color()) for line in ax.get_lines()}) == 12


def test_gradients_that_are_all_zero_are_drawn_on_a_plain_axis() -> None:
    assert vis.plot_gradient_norms({"w": [0.0, 0.0]}).axes[0].get_yscale() == "linear"


@pytest.mark.parametrize(("name", "start"), [("plot.png", b"\x89PNG"), ("plot.svg", b"<?xml"), ("plot.pdf", b"%PDF")])
def test_plots_are_saved_by_extension(tmp_path: Path, name: str, start: bytes) -> None:
    vis.plot_history(HISTORY, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)
    vis.plot_gradient_norms({"w": [1.0]}, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize("plot", [vis.plot_history, vis.plot_gradient_norms])
@pytest.mark.parametrize("wrong", [{}, None, [1.0], {"a": []}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": [[1.0]]}])
def test_what_cannot_be_drawn_is_refused(plot: Any, wrong: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{plot.__name__}: needs "):
        plot(wrong)


def test_a_negative_norm_is_refused() -> None:
    with pytest.raises(ValueError, match="'w' has the norm -1, which is negative"):
        vis.plot_gradient_norms({"w": [1.0, -1.0]})


def test_pyplot_and_its_settings_are_left_alone(tmp_path: Path) -> None:
    program = """
import sys
import matplotlib
def parameters():  # reading "backend" would itself import pyplot
    return {name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"}
before = parameters()
from varigrad import vis
vis.plot_history({"loss": [1.0, 0.5]}, sys.argv[1])
assert "matplotlib.pyplot" not in sys.modules
assert parameters() == before
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "plot.png")], check=True)


def test_without_matplotlib_the_way_to_install_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'varigrad\[plots\]'"):
        vis.plot_history(HISTORY)

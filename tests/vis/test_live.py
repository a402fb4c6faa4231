"""The picture that is drawn while training runs."""

import numpy as np
import pytest

import varigrad as vg


@pytest.fixture
def drawn(monkeypatch):
    """The curves of each drawing, by name."""
    drawings = []

    def record(curves, path, title=None):
        drawings.append({name: list(values) for name, values in curves.items()})

    monkeypatch.setitem(vg.vis.fit_callbacks.__globals__, "plot_history", record)
    return drawings


def fit(callback, epochs=3):
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    model.compile(optimizer="sgd", loss="mean_squared_error", metrics=["mae"])
    x = np.linspace(0, 1, 8)
    return model.fit(x, x, epochs=epochs, validation_data=(x, x), callbacks=callback, verbose=0).history


def test_it_is_drawn_after_each_epoch_from_the_history(drawn):
    history = fit(vg.vis.fit_callbacks("loss.png", seconds=0))
    assert [len(curves["loss"]) for curves in drawn] == [1, 2, 3]
    assert drawn[-1] == history


def test_it_waits_between_drawings_but_draws_the_end(drawn):
    fit(vg.vis.fit_callbacks("loss.png", seconds=60), epochs=5)
    assert [len(curves["loss"]) for curves in drawn] == [1, 5]


def test_only_some_metrics_with_their_validation(drawn):
    fit(vg.vis.fit_callbacks("loss.png", ["mae"], seconds=0))
    assert drawn[-1].keys() == {"mae", "val_mae"}
    with pytest.raises(ValueError, match="none of the metrics, only loss, mae, val_loss, val_mae"):
        fit(vg.vis.fit_callbacks("loss.png", ["accuracy"]))


def test_the_file_is_a_picture(tmp_path):
    fit(vg.vis.fit_callbacks(tmp_path / "loss.png"))
    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")

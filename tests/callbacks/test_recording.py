"""CSV files, learning rates by the epoch, and what is shown while training runs."""

import csv
import io
import sys

import numpy as np
import pytest

import varigrad as vg
from varigrad.callbacks.progress import format_logs


def make_model(rate=0.1):
    model = vg.sequential(layers=[vg.layers.dense(units=1, use_bias=False, kernel_initializer="ones", input_shape=[1])])
    model.compile(optimizer=vg.train.sgd(rate), loss="mean_squared_error", metrics=["mae"])
    return model


X, Y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 5.0])


def rows(path, delimiter=","):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_csv_file_has_a_row_an_epoch(tmp_path, separator):
    path = tmp_path / "log.csv"
    logger = vg.callbacks.csv_logger(path, separator=separator)
    history = make_model().fit(X, Y, epochs=3, callbacks=logger, validation_data=(X, Y), verbose=0).history
    found = rows(path, separator)
    assert [int(row["epoch"]) for row in found] == [0, 1, 2]
    for name, values in history.items():
        assert [float(row[name]) for row in found] == values


def test_a_csv_file_can_be_gone_on_with(tmp_path):
    path = tmp_path / "log.csv"
    model = make_model()
    model.fit(X, Y, epochs=1, callbacks=vg.callbacks.csv_logger(path), verbose=0)
    model.fit(X, Y, epochs=2, initial_epoch=1, callbacks=vg.callbacks.csv_logger(path, append=True), verbose=0)
    assert [row["epoch"] for row in rows(path)] == ["0", "1"]
    model.fit(X, Y, callbacks=vg.callbacks.csv_logger(path), verbose=0)
    assert [row["epoch"] for row in rows(path)] == ["0"]


def test_a_csv_file_is_whole_after_an_error(tmp_path):
    path = tmp_path / "log.csv"

    def stop(epoch, logs):
        if epoch == 1:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        make_model().fit(X, Y, epochs=3, callbacks=[vg.callbacks.csv_logger(path), {"on_epoch_end": stop}], verbose=0)
    assert [row["epoch"] for row in rows(path)] == ["0", "1"]


def test_the_learning_rate_of_each_epoch():
    model = make_model()
    seen = []
    hooks = {"on_batch_end": lambda batch, logs: seen.append(model.optimizer.learning_rate)}
    scheduler = vg.callbacks.learning_rate_scheduler(lambda epoch: 0.1 / (epoch + 1))
    history = model.fit(X, Y, epochs=3, callbacks=[scheduler, hooks], verbose=0).history
    assert seen == history["learning_rate"] == [0.1, 0.05, 0.1 / 3]


def test_the_learning_rate_reaches_the_weights():
    model = make_model()
    scheduler = vg.callbacks.learning_rate_scheduler(lambda epoch, rate: rate * epoch)
    model.fit([1.0], [2.0], epochs=1, callbacks=scheduler, verbose=0)
    assert model.get_weights()[0].item() == 1.0


def test_a_learning_rate_that_is_none_is_an_error():
    with pytest.raises(TypeError, match="the schedule must return a number, got None"):
        make_model().fit(X, Y, callbacks=vg.callbacks.learning_rate_scheduler(lambda epoch: None), verbose=0)
    with pytest.raises(TypeError, match="schedule must be a function"):
        vg.callbacks.learning_rate_scheduler(0.1)


# What is shown


@pytest.mark.parametrize("verbose", [1, 2])
def test_a_line_an_epoch_where_there_is_no_terminal(capsys, verbose):
    history = make_model().fit(X, Y, epochs=10, verbose=verbose).history
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    for epoch, line in enumerate(lines):
        assert line.startswith(f"epoch {epoch + 1:2}/10  ")
        assert line.endswith(f"loss {history['loss'][epoch]:.5g}  mae {history['mae'][epoch]:.5g}")


def test_silence(capsys):
    make_model().fit(X, Y, epochs=3, verbose=0)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setitem(vg.callbacks.Progress.on_batch_end.__globals__, "_BETWEEN", 0.0)
    make_model(rate=0.0).fit(X, Y, epochs=2, batch_size=1, shuffle=False, verbose=1)
    shown = terminal.getvalue()
    assert "\x1b[" in shown
    # The errors are 1, 1 and 2: the bar shows their means so far.
    for text in ("1/3", "3/3", "epoch 1/2  loss 1  mae 1", "epoch 2/2  loss 2  mae 1.3333"):
        assert text in shown


def test_a_terminal_without_rich_has_lines(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    for name in [name for name in sys.modules if name == "rich" or name.startswith("rich.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    make_model().fit(X, Y, epochs=2, verbose=1)
    assert len(terminal.getvalue().splitlines()) == 2
    assert "\x1b[" not in terminal.getvalue()


def test_numbers_are_shown_in_five_digits():
    assert format_logs({"loss": 1234.5678, "acc": 1.0, "note": "late"}) == "loss 1234.6  acc 1  note late"

"""The training loop by itself."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import varigrad as vg
from varigrad.cli.network import build_layers
from varigrad.cli.progress import watching
from varigrad.cli.training import CLASSIFICATION, Diverged, Examples, evaluate, regression, step_of, train_model
from varigrad.jit import deferred


class Log:
    def __init__(self) -> None:
        self.batches: list[tuple[int, float, float, float]] = []
        self.epochs: list[dict[str, float]] = []

    def batch_done(self, epoch: int, loss: float, metric: float, gradient_norm: float) -> None:
        self.batches.append((epoch, loss, metric, gradient_norm))

    def epoch_done(self, epoch: int, curves: dict[str, float]) -> None:
        self.epochs.append(curves)


def line(rows: int = 10) -> Examples:
    """y = 2 x + 1."""
    x = np.linspace(-1, 1, rows, dtype=np.float32)[:, None]
    return Examples(x, 2 * x + 1)


def linear_model() -> vg.layers.LayersModel:
    return vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], kernel_initializer="zeros")])


OPTIONS: dict[str, Any] = {"epochs": 5, "batch_size": 4, "patience": 0}


def test_a_step_by_hand_in_numpy_gives_the_same_weights_and_losses() -> None:
    examples, model = line(), linear_model()
    log = Log()
    history = train_model(
        model,
        regression(10.0),
        examples,
        None,
        vg.train.sgd(0.1),
        random=np.random.default_rng(7),
        watcher=log,
        **OPTIONS,
    )
    w, b, losses, errors, norms = 0.0, 0.0, [], [], []
    random = np.random.default_rng(7)
    for _ in range(5):
        order = random.permutation(10)
        loss = error = norm = 0.0
        for rows in (order[:4], order[4:8], order[8:]):
            x, y = examples.x[rows, 0].astype(float), examples.y[rows, 0].astype(float)
            off = w * x + b - y
            gradient = np.array([(2 * off * x).mean(), (2 * off).mean()])
            loss, error = loss + (off**2).mean() * len(rows), error + np.abs(off).mean() * len(rows)
            norm += np.linalg.norm(gradient) * len(rows)
            w, b = w - 0.1 * gradient[0], b - 0.1 * gradient[1]
        losses.append(loss / 10)
        errors.append(10 * error / 10)
        norms.append(norm / 10)
    np.testing.assert_allclose([v.item() for v in model.get_weights()], [w, b], rtol=1e-5)
    np.testing.assert_allclose(history.curves["loss"], losses, rtol=1e-5)
    np.testing.assert_allclose(history.curves["mean_absolute_error"], errors, rtol=1e-5)
    np.testing.assert_allclose(history.curves["gradient_norm"], norms, rtol=1e-5)
    assert len(log.batches) == 15
    assert log.epochs[-1]["loss"] == history.curves["loss"][-1] == log.batches[-1][1]


def test_the_norms_of_the_variables_are_means_over_the_steps() -> None:
    history = train_model(
        linear_model(), regression(1.0), line(), None, vg.train.sgd(1e-9), random=np.random.default_rng(0),
        watcher=Log(), epochs=1, batch_size=10, patience=0,
    )  # fmt: skip
    # At w = b = 0 the gradient of the mean of (w x + b - y)² is (-2 mean(x y), -2 mean(y)).
    x = line().x[:, 0]
    kernel, bias = history.gradient_norms.values()
    assert kernel == [pytest.approx(2 * np.mean(x * (2 * x + 1)), rel=1e-5)]
    assert bias == [pytest.approx(2.0, rel=1e-5)]


def test_no_tensor_is_left_over() -> None:
    model, optimizer = linear_model(), vg.train.adam(0.01)

    def run() -> int:
        train_model(
            model,
            regression(1.0),
            line(),
            line(4),
            optimizer,
            random=np.random.default_rng(0),
            watcher=Log(),
            **OPTIONS,
        )
        return vg.memory().num_tensors

    assert run() == run()


def test_the_best_weights_come_back() -> None:
    model = linear_model()
    rates = iter([0.1] * 6 + [3.0] * 100)  # too large a step from the third epoch on

    optimizer = vg.train.sgd(lambda step: next(rates))
    history = train_model(
        model, regression(1.0), line(), line(5), optimizer, random=np.random.default_rng(0),
        watcher=Log(), epochs=20, batch_size=4, patience=2,
    )  # fmt: skip
    losses = history.curves["val_loss"]
    assert history.best_epoch == int(np.argmin(losses)) + 1 == 2
    assert (history.epochs, history.ended) == (4, "no improvement for 2 epochs")
    assert evaluate(model, regression(1.0), line(5))[0] == losses[1]


def test_an_interruption_ends_the_epoch_at_once() -> None:
    log = Log()
    history = train_model(
        linear_model(), regression(1.0), line(), None, vg.train.sgd(0.1), random=np.random.default_rng(0), watcher=log,
        interrupted=lambda: len(log.batches) >= 5, **OPTIONS,
    )  # fmt: skip
    assert (len(log.batches), history.epochs, history.ended) == (5, 2, "interrupted in epoch 2")


def test_a_loss_that_is_no_number_ends_the_training() -> None:
    with pytest.raises(Diverged, match=r"the loss became (inf|nan) in epoch \d+, batch \d+"):
        train_model(
            linear_model(), regression(1.0), line(), None, vg.train.sgd(1e30), random=np.random.default_rng(0),
            watcher=Log(), **OPTIONS,
        )  # fmt: skip


def test_classification_is_judged_by_cross_entropy_and_accuracy() -> None:
    y = np.eye(3, dtype=np.float32)
    logits = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]], np.float32)
    rows = np.log(np.exp(logits).sum(1)) - (logits * y).sum(1)
    assert CLASSIFICATION.loss(vg.tensor(y), vg.tensor(logits)).item() == pytest.approx(rows.mean(), rel=1e-6)
    assert CLASSIFICATION.metric(vg.tensor(y), vg.tensor(logits)).item() == pytest.approx(2 / 3)


def test_a_stack_has_the_layers_asked_for() -> None:
    layers = build_layers(
        [8, 8, 1], 10, hidden=[16], filters=[4, 6], dropout=0.5, activation="tanh", output_name="logits"
    )
    model = vg.sequential(layers=layers)
    assert [layer.name for layer in layers] == [
        "conv2d_1", "max_pooling2d_1", "conv2d_2", "max_pooling2d_2", "flatten", "dense_1", "dropout_1", "logits",
    ]  # fmt: skip
    assert model.predict(vg.zeros([2, 8, 8, 1])).shape == (2, 10)
    assert [layer.name for layer in build_layers([5], 1, hidden=[])] == ["output"]


def test_a_terminal_shows_a_bar_with_loss_metric_and_gradient_norm() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, highlight=False)
    with watching(console, 3, 2, "accuracy") as watcher:
        watcher.batch_done(1, 0.5, 0.25, 1.5)
        watcher.epoch_done(1, {"loss": 0.5, "val_loss": 0.75, "val_accuracy": 0.5})
        watcher.batch_done(2, 0.4, 0.35, 1.25)
    text = screen.getvalue()
    assert "epoch 2/3" in text
    assert "loss 0.4 accuracy 0.35 grad 1.25 val 0.75 0.5" in text


def test_elsewhere_there_is_a_line_an_epoch() -> None:
    screen = io.StringIO()
    with watching(Console(file=screen, width=200), 10, 2, "accuracy") as watcher:
        watcher.batch_done(1, 0.5, 0.25, 1.5)
        watcher.epoch_done(1, {"loss": 0.5, "accuracy": 0.25, "gradient_norm": 1.5})
    assert screen.getvalue() == "epoch  1/10  loss 0.5  accuracy 0.25  gradient norm 1.5\n"


def test_compiled_steps_train_as_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_COMPILING", "_COMPILING_A_KERNEL", "_COMPILING_ANOTHER_KERNEL"):
        monkeypatch.setattr(deferred, name, 0.0)  # so that it pays from the second step on
    examples, found = line(11), []
    for jit in (None, False):
        model, log = linear_model(), Log()
        options = {**OPTIONS, "random": np.random.default_rng(7), "watcher": log, "jit": jit}
        train_model(model, regression(10.0), examples, examples, vg.train.adam(0.1), **options)
        found.append((np.concatenate([w.numpy().ravel() for w in model.get_weights()]), log.epochs))
    (ours, our_epochs), (theirs, their_epochs) = found
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    for our, their in zip(our_epochs, their_epochs, strict=True):
        assert our == pytest.approx(their, rel=1e-4)


def test_steps_are_compiled_where_many_are_to_come() -> None:
    model, examples = linear_model(), line()
    step = step_of(model, regression(1.0), vg.train.sgd(0.1), lambda grads: grads, None)
    x, y = vg.tensor(examples.x), vg.tensor(examples.y)
    for more in (999, 998):
        step(x, y, more=more)
    assert step.compilations == 1

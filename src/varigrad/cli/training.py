"""The training loop, written by hand: every step of it is in sight."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

import varigrad as vg
from varigrad.dtypes import Array
from varigrad.jit.deferred import Deferred

__all__ = [
    "CLASSIFICATION",
    "Diverged",
    "Examples",
    "Goal",
    "History",
    "Step",
    "Watcher",
    "evaluate",
    "regression",
    "step_of",
    "take_step",
    "train_model",
]


class Examples(NamedTuple):
    """A model's inputs `[rows, ...]` and what it should give for them `[rows, outputs]`."""

    x: Array
    y: Array


class Goal(NamedTuple):
    """What training makes small, and how a person measures it. Both take `(targets, outputs)` and give a scalar."""

    loss: Callable[[vg.Tensor, vg.Tensor], vg.Tensor]
    metric: Callable[[vg.Tensor, vg.Tensor], vg.Tensor]
    metric_name: str


def accuracy(y: vg.Tensor, logits: vg.Tensor) -> vg.Tensor:
    """The part of the rows whose largest logit is at the right class."""
    return logits.arg_max(-1).equal(y.arg_max(-1)).cast("float32").mean()


def mean_squared_error(y: vg.Tensor, outputs: vg.Tensor) -> vg.Tensor:
    """The mean of the squared differences."""
    return outputs.sub(y).square().mean()


def mean_absolute_error(y: vg.Tensor, outputs: vg.Tensor) -> vg.Tensor:
    """The mean of the differences without their signs."""
    return outputs.sub(y).abs().mean()


CLASSIFICATION = Goal(vg.losses.softmax_cross_entropy, accuracy, "accuracy")


def regression(scale: float) -> Goal:
    """The goal for a target that was divided by `scale`: the metric is in the target's own unit."""

    def error_in_own_unit(y: vg.Tensor, outputs: vg.Tensor) -> vg.Tensor:
        return mean_absolute_error(y, outputs).mul(scale)

    return Goal(mean_squared_error, error_in_own_unit, "mean_absolute_error")


@dataclass
class History:
    """What happened in each epoch: losses and metrics, and the mean norm of each variable's gradient."""

    curves: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    gradient_norms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    best_epoch: int = 0
    ended: str = "all epochs done"

    @property
    def epochs(self) -> int:
        """How many epochs there were."""
        return len(self.curves.get("loss", ()))

    def add(self, curves: dict[str, float], gradient_norms: dict[str, float]) -> None:
        """Adds an epoch."""
        for name, value in curves.items():
            self.curves.setdefault(name, []).append(value)
        for name, value in gradient_norms.items():
            self.gradient_norms.setdefault(name, []).append(value)


class Watcher(Protocol):
    """Told how training goes."""

    def batch_done(self, epoch: int, loss: float, metric: float, gradient_norm: float) -> None:
        """A step has been taken."""
        ...

    def epoch_done(self, epoch: int, curves: dict[str, float]) -> None:
        """An epoch has ended."""
        ...


class Step(NamedTuple):
    """What one step of training saw, before it changed the weights: scalars. Norms are those before clipping."""

    loss: vg.Tensor
    metric: vg.Tensor
    gradient_norms: dict[str, vg.Tensor]


class Diverged(Exception):
    """The loss became infinite or NaN."""


def train_model(
    model: vg.layers.LayersModel,
    goal: Goal,
    examples: Examples,
    validation: Examples | None,
    optimizer: vg.train.Optimizer,
    *,
    epochs: int,
    batch_size: int,
    patience: int,
    random: np.random.Generator,
    watcher: Watcher,
    clip: Callable[[dict[str, vg.Tensor]], dict[str, vg.Tensor]] = lambda grads: grads,
    interrupted: Callable[[], bool] = lambda: False,
    jit: bool | None = None,
) -> History:
    """Trains a model in shuffled mini-batches, and leaves in it the weights of its best epoch.

    The best epoch is that of the least validation loss, or training loss where nothing was held out.

    Args:
        model: Gives `[rows, outputs]`; logits, for classification.
        goal: The loss and the metric.
        examples: What to train on.
        validation: What to judge each epoch by.
        optimizer: Applies the gradients.
        epochs: How many times to go through the examples.
        batch_size: How many examples a step takes.
        patience: How many epochs without improvement end the training; 0 for never, and the last weights stay.
        random: Shuffles.
        watcher: Is told about every step and epoch.
        clip: What happens to the gradients, by variable name, before they are applied.
        interrupted: Asked after every step; True ends the epoch there, and the training.
        jit: Whether steps are compiled; by default they are as soon as that pays.

    Raises:
        Diverged: The loss became infinite or NaN.
    """
    history = History()
    best_loss, best_weights = math.inf, None
    rows = len(examples.x)
    model.jit = jit  # for evaluation
    take = step_of(model, goal, optimizer, clip, jit)
    for epoch in range(1, epochs + 1):
        order = random.permutation(rows)
        x, y = vg.tensor(examples.x[order]), vg.tensor(examples.y[order])
        totals, norms, seen, steps = np.zeros(3), dict[str, float](), 0, 0
        for start in range(0, rows, batch_size):
            size = min(batch_size, rows - start)
            alike = rows // batch_size if size == batch_size else 1  # in each epoch
            with vg.tidy():
                step = take(x.slice(start, size), y.slice(start, size), more=alike * (epochs + 1 - epoch) - 1)
                loss, metric = step.loss.item(), step.metric.item()
                step_norms = {name: norm.item() for name, norm in step.gradient_norms.items()}
            if not math.isfinite(loss):
                raise Diverged(f"the loss became {loss:g} in epoch {epoch}, batch {steps + 1}")
            totals += np.array([loss, metric, math.hypot(*step_norms.values())]) * size
            norms = {name: norms.get(name, 0.0) + norm for name, norm in step_norms.items()}
            seen, steps = seen + size, steps + 1
            watcher.batch_done(epoch, *(totals / seen))
            if interrupted():
                break

        loss, metric, gradient_norm = (totals / seen).tolist()
        curves = {"loss": loss, goal.metric_name: metric}
        if validation is not None:
            held_out_loss, held_out_metric = evaluate(model, goal, validation)
            curves |= {"val_loss": held_out_loss, f"val_{goal.metric_name}": held_out_metric}
        curves["gradient_norm"] = gradient_norm
        history.add(curves, {name: norm / steps for name, norm in norms.items()})
        watcher.epoch_done(epoch, curves)

        judged = curves.get("val_loss", loss)
        if judged < best_loss:
            best_loss, history.best_epoch = judged, epoch
            best_weights = [w.numpy() for w in model.get_weights()]
        if interrupted():
            history.ended = f"interrupted in epoch {epoch}"
            break
        if patience and epoch - history.best_epoch >= patience:
            history.ended = f"no improvement for {patience} epochs"
            break
    if patience and best_weights is not None:
        model.set_weights(best_weights)
    else:
        history.best_epoch = history.epochs
    return history


def step_of(
    model: vg.layers.LayersModel,
    goal: Goal,
    optimizer: vg.train.Optimizer,
    clip: Callable[[dict[str, vg.Tensor]], dict[str, vg.Tensor]],
    jit: bool | None,
) -> Deferred:
    """A function that takes a step for inputs and targets: `take_step`, compiled as soon as that pays."""

    def step(x: vg.Tensor, y: vg.Tensor) -> Step:
        return take_step(model, goal, x, y, optimizer, clip)

    return Deferred(lambda: step, "a step of training", jit, lambda reason: None)


def take_step(
    model: vg.layers.LayersModel,
    goal: Goal,
    x: vg.Tensor,
    y: vg.Tensor,
    optimizer: vg.train.Optimizer,
    clip: Callable[[dict[str, vg.Tensor]], dict[str, vg.Tensor]],
) -> Step:
    """One step of training on one batch: the loss, its gradients, the update."""
    outputs: list[vg.Tensor] = []

    def loss_of_batch() -> vg.Tensor:
        outputs.append(model(x, training=True))
        return goal.loss(y, outputs[0])

    weights = model.trainable_weights
    loss, grads = vg.variable_grads(loss_of_batch, weights)
    optimizer.apply_gradients(clip(grads))
    norms = {w.original_name: grads[w.name].norm() for w in weights if w.name in grads}
    return Step(loss, goal.metric(y, outputs[0]), norms)


def evaluate(model: vg.layers.LayersModel, goal: Goal, examples: Examples) -> tuple[float, float]:
    """The loss and the metric over all examples, outside of training."""
    with vg.tidy():
        outputs, y = model.predict(examples.x, batch_size=256), vg.tensor(examples.y)
        return goal.loss(y, outputs).item(), goal.metric(y, outputs).item()

"""One step: the loss of a batch, its gradients, the update; and the means of what the steps of an epoch gave."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from varigrad.autodiff import variable_grads
from varigrad.layers.training.counting import Mean
from varigrad.layers.training.losses import losses_of
from varigrad.layers.training.samples import Batch
from varigrad.layers.training.weighting import Sums, scale_to, weighted_mean
from varigrad.ops.arguments import cast_to
from varigrad.ops.arithmetic import add, mul
from varigrad.tensor import Tensor, Variable
from varigrad.train.accumulation import GradientSums

if TYPE_CHECKING:
    from varigrad.layers.training.compilable import Compilable
    from varigrad.layers.training.compiled import Compiled
    from varigrad.train import Optimizer

__all__ = ["Meter", "Results", "Seen", "counting", "run_batch", "train_step"]


class Results(NamedTuple):
    """What a batch came to: the loss to be made small, that of each output, the outputs and their masks."""

    loss: Tensor
    losses: list[Tensor | None]
    outputs: list[Tensor]
    masks: list[Tensor | None]


class Seen(NamedTuple):
    """What is measured of a batch: the losses; the sums of each metric that is a mean over samples; and for other
    metrics, which count for themselves, outputs and their masks."""

    loss: Tensor
    losses: list[Tensor | None]
    sums: list[Sums | None]
    outputs: list[Tensor | None]
    masks: list[Tensor | None]


def train_step(
    model: Compilable,
    compiled: Compiled,
    batch: Batch,
    optimizer: Optimizer | GradientSums,
    weights: Sequence[Variable],
) -> Results:
    """One step of training: the gradients of the loss, applied to the weights that are trained, or added up."""
    results: list[Results] = []

    def loss() -> Tensor:
        results.append(run_batch(model, compiled, batch, training=True))
        return results[0].loss

    _, grads = variable_grads(loss, weights)
    if isinstance(optimizer, GradientSums):
        optimizer.add(grads, batch.size)
    else:
        optimizer.apply_gradients(grads)
    return results[0]


def run_batch(model: Compilable, compiled: Compiled, batch: Batch, training: bool) -> Results:
    """The model's outputs for a batch, and their loss: the outputs' losses by their weights, and the penalties."""
    outputs, masks = _outputs(model, batch.x, training)
    losses: list[Tensor | None] = []
    total: Tensor | None = None
    for name, function, factor, y, weights, output, mask in zip(
        model.output_names, compiled.losses, compiled.loss_weights, batch.y, batch.weights, outputs, masks
    ):
        if function is None or y is None:
            losses.append(None)
            continue
        owner = f"the loss of {name}"
        loss = weighted_mean(owner, losses_of(owner, function, y, output), weights, mask)
        losses.append(loss)
        part = scale_to(loss, factor)
        total = part if total is None else add(total, part)
    for penalty in model.calculate_losses():
        total = penalty if total is None else add(total, penalty)
    return Results(cast("Tensor", total), losses, outputs, masks)


def _outputs(model: Compilable, x: Any, training: bool) -> tuple[list[Tensor], list[Tensor | None]]:
    if model.makes_mask:
        y, mask = model._run_masked(x, None, training)  # pyright: ignore[reportPrivateUsage]
    else:
        y, mask = model._run(x, training), None  # pyright: ignore[reportPrivateUsage]
    if y is None:
        raise TypeError(f"{model.outputs[0].source_layer.name}: its call must return a tensor, got None")
    outputs: list[Tensor] = [y] if isinstance(y, Tensor) else list(y)
    masks: list[Tensor | None] = list(cast("list[Any]", mask)) if isinstance(mask, list) else [mask] * len(outputs)
    return outputs, masks


class Meter:
    """The losses and metrics of batches, and their means over the samples of all of them.

    Args:
        compiled: What is measured.
        apart: Whether to count with copies of the metrics, so that those of a training that goes on are left alone.
    """

    def __init__(self, compiled: Compiled, apart: bool = False) -> None:
        self._compiled = compiled
        self._measures = compiled.measures
        if apart:
            self._measures = [measure._replace(metric=copy(measure.metric)) for measure in compiled.measures]
        self.reset()

    def reset(self) -> None:
        """Begins anew."""
        self._samples = 0
        self._totals: dict[str, float] = {}
        for measure in self._measures:
            measure.metric.reset_state()

    def add(self, batch: Batch, seen: Seen) -> dict[str, float]:
        """Takes a batch in, and returns its own losses and metrics by name."""
        logs = {"loss": seen.loss.item()}
        if self._compiled.loss_names:
            of_outputs = [loss.item() for loss in seen.losses if loss is not None]
            logs.update(zip(self._compiled.loss_names, of_outputs))
        self._samples += batch.size
        for name, value in logs.items():
            self._totals[name] = self._totals.get(name, 0.0) + value * batch.size
        for (name, output, metric, weighted), sums in zip(self._measures, seen.sums):
            y = batch.y[output]
            if y is None:
                continue
            if sums is not None:
                cast("Mean", metric).add(sums)
            else:
                weights = counting(batch.weights[output] if weighted else None, seen.masks[output])
                metric.update_state(y, seen.outputs[output], weights)
            logs[name] = metric.batch_value()
        return logs

    def means(self) -> dict[str, float]:
        """The means by name."""
        means = {name: total / self._samples for name, total in self._totals.items()}
        return means | {measure.name: measure.metric.result() for measure in self._measures}


def counting(weights: Tensor | None, mask: Tensor | None) -> Tensor | None:
    """How much each sample, or each of its steps, counts in a metric."""
    if mask is None:
        return weights
    counting = cast_to(mask, "float32")
    if weights is None:
        return counting
    missing = counting.rank - weights.rank
    return mul(counting, weights.reshape([*weights.shape, *[1] * missing]) if missing > 0 else weights)

"""What a model is compiled with: an optimizer, a loss for each output, and what is measured of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from varigrad import train
from varigrad.callers import warn_caller
from varigrad.keywords import suggestion
from varigrad.layers.naming import spelling_key
from varigrad.layers.symbolic import SymbolicTensor
from varigrad.layers.training.counting import Metric
from varigrad.layers.training.losses import LossFunction, get_loss
from varigrad.layers.training.metrics import get_metric
from varigrad.train import GradientAccumulator, Optimizer

__all__ = ["AnyOptimizer", "Compiled", "Measure", "compiled_with", "get_optimizer"]

AnyOptimizer = Optimizer | GradientAccumulator

# The hyperparameters that TensorFlow.js gives an optimizer that is asked for by name.
_OPTIMIZERS: dict[str, Callable[[], Optimizer]] = {
    "adagrad": lambda: train.adagrad(0.01),
    "adadelta": lambda: train.adadelta(1.0, 0.95),
    "adam": lambda: train.adam(0.001, 0.9, 0.999),
    "adamax": lambda: train.adamax(0.002, 0.9, 0.999),
    "rmsprop": lambda: train.rmsprop(0.001, 0.9, 0.0),
    "sgd": lambda: train.sgd(0.01),
}


class Measure(NamedTuple):
    """A metric of one output, the name that logs have for it, and whether sample weights count in it."""

    name: str
    output: int
    metric: Metric
    weighted: bool


class Compiled(NamedTuple):
    """A loss and its weight for each output, None for one that is not trained; and what is measured."""

    losses: list[LossFunction | None]
    loss_weights: list[float]
    loss_names: list[str]
    measures: list[Measure]

    @property
    def names(self) -> list[str]:
        """The names in logs, in order."""
        return ["loss", *self.loss_names, *[measure.name for measure in self.measures]]


def compiled_with(
    output_names: Sequence[str],
    outputs: Sequence[SymbolicTensor],
    loss: Any,
    metrics: Any,
    loss_weights: Any,
    weighted_metrics: Any,
) -> Compiled:
    """Looks up what `compile` was given.

    Raises:
        ValueError: A name is unknown, or something is given for another number of outputs.
    """
    losses = _losses(output_names, loss)
    weights = [_loss_weight(each) for each in _each("loss_weights", output_names, loss_weights)]
    names: list[str] = []
    if len(output_names) > 1:
        names = [f"{name}_loss" for name, function in zip(output_names, losses) if function is not None]
    found: list[Measure] = []
    for weighted, wanted in ((False, metrics), (True, weighted_metrics)):
        for place, each in enumerate(_metrics(output_names, wanted, "weighted_metrics" if weighted else "metrics")):
            if losses[place] is None and isinstance(wanted, Mapping) and each:
                raise ValueError(f"compile: there are metrics for output {output_names[place]!r}, but there is no loss")
            for identifier in each if losses[place] is not None else ():
                metric = get_metric(identifier, losses[place], outputs[place].shape)
                name = metric.name if len(output_names) == 1 else f"{output_names[place]}_{metric.name}"
                found.append(Measure(name, place, metric, weighted))
    labels = _told_apart([*names, *[measure.name for measure in found]])
    measures = [measure._replace(name=label) for measure, label in zip(found, labels[len(names) :])]
    return Compiled(losses, weights, labels[: len(names)], measures)


def _told_apart(labels: Sequence[str]) -> list[str]:
    """Names of which several are alike with a number, as TensorFlow.js numbers them."""
    return [
        f"{label}_{labels[:place].count(label)}" if labels.count(label) > 1 else label
        for place, label in enumerate(labels)
    ]


def _loss_weight(value: Any) -> float:
    """How much an output's loss counts: a number, NumPy's included, or 1 for None."""
    try:
        weight = 1.0 if value is None else math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not math.isfinite(weight):
        raise ValueError(f"compile: loss_weights must be a number for each output, got {value!r:.100}")
    return weight


def get_optimizer(identifier: Any) -> AnyOptimizer:
    """An optimizer by name, with the hyperparameters that TensorFlow.js gives it, or itself.

    Raises:
        ValueError: The name is unknown.
    """
    if isinstance(identifier, (Optimizer, GradientAccumulator)):
        return identifier
    if isinstance(identifier, str):
        make = _OPTIMIZERS.get(spelling_key(identifier))
        if make is None:
            near = suggestion(identifier.lower(), _OPTIMIZERS)
            raise ValueError(f"compile: unknown optimizer {identifier!r}{near}; there are {', '.join(_OPTIMIZERS)}")
        return make()
    raise TypeError(f"compile: an optimizer is a name or one of vg.train, such as vg.train.adam(), got {identifier!r}")


def _losses(output_names: Sequence[str], loss: Any) -> list[LossFunction | None]:
    if isinstance(loss, Mapping):
        by_name = cast("Mapping[str, Any]", loss)
        for name in by_name:
            if name not in output_names:
                raise ValueError(f"compile: loss names {name!r}, but the outputs are {', '.join(output_names)}")
        for name in output_names:
            if by_name.get(name) is None:
                warn_caller(
                    f"compile: there is no loss for output {name!r}; it will not be trained, and no targets are "
                    "expected for it",
                )
        each = [by_name.get(name) for name in output_names]
    else:
        each = _each("loss", output_names, loss)
    losses = [None if one is None else get_loss(one) for one in each]
    if not any(losses):
        raise ValueError("compile: there must be a loss for at least one output, such as loss='mean_squared_error'")
    return losses


def _each(argument: str, output_names: Sequence[str], value: Any) -> list[Any]:
    """What is given for each output: by name, in order, or one for all."""
    if isinstance(value, Mapping):
        by_name = cast("Mapping[str, Any]", value)
        for name in by_name:
            if name not in output_names:
                raise ValueError(f"compile: {argument} names {name!r}, but the outputs are {', '.join(output_names)}")
        return [by_name.get(name) for name in output_names]
    if isinstance(value, (list, tuple)):
        items = list(cast("Sequence[Any]", value))
        if len(items) != len(output_names):
            raise ValueError(
                f"compile: {argument} must have one entry for each output ({', '.join(output_names)}), got {len(items)}"
            )
        return items
    return [value] * len(output_names)


def _metrics(output_names: Sequence[str], metrics: Any, argument: str) -> list[list[Any]]:
    """The metrics of each output: by name, or the same for all."""
    if metrics is None:
        return [[] for _ in output_names]
    if isinstance(metrics, Mapping):
        return [_list(each) for each in _each(argument, output_names, metrics)]
    each = _list(metrics)
    if len(output_names) > 1:
        if any(isinstance(one, (list, tuple)) for one in each):
            return [_list(one) for one in _each(argument, output_names, each)]
        counting = next((one for one in each if isinstance(one, Metric)), None)
        if counting is not None:
            raise ValueError(
                f"compile: {argument} has {counting!r} for all {len(output_names)} outputs, but it counts for one "
                "only; give them by output: {name: metric}"
            )
    return [list(each) for _ in output_names]


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(cast("Sequence[Any]", value)) if isinstance(value, (list, tuple)) else [value]

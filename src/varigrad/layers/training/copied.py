"""The optimizer of a model that is copied or pickled, whose state goes over to the weights of the copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from varigrad.dtypes import Array
from varigrad.layers.training.compiled import AnyOptimizer
from varigrad.tensor import Variable
from varigrad.train import GradientAccumulator, Optimizer

__all__ = ["CopiedOptimizer", "copied_optimizer", "optimizer_for"]


class CopiedOptimizer(NamedTuple):
    """An optimizer by its class, config and state; slots go by the place of their weight in the model."""

    kind: type[Optimizer]
    config: dict[str, Any]
    every: int | None  # batches to an update, where gradients are accumulated
    iterations: Any
    slots: list[tuple[int, str, Array]]


def copied_optimizer(optimizer: AnyOptimizer, weights: Sequence[Variable]) -> CopiedOptimizer:
    """What makes an equal optimizer for a copy of a model, of which these are the weights."""
    every = None
    if isinstance(optimizer, GradientAccumulator):
        every, optimizer = optimizer.every, optimizer.optimizer
    places = {weight.name: place for place, weight in enumerate(weights)}
    iterations, *state = optimizer.get_weights()
    slots: list[tuple[int, str, Array]] = []
    for name, tensor in state:
        variable, _, slot = name.rpartition("/")
        if variable in places:
            slots.append((places[variable], slot, tensor.numpy()))
    return CopiedOptimizer(type(optimizer), optimizer.get_config(), every, iterations.tensor.numpy(), slots)


def optimizer_for(copied: CopiedOptimizer, weights: Sequence[Variable]) -> AnyOptimizer:
    """The optimizer for the copy's weights."""
    optimizer = copied.kind.from_config(copied.config)
    state = {f"{weights[place].name}/{slot}": values for place, slot, values in copied.slots}
    optimizer.set_weights({"iter": copied.iterations, **state})
    return optimizer if copied.every is None else GradientAccumulator(optimizer, copied.every)

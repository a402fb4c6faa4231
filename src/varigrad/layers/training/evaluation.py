"""What a model's loss and metrics are, outside of training."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from varigrad.engine import make_tensor
from varigrad.layers.arguments import positive_integer
from varigrad.layers.training.batches import ArrayBatches, IterableBatches, batch_parts, holds_arrays
from varigrad.layers.training.samples import Batch, Samples, read_samples
from varigrad.layers.training.step import Meter
from varigrad.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from varigrad.layers.training.trainable import Trainable

__all__ = ["as_scalars", "evaluate_batches", "validation"]


def evaluate_batches(model: Trainable, op: str, batches: Iterable[Batch]) -> dict[str, float]:
    """The means of loss and metrics over the samples of all batches, by name."""
    compiled = model.compiled(op)
    meter = Meter(compiled, apart=True)
    run = model.evaluation_step()
    for batch in batches:
        meter.add(batch, run(batch))
    return meter.means()


def validation(
    model: Trainable,
    op: str,
    data: Any,
    batch_size: int | None,
    steps: int | None,
    times: int,
) -> Callable[[], dict[str, float]]:
    """A function that evaluates a model on validation data, each time from its first batch on.

    Args:
        model: A compiled model.
        op: What to call it in errors.
        data: `Samples`; `(x, y)` or `(x, y, weights)`; or a dataset, as `fit_dataset` takes it.
        batch_size: The size of the batches that arrays are cut into, 32 by default.
        steps: How many batches to take at most.
        times: How often the function will be called, as far as is known.
    """
    if steps is not None:
        steps = min(positive_integer(op, "validation_steps", steps), sys.maxsize)
    if isinstance(data, Samples) or holds_arrays(data):
        samples = data if isinstance(data, Samples) else read_samples(model, op, *batch_parts(op, data))
        size = 32 if batch_size is None else positive_integer(op, "validation_batch_size", batch_size)
        batches = ArrayBatches(samples.first(steps, size), size, epochs=times)
        return lambda: evaluate_batches(model, op, batches.epoch())
    batches = IterableBatches(model, op, data, None)
    return lambda: evaluate_batches(model, op, islice(batches.epoch(), steps))


def as_scalars(values: dict[str, float]) -> Tensor | list[Tensor]:
    """Numbers as scalars: one, or a list."""
    scalars = [make_tensor(np.array(value, np.float32)) for value in values.values()]
    return scalars[0] if len(scalars) == 1 else scalars

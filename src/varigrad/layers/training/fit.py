"""The training loop: `train` is the one that a person would write by hand, with callbacks in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from varigrad.callbacks.base import CallbackList, History, registered_callbacks
from varigrad.callbacks.progress import Progress
from varigrad.layers.arguments import number, positive_integer
from varigrad.layers.training.batches import ArrayBatches, Batches, IterableBatches
from varigrad.layers.training.evaluation import validation
from varigrad.layers.training.interruption import Interruption
from varigrad.layers.training.samples import read_samples, with_class_weights
from varigrad.layers.training.step import Meter
from varigrad.layers.training.warning_signs import LossWatch, warn_of_different_tail
from varigrad.train import GradientAccumulator

if TYPE_CHECKING:
    from varigrad.layers.training.trainable import Trainable

__all__ = ["fit_arrays", "fit_batches", "train"]

Validation = Callable[[], dict[str, float]]


def train(
    model: Trainable,
    op: str,
    batches: Batches,
    validate: Validation | None,
    callbacks: CallbackList,
    epochs: int,
    initial_epoch: int,
    accumulate: int,
) -> None:
    """Trains a model: the loop of `examples/chapter5_training_loop.py`."""
    compiled = model.compiled(op)
    optimizer = model.optimizer if accumulate == 1 else model.accumulating_optimizer(accumulate)
    meter, watch = Meter(compiled), LossWatch(op)
    logs: dict[str, Any] = {}
    model.stop_training = False
    with Interruption() as interruption:
        try:
            callbacks.on_train_begin({})
            for epoch in range(initial_epoch, epochs):
                callbacks.on_epoch_begin(epoch, {})
                meter.reset()
                step, position = model.step_with(optimizer), -1
                for position, batch in enumerate(batches.epoch()):
                    place = {"batch": position, "size": batch.size}
                    callbacks.on_batch_begin(position, place)
                    seen = step(batch)
                    callbacks.on_batch_end(position, {**place, **meter.add(batch, seen)})
                    interruption.check()
                    if model.stop_training:
                        break
                if position < 0:
                    break
                if isinstance(optimizer, GradientAccumulator):
                    optimizer.flush()
                logs = dict(meter.means())
                watch.look(logs["loss"])
                if validate is not None:
                    logs |= {f"val_{name}": value for name, value in validate().items()}
                callbacks.on_epoch_end(epoch, logs)
                if model.stop_training or batches.exhausted:
                    break
        finally:
            callbacks.on_train_end(logs)


def fit_arrays(
    model: Trainable,
    x: Any,
    y: Any,
    *,
    batch_size: int,
    validation_split: float,
    validation_data: Any,
    validation_batch_size: int | None,
    validation_steps: int | None,
    shuffle: bool | str,
    class_weight: Any,
    sample_weight: Any,
    steps_per_epoch: int | None,
    epochs: int,
    initial_epoch: int,
    **options: Any,
) -> History:
    """`Trainable.fit`."""
    op = "fit"
    times = _epochs_left(op, epochs, initial_epoch)
    batch_size = positive_integer(op, "batch_size", batch_size)
    if steps_per_epoch is not None:
        steps_per_epoch = positive_integer(op, "steps_per_epoch", steps_per_epoch)
    if not isinstance(shuffle, bool) and not (isinstance(shuffle, str) and shuffle == "batch"):
        raise ValueError(f"fit: shuffle must be True, False or 'batch', got {shuffle!r}")
    samples = read_samples(model, op, x, y, sample_weight)
    held_out: Any = validation_data
    validation_split = number(op, "validation_split", validation_split, 0.0, 1.0)
    if validation_data is None and validation_split:
        at = int(samples.rows * (1 - validation_split))
        if at < 1:
            raise ValueError(
                f"fit: validation_split {validation_split:g} of {samples.rows} samples leaves none to train on"
            )
        samples, held_out = samples.part(slice(0, at)), samples.part(slice(at, None))
        warn_of_different_tail(samples, held_out)
    if model.stateful and samples.rows % batch_size:
        raise ValueError(
            f"fit: {model.name} keeps its state from batch to batch, so batch_size {batch_size} must divide the "
            f"{samples.rows} samples"
        )
    samples = with_class_weights(op, model.output_names, samples, class_weight)
    batches = ArrayBatches(samples, batch_size, shuffle, steps_per_epoch, times)
    size = batch_size if validation_batch_size is None else validation_batch_size
    validate = None if held_out is None else validation(model, op, held_out, size, validation_steps, times)
    return _run(model, op, batches, validate, epochs=epochs, initial_epoch=initial_epoch, **options)


def fit_batches(
    model: Trainable,
    dataset: Any,
    *,
    batches_per_epoch: int | None,
    validation_data: Any,
    validation_batch_size: int | None,
    validation_batches: int | None,
    class_weight: Any,
    epochs: int,
    initial_epoch: int,
    **options: Any,
) -> History:
    """`Trainable.fit_dataset`."""
    op = "fit_dataset"
    model.compiled(op)
    if batches_per_epoch is not None:
        batches_per_epoch = positive_integer(op, "batches_per_epoch", batches_per_epoch)
    times = _epochs_left(op, epochs, initial_epoch)
    batches = IterableBatches(model, op, dataset, batches_per_epoch, times, class_weight)
    validate = None
    if validation_data is not None:
        validate = validation(model, op, validation_data, validation_batch_size, validation_batches, times)
    return _run(model, op, batches, validate, epochs=epochs, initial_epoch=initial_epoch, **options)


def _epochs_left(op: str, epochs: Any, initial_epoch: Any) -> int:
    return max(1, positive_integer(op, "epochs", epochs) - _from_0(op, "initial_epoch", initial_epoch))


def _from_0(op: str, argument: str, value: Any) -> int:
    """The argument as an integer, 0 or more."""
    given: Any = value
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)) or given < 0:
        raise ValueError(f"{op}: {argument} must be an integer, 0 or more, got {value!r:.100}")
    return int(value)


def _run(
    model: Trainable,
    op: str,
    batches: Batches,
    validate: Validation | None,
    *,
    epochs: int,
    initial_epoch: int,
    verbose: int,
    callbacks: Any,
    yield_every: str | float,
    accumulate: int,
) -> History:
    epochs, initial_epoch = positive_integer(op, "epochs", epochs), _from_0(op, "initial_epoch", initial_epoch)
    accumulate = positive_integer(op, "accumulate", accumulate)
    if not isinstance(verbose, (int, np.integer)) or verbose not in (0, 1, 2):
        raise ValueError(
            f"{op}: verbose must be 0 (silent), 1 (a progress bar) or 2 (a line an epoch), got {verbose!r:.100}"
        )
    if not model.trainable_weights:
        raise ValueError(f"{op}: {model.name} has no weight that is trained; are all its layers frozen?")
    names = model.compiled(op).names
    history = History()
    everyone = CallbackList(callbacks, yield_every)
    everyone.callbacks = [*registered_callbacks(int(verbose)), *everyone.callbacks, history]
    if verbose:
        everyone.append(Progress())
    everyone.set_params(
        {
            "epochs": epochs,
            "initial_epoch": initial_epoch,
            "samples": batches.samples,
            "steps": batches.steps,
            "batch_size": batches.batch_size,
            "verbose": int(verbose),
            "do_validation": validate is not None,
            "metrics": names + [f"val_{name}" for name in names] if validate is not None else names,
        }
    )
    everyone.set_model(model)
    model.history = history
    with model.training_now(op):
        train(model, op, batches, validate, everyone, epochs, initial_epoch, accumulate)
    return history

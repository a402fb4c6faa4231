"""`Trainable`: what models can be trained with."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import numpy as np

from varigrad.callbacks.base import History
from varigrad.callbacks.progress import format_logs
from varigrad.keywords import takes_options
from varigrad.layers.arguments import boolean, positive_integer
from varigrad.layers.training.batches import ArrayBatches, IterableBatches
from varigrad.layers.training.compilable import Compilable
from varigrad.layers.training.compiled import Compiled
from varigrad.layers.training.evaluation import as_scalars, evaluate_batches
from varigrad.layers.training.fit import fit_arrays, fit_batches
from varigrad.layers.training.samples import read_samples, with_class_weights
from varigrad.layers.training.step import Meter

__all__ = ["Trainable"]


class Trainable(Compilable):
    """A layer with inputs and outputs that can be compiled and fitted: the base of models."""

    history: History | None = None
    # Set to True, by a callback for instance, to end training after the batch.
    stop_training: bool = False
    _in_training = False
    moved_on = (*Compilable.moved_on, "history", "stop_training", "_in_training")

    @takes_options
    def fit(
        self,
        x: Any,
        y: Any = None,
        *,
        batch_size: int = 32,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: bool | str = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: int | None = None,
        validation_steps: int | None = None,
        validation_batch_size: int | None = None,
        yield_every: str | float = "auto",
        accumulate: int = 1,
    ) -> History:
        """Trains the model on arrays.

        It is the loop that one would write by hand: in each epoch, for each batch, `vg.variable_grads` of the mean loss
        and `apply_gradients`. Of a model compiled with `jit=False` it gives the weights of that loop to the last bit,
        with `jit=True` those of that loop with its step under `vg.jit`. By default it starts as the one and, as soon as
        that pays, goes on as the other, which rounds some sums in another order; always at the same batch, for it
        counts batches and kernels, and no time. Mirrors `tf.LayersModel.fit`.

        Args:
            x: Inputs, a tensor or array `[samples, ...]`; for a model of several a list of them, or a dict by
                `input_names`.
            y: Targets, in the same way by `output_names`. Those of rank 1 become `[samples, 1]`.
            batch_size: How many samples make a step; the last of an epoch may have fewer.
            epochs: How many times to go through the samples.
            verbose: 0 for silence, 1 for a progress bar (where there is no terminal, a line an epoch), 2 for a line an
                epoch.
            callbacks: A `vg.Callback`, a dict of hooks (see `vg.CustomCallback`), or a list of either.
            validation_split: The fraction of the samples to hold out and judge each epoch by: the last ones, before any
                shuffling. Of sorted data that is a poor choice; a warning says so.
            validation_data: `(x, y)` or `(x, y, sample_weight)` to judge each epoch by instead; or a dataset.
            shuffle: Whether to draw the samples in another order each epoch; `"batch"` only shuffles whole batches.
            class_weight: How much a sample of each class counts in the loss, by class number; for several outputs a
                dict of such dicts by output.
            sample_weight: How much each sample counts in the loss, `[samples]`, or each step of it, `[samples, time]`;
                for several outputs perhaps by output. The weighted sum is divided by the number of samples.
            initial_epoch: The number of the first epoch, to go on with training.
            steps_per_epoch: How many batches make an epoch, where it is not all of them; the next goes on from there.
            validation_steps: How many batches of validation data to take, from the first on; all by default.
            validation_batch_size: The size of validation batches; `batch_size` by default.
            yield_every: When `on_yield` of callbacks is called, see `vg.CustomCallback`.
            accumulate: Of how many batches to add up the gradients before each update, as if they were one batch; an
                incomplete group at the end of an epoch counts for its samples.

        Returns:
            What each epoch came to, in `.history`: lists by name, `"loss"`, `"acc"`, `"val_loss"` and the like; for
            several outputs also `"<output>_loss"`.

        Masked steps do not count, in losses or metrics. Ctrl-C ends training after the running batch, with
        `KeyboardInterrupt`: the weights are then those after that batch, and `model.history` has the complete epochs. A
        loss that becomes infinite or NaN, or keeps rising, brings a warning.

        Raises:
            ValueError: The model is not compiled, or shapes do not fit it or each other.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], kernel_initializer="zeros")])
        >>> model.compile(optimizer="sgd", loss="mean_squared_error")
        >>> history = model.fit([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], epochs=20, batch_size=3, verbose=0)
        >>> len(history.history["loss"]), history.history["loss"][0] > history.history["loss"][-1]
        (20, True)
        """
        return fit_arrays(
            self,
            x,
            y,
            batch_size=batch_size,
            epochs=epochs,
            verbose=verbose,
            callbacks=callbacks,
            validation_split=validation_split,
            validation_data=validation_data,
            shuffle=shuffle,
            class_weight=class_weight,
            sample_weight=sample_weight,
            initial_epoch=initial_epoch,
            steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
            validation_batch_size=validation_batch_size,
            yield_every=yield_every,
            accumulate=accumulate,
        )

    @takes_options
    def fit_dataset(
        self,
        dataset: Any,
        *,
        epochs: int = 1,
        batches_per_epoch: int | None = None,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_batch_size: int | None = None,
        validation_batches: int | None = None,
        class_weight: Any = None,
        initial_epoch: int = 0,
        yield_every: str | float = "auto",
        accumulate: int = 1,
    ) -> History:
        """Trains the model on batches from an iterable. Mirrors `tf.LayersModel.fitDataset`.

        Args:
            dataset: A function that returns an iterable of batches, and is called for each epoch; or an iterable: a
                list or, for a single epoch, a generator. A batch is `(xs, ys)`, `(xs, ys, sample_weight)`, or a dict
                `{"xs": …, "ys": …, "weights": …}`, with inputs and targets as for `fit`.
            epochs: How many times to go through the dataset.
            batches_per_epoch: How many batches make an epoch; the next goes on where it ends. If the dataset runs out,
                training ends, with a warning; the history has the epochs so far, an incomplete one over the batches
                that it had.
            verbose: As for `fit`.
            callbacks: As for `fit`.
            validation_data: `(x, y)` or `(x, y, sample_weight)` of arrays, or a dataset, to judge each epoch by.
            validation_batch_size: The size of the batches that validation arrays are cut into, 32 by default.
            validation_batches: How many batches of validation data to take, from the first on each time; all by
                default.
            class_weight: As for `fit`.
            initial_epoch: As for `fit`.
            yield_every: As for `fit`.
            accumulate: As for `fit`.

        Returns:
            What each epoch came to, as `fit` does.

        Raises:
            ValueError: As `fit` does; or the dataset is an iterator that has been walked through already.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
        >>> model.compile(optimizer="sgd", loss="mean_squared_error")
        >>> def batches():
        ...     for size in (2, 3):
        ...         yield vg.ones([size, 1]), vg.zeros([size, 1])
        >>> model.fit_dataset(batches, epochs=2, verbose=0).epoch
        [0, 1]
        """
        return fit_batches(
            self,
            dataset,
            epochs=epochs,
            batches_per_epoch=batches_per_epoch,
            verbose=verbose,
            callbacks=callbacks,
            validation_data=validation_data,
            validation_batch_size=validation_batch_size,
            validation_batches=validation_batches,
            class_weight=class_weight,
            initial_epoch=initial_epoch,
            yield_every=yield_every,
            accumulate=accumulate,
        )

    @takes_options
    def evaluate(
        self,
        x: Any,
        y: Any = None,
        *,
        batch_size: int = 32,
        verbose: int = 0,
        sample_weight: Any = None,
        steps: int | None = None,
    ) -> Any:
        """The loss and metrics on arrays, outside of training. Mirrors `tf.LayersModel.evaluate`.

        The loss includes the penalties of regularizers, so that it can be compared with that of training, as in Keras;
        in TensorFlow.js it does not, and with several outputs its numbers go by the wrong names.

        Args:
            x: Inputs, as for `fit`.
            y: Targets, as for `fit`.
            batch_size: How many samples to compute at a time.
            verbose: 1 to print the result.
            sample_weight: How much each sample counts in the loss, as for `fit`.
            steps: How many batches to take at most.

        Returns:
            The loss, a scalar; with metrics or several outputs, a list of scalars in the order of `metrics_names`.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], kernel_initializer="ones")])
        >>> model.compile(optimizer="sgd", loss="mean_squared_error")
        >>> model.evaluate([1.0, 2.0], [0.0, 0.0]).item()
        2.5
        """
        size = positive_integer("evaluate", "batch_size", batch_size)
        limit = None if steps is None else min(positive_integer("evaluate", "steps", steps), sys.maxsize)
        if not isinstance(verbose, (int, np.integer)):
            raise TypeError(f"evaluate: verbose must be 0 or 1, got {verbose!r:.100}")
        samples = read_samples(self, "evaluate", x, y, sample_weight)
        found = evaluate_batches(self, "evaluate", ArrayBatches(samples.first(limit, size), size).epoch())
        if verbose:
            print(format_logs(found))
        return as_scalars(found)

    @takes_options
    def evaluate_dataset(self, dataset: Any, *, batches: int | None = None) -> Any:
        """The loss and metrics on batches from an iterable. Mirrors `tf.LayersModel.evaluateDataset`.

        Args:
            dataset: As for `fit_dataset`.
            batches: How many of its batches to take; all by default.

        Returns:
            As `evaluate` does.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], kernel_initializer="ones")])
        >>> model.compile(optimizer="sgd", loss="mean_squared_error")
        >>> model.evaluate_dataset([(vg.ones([2, 1]), vg.zeros([2, 1]))]).item()
        1.0
        """
        op = "evaluate_dataset"
        self.compiled(op)
        limit = None if batches is None else positive_integer(op, "batches", batches)
        return as_scalars(evaluate_batches(self, op, IterableBatches(self, op, dataset, limit).epoch()))

    @takes_options
    def train_on_batch(
        self, x: Any, y: Any, *, sample_weight: Any = None, class_weight: Any = None, reset_metrics: bool = True
    ) -> Any:
        """Takes one step of training on a batch. Mirrors `tf.LayersModel.trainOnBatch`.

        Args:
            x: Inputs, as for `fit`.
            y: Targets, as for `fit`.
            sample_weight: As for `fit`.
            class_weight: As for `fit`.
            reset_metrics: Whether the result is that of this batch; otherwise it is the mean over all batches since
                `reset_metrics()`.

        Returns:
            The loss before the step, a float; with metrics or several outputs, a list in the order of `metrics_names`.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], kernel_initializer="ones")])
        >>> model.compile(optimizer=vg.train.sgd(0.5), loss="mean_squared_error")
        >>> [model.train_on_batch([1.0], [0.0]) for _ in range(2)]
        [1.0, 1.0]
        """
        compiled = self.compiled("train_on_batch")
        boolean("train_on_batch", "reset_metrics", reset_metrics)
        samples = read_samples(self, "train_on_batch", x, y, sample_weight)
        batch = with_class_weights("train_on_batch", self.output_names, samples, class_weight).batch(slice(None))
        with self.training_now("train_on_batch"):
            seen = self.step_with(self.optimizer)(batch)
        return self._measured(compiled, batch, seen, reset_metrics)

    @takes_options
    def test_on_batch(self, x: Any, y: Any, *, sample_weight: Any = None, reset_metrics: bool = True) -> Any:
        """The loss and metrics of a batch, outside of training. As `test_on_batch` of Keras models.

        Args:
            x: Inputs, as for `fit`.
            y: Targets, as for `fit`.
            sample_weight: As for `fit`.
            reset_metrics: As for `train_on_batch`.

        Returns:
            As `train_on_batch` does.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], kernel_initializer="ones")])
        >>> model.compile(optimizer="sgd", loss="mean_squared_error")
        >>> model.test_on_batch([3.0], [1.0])
        4.0
        """
        compiled = self.compiled("test_on_batch")
        boolean("test_on_batch", "reset_metrics", reset_metrics)
        batch = read_samples(self, "test_on_batch", x, y, sample_weight).batch(slice(None))
        return self._measured(compiled, batch, self.evaluation_step()(batch), reset_metrics)

    def reset_metrics(self) -> None:
        """Begins anew the means that `train_on_batch` and `test_on_batch` give with `reset_metrics=False`."""
        self._meter = Meter(self.compiled("reset_metrics"))

    def _measured(self, compiled: Compiled, batch: Any, seen: Any, reset: bool) -> Any:
        if self._meter is None or reset:
            self._meter = Meter(compiled)
        logs = self._meter.add(batch, seen)
        values = list(logs.values() if reset else self._meter.means().values())
        return values[0] if len(values) == 1 else values

    @contextmanager
    def training_now(self, op: str) -> Generator[None]:
        """Marks the model as in training inside the block.

        Raises:
            ValueError: It is already.
        """
        if self._in_training:
            raise ValueError(f"{op}: {self.name} is in training already; a callback cannot train the model it follows")
        self._in_training = True
        try:
            yield
        finally:
            self._in_training = False

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_in_training": False}

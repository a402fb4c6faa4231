"""Callbacks that watch one number: early stopping, keeping the best model, lowering the learning rate."""

from __future__ import annotations

import math
import os
from typing import Any

from varigrad.callbacks.base import Callback, Logs
from varigrad.callbacks.options import choice, count, flag, frequency, path, real, text
from varigrad.callers import warn_caller
from varigrad.keywords import suggestion, takes_options

__all__ = ["EarlyStopping", "ModelCheckpoint", "ReduceLROnPlateau", "TerminateOnNaN"]

_GROW = ("acc", "auc", "precision", "recall", "r2_score")  # what is in the names of quantities that should grow


class _Monitor(Callback):
    """Follows a quantity in the logs of epochs, and knows when it gets better.

    Args:
        monitor: The quantity's name in the logs.
        mode: `"min"` if less is better, `"max"` if more is, `"auto"` to tell by the name.
        min_delta: By how much it must get better to count.
    """

    @takes_options
    def __init__(self, monitor: str, mode: str, min_delta: float = 0.0) -> None:
        owner = type(self).__name__
        self.monitor = text(owner, "monitor", monitor)
        self.mode = choice(owner, "mode", mode, ("auto", "min", "max"))
        self.min_delta = abs(real(owner, "min_delta", min_delta))
        self._warned = False

    @property
    def _grows(self) -> bool:
        return self.mode == "max" or (self.mode == "auto" and any(word in self.monitor for word in _GROW))

    @property
    def _worst(self) -> float:
        return -math.inf if self._grows else math.inf

    def _better(self, value: float, than: float, by: float = 0.0) -> bool:
        """Whether a value is better than another; a NaN never is."""
        return value - by > than if self._grows else value + by < than

    def _value(self, logs: Logs) -> float | None:
        value = logs.get(self.monitor)
        if value is None and not self._warned:
            self._warned = True
            if self.monitor.startswith("val_") and not any(name.startswith("val_") for name in logs):
                hint = "; fit needs validation_data or validation_split for it"
            else:
                hint = suggestion(self.monitor, logs)
            warn_caller(
                f"{type(self).__name__}: the logs have no {self.monitor!r}, only {', '.join(logs) or 'nothing'}{hint}",
            )
        return None if value is None else float(value)


class EarlyStopping(_Monitor):
    """Ends training when a quantity has stopped getting better. Mirrors `tf.callbacks.earlyStopping`.

    Args:
        monitor: The quantity's name in the logs of epochs.
        min_delta: By how much it must get better to count as better.
        patience: How many epochs in a row without that end the training.
        verbose: 1 to print when it ends.
        mode: `"min"` if less is better, `"max"` if more is, `"auto"` to tell by the name.
        baseline: A value that must be beaten for a start.
        restore_best_weights: Whether to give the model, at the end of training, the weights of its best epoch, whatever
            ended it: patience, the last epoch, a NaN, an error or Ctrl-C.

    After training, `best` is the best value, `best_epoch` its epoch and `stopped_epoch` the epoch that ended the
    training, or None.

    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    >>> model.compile(optimizer=vg.train.sgd(0.0), loss="mean_squared_error")
    >>> callback = vg.callbacks.early_stopping(monitor="loss", patience=2)
    >>> model.fit([1.0], [2.0], epochs=10, callbacks=callback, verbose=0).epoch
    [0, 1, 2]
    """

    @takes_options
    def __init__(
        self,
        *,
        monitor: str = "val_loss",
        min_delta: float = 0.0,
        patience: int = 0,
        verbose: int = 0,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        owner = type(self).__name__
        self.patience = count(owner, "patience", patience)
        self.verbose = count(owner, "verbose", verbose)
        self.baseline = None if baseline is None else real(owner, "baseline", baseline)
        self.restore_best_weights = flag(owner, "restore_best_weights", restore_best_weights)
        self._reset()

    def _reset(self) -> None:
        self._wait = 0
        self._to_beat = self._worst if self.baseline is None else self.baseline
        self.best = self._worst
        self.best_epoch: int | None = None
        self.stopped_epoch: int | None = None
        self._best_weights: Any = None

    def on_train_begin(self, logs: Logs) -> None:
        self._reset()

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        value = self._value(logs)
        if value is None:
            return
        if self._better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self._best_weights = self.model.get_weights()
        if self._better(value, self._to_beat, self.min_delta):
            self._to_beat, self._wait = value, 0
            return
        self._wait += 1
        if self._wait >= self.patience:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs: Logs) -> None:
        if self.stopped_epoch is not None and self.verbose:
            print(f"epoch {self.stopped_epoch + 1}: early stopping, best {self.monitor} {self.best:.5g}")
        if self._best_weights is not None:
            self.model.set_weights(self._best_weights)
            self._best_weights = None


class ModelCheckpoint(_Monitor):
    """Saves the model after each epoch, or whenever it is the best so far. As `keras.callbacks.ModelCheckpoint`.

    Args:
        filepath: Where, as `model.save` takes it. `{epoch}` (from 1) and names in the logs are filled in:
            `"model-{epoch:02d}-{val_loss:.3f}"`.
        monitor: The quantity that says which epoch is the best.
        verbose: 1 to print when it saves.
        save_best_only: Whether to save only epochs that are better than all before.
        save_weights_only: Whether to save with `model.save_weights`.
        include_optimizer: Whether to save what the model is compiled with and the optimizer's state too, so that
            training can go on from the file.
        mode: `"min"` if less is better, `"max"` if more is, `"auto"` to tell by the name.
        save_freq: `"epoch"`, or after how many batches to save.
        initial_value_threshold: A value that must be beaten for a start.

    >>> import tempfile
    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    >>> model.compile(optimizer="sgd", loss="mean_squared_error")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     callback = vg.callbacks.model_checkpoint(folder + "/best", monitor="loss", save_best_only=True)
    ...     history = model.fit([1.0], [2.0], callbacks=callback, verbose=0)
    ...     loaded = vg.load_layers_model(folder + "/best")
    >>> loaded.predict([[1.0]]).item() == model.predict([[1.0]]).item()
    True
    """

    @takes_options
    def __init__(
        self,
        filepath: str | os.PathLike[str],
        *,
        monitor: str = "val_loss",
        verbose: int = 0,
        save_best_only: bool = False,
        save_weights_only: bool = False,
        include_optimizer: bool = False,
        mode: str = "auto",
        save_freq: str | int = "epoch",
        initial_value_threshold: float | None = None,
    ) -> None:
        super().__init__(monitor, mode)
        owner = type(self).__name__
        self.filepath = path(owner, "filepath", filepath)
        self.verbose = count(owner, "verbose", verbose)
        self.save_best_only = flag(owner, "save_best_only", save_best_only)
        self.save_weights_only = flag(owner, "save_weights_only", save_weights_only)
        self.include_optimizer = flag(owner, "include_optimizer", include_optimizer)
        self.save_freq = frequency(owner, "save_freq", save_freq, ("epoch",))
        threshold = initial_value_threshold
        self.best = self._worst if threshold is None else real(owner, "initial_value_threshold", threshold)
        self._epoch = 0
        self._batches = 0

    def on_epoch_begin(self, epoch: int, logs: Logs) -> None:
        self._epoch = epoch

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % int(self.save_freq) == 0:
            self._consider(self._epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        if self.save_freq == "epoch":
            self._consider(epoch, logs)

    def _consider(self, epoch: int, logs: Logs) -> None:
        if self.save_best_only:
            value = self._value(logs)
            if value is None or not self._better(value, self.best):
                return
            self.best = value
        try:
            place = self.filepath.format(**{**logs, "epoch": epoch + 1})
        except KeyError as error:
            raise ValueError(
                f"ModelCheckpoint: filepath {self.filepath!r} names {error}, but the logs have only {', '.join(logs)}"
            ) from None
        if self.save_weights_only:
            self.model.save_weights(place)
        else:
            self.model.save(place, include_optimizer=self.include_optimizer)
        if self.verbose:
            print(f"epoch {epoch + 1}: saved to {place}")


class ReduceLROnPlateau(_Monitor):
    """Lowers the learning rate when a quantity has stopped getting better. As `keras.callbacks.ReduceLROnPlateau`.

    Args:
        monitor: The quantity's name in the logs of epochs.
        factor: What to multiply the learning rate by.
        patience: How many epochs in a row without an improvement lower it.
        verbose: 1 to print when it does.
        mode: `"min"` if less is better, `"max"` if more is, `"auto"` to tell by the name.
        min_delta: By how much the quantity must get better to count as better.
        cooldown: How many epochs after that do not count.
        min_lr: Never lower than this.

    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    >>> model.compile(optimizer=vg.train.sgd(1e-9), loss="mean_squared_error")
    >>> callback = vg.callbacks.reduce_lr_on_plateau(monitor="loss", factor=0.5, patience=1)
    >>> model.fit([1.0], [2.0], epochs=3, callbacks=callback, verbose=0).history["learning_rate"]
    [1e-09, 1e-09, 5e-10]
    """

    @takes_options
    def __init__(
        self,
        *,
        monitor: str = "val_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 0,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0.0,
    ) -> None:
        super().__init__(monitor, mode, min_delta)
        owner = type(self).__name__
        self.factor = real(owner, "factor", factor)
        if not 0 < self.factor < 1:
            raise ValueError(f"{owner}: factor must be between 0 and 1, got {factor!r}")
        self.patience = count(owner, "patience", patience)
        self.verbose = count(owner, "verbose", verbose)
        self.cooldown = count(owner, "cooldown", cooldown)
        self.min_lr = real(owner, "min_lr", min_lr)
        self._reset()

    def _reset(self) -> None:
        self.best = self._worst
        self._wait = 0
        self._cooling = 0

    def on_train_begin(self, logs: Logs) -> None:
        self._reset()

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        optimizer = self.model.optimizer
        rate = optimizer.learning_rate
        if callable(rate):
            raise ValueError(
                "ReduceLROnPlateau: the optimizer's learning rate is a schedule; give it a number, which can be lowered"
            )
        logs["learning_rate"] = float(rate)
        value = self._value(logs)
        if value is None:
            return
        self._cooling = max(0, self._cooling - 1)
        if self._cooling:
            self._wait = 0
        if self._better(value, self.best, self.min_delta):
            self.best, self._wait = value, 0
        elif not self._cooling:
            self._wait += 1
            lower = max(rate * self.factor, self.min_lr)
            if self._wait >= self.patience and lower < rate:
                optimizer.learning_rate = lower
                self._cooling, self._wait = self.cooldown, 0
                if self.verbose:
                    print(f"epoch {epoch + 1}: learning rate {lower:.3g}")


class TerminateOnNaN(Callback):
    """Ends training as soon as the loss of a batch is infinite or NaN. As `keras.callbacks.TerminateOnNaN`.

    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    >>> model.compile(optimizer="sgd", loss="mean_squared_error")
    >>> callback = vg.callbacks.terminate_on_nan()
    >>> callback.set_model(model)
    >>> callback.on_batch_end(0, {"loss": float("nan")})
    >>> model.stop_training
    True
    """

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        if not math.isfinite(logs["loss"]):
            self.model.stop_training = True

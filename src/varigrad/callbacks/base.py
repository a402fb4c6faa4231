"""`Callback`, what training calls on its way, and the list of them that it calls."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from varigrad.layers.training import Trainable

__all__ = ["Callback", "CallbackList", "CustomCallback", "History", "Logs", "register_callback_constructor"]

# Losses and metrics by name; for a batch "batch" and "size" too.
Logs = dict[str, Any]

_HOOKS = (
    "on_train_begin",
    "on_train_end",
    "on_epoch_begin",
    "on_epoch_end",
    "on_batch_begin",
    "on_batch_end",
    "on_yield",
)
_BY_SPELLING = {name.replace("_", ""): name for name in _HOOKS}
# Keras's hooks that have another name here, or None where there is no such hook; by the same spelling.
_OF_KERAS = {
    "ontrainbatchbegin": "on_batch_begin",
    "ontrainbatchend": "on_batch_end",
    **{
        f"on{what}{when}": None
        for what in ("test", "testbatch", "predict", "predictbatch")
        for when in ("begin", "end")
    },
}
_YIELD_EVERY_MS = 125.0  # TensorFlow.js's


def _spelling(name: str) -> str:
    return name.replace("_", "").lower()


def _hook(name: str) -> str | None:
    """The name that a hook of TensorFlow.js or Keras has here, if there is one."""
    spelling = _spelling(name)
    return _BY_SPELLING.get(spelling) or _OF_KERAS.get(spelling)


class Callback:
    """Base of what follows training, and may steer it. Mirrors `tf.Callback`.

    A subclass overrides any of the hooks below. `self.model` is the model in training, `self.params` a dict of what
    `fit` was asked for: `epochs`, `initial_epoch`, `samples`, `steps` and `batch_size` (None where unknown), `verbose`,
    `do_validation`, and `metrics`, the names in `logs`. Hooks may set `self.model.stop_training = True` and
    `self.model.optimizer.learning_rate`.

    >>> import varigrad as vg
    >>> class Stop(vg.Callback):
    ...     def on_epoch_end(self, epoch, logs):
    ...         if logs["loss"] < 1:
    ...             self.model.stop_training = True
    >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1], kernel_initializer="zeros")])
    >>> model.compile(optimizer="sgd", loss="mean_squared_error")
    >>> len(model.fit([0.0, 0.1], [0.0, 0.1], epochs=5, callbacks=Stop(), verbose=0).epoch)
    1
    """

    model: Any = None
    params: Mapping[str, Any] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in cls.__dict__:
            hook = _hook(name)
            if hook not in (None, name):
                raise TypeError(f"{cls.__name__}: there is no hook {name}; it is {hook} here")
            if hook is None and _spelling(name) in _OF_KERAS:
                raise TypeError(f"{cls.__name__}: there is no hook {name}, only {', '.join(_HOOKS[:-1])}")

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Called before training with what `fit` was asked for."""
        self.params = params

    def set_model(self, model: Trainable) -> None:
        """Called before training with the model."""
        self.model = model

    def on_train_begin(self, logs: Logs) -> None:
        """Training begins."""

    def on_train_end(self, logs: Logs) -> None:
        """Training has ended, whatever ended it; `logs` are those of the last complete epoch."""

    def on_epoch_begin(self, epoch: int, logs: Logs) -> None:
        """An epoch begins; `epoch` counts from 0."""

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """An epoch has ended: `logs` has the means over its samples and, under `val_…`, the validation's.

        What is added to `logs` goes into the history, and to the callbacks after this one.
        """

    def on_batch_begin(self, batch: int, logs: Logs) -> None:
        """A batch begins; `batch` counts from 0 in each epoch."""

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        """A batch has ended: `logs` has its loss and metrics, `"batch"`, and `"size"` in samples."""


class CustomCallback(Callback):
    """A callback made of functions. Mirrors `tf.CustomCallback`.

    Args:
        yield_every: When `on_yield` is called: `"auto"` (every 125 ms, after a batch), `"batch"`, `"epoch"`, `"never"`,
            or a number of milliseconds.
        hooks: Functions by the name of the hook: `on_train_begin(logs)`, `on_train_end(logs)`,
            `on_epoch_begin(epoch, logs)`, `on_epoch_end(epoch, logs)`, `on_batch_begin(batch, logs)`,
            `on_batch_end(batch, logs)`, `on_yield(epoch, batch, logs)`. TensorFlow.js's names are read, too.

    Raises:
        TypeError: There is no such hook, or a hook is no plain function.

    >>> import varigrad as vg
    >>> callback = vg.CustomCallback(on_epoch_end=lambda epoch, logs: print(epoch, logs["loss"]))
    >>> callback.on_epoch_end(0, {"loss": 0.5})
    0 0.5
    """

    def __init__(self, yield_every: str | float = "auto", **hooks: Callable[..., Any] | None) -> None:
        self._hooks = dict(_checked_hook(name, hook) for name, hook in hooks.items() if hook is not None)
        self._every = _checked_interval(yield_every)
        if self._every == "never" and "on_yield" in self._hooks:
            raise ValueError("CustomCallback: on_yield is given, but yield_every is 'never'; drop one of them")
        self._yielded = time.perf_counter()
        self._epoch = 0

    def _call(self, hook_name: str, *arguments: Any) -> None:
        hook = self._hooks.get(hook_name)
        if hook is not None:
            hook(*arguments)

    def on_train_begin(self, logs: Logs) -> None:
        self._call("on_train_begin", logs)

    def on_train_end(self, logs: Logs) -> None:
        self._call("on_train_end", logs)

    def on_epoch_begin(self, epoch: int, logs: Logs) -> None:
        self._epoch = epoch
        self._call("on_epoch_begin", epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        self._call("on_epoch_end", epoch, logs)
        if self._every == "epoch":
            self._call("on_yield", epoch, None, logs)

    def on_batch_begin(self, batch: int, logs: Logs) -> None:
        self._call("on_batch_begin", batch, logs)

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        self._call("on_batch_end", batch, logs)
        if self._every in ("epoch", "never"):
            return
        now = time.perf_counter()
        if self._every == "batch" or (now - self._yielded) * 1e3 >= float(self._every):
            self._yielded = now
            self._call("on_yield", self._epoch, batch, logs)


def _checked_interval(yield_every: Any) -> str | float:
    """When `on_yield` is called: a word, or milliseconds."""
    if isinstance(yield_every, str) and yield_every in ("batch", "epoch", "never"):
        return yield_every
    if isinstance(yield_every, str) and yield_every == "auto":
        return _YIELD_EVERY_MS
    if isinstance(yield_every, bool) or not isinstance(yield_every, (int, float)) or not yield_every >= 0:
        raise ValueError(
            f"CustomCallback: yield_every must be auto, batch, epoch, never or milliseconds, got {yield_every!r:.100}"
        )
    return yield_every


def _checked_hook(given: str, hook: Callable[..., Any]) -> tuple[str, Callable[..., Any]]:
    """The name of a hook as it is here, and its function."""
    name = _BY_SPELLING.get(_spelling(given))
    if name is None:
        known = _hook(given)
        if known is not None:
            raise TypeError(f"CustomCallback: there is no hook {given!r}; it is {known} here")
        raise TypeError(f"CustomCallback: there is no hook {given!r}, only {', '.join(_HOOKS)}")
    if not callable(hook):
        raise TypeError(f"CustomCallback: {given} must be a function, got {hook!r}")
    if inspect.iscoroutinefunction(hook):
        raise TypeError(f"CustomCallback: {given} is a coroutine function; training calls plain functions")
    return name, hook


class History(Callback):
    """What each epoch came to; what `fit` returns. Mirrors `tf.History`.

    `history` maps each name in the logs of epochs to the list of its values; `epoch` lists the epochs.

    >>> import varigrad as vg
    >>> history = vg.History()
    >>> history.on_train_begin({})
    >>> history.on_epoch_end(0, {"loss": 0.5})
    >>> history.epoch, history.history
    ([0], {'loss': [0.5]})
    """

    def __init__(self) -> None:
        self.epoch: list[int] = []
        self.history: dict[str, list[Any]] = {}

    def set_model(self, model: Trainable) -> None:
        """Does not keep the model, which keeps the history: neither would go with the last reference to it."""

    def on_train_begin(self, logs: Logs) -> None:
        self.epoch, self.history = [], {}

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        self.epoch.append(epoch)
        for name, value in logs.items():
            self.history.setdefault(name, []).append(value)

    def __repr__(self) -> str:
        return f"<History of {len(self.epoch)} epochs: {', '.join(self.history) or 'nothing'}>"


class CallbackList:
    """Callbacks that are called together, in order. Mirrors `tf.CallbackList`.

    Args:
        callbacks: A callback, a dict of hooks, or a list of either; None is none.
        yield_every: For callbacks made from dicts, see `CustomCallback`.

    >>> import varigrad as vg
    >>> callbacks = vg.CallbackList({"on_epoch_end": lambda epoch, logs: print("epoch", epoch)})
    >>> callbacks.append(vg.History())
    >>> callbacks.on_epoch_end(0, {"loss": 0.5})
    epoch 0
    """

    def __init__(self, callbacks: Any = None, yield_every: str | float = "auto") -> None:
        if callbacks is None:
            callbacks = []
        given = list(cast("Sequence[Any]", callbacks)) if isinstance(callbacks, (list, tuple)) else [callbacks]
        _checked_interval(yield_every)
        self.callbacks: list[Callback] = [_callback(each, yield_every) for each in given]

    def append(self, callback: Callback) -> None:
        """Puts one more at the end."""
        self.callbacks.append(callback)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Tells all what `fit` was asked for."""
        for callback in self.callbacks:
            callback.set_params(params)

    def set_model(self, model: Trainable) -> None:
        """Tells all which model it is."""
        for callback in self.callbacks:
            callback.set_model(model)

    def on_train_begin(self, logs: Logs) -> None:
        """Calls the hook of all."""
        for callback in self.callbacks:
            callback.on_train_begin(logs)

    def on_train_end(self, logs: Logs) -> None:
        """Calls the hook of all, each even if one before it fails."""
        failure: BaseException | None = None
        for callback in self.callbacks:
            try:
                callback.on_train_end(logs)
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure

    def on_epoch_begin(self, epoch: int, logs: Logs) -> None:
        """Calls the hook of all."""
        for callback in self.callbacks:
            callback.on_epoch_begin(epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Calls the hook of all."""
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs)

    def on_batch_begin(self, batch: int, logs: Logs) -> None:
        """Calls the hook of all."""
        for callback in self.callbacks:
            callback.on_batch_begin(batch, logs)

    def on_batch_end(self, batch: int, logs: Logs) -> None:
        """Calls the hook of all."""
        for callback in self.callbacks:
            callback.on_batch_end(batch, logs)


def _callback(given: Any, yield_every: str | float) -> Callback:
    if isinstance(given, Callback):
        return given
    if isinstance(given, Mapping):
        hooks = {str(name): hook for name, hook in cast("Mapping[Any, Any]", given).items()}
        return CustomCallback(yield_every, **hooks)
    made = " (make one: call it)" if isinstance(given, type) and issubclass(given, Callback) else ""
    raise TypeError(f"callbacks: each must be a vg.Callback or a dict of hooks, got {given!r}{made}")


_constructors: list[tuple[int, Callable[[], Callback]]] = []


def register_callback_constructor(verbosity_level: int, callback_constructor: Callable[[], Callback]) -> None:
    """Has every later `fit` with at least this `verbose` make one more callback.

    Mirrors `tf.registerCallbackConstructor`.

    >>> import varigrad as vg
    >>> vg.register_callback_constructor(9, vg.History)
    """
    if isinstance(verbosity_level, bool) or not isinstance(verbosity_level, int) or verbosity_level < 0:
        raise ValueError(f"register_callback_constructor: verbosity_level must be 0 or more, got {verbosity_level!r}")
    if any(callback_constructor is known for _, known in _constructors):
        raise ValueError(f"register_callback_constructor: {callback_constructor!r} is registered already")
    _constructors.append((verbosity_level, callback_constructor))


def registered_callbacks(verbose: int) -> list[Callback]:
    """New callbacks from the constructors that are registered for a verbosity or a lower one."""
    return [make() for level, make in sorted(_constructors, key=lambda each: each[0]) if verbose >= level]

"""`Compilable`: how a model is to be trained, and what runs its batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod

from varigrad.callers import warn_caller
from varigrad.errors import NotYetError
from varigrad.jit import JitError, JitWarning
from varigrad.jit.deferred import Deferred
from varigrad.keywords import takes_options
from varigrad.layers.arguments import boolean
from varigrad.layers.base import Layer
from varigrad.layers.training.compiled import AnyOptimizer, Compiled, compiled_with, get_optimizer
from varigrad.layers.training.config import load_training_config, training_config
from varigrad.layers.training.copied import CopiedOptimizer, copied_optimizer, optimizer_for
from varigrad.layers.training.running import (
    AccumulatingRunner,
    Refused,
    Runner,
    evaluation_of,
    prediction_of,
    training_of,
)
from varigrad.layers.training.step import Meter
from varigrad.train import GradientAccumulator, Optimizer

if TYPE_CHECKING:
    from varigrad.layers.symbolic import SymbolicTensor

__all__ = ["Compilable"]

# Of a model that is trained with one set of weights after another.
_MOST_RUNNERS = 32


class Compilable(Layer):
    """A layer with inputs and outputs that can be told how to train: the base of `Trainable`."""

    inputs: list[SymbolicTensor]
    outputs: list[SymbolicTensor]
    # What compile was given.
    loss: Any = None
    metrics: Any = None
    loss_weights: Any = None
    _compiled: Compiled | None = None
    _optimizer: AnyOptimizer | CopiedOptimizer | None = None
    # Whether steps are compiled; what compile was given.
    jit: bool | None = None
    _meter: Meter | None = None
    _runners: dict[tuple[Any, ...], Any]  # what runs batches, as it is written or compiled
    _is_told = False  # why something is not compiled
    # What says nothing about what a step does.
    moved_on = ("_meter", "_runners", "_is_told")

    if TYPE_CHECKING:

        @property
        def input_names(self) -> list[str]: ...

        @property
        def output_names(self) -> list[str]: ...

    @takes_options
    def compile(
        self,
        optimizer: str | AnyOptimizer = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        weighted_metrics: Any = None,
        jit: bool | None = None,
    ) -> None:
        """Says how the model is to be trained. Mirrors `tf.LayersModel.compile`.

        Args:
            optimizer: One of `vg.train`, which may clip gradients (`vg.train.adam(0.001, global_clip_norm=1.0)`) or
                accumulate them (`vg.train.accumulate`); or a name, for TensorFlow.js's settings: `"sgd"` 0.01,
                `"adam"` 0.001, `"rmsprop"` 0.001, `"adamax"` 0.002, `"adagrad"` 0.01, `"adadelta"` 1.
            loss: A name of TensorFlow.js or Keras, such as `"mean_squared_error"`, `"binary_crossentropy"` or
                `"categorical_crossentropy"`; or a function of `(y_true, y_pred)` that returns a loss for each sample,
                `[batch]`, or their mean. For a model of several outputs one for all, a list, or a dict by
                `output_names`; an output without one is not trained. The losses of the outputs are summed, and the
                penalties of regularizers added.
            metrics: Names, functions of `(y_true, y_pred)`, or `vg.metrics.Metric` objects: a list, for several outputs
                perhaps a dict of them by output. See `vg.metrics`.
            loss_weights: Factors for the losses of the outputs, as a list or dict.
            weighted_metrics: Like `metrics`, but sample weights and class weights count in them.
            jit: Whether batches run compiled, as by `vg.jit`: of training, evaluation and prediction. By default they
                do from where it pays: after the first batch where many like it are to come, later or never where
                there are few. What cannot be compiled, because it looks at values, say, runs as it is written, and a
                `vg.JitWarning` names the line. With True they are compiled at once, and what cannot be is an error
                after the batch. With False everything runs as it is written.

        Raises:
            ValueError: A name is unknown, or something is given for another number of outputs.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2])])
        >>> model.compile(optimizer="sgd", loss="mean_squared_error", metrics=["mae"])
        >>> model.metrics_names
        ['loss', 'mae']
        """
        if not self.outputs:
            raise ValueError(f"compile: {self.name} has no layers yet; add some first")
        chosen = get_optimizer(optimizer)
        compiled = compiled_with(self.output_names, self.outputs, loss, metrics, loss_weights, weighted_metrics)
        self.jit = jit if jit is None else boolean("compile", "jit", jit)
        self._optimizer, self._compiled, self._meter, self._runners = chosen, compiled, None, {}
        self.loss, self.metrics, self.loss_weights = loss, metrics, loss_weights

    def compiled(self, op: str) -> Compiled:
        """What the model was compiled with.

        Raises:
            NotYetError: It was not; the message names `op`.
        """
        if self._compiled is None:
            raise self._not_compiled(op)
        return self._compiled

    def _not_compiled(self, op: str) -> NotYetError:
        return NotYetError(
            f"{op}: {self.name} must be compiled first: model.compile(optimizer='adam', loss=…); what a model is "
            "compiled with is in a file only if it was saved with include_optimizer=True"
        )

    @property
    def is_compiled(self) -> bool:
        """Whether the model was compiled."""
        return self._compiled is not None

    @property
    def optimizer(self) -> AnyOptimizer:
        """The optimizer that the model was compiled with; another may be assigned."""
        if self._optimizer is None:
            raise self._not_compiled("optimizer")
        if isinstance(self._optimizer, CopiedOptimizer):
            self._optimizer = optimizer_for(self._optimizer, self.weights)
        return self._optimizer

    @optimizer.setter
    def optimizer(self, optimizer: str | AnyOptimizer) -> None:
        self._optimizer = get_optimizer(optimizer)

    @property
    def bare_optimizer(self) -> Optimizer:
        """The optimizer itself, where gradients are accumulated for it."""
        optimizer = self.optimizer
        return optimizer.optimizer if isinstance(optimizer, GradientAccumulator) else optimizer

    @property
    def metrics_names(self) -> list[str]:
        """The names of what training reports: `"loss"`, the losses of several outputs, the metrics."""
        return self.compiled("metrics_names").names

    def step_with(self, optimizer: AnyOptimizer) -> Runner | AccumulatingRunner:
        """What takes a step of training on a batch, for the weights that are trained now."""
        compiled, weights = self.compiled("fit"), self.trainable_weights
        key = ("training", id(optimizer), *map(id, weights))  # of objects that the step keeps alive
        return self._runner(key, lambda jit, refused: training_of(self, compiled, optimizer, weights, jit, refused))

    def evaluation_step(self) -> Runner:
        """What evaluates a batch."""
        compiled = self.compiled("evaluate")
        return self._runner(("evaluation",), lambda jit, refused: evaluation_of(self, compiled, jit, refused))

    def prediction_step(self) -> Deferred:
        """What gives the outputs for inputs, tensors of the shapes that the model takes, outside of training."""
        return self._runner(("prediction",), lambda jit, refused: prediction_of(self, jit, refused))

    def accumulating_optimizer(self, every: int) -> GradientAccumulator:
        """The optimizer, for one update in so many batches; nothing has been added up yet."""
        optimizer = self.bare_optimizer
        found = self._runner(
            ("accumulator", id(optimizer), every), lambda jit, refused: GradientAccumulator(optimizer, every)
        )
        found.discard()
        return found

    def _runner(self, key: tuple[Any, ...], make: Callable[[bool | None, Refused], Any]) -> Any:
        """What is made for each key and kept, as its compilations are with it; that which came first is forgotten."""
        key = (*key, self.jit)
        if key not in self._runners:
            if len(self._runners) >= _MOST_RUNNERS:
                del self._runners[next(iter(self._runners))]
            told = WeakMethod(self.note_refusal)  # which must not keep the model
            self._runners[key] = make(self.jit, lambda reason: (told() or _nobody)(reason))
        return self._runners[key]

    def note_refusal(self, reason: str) -> None:
        """What cannot be compiled is an error if that was insisted upon, and else a warning, the first time."""
        if self.jit:
            raise JitError(reason)
        if not self._is_told:
            self._is_told = True
            warn_caller(
                f"{self.name}: what cannot be compiled runs as it is written, which is slower. {reason}; or say "
                "compile(jit=False)",
                JitWarning,
            )

    def __getstate__(self) -> dict[str, Any]:
        # Steps are made for this model's weights, not for a copy's.
        optimizer = None if self._optimizer is None else copied_optimizer(self.optimizer, self.weights)
        fresh: dict[str, Any] = {"_runners": {}, "_meter": None, "_optimizer": optimizer}
        return {**super().__getstate__(), **fresh}

    def get_training_config(self) -> dict[str, Any]:
        """What the model was compiled with, as files store it. Mirrors `getTrainingConfig` of `tf.LayersModel`.

        Raises:
            ValueError: A loss is a function, which no file can store.

        >>> import varigrad as vg
        >>> model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[2])])
        >>> model.compile(optimizer="sgd", loss="meanSquaredError", metrics=["accuracy"])
        >>> config = model.get_training_config()
        >>> config["loss"], config["metrics"], config["optimizer_config"]
        ('mean_squared_error', ['accuracy'], {'class_name': 'SGD', 'config': {'learningRate': 0.01}})
        """
        self.compiled("get_training_config")
        return training_config(self.loss, self.metrics, self.loss_weights, self.bare_optimizer)

    def load_training_config(self, config: Mapping[str, Any]) -> None:
        """Compiles the model with what `get_training_config` gave. Mirrors `loadTrainingConfig` of `tf.LayersModel`.

        Raises:
            ValueError: It is not of that form, or asks for what is unknown here.
        """
        self.compile(**load_training_config(config))


def _nobody(reason: str) -> None:
    """Hears of what a model that is gone could not compile."""

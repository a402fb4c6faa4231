"""How batches are run: as it is written, or compiled where that pays; and what is measured of them on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakMethod, ref

from varigrad.jit.deferred import Deferred
from varigrad.layers.lists import as_list
from varigrad.layers.training.compiled import AnyOptimizer, Compiled, Measure
from varigrad.layers.training.counting import Mean, sums_of
from varigrad.layers.training.metrics import METRICS
from varigrad.layers.training.samples import Batch
from varigrad.layers.training.step import Results, Seen, counting, run_batch, train_step
from varigrad.layers.training.weighting import Sums
from varigrad.tensor import Tensor, Variable
from varigrad.train import GradientAccumulator

if TYPE_CHECKING:
    from varigrad.layers.training.compilable import Compilable

__all__ = ["AccumulatingRunner", "Refused", "Runner", "evaluation_of", "prediction_of", "training_of"]

# Told why something cannot be compiled.
Refused = Callable[[str], None]
_Work = Callable[[Batch], Results]
# Counts a metric for a batch.
_Counter = Callable[[Batch, Results], Sums | None]
_OUR_OWN = frozenset(METRICS.values())


class Runner:
    """Runs batches and measures them.

    Metrics that are means over samples are computed together with the work, and compiled with it. Where that cannot be,
    it may be due to metrics of the user's own, which are then computed by themselves. That is no error even where
    compiling is insisted upon: it is the work that is to be compiled.

    Args:
        name: What the work is called.
        make_work: Makes the work, which takes a batch.
        measures: What is measured.
        jit: See `Deferred`.
        refused: Is told what cannot be compiled.
    """

    def __init__(
        self,
        name: str,
        make_work: Callable[[], _Work],
        measures: Sequence[Measure],
        jit: bool | None,
        refused: Refused,
    ) -> None:
        self._name = name
        self._make_work = make_work
        self._measures = measures
        self._jit = jit
        self._tell = refused
        self._counters = [_counter(measure) for measure in measures]
        self._run = self._compiled()

    def __call__(self, batch: Batch) -> Seen:
        return Seen(*self._run(batch.x, batch.y, batch.weights, more=batch.more))

    @property
    def compilations(self) -> int:
        """How often it was compiled."""
        return self._run.compilations

    def _compiled(self) -> Deferred:
        alone = {measure.output for measure, count in zip(self._measures, self._counters) if count is None}
        make_work, counters, refused = self._make_work, self._counters, WeakMethod(self._refused)

        def tell(reason: str) -> None:
            if method := refused():  # the runner has what it runs, which does not keep it
                method(reason)

        return Deferred(lambda: _measuring(make_work(), counters, alone), self._name, self._jit, tell)

    def _refused(self, reason: str) -> None:
        theirs = [
            _is_of_the_user(measure) and count is not None for measure, count in zip(self._measures, self._counters)
        ]
        if any(theirs):
            self._counters = [None if out else count for out, count in zip(theirs, self._counters)]
            self._run = self._compiled()
            if self._jit:
                return
        self._tell(reason)


class AccumulatingRunner:
    """Steps that add up gradients, and the update where the last of a group has run: each compiled by itself."""

    def __init__(self, step: Runner, optimizer: GradientAccumulator, update: Callable[[], Any]) -> None:
        self._step = step
        self._optimizer = optimizer
        self._update = update

    def __call__(self, batch: Batch) -> Seen:
        seen = self._step(batch)
        if self._optimizer.is_due:
            self._update()
        return seen

    @property
    def compilations(self) -> int:
        """How often the steps were compiled."""
        return self._step.compilations


def _is_of_the_user(measure: Measure) -> bool:
    return isinstance(measure.metric, Mean) and measure.metric.function not in _OUR_OWN


def _counter(measure: Measure) -> _Counter | None:
    """What counts a metric together with the work, if it can be.

    It is made of the metric's function: what the metric has counted so far is none of a step's business.
    """
    metric = measure.metric
    if not isinstance(metric, Mean) or type(metric).update_state is not Mean.update_state:
        return None
    return partial(_count, measure.output, measure.weighted, metric.name, metric.function)


def _count(
    output: int, weighted: bool, name: str, function: Callable[[Any, Any], Tensor], batch: Batch, results: Results
) -> Sums | None:
    y = batch.y[output]
    if y is None:
        return None
    weights = counting(batch.weights[output] if weighted else None, results.masks[output])
    return sums_of(name, function, y, results.outputs[output], weights)


def _measuring(work: _Work, counters: Sequence[_Counter | None], alone: set[int]) -> Callable[..., tuple[Any, ...]]:
    """The work and the counting as one function, which gives the parts of `Seen`, of tensors: the outputs `alone`."""
    counts = tuple(counters)
    given = tuple(alone)

    def run(x: Any, y: list[Tensor | None], weights: list[Tensor | None]) -> tuple[Any, ...]:
        batch = Batch(x, y, weights, as_list(x)[0].shape[0])
        results = work(batch)
        sums = [None if count is None else count(batch, results) for count in counts]
        outputs = [output if place in given else None for place, output in enumerate(results.outputs)]
        masks = [mask if place in given else None for place, mask in enumerate(results.masks)]
        return results.loss, results.losses, sums, outputs, masks

    return run


def _held(model_ref: ref[Compilable]) -> Compilable:
    """The model, which is there as long as somebody runs it; what it keeps does not keep it until that is compiled."""
    model = model_ref()
    assert model is not None
    return model


def training_of(
    model: Compilable,
    compiled: Compiled,
    optimizer: AnyOptimizer,
    weights: Sequence[Variable],
    jit: bool | None,
    refused: Refused,
) -> Runner | AccumulatingRunner:
    """Steps of training that change these weights."""
    goal, trained, model_ref = compiled._replace(measures=[]), tuple(weights), ref(model)
    target = optimizer.sums if isinstance(optimizer, GradientAccumulator) else optimizer

    def make_work() -> _Work:
        model = _held(model_ref)
        return lambda batch: train_step(model, goal, batch, target, trained)

    step = Runner(f"the training of {model.name}", make_work, compiled.measures, jit, refused)
    if not isinstance(optimizer, GradientAccumulator):
        return step
    update = Deferred(lambda: lambda: optimizer.flush(), f"the update of {model.name}", jit, refused)
    return AccumulatingRunner(step, optimizer, update)


def evaluation_of(model: Compilable, compiled: Compiled, jit: bool | None, refused: Refused) -> Runner:
    """What a model gives outside of training, and how good that is."""
    goal, model_ref = compiled._replace(measures=[]), ref(model)

    def make_work() -> _Work:
        model = _held(model_ref)
        return lambda batch: run_batch(model, goal, batch, training=False)

    return Runner(f"the evaluation of {model.name}", make_work, compiled.measures, jit, refused)


def prediction_of(model: Compilable, jit: bool | None, refused: Refused) -> Deferred:
    """What a model gives for inputs outside of training."""
    model_ref = ref(model)

    def make() -> Callable[[Any], Any]:
        model = _held(model_ref)
        return lambda inputs: model._run(inputs, False)  # pyright: ignore[reportPrivateUsage]

    return Deferred(make, f"the prediction of {model.name}", jit, refused)

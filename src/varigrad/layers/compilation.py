"""Models in files with what they were compiled with, and the state of their optimizers.

TensorFlow.js finds an optimizer's state by position, in the order of the trainable weights; here it is found by the
weights' names, and by position only where the names are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from varigrad.callers import warn_caller
from varigrad.dtypes import Array
from varigrad.io.matching import match_names, stored_names
from varigrad.io.weights import ModelFileError
from varigrad.train import Optimizer

if TYPE_CHECKING:
    from varigrad.layers.model import LayersModel

__all__ = ["optimizer_state", "restore_training", "training_config"]


def training_config(model: LayersModel) -> dict[str, Any] | None:
    """Loss, metrics and optimizer of a compiled model, as files have them; None if it is not compiled."""
    return model.get_training_config() if model.is_compiled else None


def optimizer_state(model: LayersModel) -> dict[str, Array] | None:
    """The state of a compiled model's optimizer: the number of updates, and the slots of each weight under its name in
    files; None if the model is not compiled.

    The slots are in the order of the trainable weights, all of them, because TensorFlow.js goes by position.
    """
    if not model.is_compiled:
        return None
    optimizer = model.bare_optimizer
    known = {weight.name: np.asarray(weight.tensor) for weight in optimizer.get_weights()}
    state: dict[str, Array] = {"iter": known["iter"]}
    names = stored_names(model)
    trainable = model.trainable_weights
    order = trainable + [weight for weight in model.weights if not any(weight is other for other in trainable)]
    met = {name.rpartition("/")[0] for name in known}
    if not met & {weight.name for weight in order}:
        return state
    for slot in optimizer.slot_names:
        for position, weight in enumerate(order):
            values = known.get(f"{weight.name}/{slot}")
            if values is None and position < len(trainable):
                values = np.full(weight.shape, optimizer.slot_fill(slot), np.float32)
            if values is not None:
                state[f"{names[id(weight)]}/{slot}"] = values
    return state


def restore_training(model: LayersModel, config: Mapping[str, Any], state: Mapping[str, Array] | None) -> None:
    """Compiles a model as it was when it was saved, and gives its optimizer the state that it had then.

    A loss, metric or optimizer that is unknown here leaves the model as it is, with a warning: it can predict.

    Raises:
        ModelFileError: The state does not fit the model.
    """
    try:
        model.load_training_config(config)
    except (TypeError, ValueError, LookupError) as error:
        warn_caller(f"the model is loaded but not compiled: {error}")
        return
    if state is None:
        return
    optimizer = model.bare_optimizer
    try:
        optimizer.set_weights(_by_variable(model, optimizer, state))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the state of the optimizer does not fit the model: {error}") from None


def _by_variable(model: LayersModel, optimizer: Optimizer, state: Mapping[str, Array]) -> dict[str, Array]:
    """The state with the names of the model's variables in place of those in the file."""
    slots = tuple(f"/{slot}" for slot in optimizer.slot_names)
    renamed = {name: values for name, values in state.items() if not name.endswith(slots)}
    trainable = model.trainable_weights
    names = stored_names(model)
    variables = {names[id(weight)]: weight for weight in model.weights}
    for slot in optimizer.slot_names:
        found = {name.removesuffix(f"/{slot}"): name for name in state if name.endswith(f"/{slot}")}
        matched = match_names(list(variables), found, [model.name])
        if not matched and len(found) == len(trainable):
            matched = dict(zip((names[id(weight)] for weight in trainable), found))
        unknown = found.keys() - set(matched.values())
        if unknown:
            raise ValueError(f"it has slots for {', '.join(map(repr, sorted(unknown)))}, which the model does not have")
        for name, source in matched.items():
            renamed[f"{variables[name].name}/{slot}"] = state[found[source]]
    return renamed

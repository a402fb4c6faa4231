"""What files know of a model's training: loss, metrics, optimizer, and the optimizer's state.

The form is that of TensorFlow.js's `trainingConfig`. TensorFlow.js finds an optimizer's state by position, in the order
of the trainable weights; here it is found by the weights' names, and by position only where the names are unknown.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.matching import match_names
from varigrad.io.weights import ModelFileError
from varigrad.layers.naming import snake_case
from varigrad.train import optimizers
from varigrad.train.optimizer import Optimizer
from varigrad.train.schedules import schedule_from_config

if TYPE_CHECKING:
    from varigrad.layers.model import LayersModel

__all__ = ["optimizer_state", "restore_training", "training_config"]

# By the class names that files have for them, in lower case; Keras writes some differently.
_OPTIMIZERS: dict[str, type[Optimizer]] = {
    cls.class_name.lower(): cls
    for cls in (
        optimizers.SGDOptimizer,
        optimizers.MomentumOptimizer,
        optimizers.AdagradOptimizer,
        optimizers.AdadeltaOptimizer,
        optimizers.AdamOptimizer,
        optimizers.AdamaxOptimizer,
        optimizers.RMSPropOptimizer,
    )
}

# TensorFlow.js wants a number for the learning rate; a schedule is kept beside it.
_SCHEDULE = "learningRateSchedule"


# Writing


def training_config(model: LayersModel) -> dict[str, Any] | None:
    """Loss, metrics and optimizer of a compiled model, as files have them; None if it is not compiled."""
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None:
        return None
    return {
        "loss": _identify(getattr(model, "loss", None), _loss_name),
        "metrics": _identify(getattr(model, "metrics", None) or [], _metric_name),
        "optimizer_config": _optimizer_config(optimizer),
    }


def _optimizer_config(optimizer: Optimizer) -> dict[str, Any]:
    config = {_camel_case(key): value for key, value in optimizer.get_config().items()}
    if isinstance(config.get("learningRate"), Mapping):
        config[_SCHEDULE] = config["learningRate"]
        config["learningRate"] = optimizer.current_learning_rate
    return {"class_name": optimizer.get_class_name(), "config": config}


def _identify(value: Any, name_of: Callable[[Any], str]) -> Any:
    """Names in place of losses or metrics, which may be one, a list of them, or a dict of either by output."""
    if isinstance(value, Mapping):
        return {str(key): _identify(item, name_of) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_identify(item, name_of) for item in cast("Sequence[Any]", value)]
    return None if value is None else name_of(value)


def _loss_name(loss: Any) -> str:
    if not isinstance(loss, str):
        raise ValueError(
            f"save: files hold losses by name, and {getattr(loss, '__name__', repr(loss))} is a function; compile with "
            "a name, or save without include_optimizer"
        )
    return snake_case(loss)


def _metric_name(metric: Any) -> str:
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", None)
    if not isinstance(name, str):
        raise ValueError(f"save: files hold metrics by name, and {metric!r} has none; save without include_optimizer")
    return snake_case(name)


def _camel_case(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def optimizer_state(model: LayersModel) -> dict[str, Array] | None:
    """The state of a compiled model's optimizer: the number of updates, and the slots of each weight under its name in
    files; None if the model is not compiled.

    The slots are in the order of the trainable weights, all of them, because TensorFlow.js goes by position.
    """
    optimizer: Optimizer | None = getattr(model, "optimizer", None)
    if optimizer is None:
        return None
    known = {weight.name: np.asarray(weight.tensor) for weight in optimizer.get_weights()}
    state: dict[str, Array] = {"iter": known["iter"]}
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
                state[f"{weight.original_name}/{slot}"] = values
    return state


# Reading


def restore_training(
    model: LayersModel, config: Mapping[str, Any], state: Mapping[str, Array] | None, custom_objects: Mapping[str, Any]
) -> None:
    """Compiles a model as it was when it was saved, and gives its optimizer the state that it had then.

    A loss, metric or optimizer that is unknown here leaves the model as it is, with a warning: it can predict.

    Raises:
        ModelFileError: The state does not fit the model.
    """
    try:
        optimizer = _make_optimizer(config.get("optimizer_config"), custom_objects)
        cast("Any", model).compile(optimizer=optimizer, loss=config.get("loss"), metrics=config.get("metrics") or None)
    except (TypeError, ValueError, LookupError) as error:
        warnings.warn(f"the model is loaded but not compiled: {error}", stacklevel=4)
        return
    if state is None:
        return
    try:
        optimizer.set_weights(_by_variable(model, optimizer, state))
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the state of the optimizer does not fit the model: {error}") from None


def _make_optimizer(stored: Any, custom_objects: Mapping[str, Any]) -> Optimizer:
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", stored) if isinstance(stored, Mapping) else {}
    class_name, config = fields.get("class_name", fields.get("className")), fields.get("config")
    if not isinstance(class_name, str) or not isinstance(config, Mapping):
        raise ValueError(f"optimizer_config needs class_name and config, got {stored!r:.200}")
    cls = custom_objects.get(class_name) or _OPTIMIZERS.get(class_name.lower())
    if cls is None:
        raise ValueError(f"there is no optimizer {class_name!r}; pass it in custom_objects")
    arguments = dict(cast("Mapping[str, Any]", config))
    schedule = arguments.pop(_SCHEDULE, None)
    optimizer: Optimizer = cls.from_config(arguments)
    if schedule is not None:
        optimizer.learning_rate = schedule_from_config(schedule)
    return optimizer


def _by_variable(model: LayersModel, optimizer: Optimizer, state: Mapping[str, Array]) -> dict[str, Array]:
    """The state with the names of the model's variables in place of those in the file."""
    renamed = {name: values for name, values in state.items() if "/" not in name}
    trainable = model.trainable_weights
    variables = {weight.original_name: weight for weight in model.weights}
    for slot in optimizer.slot_names:
        found = {name.removesuffix(f"/{slot}"): name for name in state if name.endswith(f"/{slot}")}
        matched = match_names(list(variables), found, [model.name])
        if not matched and len(found) == len(trainable):
            matched = dict(zip((weight.original_name for weight in trainable), found))
        unknown = found.keys() - set(matched.values())
        if unknown:
            raise ValueError(f"it has slots for {', '.join(map(repr, sorted(unknown)))}, which the model does not have")
        for name, source in matched.items():
            renamed[f"{variables[name].name}/{slot}"] = state[found[source]]
    return renamed

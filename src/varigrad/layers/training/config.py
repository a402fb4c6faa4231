"""What a model is compiled with, in the form that TensorFlow.js's files have it: `trainingConfig`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from varigrad import train
from varigrad.keywords import snake_case
from varigrad.train import Optimizer

__all__ = ["load_training_config", "training_config"]

_CLASSES: dict[str, type[Optimizer]] = {
    cls.class_name.lower(): cls
    for cls in (
        train.AdadeltaOptimizer,
        train.AdagradOptimizer,
        train.AdamaxOptimizer,
        train.AdamOptimizer,
        train.MomentumOptimizer,
        train.RMSPropOptimizer,
        train.SGDOptimizer,
    )
}


def training_config(loss: Any, metrics: Any, loss_weights: Any, optimizer: Optimizer) -> dict[str, Any]:
    """The stored form of what `compile` was given.

    Raises:
        ValueError: A loss or metric is a function, whose name files do not know.
    """
    config: dict[str, Any] = {
        "loss": _names("loss", loss),
        "metrics": _names("metric", [metrics] if isinstance(metrics, str) or callable(metrics) else metrics or []),
        "optimizer_config": {
            "class_name": optimizer.get_class_name(),
            "config": {_camel_case(name): value for name, value in optimizer.get_config().items()},
        },
    }
    if loss_weights is not None:  # TensorFlow.js does not read files that have it at all
        config["loss_weights"] = loss_weights
    return config


def _names(what: str, value: Any) -> Any:
    """Names in snake_case, alone or in lists and dicts."""
    if value is None:
        return None
    if isinstance(value, str):
        return value if what == "metric" and value.isupper() else snake_case(value)  # `"MSE"` is a name in logs
    if isinstance(value, Mapping):
        return {name: _names(what, each) for name, each in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_names(what, each) for each in cast("Sequence[Any]", value)]
    if what == "metric":
        return snake_case(str(getattr(value, "name", None) or getattr(value, "__name__", type(value).__name__)))
    raise ValueError(
        f"get_training_config: the {what} {value!r} is a function, which a file cannot store; "
        "compile with the name of one, or save without include_optimizer"
    )


def load_training_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `compile` from their stored form.

    Raises:
        ValueError: It is not of that form, or asks for an optimizer that is unknown.
    """
    stored: Any = config.get("optimizer_config")
    if not isinstance(stored, Mapping) or not isinstance(cast("Mapping[str, Any]", stored).get("class_name"), str):
        raise ValueError(f"load_training_config: 'optimizer_config' must have a 'class_name', got {stored!r:.200}")
    optimizer_config = cast("Mapping[str, Any]", stored)
    cls = _CLASSES.get(optimizer_config["class_name"].lower())
    if cls is None:
        raise ValueError(f"load_training_config: unknown optimizer class {optimizer_config['class_name']!r}")
    try:
        optimizer = cls.from_config(optimizer_config.get("config") or {})
    except (TypeError, ValueError) as error:
        raise ValueError(f"load_training_config: the optimizer {cls.class_name} cannot be made: {error}") from error
    return {
        "optimizer": optimizer,
        "loss": config.get("loss"),
        "metrics": config.get("metrics"),
        "loss_weights": config.get("loss_weights"),
        "weighted_metrics": config.get("weighted_metrics"),
    }


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)

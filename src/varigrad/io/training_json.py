"""`trainingConfig` in a form that TensorFlow.js reads, with what it would stumble over kept beside, under other names.

It wants a number for the learning rate, no loss weights, of some optimizers no state at all, and losses and metrics by
names of its own: one that it does not know is enough for it to refuse the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

__all__ = [
    "STATE_MANIFEST",
    "losses_unknown_to_tensorflow_js",
    "manifest_of_state",
    "training_for_tensorflow_js",
    "training_from_tensorflow_js",
]

_LOSS_WEIGHTS = "lossWeights"
_SCHEDULE = "learningRateSchedule"
_AS_COMPILED = {"loss": "lossAsCompiled", "metrics": "metricsAsCompiled"}

# Its words for losses and for metrics, by other words for the same, without underscores. Those for metrics are in
# camelCase already, for in a list inside a list or dict it does not bring them into that.
_LOSSES = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "bce": "binary_crossentropy",
    "kld": "kullback_leibler_divergence",
    "kldivergence": "kullback_leibler_divergence",
    "cosine": "cosine_proximity",
    "cosinesimilarity": "cosine_proximity",
}
_ITS_LOSSES = frozenset(_LOSSES.values()) | {
    "squared_hinge",
    "hinge",
    "categorical_hinge",
    "logcosh",
    "categorical_crossentropy",
    "sparse_categorical_crossentropy",
    "poisson",
}
_METRICS = {
    "acc": "acc",
    "accuracy": "accuracy",
    "ce": "ce",
    "crossentropy": "crossentropy",
    "binaryaccuracy": "binaryAccuracy",
    "categoricalaccuracy": "categoricalAccuracy",
    "categoricalcrossentropy": "categoricalCrossentropy",
    "sparsecategoricalcrossentropy": "sparseCategoricalCrossentropy",
    "precision": "precision",
    "mse": "mse",
    "meansquarederror": "mse",
    "mae": "mae",
    "meanabsoluteerror": "mae",
    "mape": "mape",
    "meanabsolutepercentageerror": "mape",
    "cosine": "cosine",
    "cosineproximity": "cosine",
    "cosinesimilarity": "cosine",
}

# The manifest of the state of optimizers whose state TensorFlow.js refuses; it opens such a file and starts them anew.
STATE_MANIFEST = "optimizerManifest"
_REFUSED = ("Adamax",)


def manifest_of_state(config: Mapping[str, Any] | None) -> str:
    """The manifest in which an optimizer's state is listed: that of the weights, if TensorFlow.js takes the state."""
    optimizer = (config or {}).get("optimizer_config", {})
    return STATE_MANIFEST if optimizer.get("class_name") in _REFUSED else "weightsManifest"


def training_for_tensorflow_js(config: Mapping[str, Any], model: Any) -> dict[str, Any]:
    """A training configuration that TensorFlow.js reads.

    Args:
        config: What `get_training_config` gave.
        model: The model, compiled.
    """
    written = dict(config)
    for key, translated in (
        ("loss", _translated(config["loss"], _loss_name)),
        ("metrics", _translated(config["metrics"], lambda name: _METRICS.get(name.replace("_", "").lower()))),
    ):
        if translated != config[key]:
            written |= {key: translated, _AS_COMPILED[key]: config[key]}
    if "loss_weights" in written:
        written[_LOSS_WEIGHTS] = written.pop("loss_weights")
    optimizer = dict(written["optimizer_config"])
    arguments = dict(optimizer["config"])
    if isinstance(arguments.get("learningRate"), Mapping):
        arguments[_SCHEDULE] = arguments["learningRate"]
        arguments["learningRate"] = model.bare_optimizer.current_learning_rate
    return {**written, "optimizer_config": {**optimizer, "config": arguments}}


def _translated(names: Any, translate: Callable[[str], str | None]) -> Any:
    """Names alone, in lists and in dicts, translated; those without a translation are left out."""
    if isinstance(names, str):
        return translate(names)
    if isinstance(names, Mapping):
        by_output = {key: _translated(each, translate) for key, each in cast("Mapping[str, Any]", names).items()}
        return {key: each for key, each in by_output.items() if each is not None}
    if isinstance(names, list):
        each = [_translated(name, translate) for name in cast("list[Any]", names)]
        return [name for name in each if name is not None]
    return names


def losses_unknown_to_tensorflow_js(config: Mapping[str, Any]) -> list[str]:
    """The losses for which TensorFlow.js refuses a file.

    Args:
        config: What `get_training_config` gave.
    """
    losses: Any = _translated(config["loss"], _loss_name)
    if isinstance(losses, Mapping):
        losses = list(cast("Mapping[str, Any]", losses).values())
    each = cast("list[str]", losses if isinstance(losses, list) else [losses])
    return sorted(set(each) - _ITS_LOSSES)


def _loss_name(name: str) -> str:
    return _LOSSES.get(name.replace("_", ""), name)


def training_from_tensorflow_js(config: Any) -> dict[str, Any] | None:
    """The training configuration in a file, as it was before `training_for_tensorflow_js`."""
    if not isinstance(config, Mapping):
        return None
    read = dict(cast("Mapping[str, Any]", config))
    for key, as_compiled in _AS_COMPILED.items():
        if as_compiled in read:
            read[key] = read.pop(as_compiled)
    if _LOSS_WEIGHTS in read:
        read["loss_weights"] = read.pop(_LOSS_WEIGHTS)
    optimizer = read.get("optimizer_config")
    arguments = cast("Mapping[str, Any]", optimizer).get("config") if isinstance(optimizer, Mapping) else None
    if isinstance(arguments, Mapping) and _SCHEDULE in arguments:
        rest = dict(cast("Mapping[str, Any]", arguments))
        rest["learningRate"] = rest.pop(_SCHEDULE)
        read["optimizer_config"] = {**cast("Mapping[str, Any]", optimizer), "config": rest}
    return read

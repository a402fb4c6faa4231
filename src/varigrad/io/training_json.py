"""`trainingConfig` in a form that TensorFlow.js reads, with what it would stumble over kept beside, under other names.

It wants a number for the learning rate, no loss weights, and of some optimizers no state at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["STATE_MANIFEST", "manifest_of_state", "training_for_tensorflow_js", "training_from_tensorflow_js"]

_LOSS_WEIGHTS = "lossWeights"
_SCHEDULE = "learningRateSchedule"

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
    if "loss_weights" in written:
        written[_LOSS_WEIGHTS] = written.pop("loss_weights")
    optimizer = dict(written["optimizer_config"])
    arguments = dict(optimizer["config"])
    if isinstance(arguments.get("learningRate"), Mapping):
        arguments[_SCHEDULE] = arguments["learningRate"]
        arguments["learningRate"] = model.bare_optimizer.current_learning_rate
    return {**written, "optimizer_config": {**optimizer, "config": arguments}}


def training_from_tensorflow_js(config: Any) -> dict[str, Any] | None:
    """The training configuration in a file, as it was before `training_for_tensorflow_js`."""
    if not isinstance(config, Mapping):
        return None
    read = dict(cast("Mapping[str, Any]", config))
    if _LOSS_WEIGHTS in read:
        read["loss_weights"] = read.pop(_LOSS_WEIGHTS)
    optimizer = read.get("optimizer_config")
    arguments = cast("Mapping[str, Any]", optimizer).get("config") if isinstance(optimizer, Mapping) else None
    if isinstance(arguments, Mapping) and _SCHEDULE in arguments:
        rest = dict(cast("Mapping[str, Any]", arguments))
        rest["learningRate"] = rest.pop(_SCHEDULE)
        read["optimizer_config"] = {**cast("Mapping[str, Any]", optimizer), "config": rest}
    return read

"""Models as TensorFlow.js layers-model files."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from varigrad.io.model_json import write_model
from varigrad.io.weights import encode_weights

if TYPE_CHECKING:
    from varigrad.layers.model import LayersModel

__all__ = ["ModelArtifactsInfo", "SaveResult", "save_model", "topology"]

# The version whose layers these are; readers of the format look at it.
_KERAS_VERSION = "tfjs-layers 4.22.0"


class ModelArtifactsInfo(NamedTuple):
    """What `model.save` wrote."""

    date_saved: str
    model_topology_type: str
    model_topology_bytes: int
    weight_specs_bytes: int
    weight_data_bytes: int


class SaveResult(NamedTuple):
    """What `model.save` returns."""

    model_artifacts_info: ModelArtifactsInfo


def topology(model: LayersModel) -> dict[str, Any]:
    """The model without its weights, as files have it."""
    return {
        "class_name": model.class_name,
        "config": model.get_config(),
        "keras_version": _KERAS_VERSION,
        "backend": "tensor_flow.js",
    }


def save_model(
    model: LayersModel, path: str | os.PathLike[str], *, trainable_only: bool, weight_shard_size_bytes: int
) -> SaveResult:
    """Writes `model.json` and the weights beside it."""
    from datetime import UTC, datetime  # not needed to import varigrad

    from varigrad import __version__  # known once the package is imported

    if not model.built:
        raise ValueError(f"save: {model.name} has no layers yet; add some first")
    weights = model.trainable_weights if trainable_only else model.weights
    names = [weight.original_name for weight in weights]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"save: two weights of {model.name} are named {name!r}; give their layers other names")
    stored = topology(model)
    document: dict[str, Any] = {
        "modelTopology": stored,
        "format": "layers-model",
        "generatedBy": f"VariGrad v{__version__}",
        "convertedBy": None,
    }
    metadata = model.get_user_defined_metadata()
    if metadata is not None:
        document["userDefinedMetadata"] = metadata
    encoded = encode_weights(zip(names, weights))
    try:
        topology_bytes = len(json.dumps(stored, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(f"save: the config of a layer of {model.name} is not made of JSON values: {error}") from None
    _, specs_bytes = write_model(path, document, encoded, weight_shard_size_bytes)
    date = datetime.now(UTC).isoformat(timespec="milliseconds")
    return SaveResult(ModelArtifactsInfo(date, "JSON", topology_bytes, specs_bytes, len(encoded.data)))

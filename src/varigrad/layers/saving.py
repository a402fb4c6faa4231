"""Models and their weights into files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from varigrad.io import model_json
from varigrad.io.formats import FOREIGN, MODELS, ModelArtifacts, WriteOptions, format_of, is_for_weights
from varigrad.io.locations import is_web, resolve_path
from varigrad.io.quantization import Quantize
from varigrad.layers.compilation import optimizer_state, training_config
from varigrad.layers.stored_weights import weights_by_name

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
    """What `model.save` returns.

    Args:
        model_artifacts_info: What was written.
        quantization_errors: By the name of each weight that was quantized, the largest difference that this made to
            one of its numbers.
    """

    model_artifacts_info: ModelArtifactsInfo
    quantization_errors: Mapping[str, float] = MappingProxyType({})


def topology(model: LayersModel) -> dict[str, Any]:
    """The model without its weights, as files have it."""
    return {
        "class_name": model.class_name,
        "config": model.get_config(),
        "keras_version": _KERAS_VERSION,
        "backend": "tensor_flow.js",
    }


def _check_layers(model: Any, owners: dict[int, str]) -> None:
    """Raises an error if files cannot say which layer is which, in the model or in one inside it.

    Two layers of a model may have one name, once they were renamed. And a layer that is in two models, one inside the
    other, would come back as two.
    """
    names: set[str] = set()
    for layer in model.layers:
        if layer.name in names:
            raise ValueError(
                f"save: two layers of {model.name} are named {layer.name!r}; give one of them another name"
            )
        names.add(layer.name)
        owner = owners.setdefault(id(layer), model.name)
        if owner != model.name and layer.weights:
            raise ValueError(
                f"save: {layer.name} is a layer of {owner} and of {model.name}, which are in one model, and a file "
                "cannot say that they share its weights; call the inner model instead of its layer"
            )
        if hasattr(layer, "layers"):
            _check_layers(layer, owners)


def _target(path: str | os.PathLike[str]) -> tuple[Path, Any]:
    """The file to write, and the module that writes files of its suffix.

    Raises:
        ValueError: It is not on this machine, or has the suffix of what is no model.
    """
    if is_web(path):
        raise ValueError(f"save: models are written to files, not to web servers ({os.fspath(path)!r})")
    target = resolve_path(path, MODELS)
    suffixes = ", ".join(sorted(MODELS))
    if is_for_weights(path):
        raise ValueError(
            f"save: {os.fspath(path)!r} is for weights alone; use model.save_weights, or save the model in a folder, "
            f"or as {suffixes}"
        )
    suffix = Path(path).suffix.lower()
    if suffix in FOREIGN:
        raise ValueError(f"save: there is no format {suffix} here; a model is saved in a folder, or as {suffixes}")
    return target, format_of(target, MODELS)


def save_model(
    model: LayersModel,
    path: str | os.PathLike[str],
    *,
    trainable_only: bool = False,
    include_optimizer: bool = False,
    weight_shard_size_bytes: int = WriteOptions().weight_shard_size_bytes,
    quantize: Quantize | None = None,
) -> SaveResult:
    """Writes the model in the format that the path's suffix names; without one, as a TensorFlow.js layers-model."""
    from datetime import UTC, datetime  # not needed to import varigrad

    if not model.built:
        raise ValueError(f"save: {model.name} has no layers yet; add some first")
    target, form = _target(path)
    if quantize is not None and form is not model_json:
        raise ValueError(f"save: only TensorFlow.js's format has quantized weights, not that of {os.fspath(path)!r}")
    _check_layers(model, {})
    stored = topology(model)
    try:
        json.dumps(stored, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"save: the config of a layer of {model.name} is not made of JSON values: {error}") from None
    artifacts = ModelArtifacts(
        topology=stored,
        weights=weights_by_name(model, "save", trainable_only),
        training_config=training_config(model) if include_optimizer else None,
        optimizer_weights=optimizer_state(model) if include_optimizer else None,
        metadata=model.get_user_defined_metadata(),
    )
    options = WriteOptions(weight_shard_size_bytes, quantize)
    written = form.write_model(target, artifacts, model, options)
    date = datetime.now(UTC).isoformat(timespec="milliseconds")
    info = ModelArtifactsInfo(date, "JSON", written.topology_bytes, written.specs_bytes, written.data_bytes)
    return SaveResult(info, written.quantization_errors)

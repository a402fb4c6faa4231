"""The file formats of models and of weights, by suffix, and what every one of them reads and writes.

Each module named here is loaded only when a file of its format is met. A module of `MODELS` has

    read_model(path: Path) -> ModelArtifacts
    write_model(path: Path, artifacts: ModelArtifacts, model: LayersModel, options: WriteOptions) -> Written

and one of `WEIGHTS` has

    read_weights(path: Path) -> StoredWeights
    write_weights(path: Path, weights: dict[str, Array], model: LayersModel) -> None

Readers raise `ModelFileError` for whatever is wrong with a file, and `FileNotFoundError` for none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias

from varigrad.dtypes import Array

__all__ = [
    "FOREIGN",
    "MODELS",
    "WEIGHTS",
    "ModelArtifacts",
    "StoredWeights",
    "WriteOptions",
    "Written",
    "format_of",
    "is_for_weights",
]

# By suffix; the longest that fits counts. What has none of them is a folder with a model.json in it.
MODELS: dict[str, str] = {
    ".json": "varigrad.io.model_json",
    ".keras": "varigrad.io.keras.archive",
    ".h5": "varigrad.io.keras.h5",
    ".hdf5": "varigrad.io.keras.h5",
}
WEIGHTS: dict[str, str] = {
    ".json": "varigrad.io.model_json",
    ".npz": "varigrad.io.npz",
    ".safetensors": "varigrad.io.safetensors",
    ".keras": "varigrad.io.keras.archive",
    ".weights.h5": "varigrad.io.keras.weights",
    ".h5": "varigrad.io.keras.h5",
    ".hdf5": "varigrad.io.keras.h5",
}

# Formats that others have, so that nobody gets a folder of such a name.
FOREIGN = (".onnx", ".pb", ".pt", ".pth", ".tflite", ".pkl", ".bin", ".zip", ".ckpt")

# Weights by their names, in any dialect that `matching` knows. Or, where the file knows weights by the place of their
# layer alone, a function of the model, built but without values, that gives them by the `original_name` of its weights.
StoredWeights: TypeAlias = Mapping[str, Array] | Callable[[Any], Mapping[str, Array]]


class ModelArtifacts(NamedTuple):
    """A model as files hold it, whatever their format.

    Args:
        topology: The stored form of the model, in any dialect that `topology` knows.
        weights: None where the file has no place for any; the model then starts anew.
        training_config: Loss, metrics and optimizer, as `trainingConfig` of TensorFlow.js has them.
        optimizer_weights: The optimizer's state, by the names that `Optimizer.get_weights` gives.
        metadata: What `set_user_defined_metadata` stored.
    """

    topology: Mapping[str, Any]
    weights: StoredWeights | None = None
    training_config: Mapping[str, Any] | None = None
    optimizer_weights: Mapping[str, Array] | None = None
    metadata: Mapping[str, Any] | None = None


class WriteOptions(NamedTuple):
    """What `model.save` is asked for beside the path; formats without shards leave it aside."""

    weight_shard_size_bytes: int = 4 * 1024 * 1024
    quantize: str | Mapping[str, Any] | None = None


class Written(NamedTuple):
    """What a writer reports: sizes, and the largest error that quantization made in each weight it touched."""

    topology_bytes: int
    specs_bytes: int
    data_bytes: int
    quantization_errors: Mapping[str, float] = {}


def format_of(path: str | os.PathLike[str], table: Mapping[str, str], default: str | None = None) -> Any:
    """The module that reads and writes files of a path's suffix.

    Raises:
        ValueError: No format has the suffix; the message lists those there are.
    """
    text = os.fspath(path)
    if "://" in text:
        text = text.partition("?")[0]
    name = os.path.basename(text.rstrip("/\\")).lower()
    for suffix in sorted(table, key=len, reverse=True):
        if name.endswith(suffix):
            return import_module(table[suffix])
    if default is None:
        raise ValueError(f"{os.fspath(path)!r} must end in one of {', '.join(sorted(table))}")
    return import_module(table[default])


def is_for_weights(path: str | os.PathLike[str]) -> bool:
    """Whether a path's suffix is of a format that has weights but no model."""
    name = os.path.basename(os.fspath(path).rstrip("/\\")).lower()
    return name.endswith(tuple(suffix for suffix in WEIGHTS if suffix not in MODELS)) and not name.endswith(
        tuple(MODELS)
    )

"""`.h5`, the older form of Keras's files: a group for each layer of the outermost model, the topology an attribute."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

from varigrad.dtypes import Array
from varigrad.io.formats import ModelArtifacts, StoredWeights, WriteOptions, Written
from varigrad.io.keras.compiling import from_training_config, to_training_config
from varigrad.io.keras.config_2 import to_keras_2
from varigrad.io.keras.config_3 import KERAS_VERSION
from varigrad.io.keras.hdf5 import File, Group
from varigrad.io.keras.layout import flat_weights
from varigrad.io.keras.meanings import as_meant_by_keras
from varigrad.io.keras.values import hdf5_bytes, read_values, writable
from varigrad.io.matching import stored_names
from varigrad.io.replacing import write_atomically
from varigrad.io.weights import ModelFileError

__all__ = ["layered_weights", "read_model", "read_weights", "write_model", "write_weights"]

# The most bytes that an attribute takes; longer lists are cut into parts, `layer_names0` and so on.
_ATTRIBUTE_LIMIT = 64_512


def read_model(path: Path) -> ModelArtifacts:
    """The model in a file that Keras 2 or 3 wrote.

    Raises:
        ModelFileError: The file is damaged, or holds weights alone.
    """
    root = _open(path)
    topology = _json_attribute(root, "model_config")
    if topology is None:
        raise ModelFileError(
            f"{path} holds weights but no model; make the model and give it to model.load_weights, or save the whole "
            "model from Keras with model.save"
        )
    version = root.attributes.get("keras_version")
    topology = as_meant_by_keras(topology, version if isinstance(version, str) else "2")
    training, state = from_training_config(_json_attribute(root, "training_config"), root)
    return ModelArtifacts(topology, layered_weights(root), training, state)


def read_weights(path: Path) -> StoredWeights:
    """The weights in a file of a whole model, or of weights alone, as a function of the model that wants them."""
    return layered_weights(_open(path))


def _open(path: Path) -> Group:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    return File(path.read_bytes()).root


def _json_attribute(root: Group, name: str) -> dict[str, Any] | None:
    stored = root.attributes.get(name)
    if stored is None:
        return None
    try:
        value = json.loads(stored if isinstance(stored, str) else "")
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the file's {name} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"the file's {name} holds a {type(value).__name__}, not an object")
    return cast("dict[str, Any]", value)


def layered_weights(root: Group) -> StoredWeights:
    """The weights in groups by layer, as a function of the model that wants them."""
    group = root.group("model_weights") if "model_weights" in root else root
    names = _texts(group, "layer_names")
    stored = {name: group.group(name) for name in names}
    lists = {name: _texts(layer, "weight_names") for name, layer in stored.items()}

    def values_for(model: Any) -> dict[str, Array]:
        found: dict[str, Array] = {}
        named = stored_names(model)
        for name, layer in _pairs(model, [name for name in names if lists[name]]):
            values = [read_values(stored[name].dataset(place)) for place in lists[name]]
            weights = [] if layer is None else flat_weights(layer)
            if layer is not None and len(weights) != len(values):
                raise ModelFileError(f"layer {name!r} has {len(values)} weights in the file, but {len(weights)} here")
            wanted = [named[id(weight)] for weight in weights] or lists[name]
            found.update(zip(wanted, values))
        return found

    return values_for


def _pairs(model: Any, names: Sequence[str]) -> list[tuple[str, Any]]:
    """The layer of each name; if the names are all others, the layers in order; None where there is none."""
    layers = {layer.name: layer for layer in model.layers if layer.weights}
    if not layers.keys() & set(names) and len(layers) == len(names):
        return list(zip(names, layers.values()))
    return [(name, layers.get(name)) for name in names]


def _texts(group: Group, name: str) -> list[str]:
    """An attribute that is a list of texts, perhaps cut into parts."""
    attributes = group.attributes
    parts: list[Any] = [attributes[name]] if name in attributes else []
    while name not in attributes and f"{name}{len(parts)}" in attributes:
        parts.append(attributes[f"{name}{len(parts)}"])
    texts: list[str] = []
    for part in parts:
        if isinstance(part, np.ndarray) and part.size == 0:
            continue
        if not isinstance(part, list):
            raise ModelFileError(f"the HDF5 file is damaged: {name} is no list of texts")
        texts += cast("list[str]", part)
    if len(set(texts)) != len(texts):
        raise ModelFileError(f"the HDF5 file is damaged: {name} has something twice")
    return texts


# Writing


def write_model(path: Path, artifacts: ModelArtifacts, model: Any, options: WriteOptions) -> Written:
    """Writes the model so that Keras 3 and, unless it has models inside it, Keras 2 open it."""
    topology = to_keras_2(artifacts.topology, model)
    weights = cast("Mapping[str, Array]", artifacts.weights or {})
    training, fill_optimizer = to_training_config(artifacts, model)
    config = json.dumps(topology, allow_nan=False)

    def fill(file: Any) -> None:
        file.attrs["keras_version"] = KERAS_VERSION
        file.attrs["backend"] = "tensorflow"
        file.attrs["model_config"] = config
        if training is not None:
            file.attrs["training_config"] = json.dumps(training, allow_nan=False)
        _write_layers(file.create_group("model_weights"), model, weights)
        fill_optimizer(file)

    data = hdf5_bytes(fill)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, [data])
    return Written(len(config), 0, sum(values.nbytes for values in weights.values()))


def write_weights(path: Path, weights: Mapping[str, Array], model: Any) -> None:
    """Writes the weights alone."""
    write_atomically(path, [hdf5_bytes(lambda file: _write_layers(file, model, weights))])


def _write_layers(group: Any, model: Any, weights: Mapping[str, Array]) -> None:
    group.attrs["keras_version"] = KERAS_VERSION
    group.attrs["backend"] = "tensorflow"
    _write_texts(group, "layer_names", [layer.name for layer in model.layers])
    names = stored_names(model)
    # By name, so that a layer whose name is the beginning of another's comes first, as Keras writes them.
    for layer in sorted(model.layers, key=lambda layer: layer.name):
        if {"", "."} & set(layer.name.split("/")):
            raise ValueError(f"save: HDF5 files have no place for a layer named {layer.name!r}; give it another name")
        below = group.create_group(layer.name)
        held = [names[id(weight)] for weight in flat_weights(layer) if names[id(weight)] in weights]
        _write_texts(below, "weight_names", held)
        for name in held:
            below.create_dataset(name, data=writable(weights[name]))
    _write_texts(group.create_group("top_level_model_weights"), "weight_names", [])


def _write_texts(group: Any, name: str, texts: Sequence[str]) -> None:
    encoded = np.asarray([text.encode() for text in texts])
    count = 1
    parts = [encoded]
    while any(part.nbytes > _ATTRIBUTE_LIMIT for part in parts):
        count += 1
        parts = np.array_split(encoded, count)
    for number, part in enumerate(parts):
        group.attrs[name if count == 1 else f"{name}{number}"] = part

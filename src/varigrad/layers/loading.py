"""Models from TensorFlow.js layers-model files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from varigrad.dtypes import Array, kind_of
from varigrad.io.matching import match_names
from varigrad.io.model_json import read_document, read_manifest
from varigrad.io.topology import normalize_topology
from varigrad.io.weights import ModelFileError
from varigrad.layers.base import DEFERRED, DeferredValue
from varigrad.layers.model import LayersModel
from varigrad.layers.registry import custom_object_scope, deserialize, suggestion
from varigrad.tensor import format_shape

__all__ = ["load_layers_model", "model_from_json"]


def load_layers_model(
    path: str | os.PathLike[str], *, strict: bool = True, custom_objects: Mapping[str, Any] | None = None
) -> LayersModel:
    """The model in a TensorFlow.js layers-model file, written by TensorFlow.js, by its converter, or here.

    Nothing in the file is run: it names layers that are here, or in `custom_objects`, and holds numbers. Weights keep
    the names that the file has for them in `original_name`, which is what saving writes; a second copy of the model
    has variables of other names. Mirrors `tf.loadLayersModel`.

    Args:
        path: A folder with a `model.json`, a `file://` URL of one, or the path of the JSON file.
        strict: Whether it is an error if the model and the file do not have the same weights. If not, what is missing
            starts anew and what is too much is left out, with a warning that names both.
        custom_objects: Classes and activation functions by the names that the file has for them.

    Raises:
        FileNotFoundError: There is no such file.
        ModelFileError: The file is damaged, contradicts itself, or holds what is not supported; a `ValueError`.

    >>> import tempfile
    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = model.save(folder)
    ...     copy = vg.load_layers_model(folder)
    >>> x = vg.ones([1, 3])
    >>> copy.predict(x).tolist() == model.predict(x).tolist()
    True
    """
    document, folder = read_document(path)
    model, deferred = _build(document, custom_objects)
    manifest = document.get("weightsManifest")
    if manifest is None:
        for value in deferred:
            _initialize(value)
        return model
    specs, found = read_manifest(manifest, folder)
    groups = {spec.name: spec.group for spec in specs}
    found = {name: values for name, values in found.items() if groups[name] != "optimizer"}
    _fill(model, deferred, found, strict)
    return model


def model_from_json(config: Mapping[str, Any] | str, custom_objects: Mapping[str, Any] | None = None) -> LayersModel:
    """A model with new weights from what `model.to_json` gave. Mirrors `tf.models.modelFromJSON`.

    >>> import varigrad as vg
    >>> model = vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3], name="json_example")])
    >>> vg.models.model_from_json(model.to_json()).layers
    [<Dense 'json_example'>]
    """
    if isinstance(config, str):
        import json  # a dict needs no parser

        config = json.loads(config)
    if not isinstance(config, Mapping):
        raise TypeError(f"model_from_json: needs a JSON object or a string of one, got {type(config).__name__}")
    model, deferred = _build(config, custom_objects)
    for value in deferred:
        _initialize(value)
    return model


def _build(
    document: Mapping[str, Any], custom_objects: Mapping[str, Any] | None
) -> tuple[LayersModel, list[DeferredValue]]:
    """The model, and its weights, which have no values yet."""
    deferred: list[DeferredValue] = []
    token = DEFERRED.set(deferred)
    try:
        with custom_object_scope(custom_objects):
            model = deserialize(normalize_topology(document), LayersModel)
        metadata = document.get("userDefinedMetadata")
        if isinstance(metadata, Mapping):
            model.set_user_defined_metadata(cast("Mapping[str, Any]", metadata))
    except RecursionError:
        raise ModelFileError("the model is nested too deeply") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelFileError(str(error)) from error
    finally:
        DEFERRED.reset(token)
    return model, deferred


def _initialize(value: DeferredValue) -> None:
    value.variable.storage = value.initialize().storage.copy()


def _fill(model: LayersModel, deferred: Sequence[DeferredValue], found: Mapping[str, Array], strict: bool) -> None:
    """Gives the model's weights the values in the file."""
    wanted = {value.variable.original_name: value for value in deferred}
    matched = match_names(list(wanted), found, [model.name])
    missing = [name for name in wanted if name not in matched]
    unexpected = sorted(found.keys() - set(matched.values()))
    if missing or unexpected:
        message = _differences(model, missing, unexpected)
        if strict:
            raise ModelFileError(f"{message}; strict=False loads the rest")
        warnings.warn(message, stacklevel=3)
    for name, source in matched.items():
        variable, values = wanted[name].variable, found[source]
        if values.shape != variable.shape:
            raise ModelFileError(
                f"weight {source!r} has shape {format_shape(values.shape)} in the file, but {model.name} needs "
                f"{format_shape(variable.shape)}"
            )
        kinds = {kind_of(values.dtype), kind_of(variable.storage.dtype)}
        if len(kinds) > 1:
            raise ModelFileError(
                f"weight {source!r} is {values.dtype} in the file, but {model.name} needs {variable.dtype}"
            )
    for name, source in matched.items():
        variable = wanted[name].variable
        variable.storage = np.ascontiguousarray(found[source], dtype=variable.storage.dtype)
    for name in missing:
        _initialize(wanted[name])


def _differences(model: LayersModel, missing: Sequence[str], unexpected: Sequence[str]) -> str:
    parts: list[str] = []
    if missing:
        names = ", ".join(f"{name!r}{suggestion(name, unexpected)}" for name in missing)
        parts.append(f"lacks {len(missing)} weights of {model.name}: {names}")
    if unexpected:
        parts.append(f"has {len(unexpected)} that it has no place for: {', '.join(map(repr, unexpected))}")
    return f"the file {' and '.join(parts)}"

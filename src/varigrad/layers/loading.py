"""Models and their weights from files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import Array, kind_of
from varigrad.engine import make_tensor
from varigrad.io import model_json
from varigrad.io.formats import MODELS, WEIGHTS, ModelArtifacts, StoredWeights, format_of
from varigrad.io.locations import UrlConverter, is_web, resolve_path
from varigrad.io.matching import match_names
from varigrad.io.topology import normalize_topology
from varigrad.io.weights import ModelFileError
from varigrad.layers.compilation import restore_training
from varigrad.layers.model import LayersModel
from varigrad.layers.registry import custom_object_scope, deserialize, suggestion
from varigrad.layers.weights import DEFERRED, DeferredValue
from varigrad.ops.assignment import assign
from varigrad.tensor import Variable, format_shape

__all__ = ["load_layers_model", "load_weights", "model_from_json"]


def load_layers_model(
    path: str | os.PathLike[str],
    *,
    strict: bool = True,
    custom_objects: Mapping[str, Any] | None = None,
    weight_url_converter: UrlConverter | None = None,
    timeout: float = 60.0,
) -> LayersModel:
    """The model in a file: a TensorFlow.js layers-model, written by TensorFlow.js, by its converter, or here; or one of
    the other formats that `model.save` writes, by suffix.

    Nothing in the file is run: it names layers that are here, or in `custom_objects`, and holds numbers. Weights keep
    the names that the file has for them in `original_name`, which is what saving writes; a second copy of the model
    has variables of other names. A model that was saved with its optimizer is compiled, and trains on as if it had
    never been away. Mirrors `tf.loadLayersModel`.

    Args:
        path: A folder with a `model.json`, the path of the JSON file, or a `file://`, `http://` or `https://` URL of
            it (of its folder, if it ends in a slash).
        strict: Whether it is an error if the model and the file do not have the same weights. If not, what is missing
            starts anew and what is too much is left out, with a warning that names both.
        custom_objects: Classes and functions by the names that the file has for them; also a layer to stand for a
            Lambda layer, by that layer's name.
        weight_url_converter: A function from the name of a file of weights, as `model.json` has it, to the URL or path
            where it is. By default it is beside `model.json`, and asked for with the query of `model.json`'s URL.
        timeout: How many seconds a web server may stay silent.

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
    artifacts = _read(path, weight_url_converter, timeout)
    objects = dict(custom_objects or {})
    model, deferred = _build(artifacts.topology, objects)
    if artifacts.metadata is not None:
        model.set_user_defined_metadata(artifacts.metadata)
    if artifacts.weights is None:
        for value in deferred:
            _initialize(value)
    else:
        _fill(model, deferred, artifacts.weights, strict)
    if artifacts.training_config is not None:
        restore_training(model, artifacts.training_config, artifacts.optimizer_weights, objects)
    return model


def _read(path: str | os.PathLike[str], converter: UrlConverter | None, timeout: float) -> ModelArtifacts:
    """What the file holds."""
    target = path if is_web(path) else resolve_path(path, MODELS)
    form = format_of(str(target).partition("?")[0], MODELS, default=".json")
    if form is model_json:
        return model_json.read_model(path, converter, timeout)
    if is_web(path):
        raise ValueError(f"only layers-models are read from web servers; download {os.fspath(path)!r} first")
    return form.read_model(target)


def load_weights(model: LayersModel, path: str | os.PathLike[str], strict: bool = True) -> None:
    """Gives the model's weights the values in a file, all or, on an error, none."""
    if not model.built:
        raise ValueError(f"load_weights: {model.name} has no layers yet; add some first")
    form = format_of(path, WEIGHTS)
    found = form.read_weights(resolve_path(path, WEIGHTS))
    matched = _match(model, model.weights, found, strict)
    for variable, values in matched:
        assign(variable, make_tensor(values.astype(variable.storage.dtype, copy=False)))


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
    model, deferred = _build(config, dict(custom_objects or {}))
    for value in deferred:
        _initialize(value)
    return model


def _build(topology: Mapping[str, Any], custom_objects: dict[str, Any]) -> tuple[LayersModel, list[DeferredValue]]:
    """The model, and its weights, which have no values yet."""
    deferred: list[DeferredValue] = []
    token = DEFERRED.set(deferred)
    try:
        with custom_object_scope(custom_objects):
            model = deserialize(normalize_topology(topology, custom_objects), LayersModel)
    except RecursionError:
        raise ModelFileError("the model is nested too deeply") from None
    except (TypeError, ValueError, OverflowError, LookupError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(str(error)) from error
    finally:
        DEFERRED.reset(token)
    return model, deferred


def _initialize(value: DeferredValue) -> None:
    value.variable.storage = value.initialize().storage.copy()


def _fill(model: LayersModel, deferred: Sequence[DeferredValue], found: StoredWeights, strict: bool) -> None:
    """Gives weights that have no values yet those in the file, in the file's own memory where that can be."""
    missing = {id(value.variable): value for value in deferred}
    for variable, values in _match(model, [value.variable for value in deferred], found, strict):
        variable.storage = np.ascontiguousarray(values, dtype=variable.storage.dtype)
        del missing[id(variable)]
    for value in missing.values():
        _initialize(value)


def _match(
    model: LayersModel, variables: Sequence[Variable], found: StoredWeights, strict: bool
) -> list[tuple[Variable, Array]]:
    """The weights of a model and the values for them, which fit.

    Raises:
        ModelFileError: A weight is missing or too much, if `strict`; or has another shape or kind.
    """
    stored = found if isinstance(found, Mapping) else found(model)
    wanted = {variable.original_name: variable for variable in variables}
    matched = match_names(list(wanted), stored, [model.name])
    missing = [name for name in wanted if name not in matched]
    unexpected = sorted(stored.keys() - set(matched.values()))
    if missing or unexpected:
        message = _differences(model, missing, unexpected)
        if strict:
            raise ModelFileError(f"{message}; strict=False loads the rest")
        warnings.warn(message, stacklevel=4)
    for name, source in matched.items():
        variable, values = wanted[name], stored[source]
        if values.shape != variable.shape:
            raise ModelFileError(
                f"weight {source!r} has shape {format_shape(values.shape)} in the file, but {model.name} needs "
                f"{format_shape(variable.shape)}"
            )
        if kind_of(values.dtype) != kind_of(variable.storage.dtype):
            raise ModelFileError(
                f"weight {source!r} is {values.dtype} in the file, but {model.name} needs {variable.dtype}"
            )
    return [(wanted[name], stored[source]) for name, source in matched.items()]


def _differences(model: LayersModel, missing: Sequence[str], unexpected: Sequence[str]) -> str:
    parts: list[str] = []
    if missing:
        names = ", ".join(f"{name!r}{suggestion(name, unexpected)}" for name in missing)
        parts.append(f"lacks {len(missing)} weights of {model.name}: {names}")
    if unexpected:
        parts.append(f"has {len(unexpected)} that it has no place for: {', '.join(map(repr, unexpected))}")
    return f"the file {' and '.join(parts)}"

"""Models and their weights from files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from varigrad.io import model_json
from varigrad.io.formats import MODELS, ModelArtifacts, format_of, is_for_weights
from varigrad.io.locations import UrlConverter, is_web, prefixed, resolve_path
from varigrad.io.topology import normalize_topology
from varigrad.io.weights import ModelFileError
from varigrad.keywords import takes_options
from varigrad.layers.compilation import restore_training
from varigrad.layers.function_layer import stand_in
from varigrad.layers.model import LayersModel
from varigrad.layers.registry import custom_object_scope, deserialize
from varigrad.layers.stored_weights import fill, initialize
from varigrad.layers.weights import DEFERRED, DeferredValue

__all__ = ["load_layers_model", "model_from_json"]


@takes_options
def load_layers_model(
    path: str | os.PathLike[str],
    *,
    strict: bool = True,
    custom_objects: Mapping[str, Any] | None = None,
    weight_url_converter: UrlConverter | None = None,
    weight_path_prefix: str | None = None,
    timeout: float = 60.0,
) -> LayersModel:
    """The model in a file: of TensorFlow.js, of its converter, or in any format that `model.save` writes, by suffix.

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
        weight_path_prefix: What to put before the names of the files of weights, in place of that: a folder or URL,
            with the slash at its end.
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
    if weight_path_prefix is not None:
        if weight_url_converter is not None:
            raise ValueError("load_layers_model: takes weight_url_converter or weight_path_prefix, not both")
        weight_url_converter = prefixed(weight_path_prefix)
    artifacts = _read(path, weight_url_converter, timeout)
    objects = dict(custom_objects or {})
    model, deferred = _build(artifacts.topology, objects)
    if artifacts.metadata is not None:
        try:
            model.set_user_defined_metadata(artifacts.metadata)
        except TypeError as error:
            raise ModelFileError(f"the file's metadata cannot be kept: {error}") from None
    if artifacts.weights is None:
        initialize(deferred)
    else:
        fill(model, deferred, artifacts.weights, strict)
    if artifacts.training_config is not None:
        restore_training(model, artifacts.training_config, artifacts.optimizer_weights)
    return model


def _read(path: str | os.PathLike[str], converter: UrlConverter | None, timeout: float) -> ModelArtifacts:
    """What the file holds."""
    target = path if is_web(path) else resolve_path(path, MODELS)
    if is_for_weights(path) and os.path.isfile(path):
        raise ModelFileError(
            f"{os.fspath(path)!r} holds weights alone; make the model, then model.load_weights reads them"
        )
    form = format_of(target, MODELS, default=".json")
    if form is model_json:
        return model_json.read_model(path, converter, timeout)
    if is_web(path):
        raise ValueError(f"only layers-models are read from web servers; download {os.fspath(path)!r} first")
    return form.read_model(target)


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
    initialize(deferred)
    return model


def _build(topology: Mapping[str, Any], custom_objects: dict[str, Any]) -> tuple[LayersModel, list[DeferredValue]]:
    """The model, and its weights, which have no values yet."""
    deferred: list[DeferredValue] = []
    token = DEFERRED.set(deferred)
    try:
        with custom_object_scope({"Lambda": partial(stand_in, custom_objects), **custom_objects}):
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

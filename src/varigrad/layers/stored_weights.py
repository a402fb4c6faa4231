"""Which value in a file each weight of a model gets, and files of weights alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from varigrad.callers import warn_caller
from varigrad.dtypes import Array, kind_of
from varigrad.engine import make_tensor
from varigrad.io import model_json
from varigrad.io.formats import WEIGHTS, StoredWeights, format_of
from varigrad.io.locations import is_web, resolve_path
from varigrad.io.matching import match_names, stored_names
from varigrad.io.weights import ModelFileError
from varigrad.keywords import suggestion
from varigrad.layers.weights import DeferredValue
from varigrad.ops.arguments import convert
from varigrad.ops.assignment import assign
from varigrad.tensor import Variable, format_shape

if TYPE_CHECKING:
    from varigrad.layers.model import LayersModel

# How many missing or unexpected weights are named, and with how many names each is compared.
_NAMED = 20
_COMPARED = 500

# A file may be small and the model that it describes huge; without values for its weights, this is the limit.
_LARGEST_NEW = 4 * 1024**3

__all__ = ["fill", "initialize", "load_weights", "save_weights", "weights_by_name"]


def weights_by_name(model: LayersModel, owner: str, trainable_only: bool = False) -> dict[str, Array]:
    """The weights of a model by the names that files have for them, without a copy.

    Raises:
        ValueError: Two have one name, which TensorFlow.js cannot read back.
    """
    names = stored_names(model)
    weights: dict[str, Array] = {}
    for weight in model.trainable_weights if trainable_only else model.weights:
        name = names[id(weight)]
        if name in weights:
            raise ValueError(f"{owner}: two weights of {model.name} are named {name!r}; give their layers other names")
        weights[name] = np.asarray(weight)
    return weights


def _named_variables(model: LayersModel, variables: Sequence[Variable]) -> dict[str, Variable]:
    """Variables of a model by the names that files have for them."""
    names = stored_names(model)
    named: dict[str, Variable] = {}
    for variable in variables:
        name = names[id(variable)]
        if name in named:
            raise ModelFileError(f"two weights of {model.name} are named {name!r}; their layers need other names")
        named[name] = variable
    return named


def _model_names(model: LayersModel) -> list[str]:
    """The names of the model and of the models inside it, itself first."""
    names: list[str] = []
    waiting: list[Any] = [model]
    while waiting:
        inner = waiting.pop()
        names.append(inner.name)
        waiting.extend(layer for layer in inner.layers if hasattr(layer, "layers"))
    return names


def _layer_names(model: LayersModel) -> list[str]:
    """The names of the layers of the model and of the models inside it; not of those inside other layers."""
    names: list[str] = []
    waiting: list[Any] = [model]
    while waiting:
        for layer in waiting.pop().layers:
            names.append(layer.name)
            if hasattr(layer, "layers"):
                waiting.append(layer)
    return names


def save_weights(model: LayersModel, path: str | os.PathLike[str]) -> None:
    """Writes the model's weights alone, in the format that the path's suffix names."""
    if not model.built:
        raise ValueError(f"save_weights: {model.name} has no layers yet; add some first")
    form = format_of(path, WEIGHTS)
    form.write_weights(resolve_path(path, WEIGHTS), weights_by_name(model, "save_weights"), model)


def load_weights(model: LayersModel, source: str | os.PathLike[str] | Mapping[str, Any], strict: bool) -> None:
    """Gives the model's weights the values in a file, or in a dict by name: all or, on an error, none."""
    if not model.built:
        raise ValueError(f"load_weights: {model.name} has no layers yet; add some first")
    found: StoredWeights
    if isinstance(source, Mapping):
        found = {name: np.asarray(convert(value, "load_weights", repr(name))) for name, value in source.items()}
    else:
        form = format_of(source, WEIGHTS)
        if not is_web(source):
            source = resolve_path(source, WEIGHTS)
        elif form is not model_json:
            raise ValueError(f"only layers-models are read from web servers; download {os.fspath(source)!r} first")
        found = form.read_weights(source)
    for variable, values in _match(model, model.weights, found, strict):
        assign(variable, make_tensor(values.astype(variable.storage.dtype)))


def fill(model: LayersModel, deferred: Sequence[DeferredValue], found: StoredWeights, strict: bool) -> None:
    """Gives weights that have no values yet those in the file, in the file's own memory where that can be."""
    missing = {id(value.variable): value for value in deferred}
    for variable, values in _match(model, [value.variable for value in deferred], found, strict):
        variable.storage = np.asarray(values, variable.storage.dtype, order="C")
        del missing[id(variable)]
    initialize(missing.values())


def initialize(deferred: Iterable[DeferredValue]) -> None:
    """Gives weights that have no values yet new ones.

    Raises:
        ModelFileError: They would take more memory than a few lines of a file should.
    """
    waiting = list(deferred)
    size = sum(value.variable.size * value.variable.storage.itemsize for value in waiting)
    if size > _LARGEST_NEW:
        raise ModelFileError(f"the file has no values for weights that would take {size:,} bytes")
    for value in waiting:
        value.variable.storage = value.initialize().storage.copy()


def _match(
    model: LayersModel, variables: Sequence[Variable], found: StoredWeights, strict: bool
) -> list[tuple[Variable, Array]]:
    """The weights of a model and the values for them, which fit.

    Raises:
        ModelFileError: A weight is missing or too much, if `strict`; or has another shape or kind.
    """
    stored = found(model) if callable(found) else found
    wanted, models = _named_variables(model, variables), _model_names(model)
    # The other layers have in a file the names that they have here.
    layers = tuple(f"{name}/" for name in _layer_names(model))
    inner = {name for name in wanted if not wanted[name].original_name.startswith(layers)}
    matched = match_names(list(wanted), stored, models, inner)
    missing = [name for name in wanted if name not in matched]
    unexpected = sorted(stored.keys() - set(matched.values()))
    if missing or unexpected:
        message = _differences(model, missing, unexpected)
        if strict:
            raise ModelFileError(f"{message}; strict=False loads the rest")
        warn_caller(message)
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
        near = unexpected[:_COMPARED]
        names = [f"{name!r}{suggestion(name, near)}" for name in missing[:_NAMED]]
        parts.append(f"lacks {len(missing)} weights of {model.name}: {_listed(names, len(missing))}")
    if unexpected:
        names = [repr(name) for name in unexpected[:_NAMED]]
        parts.append(f"has {len(unexpected)} that it has no place for: {_listed(names, len(unexpected))}")
    return f"the file {' and '.join(parts)}"


def _listed(names: Sequence[str], count: int) -> str:
    more = f" and {count - len(names)} more" if count > len(names) else ""
    return ", ".join(names) + more

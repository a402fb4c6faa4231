"""Layers of one name in several models inside a model, which TensorFlow.js cannot tell apart: names for its files.

It finds weights by the layer's name alone, whichever model the layer is in. In the file the layers of models inside are
called by the model's name and their own, `tower_dense` for `dense` in `tower`, if there is another `dense`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from varigrad.io.formats import ModelArtifacts
from varigrad.io.matching import stored_names

__all__ = ["with_distinct_layers"]

Config: TypeAlias = Mapping[str, Any]
Path: TypeAlias = tuple[str, ...]  # the names of the models around, without the outermost


def with_distinct_layers(artifacts: ModelArtifacts, model: Any) -> ModelArtifacts:
    """A model as TensorFlow.js's files hold it, with a name of its own for each layer that has weights.

    Args:
        artifacts: The model.
        model: The model itself.

    Raises:
        ValueError: Two weights have one name, and it is not that of their layer which makes them so.
    """
    counts = Counter(weight.original_name for weight in model.weights)
    if max(counts.values(), default=1) == 1:
        return artifacts
    names = stored_names(model)
    layers = list(_layers_in(model, ()))
    taken = {layer.name for layer, _ in layers}
    renames: dict[Path, dict[str, str]] = {}
    weights: dict[str, str] = {}
    for layer, path in layers:
        shared = [weight for weight in layer.weights if counts[weight.original_name] > 1]
        if not shared or not path:
            continue
        for weight in shared:
            if not weight.original_name.startswith(f"{layer.name}/"):
                raise ValueError(
                    f"save: two weights of {model.name} are named {weight.original_name!r}, one of them in layer "
                    f"{layer.name} of {path[-1]}; TensorFlow.js needs a name for each: give the layers other names, or "
                    "save as .keras or .h5"
                )
        new = _free("_".join([*path, layer.name]), taken)
        renames.setdefault(path, {})[layer.name] = new
        for weight in layer.weights:
            weights[names[id(weight)]] = new + weight.original_name[len(layer.name) :]
    return artifacts._replace(
        topology=_renamed(artifacts.topology, renames, ()),
        weights={weights.get(name, name): values for name, values in cast("Config", artifacts.weights or {}).items()},
        optimizer_weights=_renamed_state(artifacts.optimizer_weights, weights),
    )


def _layers_in(model: Any, path: Path) -> Iterator[tuple[Any, Path]]:
    """The layers of a model that are no models, at any depth, with the models that they are in."""
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from _layers_in(layer, (*path, layer.name))
        else:
            yield layer, path


def _free(name: str, taken: set[str]) -> str:
    """The name or, if it is taken, the name with a number."""
    free, number = name, 0
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.add(free)
    return free


def _renamed(stored: Config, renames: Mapping[Path, Mapping[str, str]], path: Path) -> dict[str, Any]:
    """A stored model whose layers, those of models inside it too, have other names."""
    own = renames.get(path, {})
    config = dict(cast("Config", stored["config"]))
    config["layers"] = [_renamed_layer(entry, renames, path) for entry in config["layers"]]
    for key in ("input_layers", "output_layers"):
        if key in config:
            config[key] = _renamed_references(config[key], own)
    return {**stored, "config": config}


def _renamed_layer(entry: Config, renames: Mapping[Path, Mapping[str, str]], path: Path) -> dict[str, Any]:
    own, config = renames.get(path, {}), cast("Config", entry["config"])
    name = str(config["name"])
    renamed = _renamed(entry, renames, (*path, name)) if "layers" in config else dict(entry)
    if name in own:
        renamed["config"] = {**config, "name": own[name]}
    if "name" in renamed:
        renamed["name"] = own.get(name, name)
    if "inbound_nodes" in renamed:
        renamed["inbound_nodes"] = _renamed_references(renamed["inbound_nodes"], own)
    return renamed


def _renamed_references(value: Any, own: Mapping[str, str]) -> Any:
    """References to results of layers, `[layer, call, result, …]`, at any depth."""
    if isinstance(value, Mapping):
        return {key: _renamed_references(each, own) for key, each in cast("Config", value).items()}
    if not isinstance(value, (list, tuple)):
        return value
    items = [_renamed_references(each, own) for each in cast("Sequence[Any]", value)]
    if len(items) >= 3 and isinstance(items[0], str) and all(type(number) is int for number in items[1:3]):
        items[0] = own.get(items[0], items[0])
    return items


def _renamed_state(state: Any, weights: Mapping[str, str]) -> Any:
    """The state of an optimizer, by the new names of the weights."""
    if state is None:
        return None
    renamed: dict[str, Any] = {}
    for name, values in cast("Config", state).items():
        weight, slash, slot = name.rpartition("/")
        renamed[f"{weights.get(weight, weight)}{slash}{slot}"] = values
    return renamed

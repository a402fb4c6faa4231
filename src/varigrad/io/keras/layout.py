"""Where Keras's files keep the weights of a layer.

Keras 3 walks over a model as over a tree: below a model are its `layers`, below a layer the attributes that are layers
themselves, and a layer's own variables are `vars/0`, `vars/1` and so on. In `layers` and other lists the places are
named by class, with a counter: `dense`, `dense_1`. The older `.h5` has one flat list for each layer of the outermost
model, those that training changes in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from varigrad.io.keras.words import fields

__all__ = ["MODELS", "Place", "flat_weights", "keras_class", "places"]

# The modules of Keras 3 that models are in.
MODELS = {"Functional": "keras.src.models.functional", "Sequential": "keras"}

# Classes that have another name in Keras.
_CLASSES = {"Model": "Functional", "LeCunNormal": "LecunNormal", "LeCunUniform": "LecunUniform"}


class Place(NamedTuple):
    """A layer with weights of its own.

    Args:
        path: Its place in the tree; `""` is the model itself.
        layer: The layer.
        weights: Its own weights, in Keras's order.
    """

    path: str
    layer: Any
    weights: list[Any]


def keras_class(class_name: str) -> str:
    """The name that a class has in Keras."""
    return _CLASSES.get(class_name, class_name)


def places(model: Any, config: Mapping[str, Any] | None = None) -> list[Place]:
    """The layers of a model that have weights, in the order in which Keras walks over them.

    Args:
        model: The model.
        config: Its stored form in Keras's file, where there is one; its layers are counted in the order of that.
    """
    return list(_walk(model, "", config or {}, set()))


def _walk(layer: Any, path: str, config: Mapping[str, Any], seen: set[int]) -> Iterator[Place]:
    if id(layer) in seen:
        return
    seen.add(id(layer))
    inner = list(_parts(layer, config))
    theirs = {id(weight) for _, part, _ in inner for weight in part.weights}
    own = [weight for weight in layer.weights if id(weight) not in theirs]
    if own:
        yield Place(path, layer, own)
    for name, part, part_config in inner:
        yield from _walk(part, f"{path}/{name}".lstrip("/"), part_config, seen)


def _parts(layer: Any, config: Mapping[str, Any]) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """The layers inside a layer: where they are below it, and their stored forms."""
    if hasattr(layer, "layers"):
        stored = cast("Sequence[Mapping[str, Any]]", config.get("layers", ()))
        for name, part, part_config in _counted(_in_stored_order(layer.layers, stored)):
            yield f"layers/{name}", part, part_config
        return
    for name, value in list(cast("dict[str, Any]", vars(layer)).items()):
        if _is_layer(value):
            yield name, value, _config_of(config.get(name))
        elif isinstance(value, (list, tuple)) and any(_is_layer(item) for item in cast("Sequence[Any]", value)):
            each = [item for item in cast("Sequence[Any]", value) if _is_layer(item)]
            for place, part, _ in _counted((part, part.class_name, {}) for part in each):
                yield f"{name}/{place}", part, {}


def _is_layer(value: Any) -> bool:
    return hasattr(value, "add_weight") and hasattr(value, "class_name")


def _config_of(stored: Any) -> Mapping[str, Any]:
    """The arguments in an object's stored form."""
    return fields(fields(stored).get("config"))


def _in_stored_order(
    layers: Sequence[Any], stored: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Any, str, Mapping[str, Any]]]:
    """Each layer with its class in Keras and its stored form: first those that are stored, in that order."""
    waiting = {layer.name: layer for layer in layers}
    for entry in stored:
        config = _config_of(entry)
        layer = waiting.pop(str(entry.get("name", config.get("name"))), None)
        if layer is not None:
            yield layer, str(entry.get("class_name")), config
    for layer in waiting.values():
        yield layer, layer.class_name, {}


def _counted(layers: Iterable[tuple[Any, str, Mapping[str, Any]]]) -> Iterator[tuple[str, Any, Mapping[str, Any]]]:
    """The place of each layer in a list: its class in snake_case, with a counter from the second on."""
    used: dict[str, int] = {}
    for layer, class_name, config in layers:
        name = _place_name(keras_class(class_name))
        number = used[name] = used.get(name, -1) + 1
        yield f"{name}_{number}" if number else name, layer, config


def _place_name(class_name: str) -> str:
    """A class name in snake_case, by Keras's rule: `Conv2D` is `conv2d`, `PReLU` is `p_re_lu`."""
    spaced = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", class_name))
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", spaced).lower()


def flat_weights(layer: Any) -> list[Any]:
    """All weights of a layer in the order of the older `.h5`: those that training changes now, then the others."""
    every = [weight for place in _walk(layer, "", {}, set()) for weight in place.weights]
    return [w for w in every if w.trainable] + [w for w in every if not w.trainable]

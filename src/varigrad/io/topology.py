"""The stored form of models in the dialects that files have, brought into one: Keras 1, 2 and 3, TensorFlow.js.

The one form is what `get_config` of the layers here gives: `{"class_name", "config"}` with the keyword arguments of the
class, in snake_case; in a graph, with the calls of Keras 2, `inbound_nodes`. The tables of what is called otherwise
elsewhere are in `dialects`; calls are read in `calls`, operations that are no layers in `operations`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from varigrad.io.calls import Call, parse_calls, references_in, write_calls
from varigrad.io.dialects import (
    CLASSES,
    CLASSES_WITHOUT,
    DTYPE_POLICIES,
    HEEDED,
    RENAMED,
    WITHOUT_MEANING,
    from_keras_1,
)
from varigrad.io.masks import without_found_masks
from varigrad.io.operations import is_operation, operation_as_layer
from varigrad.io.weights import ModelFileError

__all__ = ["check_kind", "normalize_topology", "stored_model"]

_NONE: Mapping[str, Any] = MappingProxyType({})


def normalize_topology(document: Mapping[str, Any], custom_objects: Mapping[str, Any] = _NONE) -> dict[str, Any]:
    """The stored form of the model in a file's JSON object.

    Args:
        document: A layers-model file, or the topology alone.
        custom_objects: What stands for layers that hold code, or operations that are no layers, by the layers' names.

    Raises:
        ModelFileError: There is no model in it, or a model of another kind, or one that holds code.
    """
    check_kind(document)
    return _Normalizer(custom_objects).object(stored_model(document))


def stored_model(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stored form of the model in a file's JSON object, as the file has it.

    Raises:
        ModelFileError: There is none.
    """
    topology: Any = document.get("modelTopology", document)
    if isinstance(topology, Mapping) and "model_config" in topology:
        topology = _parsed(cast("Mapping[str, Any]", topology)["model_config"])
    if not isinstance(topology, Mapping) or "class_name" not in topology or "config" not in topology:
        raise ModelFileError("there is no model in this file: modelTopology needs class_name and config")
    return cast("Mapping[str, Any]", topology)


def _parsed(config: Any) -> Any:
    """The stored form of a model, which the files of Keras hold as text, and some converted ones still do."""
    if not isinstance(config, str):
        return config
    try:
        return json.loads(config)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"model_config is text, but no JSON: {error}") from None


def check_kind(document: Mapping[str, Any]) -> None:
    """Raises an error for the JSON object of a model that has no layers."""
    if document.get("format") == "graph-model":
        raise ModelFileError("this is a graph model, made by a converter for inference; it has no layers")


class _Normalizer:
    def __init__(self, custom_objects: Mapping[str, Any]) -> None:
        self._custom = custom_objects

    def object(self, stored: Mapping[str, Any]) -> dict[str, Any]:
        """An object with its class name, and its arguments in the one form."""
        class_name = str(stored["class_name"])
        config = stored["config"]
        name = _name_of(stored)
        if name in self._custom and (class_name == "Lambda" or is_operation(stored)):
            return self._placed(stored, "Lambda", {"name": name})
        if class_name == "Lambda" and class_name not in self._custom:
            raise ModelFileError(
                f"layer {name!r} is a Lambda layer, whose function the file holds as code, which is not run; pass a "
                f"layer or a function that does the same in custom_objects, as {name!r}"
            )
        if is_operation(stored) and class_name not in self._custom:
            return operation_as_layer(stored)
        if not isinstance(config, Mapping):  # the layers of a sequential model in Keras 1
            return self._placed(stored, class_name, {"layers": self._value(config)})
        class_name = class_name if class_name in self._custom else CLASSES.get(class_name, class_name)
        return self._placed(stored, class_name, self._arguments(class_name, cast("Mapping[str, Any]", config)))

    def _placed(self, stored: Mapping[str, Any], class_name: str, config: dict[str, Any]) -> dict[str, Any]:
        """The object, with its name and its calls if it is a layer of a graph."""
        result: dict[str, Any] = {"class_name": class_name, "config": config}
        if "name" in stored:
            result["name"] = stored["name"]
        if "inbound_nodes" in stored:
            calls = parse_calls(_name_of(stored), stored["inbound_nodes"])
            if class_name == "Lambda":  # arguments of the call were the code's
                calls = [Call([references_in(call.args)], {}) for call in calls]
            result["inbound_nodes"] = write_calls(class_name, calls)
        return result

    def _arguments(self, class_name: str, config: Mapping[str, Any]) -> dict[str, Any]:
        arguments: dict[str, Any] = {}
        useless = CLASSES_WITHOUT.get(class_name, ())
        of_keras_3 = _has_calls_of_keras_3(config.get("layers"))
        if of_keras_3:
            layers = without_found_masks(cast("Sequence[Any]", config["layers"]), config.get("output_layers"))
            config = {**config, "layers": layers}
        for key, value in config.items():
            name = _snake(str(key))
            name = RENAMED.get(name, name)
            if name in useless:
                continue
            usual = () if (class_name, name) in HEEDED else WITHOUT_MEANING.get(name, ())
            if any(value is allowed or value == allowed for allowed in usual):
                continue
            if name == "dtype":
                value = _dtype(value)
            elif name in ("input_layers", "output_layers"):
                value = _ends(value)
            elif name != "name":
                value = self._value(value)
            arguments[name] = value
        if class_name == "Bidirectional":
            arguments = _plain_directions(arguments)
        if of_keras_3:
            arguments = _counted_from_1(arguments)
        return from_keras_1(class_name, arguments)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            mapping = cast("Mapping[str, Any]", value)
            if mapping.get("type") == "ndarray" and "value" in mapping:  # a NumPy scalar, in some versions of tf.keras
                return mapping["value"]
            camel = {"className", "config"} <= mapping.keys()
            if camel or {"class_name", "config"} <= mapping.keys():
                renamed = {_snake(str(key)): item for key, item in mapping.items()}
                return None if renamed["class_name"] is None else self.object(renamed)
            return {str(key): self._value(item) for key, item in mapping.items()}
        if isinstance(value, (list, tuple)):
            return [self._value(item) for item in cast("list[Any]", value)]
        return value


def _name_of(stored: Mapping[str, Any]) -> str:
    """The name of a layer in its stored form."""
    config = stored.get("config")
    inner = cast("Mapping[str, Any]", config).get("name") if isinstance(config, Mapping) else None
    return str(stored.get("name", inner))


def _plain_directions(arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a bidirectional layer with the name that its layer was given.

    Keras 3 stores the layer's two copies, whose names begin with their directions, and the second even where it is the
    first turned around.
    """
    plain: dict[str, Any] = {}
    for argument, prefix in (("layer", "forward_"), ("backward_layer", "backward_")):
        stored = arguments.get(argument)
        if isinstance(stored, Mapping) and isinstance(config := cast("Any", stored).get("config"), Mapping):
            fields = dict(cast("Mapping[str, Any]", config))
            fields["name"] = str(fields.get("name", "")).removeprefix(prefix)
            plain[argument] = {**cast("Mapping[str, Any]", stored), "config": fields}
    first, second = (plain.get(argument, {}).get("config", {}) for argument in ("layer", "backward_layer"))
    if second and {**second, "go_backwards": not second.get("go_backwards", False)} == first:
        del plain["backward_layer"]
        arguments.pop("backward_layer")
    return {**arguments, **plain}


def _has_calls_of_keras_3(layers: Any) -> bool:
    """Whether layers of a graph are called as Keras 3 stores it."""
    for layer in cast("Sequence[Any]", layers) if isinstance(layers, (list, tuple)) else ():
        calls = cast("Mapping[str, Any]", layer).get("inbound_nodes") if isinstance(layer, Mapping) else None
        for call in cast("Sequence[Any]", calls) if isinstance(calls, (list, tuple)) else ():
            if isinstance(call, Mapping) and "args" in call:
                return True
    return False


def _counted_from_1(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a graph, with the calls of models inside counted from 1, as Keras 2 and TensorFlow.js do.

    Keras 3 counts them from 0; where the ends of the graph are listed, from 0 for stacks and from 1 for graphs.
    """
    layers = cast("Sequence[Any]", arguments["layers"])
    models: set[str] = set()
    stacks: set[str] = set()
    for layer in layers:
        if isinstance(layer, Mapping) and "layers" in layer["config"]:
            models.add(cast("Any", layer["name"]))
            if layer["class_name"] == "Sequential":
                stacks.add(cast("Any", layer["name"]))
    counted: list[Any] = [
        {**cast("Mapping[str, Any]", layer), "inbound_nodes": _raised(layer["inbound_nodes"], models)}
        if isinstance(layer, Mapping) and "inbound_nodes" in layer
        else layer
        for layer in layers
    ]
    ends = {key: _raised(arguments[key], stacks) for key in ("input_layers", "output_layers") if key in arguments}
    return {**arguments, "layers": counted, **ends}


def _raised(value: Any, names: Container[str]) -> Any:
    """References, and lists and dicts of them, with the number of the call one higher for layers of these names."""
    if isinstance(value, Mapping):
        return {key: _raised(item, names) for key, item in cast("Mapping[str, Any]", value).items()}
    if not isinstance(value, (list, tuple)):
        return value
    items = list(cast("Sequence[Any]", value))
    if len(items) >= 3 and isinstance(items[0], str) and type(items[1]) is int:
        items[1] += items[0] in names
    return [_raised(item, names) for item in items]


def _ends(value: Any) -> Any:
    """The inputs or outputs of a graph as a list; Keras 3 has dicts of them too, by names that say nothing here."""
    return list(cast("Mapping[str, Any]", value).values()) if isinstance(value, Mapping) else value


def _dtype(value: Any) -> Any:
    """The dtype's name, from a name, a policy's name, or the policy object of Keras."""
    if isinstance(value, Mapping):
        config: Any = cast("Mapping[str, Any]", value).get("config")
        fields: Mapping[str, Any] = cast("Mapping[str, Any]", config) if isinstance(config, Mapping) else {}
        value = fields.get("name", fields.get("source_name"))
    return DTYPE_POLICIES.get(value, value) if isinstance(value, str) else value


def _snake(key: str) -> str:
    """A key in snake_case; most are already."""
    return key if key.islower() else re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower()

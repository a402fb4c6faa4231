"""The stored form of models in the dialects that files have, brought into one: Keras 1, 2 and 3, TensorFlow.js.

The one form is what `get_config` of the layers here gives: `{"class_name", "config"}` with the keyword arguments of the
class, in snake_case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from varigrad.io.weights import ModelFileError

__all__ = ["normalize_topology"]

# What an object may have beside its class and arguments that says nothing about the layer itself.
_KEPT = ("class_name", "config", "name", "inbound_nodes")

# Arguments under another name.
_RENAMED = {"batch_shape": "batch_input_shape", "input_d_type": "input_dtype"}

# Arguments that mean nothing here as long as they have one of these values.
_WITHOUT_MEANING: dict[str, tuple[Any, ...]] = {
    "autocast": (True, False, None),
    "fused": (None, True, False),
    "groups": (1, None),
    "keepdims": (False, None),
    "lora_rank": (None,),
    "optional": (False, None),
    "quantization_config": (None,),
    "ragged": (False, None),
    "registered_name": (None,),
    "renorm": (False, None),
    "synchronized": (False, None),
    "type_spec": (None,),
    "virtual_batch_size": (None,),
}

# dtype policies by what they compute in; weights are float32 in all.
_POLICIES = {"mixed_float16": "float32", "mixed_bfloat16": "float32"}


def normalize_topology(document: Mapping[str, Any], custom_objects: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The stored form of the model in a file's JSON object.

    Args:
        document: A layers-model file, or the topology alone.

    Raises:
        ModelFileError: There is no model in it, or a model of another kind.
    """
    kind = document.get("format")
    if kind == "graph-model":
        raise ModelFileError("this is a graph model, made by a converter for inference; it has no layers")
    topology: Any = document.get("modelTopology", document)
    if isinstance(topology, Mapping) and "model_config" in topology:
        topology = cast("Mapping[str, Any]", topology)["model_config"]
    if not isinstance(topology, Mapping) or "class_name" not in topology or "config" not in topology:
        raise ModelFileError("there is no model in this file: modelTopology needs class_name and config")
    return _object(cast("Mapping[str, Any]", topology))


def _object(stored: Mapping[str, Any]) -> dict[str, Any]:
    """An object with its class name, and its arguments in the one form."""
    kept = {key: stored[key] for key in _KEPT if key in stored}
    class_name, config = kept["class_name"], kept["config"]
    if isinstance(config, Mapping):
        kept["config"] = _arguments(str(class_name), cast("Mapping[str, Any]", config))
    else:  # the layers of a sequential model in Keras 1
        kept["config"] = {"layers": _value(config)}
    return kept


def _arguments(class_name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for key, value in config.items():
        name = _snake(str(key))
        name = _RENAMED.get(name, name)
        if name in _WITHOUT_MEANING:
            if any(value is allowed or value == allowed for allowed in _WITHOUT_MEANING[name]):
                continue
            raise ModelFileError(
                f"{class_name} {config.get('name')!r} has {name}={value!r:.100}, which is not supported"
            )
        if name == "dtype":
            value = _dtype(value)
        arguments[name] = value if name in ("name", "dtype") else _value(value)
    return arguments


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        if mapping.get("type") == "ndarray" and "value" in mapping:  # a NumPy scalar, in some versions of tf.keras
            return mapping["value"]
        camel = {"className", "config"} <= mapping.keys()
        if camel or {"class_name", "config"} <= mapping.keys():
            renamed = {_snake(str(key)): item for key, item in mapping.items()}
            return None if renamed["class_name"] is None else _object(renamed)
        return {str(key): _value(item) for key, item in mapping.items()}
    if isinstance(value, (list, tuple)):
        return [_value(item) for item in cast("list[Any]", value)]
    return value


def _dtype(value: Any) -> Any:
    """The dtype's name, from a name, a policy's name, or the policy object of Keras 3."""
    if isinstance(value, Mapping):
        config: Any = cast("Mapping[str, Any]", value).get("config")
        value = cast("Mapping[str, Any]", config).get("name") if isinstance(config, Mapping) else None
    return _POLICIES.get(value, value) if isinstance(value, str) else value


def _snake(key: str) -> str:
    """A key in snake_case; most are already."""
    return key if key.islower() else re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower()

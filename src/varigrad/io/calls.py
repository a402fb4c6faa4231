"""The calls of layers in a stored graph: on which results of other layers, and with what other arguments.

Keras 2 and TensorFlow.js store a call as a list of references, `["layer", number of the call, number of the result,
{arguments}]`; Keras 3 as `{"args", "kwargs"}` with objects for symbolic tensors. Both become `Call`, which is written
as Keras 2 does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from varigrad.io.weights import ModelFileError

__all__ = ["Call", "Reference", "parse_calls", "references_in", "write_calls"]

# What stands in the place of a layer's name in a reference that is no reference but a number.
_CONSTANT = "_CONSTANT_VALUE"

# The names of arguments by position, of layers that take more than their inputs.
_POSITIONAL: dict[str, tuple[str, ...]] = {
    "AdditiveAttention": ("mask",),
    "Attention": ("mask",),
    "MultiHeadAttention": ("value", "key", "query_mask", "value_mask", "key_mask", "attention_mask"),
}
_RECURRENT = ("mask", "training", "initial_state")


class Reference(NamedTuple):
    """A symbolic tensor: the layer that gives it, the number of the call and the number of the result."""

    layer: str
    call: int
    result: int


class Call(NamedTuple):
    """A call of a layer; symbolic tensors in it, also those in lists, are references."""

    args: list[Any]
    kwargs: dict[str, Any]


def parse_calls(layer: str, stored: Any) -> list[Call]:
    """The calls of a layer, from either form.

    Raises:
        ModelFileError: They have neither.
    """
    if not isinstance(stored, (list, tuple)):
        raise ModelFileError(f"layer {layer!r} needs a list of inbound_nodes, got {stored!r:.200}")
    return [_parse(layer, call) for call in cast("Sequence[Any]", stored)]


def _parse(layer: str, stored: Any) -> Call:
    if isinstance(stored, Mapping):
        fields = cast("Mapping[str, Any]", stored)
        args, kwargs = fields.get("args"), fields.get("kwargs", {})
        if isinstance(args, (list, tuple)) and isinstance(kwargs, Mapping):
            given = {str(name): _argument(value) for name, value in cast("Mapping[str, Any]", kwargs).items()}
            if given.get("training") is False:  # what Keras 3 stores where nothing was said
                del given["training"]
            return Call([_argument(value) for value in cast("Sequence[Any]", args)], _given(given))
        # Inputs by name, which Keras 2 hands to the layer as keyword arguments.
        stored = list(fields.values())
    if not isinstance(stored, (list, tuple)) or not stored:
        raise ModelFileError(f"layer {layer!r} has an inbound node that is no list of references: {stored!r:.200}")
    items = cast("Sequence[Any]", stored)
    # A layer that was called on one tensor alone has, in some versions, its reference in place of a list of it.
    references = [items] if isinstance(items[0], str) else items
    inputs: list[Any] = []
    kwargs: dict[str, Any] = {}
    for item in references:
        reference: list[Any] = list(cast("Sequence[Any]", item)) if isinstance(item, (list, tuple)) else []
        rest: Any = reference[3] if len(reference) > 3 and reference[3] is not None else {}
        if not 3 <= len(reference) <= 4 or not isinstance(reference[0], str) or not isinstance(rest, Mapping):
            raise ModelFileError(f"layer {layer!r} has an inbound node that is no list of references: {stored!r:.200}")
        inputs.append(reference[2] if reference[0] == _CONSTANT else _reference(layer, reference))
        kwargs.update({str(name): _argument(value) for name, value in cast("Mapping[str, Any]", rest).items()})
    return Call([inputs[0] if len(inputs) == 1 else inputs], _given(kwargs))


def _given(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say something."""
    return {name: value for name, value in kwargs.items() if value is not None}


def _reference(layer: str, stored: Sequence[Any]) -> Reference:
    name, call, result = stored[:3]
    if not isinstance(name, str) or type(call) is not int or type(result) is not int:
        raise ModelFileError(f"layer {layer!r} has an inbound node with {list(stored)!r:.200}, which is no reference")
    return Reference(name, call, result)


def _argument(value: Any) -> Any:
    """An argument of a call, with references for the symbolic tensors in it."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        config = mapping.get("config")
        fields: Mapping[str, Any] = cast("Mapping[str, Any]", config) if isinstance(config, Mapping) else {}
        if mapping.get("class_name") == "__keras_tensor__":
            history = fields.get("keras_history")
            return _reference("", cast("Sequence[Any]", history) if isinstance(history, (list, tuple)) else [None] * 3)
        if mapping.get("class_name") == "__tuple__":
            return _argument(mapping.get("items", fields.get("items")))
        return {str(key): _argument(item) for key, item in mapping.items()}
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)
        if len(items) == 3 and isinstance(items[0], str) and type(items[1]) is int and type(items[2]) is int:
            return Reference(items[0], items[1], items[2])
        return [_argument(item) for item in items]
    return value


def references_in(value: Any) -> list[Reference]:
    """The references among arguments, in their order, lists included."""
    if isinstance(value, Reference):
        return [value]
    if isinstance(value, list):
        return [reference for item in cast("list[Any]", value) for reference in references_in(item)]
    return []


def write_calls(class_name: str, calls: Sequence[Call]) -> list[list[list[Any]]]:
    """Calls as Keras 2 stores them.

    Raises:
        ModelFileError: A layer is called with more by position than is known of its class.
    """
    names = _POSITIONAL.get(class_name, _RECURRENT)
    written: list[list[list[Any]]] = []
    for args, kwargs in calls:
        if not args or len(args) > len(names) + 1:
            raise ModelFileError(f"a {class_name} is called with {len(args)} arguments by position")
        inputs: list[Any] = list(cast("list[Any]", args[0])) if isinstance(args[0], list) else [args[0]]
        if not inputs or not all(isinstance(item, Reference) for item in inputs):
            raise ModelFileError(f"a {class_name} is called on {args[0]!r:.200}, where results of layers are wanted")
        others = _given(dict(zip(names, args[1:]))) | kwargs
        arguments = {name: _plain(value) for name, value in others.items()}
        written.append([[*item, arguments] for item in inputs])
    return written


def _plain(value: Any) -> Any:
    """An argument as JSON has it."""
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return value

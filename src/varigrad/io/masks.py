"""Masks in the stored graphs of Keras 3, which spell out how they are computed.

Behind `Embedding(mask_zero=True)`, Keras 3 stores `NotEqual(ids, 0)`, and hands it to each layer that takes a `mask`.
Here, and in Keras 2 and TensorFlow.js, layers find such masks by themselves, from the layers before them. So the masks
that they find are left out, and the operations that nothing else needs.

Behind an operation, as in `2 * embedding(ids)`, Keras 3 has no mask any more, while the layer that does the same here
hands it on. Where that would reach a layer that heeds masks, the mask is not made to begin with.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

from varigrad.io.calls import Call, Reference, parse_calls, references_in
from varigrad.io.operations import is_operation
from varigrad.io.weights import ModelFileError

__all__ = ["without_found_masks"]

_Stored: TypeAlias = Mapping[str, Any]

# Layers whose results have the masks of their inputs, in Keras 3 as here.
_PASSING_NAMES = """
    Activation AlphaDropout BatchNormalization Dense Dropout ELU GaussianDropout GaussianNoise GroupNormalization
    Identity LayerNormalization LeakyReLU MultiHeadAttention Normalization PReLU ReLU Rescaling Softmax
    SpatialDropout1D SpatialDropout2D SpatialDropout3D TimeDistributed UnitNormalization
"""
# Layers that do otherwise where there is a mask; models inside may hold such.
_HEEDING_NAMES = """
    AdditiveAttention Attention BatchNormalization Bidirectional ConvLSTM2D Functional GRU GlobalAveragePooling1D LSTM
    Model MultiHeadAttention RNN Sequential SimpleRNN Softmax TimeDistributed
"""
_PASSING = frozenset(_PASSING_NAMES.split())
_HEEDING = frozenset(_HEEDING_NAMES.split())
_RECURRENT = frozenset({"Bidirectional", "ConvLSTM2D", "GRU", "LSTM", "RNN", "SimpleRNN"})
_SCORING = frozenset({"AdditiveAttention", "Attention"})  # the mask of the queries
_MERGING = frozenset({"Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract"})
# Layers that lose masks in Keras 3 but not here; and operations whose layers end masks, or heed them.
_LOSING = frozenset({"RMSNormalization"})
_ENDING = frozenset({"Max", "Reshape", "Transpose"})
_AVERAGING = frozenset({"Mean"})
# By the name of a mask, the argument that it is of, by place and name.
_MASKED = {"mask": (0, "inputs"), "query_mask": (0, "query"), "value_mask": (1, "value"), "key_mask": (2, "key")}


def without_found_masks(layers: Sequence[Any], ends: Any) -> list[Any]:
    """The layers of a graph of Keras 3 without the masks that layers here find by themselves.

    Args:
        layers: Their stored forms.
        ends: What is stored of the graph's outputs.

    Raises:
        ModelFileError: A call of a layer is stored in no form that is known, or a mask counts in one place and is lost
            in another.
    """
    entries = [cast("_Stored", each) for each in layers if isinstance(each, Mapping)]
    stored = {str(each.get("name")): each for each in entries}
    operations = {name for name, each in stored.items() if is_operation(each)}
    if len(stored) < len(layers):
        return list(layers)
    calls = {name: parse_calls(name, each.get("inbound_nodes", [])) for name, each in stored.items()}
    masks = _Masks(stored, calls)
    kept: dict[str, _Stored] = {}
    for name, each in stored.items():
        if name not in operations and calls[name]:
            found = [masks.found(call) for call in calls[name]]
            nodes = cast("Sequence[Any]", each["inbound_nodes"])
            kept[name] = {**each, "inbound_nodes": [_without(*pair) for pair in zip(nodes, found, strict=True)]}
            calls[name] = [_less(*pair) for pair in zip(calls[name], found, strict=True)]
        else:
            kept[name] = each
    for name in sorted(masks.misleading):
        kept[name] = _without_mask(name, kept[name], masks)
    needed = _needed([*(stored.keys() - operations), *_names(ends)], calls)
    return [each for name, each in kept.items() if name in needed]


def _without_mask(name: str, stored: _Stored, masks: _Masks) -> _Stored:
    """An embedding that makes no mask."""
    if name in masks.used or stored.get("class_name") != "Embedding":
        raise ModelFileError(
            f"the mask of layer {name!r} is lost in Keras where an operation follows, which layers in its place would "
            "not do; make the model with layers alone, such as Rescaling and Add"
        )
    return {**stored, "config": {**cast("_Stored", stored["config"]), "mask_zero": False}}


def _without(node: Any, names: frozenset[str]) -> Any:
    """A stored call without some of its keyword arguments."""
    if not names or not isinstance(node, Mapping):
        return node
    fields = cast("_Stored", node)
    return {**fields, "kwargs": {name: value for name, value in fields["kwargs"].items() if name not in names}}


def _less(call: Call, names: frozenset[str]) -> Call:
    """A call without some of its keyword arguments."""
    return Call(call.args, {name: value for name, value in call.kwargs.items() if name not in names})


def _needed(wanted: list[str], calls: Mapping[str, Sequence[Call]]) -> set[str]:
    """The names of layers and of all that they are called on."""
    needed: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed.add(name)
            wanted += [reference.layer for call in calls.get(name, ()) for reference in _references(call)]
    return needed


def _references(call: Call) -> list[Reference]:
    return references_in([*call.args, *call.kwargs.values()])


def _names(ends: Any) -> Iterable[str]:
    """The names of layers in what is stored of a graph's outputs."""
    if isinstance(ends, str):
        yield ends
    elif isinstance(ends, (list, tuple, Mapping)):
        inner: Iterable[Any] = cast("_Stored", ends).values() if isinstance(ends, Mapping) else cast("list[Any]", ends)
        for each in inner:
            yield from _names(each)


class _Masks:
    """The masks that Keras 3 has for the results of layers, each as a number; equal masks have equal numbers."""

    def __init__(self, stored: Mapping[str, _Stored], calls: Mapping[str, Sequence[Call]]) -> None:
        self._stored, self._calls = stored, calls
        self._numbers: dict[Any, int] = {}  # of a mask, by the operation that gives it and what that is called on
        self._operations: dict[Reference, int] = {}
        self._masks: dict[Reference, int | None] = {}
        self._sources: dict[int, frozenset[str]] = {}  # the layers that make a mask
        self._leaks: dict[Reference, frozenset[str]] = {}  # layers whose masks arrive here, but not in Keras
        self.used: set[str] = set()  # layers whose masks layers heed in Keras
        self.misleading: set[str] = set()  # layers whose masks layers would heed here alone
        for name, number in _in_order(calls):
            result = Reference(name, number, 0)
            call = calls[name][number]
            if is_operation(stored[name]):
                self._operations[result] = self._operation(self._class_name(name), call)
            else:
                self._masks[result] = self._mask_of(name, call)
            self._follow(name, call, result)

    def _follow(self, name: str, call: Call, result: Reference) -> None:
        """Notes where the masks of a call's inputs go."""
        class_name, is_layer = self._class_name(name), not is_operation(self._stored[name])
        others = [value for key, value in call.kwargs.items() if key not in _MASKED]
        inputs = references_in([*call.args, *others])
        own = frozenset[str]().union(*(self._sources.get(self._masks.get(x) or 0, ()) for x in inputs))
        leaks = frozenset[str]().union(*(self._leaks.get(x, ()) for x in inputs))
        mask = self._masks.get(result)
        if mask is not None:
            self._sources.setdefault(mask, own or frozenset({name}))
        if not is_layer or class_name in _LOSING:
            leaks |= own
        if class_name in (_HEEDING if is_layer else _AVERAGING):
            self.used |= own if is_layer else frozenset()
            self.misleading |= leaks
        if self._hands_on(name) if is_layer else class_name not in _ENDING | _AVERAGING:
            self._leaks[result] = leaks

    def found(self, call: Call) -> frozenset[str]:
        """The names of the masks among the arguments of a call that its layer here finds by itself."""
        return frozenset(name for name in _MASKED if name in call.kwargs and self._is_found(call, name))

    def _is_found(self, call: Call, name: str) -> bool:
        place, argument = _MASKED[name]
        of = call.args[place] if place < len(call.args) else call.kwargs.get(argument)
        if of is None and name == "key_mask":
            return self._is_found(call, "value_mask") and call.kwargs.get(name) == call.kwargs.get("value_mask")
        given, own = _as_list(call.kwargs.get(name)), _as_list(of)
        return len(given) == len(own) and all(map(self._is_mask_of, given, own))

    def _is_mask_of(self, mask: Any, tensor: Any) -> bool:
        own = self._masks.get(tensor) if isinstance(tensor, Reference) else None
        if mask is None:
            return own is None
        return own is not None and isinstance(mask, Reference) and self._operations.get(mask) == own

    def _number(self, operation: str, *arguments: Any) -> int:
        return self._numbers.setdefault((operation, *arguments), len(self._numbers) + 1)

    def _operation(self, class_name: str, call: Call) -> int:
        given = [*call.args, *call.kwargs.values()]
        if class_name == "ConvertToTensor" and given[0:1] and isinstance(given[0], Reference):
            same = self._operations.get(given[0])
            if same is not None:
                return same
        return self._number(class_name, *map(self._argument, given))

    def _argument(self, value: Any) -> Any:
        """What an operation is called on, by the numbers of the operations that give it."""
        if isinstance(value, Reference):
            number = self._operations.get(value)
            return value if number is None else ("operation", number)
        if isinstance(value, list):
            return tuple(self._argument(each) for each in cast("list[Any]", value))
        return value if isinstance(value, (int, float)) else repr(value)

    def _class_name(self, name: str) -> str:
        return str(self._stored[name].get("class_name"))

    def _mask_of(self, name: str, call: Call) -> int | None:
        """The mask of the first result of a layer."""
        class_name, config = self._class_name(name), self._stored[name].get("config")
        fields: _Stored = cast("_Stored", config) if isinstance(config, Mapping) else {}
        if not call.args:
            return None
        first: Any = call.args[0]
        if class_name == "Embedding":
            return self._number("NotEqual", self._argument(first), 0) if fields.get("mask_zero") else None
        if class_name == "Masking":
            ignored = self._argument(fields.get("mask_value", 0.0))
            return self._of("Any", self._number("NotEqual", self._argument(first), ignored))
        if isinstance(first, list):
            return self._merged(class_name, fields, cast("list[Any]", first))
        passing = class_name in _PASSING or (class_name in _RECURRENT and _gives_sequences(fields))
        return self._masks.get(first) if passing and isinstance(first, Reference) else None

    def _hands_on(self, name: str) -> bool:
        """Whether the result of a layer here has the masks of its inputs."""
        class_name, config = self._class_name(name), self._stored[name].get("config")
        if class_name in _RECURRENT:
            return isinstance(config, Mapping) and _gives_sequences(cast("_Stored", config))
        return class_name in _PASSING | _LOSING | _SCORING | _MERGING | {"Concatenate"}

    def _of(self, operation: str, *masks: int) -> int:
        return self._number(operation, *(("operation", mask) for mask in masks))

    def _merged(self, class_name: str, config: _Stored, inputs: list[Any]) -> int | None:
        """The mask of what a layer makes of several inputs."""
        masks = [self._masks.get(each) if isinstance(each, Reference) else None for each in inputs]
        if class_name in _SCORING:
            return masks[0] if masks else None
        given = [mask for mask in masks if mask is not None]
        if len(given) < len(inputs) or not given:
            return None
        # Where masks differ, a step counts in Keras 3 if it counts in any of the inputs, but here, behind
        # `Concatenate`, if it does in all; and Keras 3 leaves factors out of products.
        alike = len(set(given)) == 1
        if class_name in _MERGING and (alike or class_name != "Multiply"):
            return reduce(lambda a, b: self._of("LogicalOr", a, b), given)
        if class_name == "Concatenate" and (alike or config.get("axis") == 1):
            wide = [
                self._of("LogicalOr", self._of("ExpandDims", mask), self._number("ZerosLike", each))
                for mask, each in zip(given, inputs)
            ]
            return self._of("Any", self._number("Concatenate", tuple(("operation", each) for each in wide)))
        return None


def _as_list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _gives_sequences(config: _Stored) -> bool:
    """Whether a recurrent layer, or the one inside a wrapper, gives all of its outputs."""
    layer = config.get("layer")
    inner: Any = cast("_Stored", layer).get("config") if isinstance(layer, Mapping) else None
    return bool(cast("_Stored", inner if isinstance(inner, Mapping) else config).get("return_sequences"))


def _in_order(calls: Mapping[str, Sequence[Call]]) -> Iterable[tuple[str, int]]:
    """The calls of a graph, each by its layer and number, after those whose results it needs."""
    done: set[tuple[str, int]] = set()
    begun: set[tuple[str, int]] = set()
    waiting = [(name, number) for name, made in calls.items() for number in range(len(made))][::-1]
    while waiting:
        place = name, number = waiting[-1]
        if place in begun:  # a second time: what it needs has been dealt with
            waiting.pop()
            if place not in done:
                done.add(place)
                yield place
            continue
        begun.add(place)
        needs = [(each.layer, each.call) for each in _references(calls[name][number])]
        waiting += [each for each in needs if each not in begun and 0 <= each[1] < len(calls.get(each[0], ()))]

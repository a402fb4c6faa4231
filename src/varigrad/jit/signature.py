"""What a step is compiled for: the shapes and dtypes of tensors among its arguments, and the values of the rest.

`flatten` takes arguments apart into a key, which is hashed, and leaves, which are inputs of the compiled step: tensors
and floats. `replaced` puts arguments together again from other leaves; `template_of` does for results what a template
is: it says how to make the same containers of the results of another call; `untouched` says whether a function has left
its arguments as they were.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from varigrad.jit.errors import JitError
from varigrad.ops.values import tensor
from varigrad.tensor import Tensor, Variable

__all__ = ["PLAIN", "Build", "describe", "fields_of", "flatten", "is_array", "replaced", "template_of", "untouched"]

PLAIN = (int, bool, str, bytes, complex, type(None), type(Ellipsis))

# Makes a result from the outputs of the graph (tensors) and the leaves of the arguments.
Build: TypeAlias = Callable[[Sequence[Tensor], Sequence[Any]], Any]


def replaced(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], leaves: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments like these, with other tensors and floats in place of theirs."""
    rest = iter(leaves)
    return _replaced(args, rest), {key: _replaced(value, rest) for key, value in kwargs.items()}


def flatten(args: tuple[Any, ...], kwargs: Mapping[str, Any], leaves: list[Any], objects: list[Any]) -> Any:
    """The key of a call; its tensors, arrays (as tensors) and floats are added to `leaves`, in order."""
    parts: list[Any] = []
    for value in args:
        if value.__class__ is Tensor:
            leaves.append(value)
            storage = value.storage
            parts.append((storage.shape, storage.dtype))
        else:
            parts.append(_part(value, leaves, objects))
    if not kwargs:
        return tuple(parts)
    named = tuple([(name, _part(value, leaves, objects)) for name, value in kwargs.items()])
    return tuple(parts), named


def _part(value: Any, leaves: list[Any], objects: list[Any]) -> Any:
    kind = cast("Any", type(value))
    if kind is float:
        leaves.append(value)
        return float
    if kind is Tensor:
        leaves.append(value)
        return value.storage.shape, value.storage.dtype
    if isinstance(value, Variable):
        objects.append(value)
        return Variable, id(value)
    if kind in PLAIN:
        return kind, value
    if kind is slice:
        return kind, (value.start, value.stop, value.step)
    if isinstance(value, (list, tuple, dict)):
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            inside = tuple([(key, _part(item, leaves, objects)) for key, item in items])
        else:
            inside = tuple([_part(item, leaves, objects) for item in cast("Sequence[Any]", value)])
        attributes = attributes_of(value)
        return (kind, inside, _part(attributes, leaves, objects)) if attributes else (kind, inside)
    if is_array(value):
        leaves.append(value if isinstance(value, Tensor) else tensor(value))
        return leaves[-1].storage.shape, leaves[-1].storage.dtype
    fields = fields_of(value)
    if fields is not None:
        objects.append(kind)  # for what its methods read
        return kind, tuple([(name, _part(item, leaves, objects)) for name, item in fields.items()])
    objects.append(value)
    return kind, id(value)


def attributes_of(container: Any) -> dict[str, Any]:
    """What a list, tuple or dict of a class of the user's holds besides its items; a dict may be its own attributes."""
    attributes = getattr(container, "__dict__", None)
    return {} if attributes is None or attributes is container else attributes


def fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a dataclass that holds nothing else, and so is a container; None of any other object."""
    if not hasattr(cast("Any", type(value)), "__dataclass_fields__") or callable(value):
        return None
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    attributes: dict[str, Any] = getattr(value, "__dict__", fields)
    return fields if attributes.keys() == fields.keys() else None


def _maker(container: Any) -> Callable[[Any], Any]:
    """What makes a list, tuple or dict like this one of items, in the order of a dict's; it does not hold this one."""
    kind = cast("Any", type(container))
    if kind in (list, dict):
        return lambda items: items
    if hasattr(kind, "_fields"):
        return lambda items: kind(*items)
    if isinstance(container, tuple) or getattr(container, "__dict__", None) is container:
        return kind
    method = "extend" if isinstance(container, list) else "update"
    empty: Any = copy.copy(cast("Any", container))
    empty.clear()
    attributes_of(empty).clear()

    def fill(items: Any) -> Any:
        filled = copy.copy(empty)
        getattr(filled, method)(items)
        return filled

    return fill


def _with_fields(value: Any, fields: Mapping[str, Any]) -> Any:
    """A copy of a dataclass, frozen or not, that holds these."""
    filled = copy.copy(value)
    for name, item in fields.items():
        object.__setattr__(filled, name, item)
    return filled


def is_array(value: Any) -> bool:
    """Whether an argument reaches the function as a tensor."""
    return isinstance(value, (Tensor, np.ndarray, np.generic)) or (
        not isinstance(value, type) and (hasattr(value, "__array__") or hasattr(value, "__dlpack__"))
    )


def _replaced(value: Any, rest: Any) -> Any:
    kind = cast("Any", type(value))
    if kind is float or kind is Tensor:
        return next(rest)
    if isinstance(value, Variable) or kind in PLAIN or kind is slice:
        return value
    if isinstance(value, (list, tuple, dict)):
        if isinstance(value, dict):
            items = {key: _replaced(item, rest) for key, item in cast("dict[Any, Any]", value).items()}
        else:
            items = [_replaced(item, rest) for item in cast("Sequence[Any]", value)]
        filled = _maker(value)(items)
        attributes = attributes_of(value)
        if attributes:
            attributes_of(filled).update(_replaced(attributes, rest))
        return filled
    if is_array(value):
        return next(rest)
    fields = fields_of(value)
    if fields is None:
        return value
    return _with_fields(value, {name: _replaced(item, rest) for name, item in fields.items()})


def untouched(given: Any, original: Any, leaves: Iterator[Any]) -> bool:
    """Whether arguments, made of original ones by `replaced`, are as they were made: the same containers and leaves."""
    kind = cast("Any", type(original))
    if isinstance(original, Variable) or kind in PLAIN or kind is slice:
        return given is original
    if isinstance(original, (list, tuple, dict)):
        if type(given) is not kind:  # pyright: ignore[reportUnknownArgumentType]
            return False
        if isinstance(original, dict):
            table, old = cast("dict[Any, Any]", given), cast("dict[Any, Any]", original)
            same = list(table) == list(old) and all(untouched(table[key], old[key], leaves) for key in old)
        else:
            items, before = cast("Sequence[Any]", given), cast("Sequence[Any]", original)
            same = len(items) == len(before) and all(untouched(a, b, leaves) for a, b in zip(items, before))
        now, attributes = attributes_of(given), attributes_of(original)
        return same and (not (now or attributes) or untouched(now, attributes, leaves))
    if kind is float or is_array(original):
        return given is next(leaves)
    fields = fields_of(original)
    if fields is None:
        return given is original
    return type(given) is kind and all(untouched(getattr(given, name), fields[name], leaves) for name in fields)


def describe(key: Any) -> str:
    """A key as it is written in explanations."""
    if isinstance(key, tuple) and len(cast("tuple[Any, ...]", key)) == 2:
        first, second = cast("tuple[Any, Any]", key)
        if isinstance(second, np.dtype):
            return f"{second}{list(first)}"
        if isinstance(first, type):
            if first in PLAIN:
                return repr(second)
            inside = describe(second) if isinstance(second, tuple) else ""
            return f"{first.__name__}{inside}" if first not in (tuple, list, dict) else inside
    if isinstance(key, tuple):
        return "(" + ", ".join([describe(part) for part in cast("tuple[Any, ...]", key)]) + ")"
    return key.__name__ if isinstance(key, type) else repr(key)


def template_of(result: Any, leaf_of: Callable[[Any], Build | None]) -> Build:
    """How to build a result like this one; `leaf_of` gives that for the tensors and numbers in it.

    Raises:
        JitError: Something in it is neither a tensor, a plain value nor a container of them.
    """
    build = leaf_of(result)
    if build is not None:
        return build
    kind = cast("Any", type(result))
    if kind in PLAIN or kind is float or isinstance(result, np.dtype):
        plain = cast("Any", result)
        return lambda outputs, leaves: plain
    if isinstance(result, (list, tuple, set, frozenset)):
        items = [template_of(item, leaf_of) for item in cast("Sequence[Any]", result)]
        if kind is tuple:
            return lambda outputs, leaves: tuple([item(outputs, leaves) for item in items])
        if isinstance(result, (set, frozenset)):
            return lambda outputs, leaves: kind([item(outputs, leaves) for item in items])
        return _container(result, leaf_of, lambda outputs, leaves: [item(outputs, leaves) for item in items])
    if isinstance(result, dict):
        pairs = [(key, template_of(item, leaf_of)) for key, item in cast("dict[Any, Any]", result).items()]
        return _container(result, leaf_of, lambda outputs, leaves: {key: item(outputs, leaves) for key, item in pairs})
    fields = fields_of(result)
    if fields is not None:
        made_of = [(name, template_of(item, leaf_of)) for name, item in fields.items()]
        empty = _with_fields(result, dict.fromkeys(fields))  # what it holds now need not stay
        return lambda outputs, leaves: _with_fields(empty, {name: item(outputs, leaves) for name, item in made_of})
    raise JitError(
        f"jit: the function returned a {kind.__name__}; return tensors, numbers and texts, alone or in lists, tuples, "
        "dicts and dataclasses"
    )


def _container(result: Any, leaf_of: Callable[[Any], Build | None], build_items: Build) -> Build:
    """How to build a list, tuple or dict like this one, whose items are built in this way."""
    if type(result) in (list, dict):
        return build_items
    make = _maker(result)
    attributes = attributes_of(result)
    build_attributes = template_of(dict(attributes), leaf_of) if attributes else None

    def build(outputs: Sequence[Tensor], leaves: Sequence[Any]) -> Any:
        made = make(build_items(outputs, leaves))
        if build_attributes is not None:
            attributes_of(made).update(build_attributes(outputs, leaves))
        return made

    return build

"""Tensors that go by a name: gradients under their variables' names, slots under their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from varigrad.tensor import Tensor, registered_variables

__all__ = ["NamedTensor", "by_name", "list_names", "other_variables"]


class NamedTensor(NamedTuple):
    """A tensor and its name.

    >>> import varigrad as vg
    >>> [weight.name for weight in vg.train.sgd(0.1).get_weights()]
    ['iter']
    """

    name: str
    tensor: Tensor


def by_name(op: str, named: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    """What a dict by name, or a list of `NamedTensor`, pairs or `{"name": …, "tensor": …}`, holds under each name."""
    if isinstance(named, Mapping):
        return named
    if not isinstance(named, list) and (not isinstance(named, tuple) or hasattr(named, "_fields")):
        hint = "; pass its .grads" if hasattr(named, "grads") else ""
        raise TypeError(f"{op}: takes a dict by name or a list of named tensors, got {type(named).__name__}{hint}")
    result: dict[str, Any] = {}
    for position, item in enumerate(cast("Sequence[Any]", named)):
        name, tensor = _pair(item)
        if not isinstance(name, str):
            raise TypeError(f"{op}: item {position} is neither (name, tensor) nor {{'name': …, 'tensor': …}}")
        if name in result:
            raise ValueError(f"{op}: {name!r} is given twice")
        result[name] = tensor
    return result


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        pair = cast("Mapping[str, Any]", item)
        return pair.get("name"), pair.get("tensor")
    if isinstance(item, (tuple, list)) and len(cast("Sequence[Any]", item)) == 2:
        name, tensor = cast("Sequence[Any]", item)
        return name, tensor
    return None, None


def list_names(names: Iterable[str]) -> str:
    """Names as they are written in messages: quoted, the first ten."""
    listed = list(names)
    more = f" and {len(listed) - 10} more" if len(listed) > 10 else ""
    return ", ".join(repr(name) for name in listed[:10]) + more


def other_variables(names: Iterable[str]) -> str:
    """Words on which trainable variables there are besides those named."""
    spoken = set(names)
    others = [v.name for v in registered_variables() if v.trainable and v.name not in spoken]
    return f"trainable variables not given: {list_names(others)}" if others else "every trainable variable is given"

"""Tensors that go by a name: gradients under their variables' names, slots under their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import Array, as_numpy
from varigrad.tensor import Tensor, Variable, registered_variables

__all__ = ["NamedTensor", "by_name", "list_names", "numbers_by_name", "other_variables", "update_count"]


_MOST_UPDATES = 2**31 - 1  # as many as the int32 of a saved state counts


class NamedTensor(NamedTuple):
    """A tensor and its name.

    >>> import varigrad as vg
    >>> [weight.name for weight in vg.train.sgd(0.1).get_weights()]
    ['iter']
    """

    name: str
    tensor: Tensor


def by_name(op: str, named: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
    """What a dict by name, or a list of `NamedTensor`, pairs or `{"name": …, "tensor": …}`, holds under each name.

    In a pair a variable stands for its name, and comes first or last: `zip(gradients, variables)` is understood.
    """
    if isinstance(named, Mapping):
        return named
    if isinstance(named, Iterator):
        named = list(cast("Iterator[Any]", named))
    if not isinstance(named, list) and (not isinstance(named, tuple) or hasattr(named, "_fields")):
        hint = "; pass its .grads" if hasattr(named, "grads") else ""
        raise TypeError(f"{op}: takes a dict by name or a list of named tensors, got {type(named).__name__}{hint}")
    result: dict[str, Any] = {}
    for position, item in enumerate(cast("Sequence[Any]", named)):
        name, tensor = _pair(item)
        if not isinstance(name, str):
            hint = "; zip(gradients, variables) says whose they are" if isinstance(item, Tensor) else ""
            raise TypeError(f"{op}: item {position} is neither (name, tensor) nor {{'name': …, 'tensor': …}}{hint}")
        if name in result:
            raise ValueError(f"{op}: {name!r} is given twice")
        result[name] = tensor
    return result


def _pair(item: Any) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        pair = cast("Mapping[str, Any]", item)
        return pair.get("name"), pair.get("tensor")
    if isinstance(item, (tuple, list)) and len(cast("Sequence[Any]", item)) == 2:
        first, last = cast("Sequence[Any]", item)
        if isinstance(last, Variable):  # as TensorFlow and Keras pair them
            return last.name, first
        return (first.name if isinstance(first, Variable) else first), last
    return None, None


def numbers_by_name(op: str, named: Mapping[str, Any] | Sequence[Any]) -> dict[str, Array]:
    """Copies of the numbers in what `by_name` takes.

    Raises:
        TypeError: A name is no string, or something under it does not consist of real numbers.
    """
    numbers: dict[str, Array] = {}
    for name, value in by_name(op, named).items():
        if not isinstance(name, str):
            raise TypeError(f"{op}: names must be strings, got {name!r}")
        array = np.array(as_numpy(value, op, repr(name)))
        if array.dtype.kind in "OUSTMmc" or array.dtype.names is not None:
            raise TypeError(f"{op}: {name!r} must hold real numbers, got {array.dtype} values")
        numbers[name] = array
    return numbers


def update_count(op: str, name: str, value: Array) -> int:
    """The number of updates in a saved state."""
    count = float(value.item()) if value.size == 1 else -1.0
    if not (0 <= count <= _MOST_UPDATES and count.is_integer()):
        raise ValueError(f"{op}: {name!r} must be the number of updates made, got {value.tolist()}")
    return int(count)


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

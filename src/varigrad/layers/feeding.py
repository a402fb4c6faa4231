"""What a model is called on, brought into the tensors that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from varigrad.dtypes import is_floating
from varigrad.layers.arguments import Shape
from varigrad.layers.lists import as_list, one_or_list
from varigrad.layers.symbolic import SymbolicTensor
from varigrad.ops.arguments import TensorLike, cast_to, convert
from varigrad.tensor import Tensor, format_shape

__all__ = ["check_fed_shapes", "fed"]


def fed(model: str, inputs: Sequence[SymbolicTensor], given: Any, op: str) -> Any:
    """Tensors for what a call was given: one, or for a model of several inputs a list in their order.

    Args:
        model: The model's name, for errors.
        inputs: The model's inputs.
        given: A tensor or array, a list of them, or a dict by the names of the inputs.
        op: What to call the call in errors.

    Raises:
        ValueError: Another number of inputs, other names or shapes.
    """
    names = [x.source_layer.name for x in inputs]
    if isinstance(given, Mapping):
        each = _by_name(model, names, cast("Mapping[str, Any]", given), op)
    elif len(names) > 1 or _is_list_of_one(given, inputs[0].rank):
        each = as_list(given)
    else:
        each = [given]
    if len(each) != len(names):
        raise ValueError(f"{op}: {model} takes a list of {len(names)} inputs ({', '.join(names)}), got {len(each)}")
    return one_or_list([_fed_one(model, x, value, op, len(names) > 1) for x, value in zip(inputs, each)])


def check_fed_shapes(model: str, inputs: Sequence[SymbolicTensor], shapes: Sequence[Shape]) -> None:
    """Raises an error if a model does not take inputs of these shapes, whose unknown axes are None."""
    if len(shapes) != len(inputs):
        raise ValueError(f"{model}: takes {len(inputs)} inputs, got {len(shapes)}")
    for expected, given in zip(inputs, shapes):
        wanted = expected.shape
        if len(given) != len(wanted) or any(None not in (m, n) and m != n for m, n in zip(wanted, given)):
            raise ValueError(f"{model}: takes inputs of shape {format_shape(wanted)}, got {format_shape(given)}")


def _by_name(model: str, names: Sequence[str], given: Mapping[str, Any], op: str) -> list[Any]:
    """The inputs that a dict holds, in the model's order."""
    for name in (*names, *given):
        if name not in given or name not in names:
            what = "missing" if name in names else "not among them"
            raise ValueError(f"{op}: {model} takes inputs named {', '.join(names)}; {name!r} is {what}")
    return [given[name] for name in names]


def _is_list_of_one(given: Any, rank: int) -> bool:
    """Whether what a model of one input was given is a list that holds that input, not the input as a list."""
    if not isinstance(given, (list, tuple)) or len(cast("Sequence[Any]", given)) != 1:
        return False
    only = cast("Sequence[Any]", given)[0]
    return isinstance(only, (Tensor, np.ndarray)) and len(cast("Tensor", only).shape) == rank


def _fed_one(model: str, expected: SymbolicTensor, value: TensorLike, op: str, is_named: bool) -> Tensor:
    """The tensor for an input: integers and bools become floats where these are expected, as in TensorFlow.js."""
    argument = expected.source_layer.name
    if not isinstance(value, Tensor):
        value = convert(value, op, argument, expected.dtype)
    elif value.storage.dtype.kind in "bi" and is_floating(expected.dtype):
        value = cast_to(value, expected.dtype)
    shape, wanted = value.storage.shape, expected.shape
    if len(shape) != len(wanted) or any(m is not None and m != n for m, n in zip(wanted, shape)):
        which = f" for {argument}" if is_named else ""
        raise ValueError(f"{model}: takes inputs{which} of shape {format_shape(wanted)}, got {format_shape(shape)}")
    return value

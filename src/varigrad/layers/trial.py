"""The shape of what a function of tensors gives, found by running it on zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from varigrad.layers.arguments import Shape
from varigrad.layers.lists import as_list, one_or_list
from varigrad.ops.creation import zeros

__all__ = ["tried_shape"]

# What an unknown batch, and other unknown axes, are taken to be: once one length and once the other, to see which axes
# of the result depend on them. The latter are long enough for windows, and differ by more than the strides of these.
_BATCHES = (2, 3)
_LENGTHS = (32, 96)


def tried_shape(run: Callable[[Any], Any], input_shape: Any, dtype: str = "float32") -> Any:
    """The shape, or list of shapes, of what `run` gives; axes that follow unknown ones of the inputs are unknown.

    Args:
        run: A function of a tensor, or of a list of them.
        input_shape: The shape of the tensor, or a list of shapes.
        dtype: The dtype of the inputs.

    Raises:
        Exception: What `run` raises.
    """
    small, large = (_shapes(run, input_shape, dtype, *each) for each in zip(_BATCHES, _LENGTHS))
    shapes: list[Shape] = [
        tuple(m if m == n else None for m, n in zip(a, b)) for a, b in zip(small, large, strict=True)
    ]
    return one_or_list(shapes)


def _shapes(run: Callable[[Any], Any], input_shape: Any, dtype: str, batch: int, length: int) -> list[tuple[int, ...]]:
    shapes: list[Shape] = cast("list[Shape]", input_shape) if isinstance(input_shape, list) else [input_shape]
    inputs = [
        zeros([n if n is not None else length if axis else batch for axis, n in enumerate(shape)], dtype)
        for shape in shapes
    ]
    return [tensor.shape for tensor in as_list(run(one_or_list(inputs)))]

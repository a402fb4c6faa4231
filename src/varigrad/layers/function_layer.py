"""`FunctionLayer`: a function of tensors in the place of a layer that a file holds as code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from varigrad.layers.arguments import Shape
from varigrad.layers.base import Layer
from varigrad.layers.lists import as_list, one_or_list
from varigrad.ops.creation import zeros

__all__ = ["FunctionLayer", "stand_in"]

# What unknown axes are taken to be when the function is tried: two lengths, to see which axes depend on them.
_TRIED = (2, 3)


class FunctionLayer(Layer):
    """A function without weights as a layer, which files hold by name alone.

    Args:
        function: A function of a tensor, or of a list of tensors if the layer has several inputs.
    """

    class_name = "Lambda"

    def __init__(self, *, function: Callable[[Any], Any], **options: Any) -> None:
        super().__init__(**options)
        self._function = function

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return self._function(inputs)

    def compute_output_shape(self, input_shape: Any) -> Any:
        small, large = (self._tried(input_shape, length) for length in _TRIED)
        shapes: list[Shape] = [
            tuple(m if m == n else None for m, n in zip(a, b)) for a, b in zip(small, large, strict=True)
        ]
        return one_or_list(shapes)

    def _tried(self, input_shape: Any, length: int) -> list[tuple[int, ...]]:
        shapes: list[Shape] = cast("list[Shape]", input_shape) if isinstance(input_shape, list) else [input_shape]
        inputs = [zeros([length if n is None else n for n in shape]) for shape in shapes]
        result = self._function(one_or_list(inputs))
        return [tensor.shape for tensor in as_list(result)]


def stand_in(custom_objects: Mapping[str, Any], name: str) -> Layer:
    """The layer that custom objects have under the name of a layer that a file holds as code.

    Args:
        custom_objects: Layer classes, factories of layers, or functions of tensors, by the names of layers.
        name: The name.
    """
    given = custom_objects[name]
    if isinstance(given, type) or hasattr(given, "__wrapped__"):  # a class, or a factory such as vg.layers.dense
        return given(name=name)
    return FunctionLayer(function=given, name=name)

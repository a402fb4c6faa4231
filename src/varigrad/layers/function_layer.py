"""`FunctionLayer`: a function of tensors in the place of a layer that a file holds as code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from varigrad.layers.base import Layer
from varigrad.layers.trial import tried_shape

__all__ = ["FunctionLayer", "stand_in"]


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
        return tried_shape(self._function, input_shape)


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

"""What a layer asks of the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from varigrad.layers.arguments import Shape
from varigrad.tensor import format_shape

__all__ = ["InputSpec", "InputSpecs", "check_shapes"]


class InputSpec(NamedTuple):
    """What a layer asks of an input: a rank, a least rank, and the lengths of some axes.

    >>> import varigrad as vg
    >>> class Pairs(vg.layers.Layer):
    ...     input_spec = vg.layers.InputSpec(ndim=2, axes={-1: 2})
    ...     def call(self, inputs, training=None):
    ...         return inputs
    >>> Pairs(name="pairs_example")([[1.0, 2.0, 3.0]])
    Traceback (most recent call last):
    ValueError: pairs_example: was made for inputs with 2 on axis -1, got shape [1, 3]
    """

    ndim: int | None = None
    min_ndim: int | None = None
    axes: dict[int, int] | None = None


# One input, or several in a list, of which None is any.
InputSpecs: TypeAlias = InputSpec | Sequence["InputSpec | None"]


def check_shapes(layer: str, specs: InputSpecs, shapes: Sequence[Shape]) -> None:
    """Raises an error that names the layer if it does not take inputs of these shapes."""
    each = [specs] if isinstance(specs, InputSpec) else specs
    if len(each) != len(shapes):
        wanted = "one input" if len(each) == 1 else f"{len(each)} inputs in a list"
        given = ", ".join(format_shape(shape) for shape in shapes)
        raise ValueError(f"{layer}: takes {wanted}, got {len(shapes)} (shapes {given})")
    for place, (spec, shape) in enumerate(zip(each, shapes)):
        if spec is not None:
            _check(layer, f" {place}" if len(each) > 1 else "s", spec, shape)


def _check(layer: str, which: str, spec: InputSpec, shape: Shape) -> None:
    rank = len(shape)
    if spec.ndim is not None and rank != spec.ndim:
        raise ValueError(f"{layer}: takes input{which} of rank {spec.ndim}, got shape {format_shape(shape)}")
    if spec.min_ndim is not None and rank < spec.min_ndim:
        raise ValueError(f"{layer}: takes input{which} of rank {spec.min_ndim} or more, got {format_shape(shape)}")
    for axis, length in (spec.axes or {}).items():
        if shape[axis] not in (None, length):
            raise ValueError(
                f"{layer}: was made for input{which} with {length} on axis {axis}, got shape {format_shape(shape)}"
            )

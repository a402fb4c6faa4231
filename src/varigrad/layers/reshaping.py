"""Layers that change the shape of their inputs, or the order of their axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

from varigrad.layers.arguments import Shape, axis_list, choice, partial_shape, positive_integer
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.options import option, or_none
from varigrad.layers.spatial import DATA_FORMATS
from varigrad.ops.arguments import reshape_to
from varigrad.ops.shaping import tile, transpose
from varigrad.tensor import Tensor, format_shape

__all__ = ["Flatten", "Permute", "RepeatVector", "Reshape"]


class Flatten(Layer):
    """Makes each input of a batch a vector: `[batch, ...]` becomes `[batch, size]`.

    Mirrors `tf.layers.flatten`.

    Args:
        data_format: With `"channels_first"` the channels, axis 1, are moved last before.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.flatten()(vg.zeros([5, 2, 3])).shape
    (5, 6)
    """

    data_format = option(or_none(choice), DATA_FORMATS, unless=None)
    input_spec = InputSpec(min_ndim=1)

    def __init__(self, *, data_format: str | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        shape = inputs.storage.shape
        if len(shape) == 2:
            return inputs
        if self.data_format == "channels_first" and len(shape) > 2:
            inputs = transpose(inputs, [0, *range(2, len(shape)), 1])
        return reshape_to(inputs, (shape[0], math.prod(shape[1:])))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        lengths = [n for n in input_shape[1:] if n is not None]
        if len(lengths) != len(input_shape) - 1:
            raise ValueError(
                f"{self.name}: every axis of its inputs but the batch must be known, got {format_shape(input_shape)}"
            )
        return (input_shape[0], math.prod(lengths))


class Reshape(Layer):
    """Gives each input of a batch another shape.

    Mirrors `tf.layers.reshape`.

    Args:
        target_shape: The shape, without the batch; one length may be -1 or None, and is then found from the size.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.reshape(target_shape=[3, -1])(vg.zeros([5, 6])).shape
    (5, 3, 2)
    """

    target_shape = option(partial_shape)
    input_spec = InputSpec(min_ndim=1)

    def __init__(self, *, target_shape: Sequence[int | None], **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())
        if self.target_shape.count(None) > 1:
            raise ValueError(f"reshape: only one length of target_shape may be unknown, got {list(target_shape)}")

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        shape = inputs.storage.shape
        return reshape_to(inputs, (shape[0], *self._target(math.prod(shape[1:]), shape)))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        lengths = [n for n in input_shape[1:] if n is not None]
        if len(lengths) != len(input_shape) - 1:
            return (input_shape[0], *self.target_shape)
        return (input_shape[0], *self._target(math.prod(lengths), input_shape))

    def _target(self, size: int, shape: Shape) -> tuple[int, ...]:
        """The target shape with its unknown length found, for inputs of this size."""
        known = math.prod(n for n in self.target_shape if n is not None)
        unknown = size // known if known else 0
        target = tuple(unknown if n is None else n for n in self.target_shape)
        if math.prod(target) != size:
            raise ValueError(
                f"{self.name}: inputs of shape {format_shape(shape)} do not fill target_shape "
                f"{format_shape(self.target_shape)}"
            )
        return target


class Permute(Layer):
    """Puts the axes of each input of a batch into another order.

    Mirrors `tf.layers.permute`.

    Args:
        dims: For each axis of the result, the axis of the inputs that it was, counted from 1; the batch stays axis 0.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.permute(dims=[2, 1])(vg.zeros([5, 3, 4])).shape
    (5, 4, 3)
    """

    dims = option(axis_list)

    def __init__(self, *, dims: Sequence[int], **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(f"permute: dims must hold each of 1, 2, … once, got {list(self.dims)}")
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return transpose(inputs, (0, *self.dims))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], *(input_shape[axis] for axis in self.dims))


class RepeatVector(Layer):
    """Makes a sequence of each vector, by repeating it: `[batch, features]` becomes `[batch, n, features]`.

    Mirrors `tf.layers.repeatVector`.

    Args:
        n: How often.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.repeat_vector(n=2)([[1, 3]]).tolist()
    [[[1.0, 3.0], [1.0, 3.0]]]
    """

    n = option(positive_integer)
    input_spec = InputSpec(ndim=2)

    def __init__(self, *, n: int, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        batch, features = inputs.shape
        return tile(reshape_to(inputs, (batch, 1, features)), [1, self.n, 1])

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], self.n, input_shape[1])

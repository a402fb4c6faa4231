"""Preprocessing layers for images and categories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack, cast

from varigrad.dtypes import is_floating
from varigrad.layers.arguments import Shape, as_given, boolean, choice, number, positive_integer
from varigrad.layers.base import Layer, LayerOptions
from varigrad.layers.dropout import SeededLayer
from varigrad.layers.indices import checked_indices
from varigrad.layers.options import option
from varigrad.ops.arguments import cast_to, reshape_to
from varigrad.ops.arithmetic import add, mul
from varigrad.ops.counting import dense_bincount
from varigrad.ops.creation import one_hot
from varigrad.ops.random import random_uniform
from varigrad.ops.resampling import resize_bilinear, resize_nearest_neighbor
from varigrad.ops.slicing import slice
from varigrad.tensor import Tensor, format_shape

__all__ = ["CategoryEncoding", "CenterCrop", "RandomHeight", "RandomWidth", "Rescaling", "Resizing"]

_INTERPOLATIONS = ("bilinear", "nearest")


def _number_or_list(owner: str, argument: str, value: Any) -> float | list[float]:
    if isinstance(value, (list, tuple)):
        return [number(owner, argument, item) for item in cast("Sequence[Any]", value)]
    return number(owner, argument, value)


class Rescaling(Layer):
    """Computes `inputs * scale + offset`, in floating point.

    Mirrors `tf.layers.rescaling`.

    Args:
        scale: The factor, or a list with one for each channel.
        offset: What is added, likewise; 0 by default.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.rescaling(scale=0.5, offset=-1)([[0, 2, 4]]).tolist()
    [[-1.0, 0.0, 1.0]]
    """

    scale = option(_number_or_list)
    offset = option(_number_or_list, default=0.0)
    supports_masking = True

    def __init__(
        self,
        *,
        scale: float | Sequence[float],
        offset: float | Sequence[float] | None = 0.0,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        x = inputs if is_floating(inputs.dtype) else cast_to(inputs, "float32")
        return add(mul(x, self.scale), self.offset)


class _Image(Layer):
    """What the layers share that give images of a fixed size."""

    height = option(positive_integer)
    width = option(positive_integer)

    def __init__(self, *, height: int, width: int, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-3], self.height, self.width, input_shape[-1])


def _check_image(owner: str, x: Tensor) -> None:
    if x.rank not in (3, 4):
        raise ValueError(
            f"{owner}: takes images [batch, height, width, channels], or one without the batch, got shape "
            f"{format_shape(x.shape)}"
        )


def _cropped(x: Tensor, top: int, left: int, height: int, width: int) -> Tensor:
    """A part of images."""
    return slice(x, [*(0,) * (x.rank - 3), top, left, 0], [*x.shape[:-3], height, width, x.shape[-1]])


class Resizing(_Image):
    """Resizes images.

    Mirrors `tf.layers.resizing`: the corners of the old and new image lie on each other. (Keras's layer of that name
    counts from half a pixel, and so do layers that were read from its files; those give other results in TensorFlow.js,
    which does not know `half_pixel_centers`.)

    Args:
        height: The new height.
        width: The new width.
        interpolation: `"bilinear"`, the default, or `"nearest"`.
        crop_to_aspect_ratio: Whether to cut what does not fit the new shape off first, instead of distorting. Then the
            corners do not lie on each other. (TensorFlow.js cuts nothing off.)
        half_pixel_centers: Whether to see pixels as areas, as Keras does, not as points.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.resizing(height=1, width=3)([[[0], [2]]]).tolist()
    [[[0.0], [1.0], [2.0]]]
    """

    interpolation = option(choice, _INTERPOLATIONS, default="bilinear")
    crop_to_aspect_ratio = option(boolean, default=False)
    half_pixel_centers = option(boolean, unless=False)  # TensorFlow.js does not know it

    def __init__(
        self,
        *,
        height: int,
        width: int,
        interpolation: str | None = None,
        crop_to_aspect_ratio: bool | None = False,
        half_pixel_centers: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(height=height, width=width, **options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        _check_image(self.name, inputs)
        x = inputs
        if self.crop_to_aspect_ratio:
            height, width = x.shape[-3:-1]
            kept_height = min(height, width * self.height // self.width)
            kept_width = min(width, height * self.width // self.height)
            x = _cropped(x, (height - kept_height) // 2, (width - kept_width) // 2, kept_height, kept_width)
        resize = resize_bilinear if self.interpolation == "bilinear" else resize_nearest_neighbor
        corners = not (self.crop_to_aspect_ratio or self.half_pixel_centers)
        return resize(x, [self.height, self.width], corners, self.half_pixel_centers)


class CenterCrop(_Image):
    """Cuts the middle out of images; those that are too small are resized.

    Mirrors `tf.layers.centerCrop`, also in that of a margin of one column the left one is cut off, and of one row the
    lower one, and that images which are too small in either direction are distorted to the new shape (Keras cuts them
    to its aspect ratio before).

    Args:
        height: The new height.
        width: The new width.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.center_crop(height=1, width=2)([[[0], [1], [2], [3]]]).tolist()
    [[[1.0], [2.0]]]
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        _check_image(self.name, inputs)
        rows, columns = inputs.shape[-3] - self.height, inputs.shape[-2] - self.width
        if rows < 0 or columns < 0:
            resized = resize_bilinear(inputs, [self.height, self.width])
            return resized if resized.dtype == inputs.dtype else cast_to(resized, inputs.dtype)
        return _cropped(inputs, rows // 2, max(columns // 2, min(columns, 1)), self.height, self.width)


class CategoryEncoding(Layer):
    """Encodes categories, given as indices, as vectors with a place for each category.

    Mirrors `tf.layers.categoryEncoding`. Inputs are whole numbers: `[batch, count]`, or `[count]` for one example.

    Args:
        num_tokens: How many categories there are, with the indices 0 to `num_tokens` - 1.
        output_mode: `"multi_hot"`, the default, has 1 for each category that occurs in an example; `"count"` says how
            often; `"one_hot"` has a vector for each index, `[..., num_tokens]` (without an axis of length 1 at the
            end).
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Call it with `count_weights`, of the inputs' shape, to add these up in `"count"`.

    Raises:
        OutOfRangeError: An index has no category; the message names it and its position.

    >>> import varigrad as vg
    >>> vg.layers.category_encoding(num_tokens=3)([[0, 2], [1, 1]]).tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> vg.layers.category_encoding(num_tokens=3, output_mode="one_hot")([[2], [0]]).tolist()
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """

    num_tokens = option(positive_integer)
    output_mode = option(choice, ("multi_hot", "one_hot", "count"), default="multi_hot")

    def __init__(self, *, num_tokens: int, output_mode: str | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None, count_weights: Tensor | None = None) -> Tensor:
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(f"{self.name}: count_weights needs output_mode 'count', it is {self.output_mode!r}")
        tokens = self.num_tokens
        indices = checked_indices(self.name, inputs, tokens, "num_tokens")
        if indices.rank == 0:
            indices = reshape_to(indices, (1,))
        shape = indices.shape
        if self.output_mode == "one_hot":
            hot = one_hot(indices, tokens, dtype="float32")
            return reshape_to(hot, (*shape[:-1], tokens)) if shape[-1] == 1 else hot
        if len(shape) > 2:
            raise ValueError(
                f"{self.name}: takes inputs of rank 2 at most for {self.output_mode!r}, got shape {format_shape(shape)}"
            )
        return dense_bincount(indices, count_weights, tokens, self.output_mode == "multi_hot")

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        if self.output_mode == "one_hot" and input_shape[-1:] != (1,):
            return (*input_shape, self.num_tokens)
        return (*input_shape[:-1], self.num_tokens)


class _RandomSide(SeededLayer):
    """What the layers share that stretch images along one axis by chance."""

    factor = option(as_given)
    interpolation = option(choice, _INTERPOLATIONS, default="bilinear")

    def __init__(
        self,
        *,
        factor: float | Sequence[float],
        interpolation: str | None = None,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, **options)
        self._take(locals())
        owner = self._owner
        if isinstance(factor, (list, tuple)):
            bounds = [number(owner, "factor", bound, -1.0) for bound in factor]
            if len(bounds) != 2 or bounds[0] > bounds[1]:
                raise ValueError(f"{owner}: factor must be a positive number, or [lower, upper], got {factor}")
        else:
            bound = number(owner, "factor", factor, 0.0)
            bounds = [-min(bound, 1.0), bound]
        self._low, self._high = 1.0 + bounds[0], 1.0 + bounds[1]

    def _stretched(self, length: int) -> int:
        """The new length; half a pixel rounds up, as in JavaScript, and one stays at least."""
        drawn = random_uniform([1], self._low, self._high, "float32", self._next_seed()).item()
        return max(math.floor(drawn * length + 0.5), 1)

    def _resized(self, x: Tensor, height: int, width: int) -> Tensor:
        resize = resize_bilinear if self.interpolation == "bilinear" else resize_nearest_neighbor
        return resize(x, [height, width])


class RandomHeight(_RandomSide):
    """Stretches or shrinks images vertically by a random factor, the same for a batch.

    Mirrors TensorFlow.js's layer `RandomHeight`. When called with `training=False`, as by `predict`, it hands its
    inputs on, as in Keras.

    Args:
        factor: The height changes by a part of at most this, or from the first to the second number, where -0.1 is a
            tenth less.
        interpolation: `"bilinear"`, the default, or `"nearest"`.
        seed: Makes the factors a fixed sequence.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.random_height(factor=[0.5, 0.5])
    >>> layer(vg.ones([1, 4, 6, 3])).shape, layer(vg.ones([1, 4, 6, 3]), training=False).shape
    ((1, 6, 6, 3), (1, 4, 6, 3))
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        _check_image(self.name, inputs)
        if training is False:
            return inputs
        return self._resized(inputs, self._stretched(inputs.shape[-3]), inputs.shape[-2])

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-3], None, *input_shape[-2:])


class RandomWidth(_RandomSide):
    """Stretches or shrinks images horizontally by a random factor, the same for a batch.

    Mirrors `tf.layers.randomWidth`; arguments as for `vg.layers.random_height`, and when called with `training=False`
    it hands its inputs on too.

    >>> import varigrad as vg
    >>> layer = vg.layers.random_width(factor=[0.5, 0.5])
    >>> layer(vg.ones([1, 4, 6, 3])).shape, layer(vg.ones([1, 4, 6, 3]), training=False).shape
    ((1, 4, 9, 3), (1, 4, 6, 3))
    """

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        _check_image(self.name, inputs)
        if training is False:
            return inputs
        return self._resized(inputs, inputs.shape[-3], self._stretched(inputs.shape[-2]))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (*input_shape[:-2], None, *input_shape[-1:])

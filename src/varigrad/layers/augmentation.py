"""Random changes of images in training, so that a model does not learn what does not matter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack, cast

from varigrad.dtypes import is_floating
from varigrad.layers.arguments import Shape, as_given, choice, number
from varigrad.layers.base import LayerOptions
from varigrad.layers.dropout import SeededLayer
from varigrad.layers.options import option
from varigrad.layers.spatial import data_format_option, in_channels_last
from varigrad.ops.arguments import cast_to, reshape_to
from varigrad.ops.arithmetic import add, mul, sub
from varigrad.ops.comparison import less, where
from varigrad.ops.creation import ones, zeros
from varigrad.ops.elementwise import clip_by_value
from varigrad.ops.joining import stack
from varigrad.ops.random import random_uniform
from varigrad.ops.reduction import mean
from varigrad.ops.resampling import transform
from varigrad.ops.shaping import reverse
from varigrad.ops.trigonometry import cos, sin
from varigrad.tensor import Tensor, format_shape

__all__ = ["RandomBrightness", "RandomContrast", "RandomFlip", "RandomRotation", "RandomTranslation", "RandomZoom"]

# A number for the range from its negative to itself, or both ends.
Factor = float | Sequence[float]
Bounds = tuple[float, float]

_MODES = ("horizontal_and_vertical", "horizontal", "vertical")
_FILL_MODES = ("reflect", "wrap", "constant", "nearest")
_INTERPOLATIONS = ("bilinear", "nearest")


class _Augmentation(SeededLayer):
    """What the layers share that change each image of a batch by chance, in training only."""

    data_format = data_format_option()

    def __init__(self, *, seed: int | None, data_format: str | None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(seed=seed, **options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if inputs.rank not in (3, 4):
            raise ValueError(
                f"{self.name}: takes images [batch, height, width, channels], or one without the batch, got shape "
                f"{format_shape(inputs.shape)}"
            )
        if not training:
            return inputs
        x = inputs if is_floating(inputs.dtype) else cast_to(inputs, "float32")
        shape = x.shape
        batch = x if len(shape) == 4 else reshape_to(x, (1, *shape))
        changed = in_channels_last(self.data_format, batch, self._changed)
        return changed if len(shape) == 4 else reshape_to(changed, shape)

    def _changed(self, x: Tensor) -> Tensor:
        """The images changed; channels last."""
        raise NotImplementedError

    def _draw_each(self, x: Tensor, low: float, high: float) -> Tensor:
        """A number for each image, `[batch]`."""
        return random_uniform(
            [x.shape[0]], low, high, "float64" if x.dtype == "float64" else "float32", self._next_seed()
        )

    def _draw_column(self, x: Tensor, low: float, high: float) -> Tensor:
        """A number for each image, of x's dtype and in a shape that broadcasts with x."""
        drawn = reshape_to(self._draw_each(x, low, high), (x.shape[0], 1, 1, 1))
        return drawn if drawn.dtype == x.dtype else cast_to(drawn, x.dtype)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape


def _bounds(owner: str, argument: str, factor: Any, least: float = -math.inf) -> Bounds:
    """Both ends of a range."""
    if isinstance(factor, (list, tuple)):
        ends = [number(owner, argument, end, least) for end in cast("Sequence[Any]", factor)]
        if len(ends) != 2 or ends[0] > ends[1]:
            raise ValueError(f"{owner}: {argument} must be a number, or [lower, upper], got {factor!r}")
        return ends[0], ends[1]
    end = number(owner, argument, factor, 0.0)
    return -end, end


class RandomFlip(_Augmentation):
    """Mirrors each image with probability one half, in training.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        mode: `"horizontal"` swaps left and right, `"vertical"` top and bottom; `"horizontal_and_vertical"` does each
            by a chance of its own.
        seed: Makes the draws a fixed sequence.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.random_flip(mode="horizontal", seed=1)
    >>> image = vg.tensor([[[1], [2]]])
    >>> sorted({str(layer(image, training=True).reshape([2]).tolist()) for _ in range(20)}), layer(image).shape
    (['[1.0, 2.0]', '[2.0, 1.0]'], (1, 2, 1))
    """

    mode = option(choice, _MODES)

    def __init__(
        self,
        *,
        mode: str = "horizontal_and_vertical",
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **options)
        self._take(locals())

    def _changed(self, x: Tensor) -> Tensor:
        for axis, word in ((2, "horizontal"), (1, "vertical")):
            if word in self.mode:
                x = where(less(self._draw_column(x, 0.0, 1.0), 0.5), reverse(x, axis), x)
        return x


class _Moving(_Augmentation):
    """What the layers share that move the pixels of images."""

    fill_mode = option(choice, _FILL_MODES)
    interpolation = option(choice, _INTERPOLATIONS)
    fill_value = option(number)

    def __init__(
        self,
        *,
        fill_mode: str,
        interpolation: str,
        seed: int | None,
        fill_value: float,
        data_format: str | None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **options)
        self._take(locals())

    def _seen(self, x: Tensor, rows: Sequence[Tensor | float]) -> Tensor:
        """The images where pixel (x, y) is what is at (a0 x + a1 y + a2, b0 x + b1 y + b2); `rows` are these six."""
        count = x.shape[0]
        dtype = next(row.dtype for row in rows if isinstance(row, Tensor))
        each = [row if isinstance(row, Tensor) else mul(ones([count], dtype), row) for row in rows]
        matrices = stack([*each, zeros([count], dtype), zeros([count], dtype)], 1)
        return transform(x, matrices, self.interpolation, self.fill_mode, self.fill_value)


class RandomRotation(_Moving):
    """Turns each image by a random angle about its middle, in training.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        factor: The angle, as a part of a full turn: 0.1 is from a tenth of a turn clockwise to a tenth the other way;
            or `[lower, upper]`, where positive numbers are counter-clockwise.
        fill_mode: What is beyond the edges: `"reflect"`, `"wrap"`, `"nearest"` or `"constant"`.
        interpolation: `"bilinear"` or `"nearest"`.
        seed: Makes the draws a fixed sequence.
        fill_value: What `"constant"` fills in.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> quarter = vg.layers.random_rotation(factor=[0.25, 0.25], interpolation="nearest")
    >>> quarter(vg.tensor([[[1], [2]], [[3], [4]]]), training=True).reshape([2, 2]).tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """

    factor = option(as_given)

    def __init__(
        self,
        *,
        factor: Factor,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(
            fill_mode=fill_mode,
            interpolation=interpolation,
            seed=seed,
            fill_value=fill_value,
            data_format=data_format,
            **options,
        )
        self._take(locals())
        self._bounds = _bounds(self._owner, "factor", factor)

    def _changed(self, x: Tensor) -> Tensor:
        low, high = self._bounds
        angle = self._draw_each(x, low * 2 * math.pi, high * 2 * math.pi)
        c, s = cos(angle), sin(angle)
        middle_y, middle_x = (x.shape[1] - 1) / 2, (x.shape[2] - 1) / 2
        # The middle stays where it is.
        shift_x = sub(middle_x, sub(mul(c, middle_x), mul(s, middle_y)))
        shift_y = sub(middle_y, add(mul(s, middle_x), mul(c, middle_y)))
        return self._seen(x, [c, mul(s, -1.0), shift_x, s, c, shift_y])


class RandomTranslation(_Moving):
    """Shifts each image by random parts of its height and width, in training.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        height_factor: The shift as a part of the height: 0.1 is from a tenth up to a tenth down; or `[lower, upper]`,
            where positive numbers are down.
        width_factor: The shift as a part of the width, likewise; positive numbers are to the right.
        fill_mode: As for `vg.layers.random_rotation`.
        interpolation: `"bilinear"` or `"nearest"`.
        seed: Makes the draws a fixed sequence.
        fill_value: What the fill mode `"constant"` fills in.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.random_translation(height_factor=0, width_factor=[0.5, 0.5], fill_mode="constant")
    >>> layer(vg.tensor([[[1], [2]]]), training=True).reshape([2]).tolist()
    [0.0, 1.0]
    """

    height_factor = option(as_given)
    width_factor = option(as_given)

    def __init__(
        self,
        *,
        height_factor: Factor,
        width_factor: Factor,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(
            fill_mode=fill_mode,
            interpolation=interpolation,
            seed=seed,
            fill_value=fill_value,
            data_format=data_format,
            **options,
        )
        self._take(locals())
        self._heights = _bounds(self._owner, "height_factor", height_factor)
        self._widths = _bounds(self._owner, "width_factor", width_factor)

    def _changed(self, x: Tensor) -> Tensor:
        down = mul(self._draw_each(x, *self._heights), -float(x.shape[1]))
        right = mul(self._draw_each(x, *self._widths), -float(x.shape[2]))
        return self._seen(x, [1.0, 0.0, right, 0.0, 1.0, down])


class RandomZoom(_Moving):
    """Enlarges or shrinks each image about its middle by random factors, in training; its size stays.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        height_factor: How much more of the height is seen: 0.1 is from a tenth less (larger) to a tenth more (smaller);
            or `[lower, upper]`.
        width_factor: The same for the width; by default that of the height, so that the proportions stay.
        fill_mode: As for `vg.layers.random_rotation`.
        interpolation: `"bilinear"` or `"nearest"`.
        seed: Makes the draws a fixed sequence.
        fill_value: What the fill mode `"constant"` fills in.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> half = vg.layers.random_zoom(height_factor=[-0.5, -0.5])
    >>> half(vg.tensor([[[0], [4], [8]]]), training=True).reshape([3]).tolist()
    [2.0, 4.0, 6.0]
    """

    height_factor = option(as_given)
    width_factor = option(as_given)

    def __init__(
        self,
        *,
        height_factor: Factor,
        width_factor: Factor | None = None,
        fill_mode: str = "reflect",
        interpolation: str = "bilinear",
        seed: int | None = None,
        fill_value: float = 0.0,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(
            fill_mode=fill_mode,
            interpolation=interpolation,
            seed=seed,
            fill_value=fill_value,
            data_format=data_format,
            **options,
        )
        self._take(locals())
        self._heights = _bounds(self._owner, "height_factor", height_factor, -1.0)
        self._widths = None if width_factor is None else _bounds(self._owner, "width_factor", width_factor, -1.0)

    def _changed(self, x: Tensor) -> Tensor:
        tall = add(self._draw_each(x, *self._heights), 1.0)
        wide = tall if self._widths is None else add(self._draw_each(x, *self._widths), 1.0)
        middle_y, middle_x = (x.shape[1] - 1) / 2, (x.shape[2] - 1) / 2
        # The middle stays where it is.
        shift_x, shift_y = mul(sub(1.0, wide), middle_x), mul(sub(1.0, tall), middle_y)
        return self._seen(x, [wide, 0.0, shift_x, 0.0, tall, shift_y])


def _range(owner: str, argument: str, value: Any) -> Bounds:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{owner}: {argument} must be [least, largest], got {value!r}")
    return _bounds(owner, argument, value)


class _Toning(_Augmentation):
    """What the layers share that change the values of pixels."""

    factor = option(as_given)
    value_range = option(_range)
    data_format = data_format_option(unless="channels_last")  # Keras's layers have no format of their own

    def __init__(
        self,
        *,
        factor: Factor,
        value_range: Sequence[float] = (0, 255),
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, data_format=data_format, **options)
        self._take(locals())
        self._bounds = self._ends(factor)

    def _ends(self, factor: Factor) -> Bounds:
        """The least and largest number drawn."""
        return _bounds(self._owner, "factor", factor)

    def _clipped(self, x: Tensor) -> Tensor:
        return clip_by_value(x, *self.value_range)


class RandomContrast(_Toning):
    """Changes the contrast of each image by a random factor, in training: `(x - mean) * factor + mean`.

    The mean is that of each channel. Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        factor: 0.1 is from 0.9 to 1.1 times the contrast; `[0.1, 0.3]` from 0.9 to 1.3 times.
        value_range: The least and largest value that pixels have; what would be beyond is set to these.
        seed: Makes the draws a fixed sequence.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> half = vg.layers.random_contrast(factor=[0.5, 0])
    >>> y = half(vg.tensor([[[0], [8]]]), training=True)
    >>> y.min().item() >= 0, y.mean().item()
    (True, 4.0)
    """

    def _ends(self, factor: Factor) -> Bounds:
        both: Any = factor if isinstance(factor, (list, tuple)) else (factor, factor)
        down, up = [number(self._owner, "factor", end, 0.0) for end in both] if len(both) == 2 else (None, None)
        if down is None or up is None:
            raise ValueError(f"{self._owner}: factor must be a number, or [lower, upper], got {factor!r}")
        return 1.0 - down, 1.0 + up

    def _changed(self, x: Tensor) -> Tensor:
        average = mean(x, [1, 2], True)
        return self._clipped(add(mul(sub(x, average), self._draw_column(x, *self._bounds)), average))


class RandomBrightness(_Toning):
    """Adds a random number to all pixels of each image, in training.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        factor: The number as a part of the range of values: 0.1 is from a tenth darker to a tenth brighter; or
            `[lower, upper]`.
        value_range: The least and largest value that pixels have; what would be beyond is set to these.
        seed: Makes the draws a fixed sequence.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.random_brightness(factor=[0.25, 0.25], value_range=[0, 8])
    >>> layer(vg.tensor([[[0], [4], [7]]]), training=True).reshape([3]).tolist()
    [2.0, 6.0, 8.0]
    """

    def _changed(self, x: Tensor) -> Tensor:
        least, largest = self.value_range
        drawn = self._draw_column(x, *self._bounds)
        return self._clipped(add(x, mul(drawn, float(largest - least))))

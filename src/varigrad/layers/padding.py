"""Zero padding and cropping layers: margins put around their inputs, or cut off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias, Unpack, cast

from varigrad.layers.arguments import Shape, whole_numbers
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.options import option_per_axis
from varigrad.layers.spatial import data_format_option, with_space
from varigrad.ops.padding import pad
from varigrad.ops.slicing import slice
from varigrad.tensor import Tensor, format_shape

__all__ = ["Cropping1D", "Cropping2D", "Cropping3D", "ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D"]

# One number for all sides, one for both sides of each axis, or [before, after] for each axis.
Margins: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]]
Pairs: TypeAlias = tuple[tuple[int, int], ...]


def _pairs(owner: str, argument: str, value: Any, axes: int) -> Pairs:
    """Margins in the form `((before, after), …)`."""
    if isinstance(value, int):
        items: list[Any] = [value] * axes
    elif not isinstance(value, (list, tuple)):
        raise TypeError(f"{owner}: {argument} must be an integer or a list, got {value!r}")
    else:
        items = list(cast("Sequence[Any]", value))
    if axes == 1 and len(items) == 2:  # before and after the one axis
        items = [items]
    if len(items) != axes:
        raise ValueError(f"{owner}: {argument} must be an integer, or have {axes} entries, got {items}")
    pairs = [whole_numbers(owner, argument, item, 2) for item in items]
    return tuple((before, after) for before, after in pairs)


class _Margins(Layer):
    """What zero padding and cropping share: margins along the spatial axes."""

    data_format = data_format_option()
    axes: ClassVar[int]

    def __init__(self, *, data_format: str | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())
        self.input_spec = InputSpec(ndim=self.axes + 2)

    def _each_axis(self, margins: Pairs) -> Pairs:
        """The margins of all axes of the inputs."""
        none = (0, 0)
        return (none, none, *margins) if self.data_format == "channels_first" else (none, *margins, none)


class _ZeroPadding(_Margins):
    """What the padding layers share."""

    padding = option_per_axis(_pairs, default=1)

    def __init__(
        self, *, padding: Margins | None = None, data_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(data_format=data_format, **options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return pad(inputs, self._each_axis(self.padding))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return with_space(
            self.data_format,
            input_shape,
            lambda space: tuple(None if n is None else n + sum(pair) for n, pair in zip(space, self.padding)),
        )


class _Cropping(_Margins):
    """What the cropping layers share."""

    cropping = option_per_axis(_pairs, default=1)

    def __init__(
        self, *, cropping: Margins | None = None, data_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(data_format=data_format, **options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        shape = inputs.shape
        size = cast("list[int]", list(self.compute_output_shape(shape)))
        return slice(inputs, [before for before, _ in self._each_axis(self.cropping)], size)

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        cropped = with_space(
            self.data_format,
            input_shape,
            lambda space: tuple(None if n is None else n - sum(pair) for n, pair in zip(space, self.cropping)),
        )
        if any(n is not None and n <= 0 for n in cropped[1:]):
            raise ValueError(
                f"{self.name}: cropping {[list(pair) for pair in self.cropping]} leaves nothing of inputs of shape "
                f"{format_shape(input_shape)}"
            )
        return cropped


class ZeroPadding1D(_ZeroPadding):
    """Puts zeros before and after the steps of a sequence.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        padding: How many, one number for both ends or `[before, after]`; 1 by default.
        data_format: `"channels_last"` for inputs `[batch, length, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.zero_padding1d(padding=[2, 0])([[[1], [2]]]).tolist()
    [[[0.0], [0.0], [1.0], [2.0]]]
    """

    data_format = data_format_option(unless="channels_last")
    axes = 1

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "padding": list(self.padding[0])}


class ZeroPadding2D(_ZeroPadding):
    """Puts zeros around images.

    Mirrors `tf.layers.zeroPadding2d`.

    Args:
        padding: How many: one number for all sides, `[vertical, horizontal]`, or `[[top, bottom], [left, right]]`; 1 by
            default.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.zero_padding2d(padding=[[1, 0], [2, 2]])(vg.ones([1, 3, 3, 2])).shape
    (1, 4, 7, 2)
    """

    axes = 2


class ZeroPadding3D(_ZeroPadding):
    """Puts zeros around volumes.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Arguments as for `vg.layers.zero_padding2d`,
    with three numbers or pairs where that has two.

    >>> import varigrad as vg
    >>> vg.layers.zero_padding3d(padding=1)(vg.ones([1, 3, 3, 3, 2])).shape
    (1, 5, 5, 5, 2)
    """

    axes = 3


class Cropping1D(_Cropping):
    """Cuts off the first and last steps of a sequence.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        cropping: How many, one number for both ends or `[before, after]`; 1 by default.
        data_format: `"channels_last"` for inputs `[batch, length, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: Nothing would be left.

    >>> import varigrad as vg
    >>> vg.layers.cropping1d(cropping=[0, 1])([[[1], [2]]]).tolist()
    [[[1.0]]]
    """

    data_format = data_format_option(unless="channels_last")
    axes = 1

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "cropping": list(self.cropping[0])}


class Cropping2D(_Cropping):
    """Cuts off the edges of images.

    Mirrors `tf.layers.cropping2D`.

    Args:
        cropping: How much: one number for all sides, `[vertical, horizontal]`, or `[[top, bottom], [left, right]]`;
            0 by default, as in Keras (TensorFlow.js has no default).
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    Raises:
        ValueError: Nothing would be left.

    >>> import varigrad as vg
    >>> vg.layers.cropping2d(cropping=[[1, 0], [1, 1]])(vg.ones([1, 3, 3, 2])).shape
    (1, 2, 1, 2)
    """

    cropping = option_per_axis(_pairs, default=0)
    axes = 2


class Cropping3D(_Cropping):
    """Cuts off the edges of volumes.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Arguments as for `vg.layers.cropping2d`, with
    three numbers or pairs where that has two; 1 by default.

    >>> import varigrad as vg
    >>> vg.layers.cropping3d(cropping=1)(vg.ones([1, 3, 4, 5, 2])).shape
    (1, 1, 2, 3, 2)
    """

    axes = 3

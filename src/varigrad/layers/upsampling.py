"""Up-sampling layers, which repeat their inputs or fill in between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Unpack

from varigrad.layers.arguments import Shape, boolean, choice, integers, positive_integer
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.options import option, option_per_axis
from varigrad.layers.spatial import data_format_option, in_channels_last, with_space
from varigrad.ops.arguments import reshape_to
from varigrad.ops.resampling import resize_bilinear, resize_nearest_neighbor
from varigrad.ops.shaping import tile
from varigrad.tensor import Tensor

__all__ = ["UpSampling1D", "UpSampling2D", "UpSampling3D"]

INTERPOLATIONS = ("nearest", "bilinear")


class _UpSampling(Layer):
    """What the up-sampling layers share."""

    size = option_per_axis(integers)
    data_format = data_format_option()
    axes: ClassVar[int]

    def __init__(
        self, *, size: int | Sequence[int] = 2, data_format: str | None = None, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        self.input_spec = InputSpec(ndim=self.axes + 2)

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        return in_channels_last(self.data_format, inputs, self._enlarged)

    def _enlarged(self, x: Tensor) -> Tensor:
        """The values repeated; channels last."""
        batch, *space, channels = x.shape
        apart, reps = [batch], [1]
        for length, times in zip(space, self.size):
            apart += [length, 1]
            reps += [1, times]
        repeated = tile(reshape_to(x, (*apart, channels)), [*reps, 1])
        return reshape_to(repeated, (batch, *(n * times for n, times in zip(space, self.size)), channels))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return with_space(
            self.data_format,
            input_shape,
            lambda space: tuple(None if n is None else n * times for n, times in zip(space, self.size)),
        )


class UpSampling1D(_UpSampling):
    """Repeats each step of a sequence.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        size: How often; 2 by default.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.up_sampling1d(size=2)([[[1], [2]]]).tolist()
    [[[1.0], [1.0], [2.0], [2.0]]]
    """

    data_format = data_format_option(unless="channels_last")  # there is no other
    axes = 1

    def __init__(self, *, size: int = 2, **options: Unpack[LayerOptions]) -> None:
        super().__init__(size=positive_integer(self._owner, "size", size), **options)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "size": self.size[0]}


class UpSampling2D(_UpSampling):
    """Enlarges images by whole factors.

    Mirrors `tf.layers.upSampling2d`. Where the interpolation is bilinear, the pixels lie where TensorFlow.js has them:
    pixel i of the result at i / size. Keras has them half a pixel off, and so have models that were read from its
    files; those give other results in TensorFlow.js, which does not know `half_pixel_centers`.

    Args:
        size: The factors of height and width, or one number for both; 2 by default.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        interpolation: `"nearest"` repeats the pixels, `"bilinear"` fills in between them.
        half_pixel_centers: Whether bilinear interpolation sees pixels as areas, as Keras does, not as points.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.up_sampling2d(size=[1, 2])([[[[1], [2]]]]).tolist()
    [[[[1.0], [1.0], [2.0], [2.0]]]]
    """

    interpolation = option(choice, INTERPOLATIONS, default="nearest")
    half_pixel_centers = option(boolean, unless=False)  # TensorFlow.js does not know it
    axes = 2

    def __init__(
        self,
        *,
        size: int | Sequence[int] | None = None,
        data_format: str | None = None,
        interpolation: str | None = None,
        half_pixel_centers: bool = False,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(size=2 if size is None else size, data_format=data_format, **options)
        self._take(locals())

    def _enlarged(self, x: Tensor) -> Tensor:
        _, height, width, _ = x.shape
        size = [height * self.size[0], width * self.size[1]]
        if self.interpolation == "nearest":
            return resize_nearest_neighbor(x, size)
        return resize_bilinear(x, size, half_pixel_centers=self.half_pixel_centers)


class UpSampling3D(_UpSampling):
    """Repeats each value of volumes along each axis.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        size: How often along depth, height and width, or one number for all; 2 by default.
        data_format: `"channels_last"` for inputs `[batch, depth, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.up_sampling3d(size=[1, 2, 3])(vg.ones([1, 2, 2, 2, 1])).shape
    (1, 2, 4, 6, 1)
    """

    axes = 3

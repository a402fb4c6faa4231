"""Dropout layers, which set parts of their inputs to 0 in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Unpack

from varigrad.layers.arguments import number, partial_shape, seed_or_none
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.options import option, or_none
from varigrad.layers.spatial import data_format_option
from varigrad.ops import random
from varigrad.ops.arithmetic import scale
from varigrad.randomness import NextSeed, number_text
from varigrad.tensor import Tensor

__all__ = ["Dropout", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D"]


class SeededLayer(Layer):
    """Base of layers that draw random numbers: a fixed sequence of draws with a seed, or new ones each time."""

    seed = option(seed_or_none)
    moved_on = ("_draws",)  # a compiled step counts draws itself

    def __init__(self, *, seed: int | None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())
        self._draws = 0

    def _next_seed(self) -> NextSeed | None:
        """The seed of the next draw."""
        return None if self.seed is None else NextSeed(self._draw)

    def _draw(self) -> str:
        text = number_text((self.seed or 0) + self._draws)
        self._draws += 1
        return text


class Dropout(SeededLayer):
    """Sets a random part of the inputs to 0 in training, and scales the rest up so that the mean stays.

    Mirrors `tf.layers.dropout`. Outside of training it does nothing.

    Args:
        rate: The part to drop, from 0 to 1.
        noise_shape: The shape of the mask, with 1 for axes that share it; None stands for the input's own length.
        seed: Makes the masks a fixed sequence, a new mask each call (in TensorFlow.js, the same mask each call).
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.dropout(rate=0.5, seed=1)
    >>> sorted(set(layer(vg.ones([1, 50]), training=True).data_sync().tolist()))
    [0.0, 2.0]
    >>> layer([[1, 2]]).tolist()
    [[1.0, 2.0]]
    """

    rate = option(number, 0.0, 1.0)
    noise_shape = option(or_none(partial_shape))
    supports_masking = True

    def __init__(
        self,
        *,
        rate: float,
        noise_shape: Sequence[int | None] | None = None,
        seed: int | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(seed=seed, **options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not training or self.rate == 0:
            return inputs
        seed = self._next_seed()
        return scale(inputs, 0.0) if self.rate == 1 else random.dropout(inputs, self.rate, self._mask_shape, seed)

    @property
    def _mask_shape(self) -> Sequence[int | None] | None:
        return self.noise_shape


class _SpatialDropout(Dropout):
    """What the layers that drop whole channels share."""

    noise_shape = option(or_none(partial_shape), stored=False)  # it follows from the format
    data_format = data_format_option()
    axes: ClassVar[int]

    def __init__(
        self,
        *,
        rate: float,
        seed: int | None = None,
        data_format: str | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(rate=rate, seed=seed, **options)
        self._take(locals())
        self.input_spec = InputSpec(ndim=self.axes + 2)

    @property
    def _mask_shape(self) -> Sequence[int | None]:
        space = (1,) * self.axes
        return (None, None, *space) if self.data_format == "channels_first" else (None, *space, None)


class SpatialDropout1D(_SpatialDropout):
    """Sets a random part of the channels to 0 in training, each over the whole sequence, and scales the rest up.

    Tompson et al. (2015). Mirrors `tf.layers.spatialDropout1d`. Inputs are `[batch, length, channels]`.

    Args:
        rate: The part to drop, from 0 to 1.
        seed: Makes the masks a fixed sequence.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> y = vg.layers.spatial_dropout1d(rate=0.5, seed=1)(vg.ones([1, 3, 4]), training=True)
    >>> (y == y[:, :1]).all().item()
    True
    """

    data_format = data_format_option(unless="channels_last")  # there is no other
    axes = 1

    def __init__(self, *, rate: float, seed: int | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(rate=rate, seed=seed, **options)


class SpatialDropout2D(_SpatialDropout):
    """Sets a random part of the channels to 0 in training, each over the whole image, and scales the rest up.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        rate: The part to drop, from 0 to 1.
        seed: Makes the masks a fixed sequence.
        data_format: `"channels_last"` for inputs `[batch, height, width, channels]`, or `"channels_first"`.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> y = vg.layers.spatial_dropout2d(rate=0.5, seed=1)(vg.ones([1, 3, 2, 4]), training=True)
    >>> (y == y[:, :1, :1]).all().item()
    True
    """

    axes = 2


class SpatialDropout3D(_SpatialDropout):
    """Sets a random part of the channels to 0 in training, each over the whole volume, and scales the rest up.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. Arguments as for
    `vg.layers.spatial_dropout2d`; inputs are `[batch, depth, height, width, channels]`.

    >>> import varigrad as vg
    >>> vg.layers.spatial_dropout3d(rate=0.5)(vg.ones([1, 2, 3, 2, 4])).shape
    (1, 2, 3, 2, 4)
    """

    axes = 3

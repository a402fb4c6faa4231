"""Noise layers, which disturb their inputs in training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

from varigrad.layers.arguments import number, partial_shape, seed_or_none
from varigrad.layers.base import LayerOptions
from varigrad.layers.dropout import SeededLayer
from varigrad.layers.options import option, or_none
from varigrad.ops.arguments import cast_to
from varigrad.ops.arithmetic import add, mul, sub
from varigrad.ops.comparison import greater_equal
from varigrad.ops.random import random_normal, random_uniform
from varigrad.tensor import Tensor, format_shape

__all__ = ["AlphaDropout", "GaussianDropout", "GaussianNoise"]


class _Noise(SeededLayer):
    """What the noise layers share: they hand masks on, and have a seed, which TensorFlow.js does not know."""

    seed = option(seed_or_none, unless=None)
    supports_masking = True


class GaussianNoise(_Noise):
    """Adds normal noise in training. Outside of training it does nothing.

    Mirrors `tf.layers.gaussianNoise`.

    Args:
        stddev: The noise's standard deviation.
        seed: Makes the noise a fixed sequence; not in TensorFlow.js.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.gaussian_noise(stddev=0.1, seed=1)
    >>> layer([[1, 2]]).tolist(), layer(vg.zeros([1000]), training=True).square().mean().sqrt().item().__round__(2)
    ([[1.0, 2.0]], 0.1)
    """

    stddev = option(number, 0.0)

    def __init__(self, *, stddev: float, seed: int | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(seed=seed, **options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not training:
            return inputs
        return add(inputs, random_normal(inputs.shape, 0.0, self.stddev, inputs.dtype, self._next_seed()))


class GaussianDropout(_Noise):
    """Multiplies with normal noise of mean 1 and variance `rate / (1 - rate)` in training.

    Srivastava et al. (2014). Outside of training it does nothing. Mirrors `tf.layers.gaussianDropout`.

    Args:
        rate: As for `vg.layers.dropout`, whose mask has the same variance; at 0 and 1 there is no noise.
        seed: Makes the noise a fixed sequence; not in TensorFlow.js.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.gaussian_dropout(rate=0.5, seed=1)
    >>> layer([[1, 2]]).tolist(), layer(vg.ones([1, 2]), training=True).shape
    ([[1.0, 2.0]], (1, 2))
    """

    rate = option(number, 0.0, 1.0)

    def __init__(self, *, rate: float, seed: int | None = None, **options: Unpack[LayerOptions]) -> None:
        super().__init__(seed=seed, **options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        if not training or self.rate in (0, 1):
            return inputs
        deviation = math.sqrt(self.rate / (1 - self.rate))
        return mul(inputs, random_normal(inputs.shape, 1.0, deviation, inputs.dtype, self._next_seed()))


# The value that selu approaches for very negative inputs.
_SATURATED = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946


class AlphaDropout(_Noise):
    """Sets a random part of the inputs to selu's lowest value in training, and keeps mean 0 and variance 1.

    Klambauer et al. (2017), "Self-normalizing neural networks"; meant for layers with selu. Outside of training it does
    nothing. Mirrors `tf.layers.alphaDropout`, but follows the paper, as Keras does: TensorFlow.js sets inputs to the
    negative of that value, so that mean and variance change.

    Args:
        rate: The part to drop; at 0 and 1 nothing is.
        noise_shape: The shape of the mask, with 1 for axes that share it; None stands for the input's own length.
        seed: Makes the masks a fixed sequence; not in TensorFlow.js.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.alpha_dropout(rate=0.5, seed=1)
    >>> layer([[1, 2]]).tolist(), layer(vg.ones([1, 2]), training=True).shape
    ([[1.0, 2.0]], (1, 2))
    """

    rate = option(number, 0.0, 1.0)
    noise_shape = option(or_none(partial_shape), unless=None)

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
        if not training or self.rate in (0, 1):
            return inputs
        rate = self.rate
        drawn = random_uniform(self._mask_shape(inputs.shape), 0.0, 1.0, inputs.dtype, self._next_seed())
        kept = cast_to(greater_equal(drawn, rate), inputs.dtype)
        dropped = add(mul(inputs, kept), mul(sub(1.0, kept), _SATURATED))
        # The affine map that brings mean and variance back.
        factor = ((1 - rate) * (1 + rate * _SATURATED**2)) ** -0.5
        return add(mul(dropped, factor), -factor * _SATURATED * rate)

    def _mask_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.noise_shape is None:
            return shape
        if len(self.noise_shape) != len(shape) or any(n not in (None, 1, m) for n, m in zip(self.noise_shape, shape)):
            raise ValueError(
                f"{self.name}: noise_shape {format_shape(self.noise_shape)} does not fit inputs of shape "
                f"{format_shape(shape)}"
            )
        return tuple(m if n is None else n for n, m in zip(self.noise_shape, shape))

"""Batch normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

from varigrad.layers.arguments import Shape, axis_list, boolean, number
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer
from varigrad.layers.options import constraint_option, initializer_option, option, regularizer_option
from varigrad.layers.regularizers import Regularizer
from varigrad.observe import observing
from varigrad.ops.arguments import cast_to, reshape_to
from varigrad.ops.arithmetic import add, div_no_nan, mul, squared_difference, sub
from varigrad.ops.assignment import assign
from varigrad.ops.creation import ones_like
from varigrad.ops.elementwise import rsqrt
from varigrad.ops.reduction import moments, sum
from varigrad.tape import Tape
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["BatchNormalization"]


class ScaledAndShifted(Layer):
    """What layers share that end with a factor `gamma` and a summand `beta` for each feature."""

    epsilon = option(number, 0.0)
    center = option(boolean)
    scale = option(boolean)
    beta_initializer = initializer_option("zeros")
    gamma_initializer = initializer_option("ones")
    beta_regularizer = regularizer_option()
    gamma_regularizer = regularizer_option()
    beta_constraint = constraint_option()
    gamma_constraint = constraint_option()
    supports_masking = True
    gamma: Variable | None = None
    beta: Variable | None = None

    def _add_gamma_and_beta(self, lengths: Sequence[int]) -> None:
        if self.scale:
            self.gamma = self._add_optioned_weight("gamma", lengths)
        if self.center:
            self.beta = self._add_optioned_weight("beta", lengths)


def _one_axis(owner: str, argument: str, value: Any) -> int:
    axes = axis_list(owner, argument, value)  # a list of one in some Keras files
    if len(axes) != 1:
        raise ValueError(f"{owner}: {argument} must be one integer, got {list(axes)}")
    return axes[0]


class BatchNormalization(ScaledAndShifted):
    """Normalizes each feature to mean 0 and variance 1, then scales by `gamma` and shifts by `beta`.

    Ioffe and Szegedy (2015). In training the mean and variance are those of the batch, and moving averages of them are
    kept; outside of it the moving averages are used. A frozen layer (its own `trainable`, or that of a model around it,
    is False) uses the averages in training too and leaves them alone, as in Keras; in TensorFlow.js it goes on moving
    them. Steps that a mask leaves out don't count in the mean and variance, again as in Keras and unlike TensorFlow.js.
    A layer that was called with `training=True` while a functional model was made normalizes by the batch in `predict`
    too (so did Keras 2; Keras 3 does not). Mirrors `tf.layers.batchNormalization`.

    Args:
        axis: The axis of the features, the last by default.
        momentum: How much of a moving average stays at each step.
        epsilon: Added to the variance.
        center: Whether there is a `beta`.
        scale: Whether there is a `gamma`.
        beta_initializer: The first value of beta, `"zeros"` by default.
        gamma_initializer: That of gamma, `"ones"` by default.
        moving_mean_initializer: That of the mean's average, `"zeros"` by default.
        moving_variance_initializer: That of the variance's average, `"ones"` by default.
        beta_regularizer: A penalty on beta.
        gamma_regularizer: A penalty on gamma.
        beta_constraint: A limit on beta.
        gamma_constraint: A limit on gamma.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> layer = vg.layers.batch_normalization(epsilon=0)
    >>> layer([[1.0], [3.0]], training=True).tolist()
    [[-1.0], [1.0]]
    """

    axis = option(_one_axis)
    momentum = option(number, 0.0, 1.0)
    epsilon = option(number, 0.0, 1.0)
    moving_mean_initializer = initializer_option("zeros")
    moving_variance_initializer = initializer_option("ones")
    moving_mean: Variable
    moving_variance: Variable

    def __init__(
        self,
        *,
        axis: int | Sequence[int] = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: str | Initializer | None = None,
        gamma_initializer: str | Initializer | None = None,
        moving_mean_initializer: str | Initializer | None = None,
        moving_variance_initializer: str | Initializer | None = None,
        beta_regularizer: str | Regularizer | None = None,
        gamma_regularizer: str | Regularizer | None = None,
        beta_constraint: str | Constraint | None = None,
        gamma_constraint: str | Constraint | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())

    def build(self, input_shape: Shape) -> None:
        rank = len(input_shape)
        if not -rank <= self.axis < rank:
            raise ValueError(f"{self.name}: has axis {self.axis}, but got inputs of shape {format_shape(input_shape)}")
        axis = self.axis % rank
        features = input_shape[axis]
        if features is None:
            raise ValueError(f"{self.name}: axis {axis} of its inputs must be known, got {format_shape(input_shape)}")
        self._add_gamma_and_beta([features])
        self.moving_mean = self._add_optioned_weight("moving_mean", [features], trainable=False)
        self.moving_variance = self._add_optioned_weight("moving_variance", [features], trainable=False)
        self.input_spec = InputSpec(ndim=rank, axes={axis: features})

    def call(self, inputs: Tensor, training: bool | None = None, mask: Tensor | None = None) -> Tensor:
        rank = inputs.rank
        axis = self.axis % rank
        if training and not self._frozen:
            others = [a for a in range(rank) if a != axis]
            mean, variance = moments(inputs, others) if mask is None else _masked_moments(inputs, others, mask)
            with observing(instead_of=Tape):
                self._move(self.moving_mean, mean)
                self._move(self.moving_variance, variance)
        else:
            mean, variance = self.moving_mean, self.moving_variance
        factor = rsqrt(add(variance, self.epsilon))
        if self.gamma is not None:
            factor = mul(factor, self.gamma)
        shape = None if axis == rank - 1 else tuple(-1 if a == axis else 1 for a in range(rank))
        y = mul(sub(inputs, _fitted(mean, shape)), _fitted(factor, shape))
        return y if self.beta is None else add(y, _fitted(self.beta, shape))

    def _move(self, average: Variable, value: Tensor) -> None:
        if value.dtype != average.dtype:  # that of the inputs
            value = cast_to(value, average.dtype)
        assign(average, add(mul(average, self.momentum), mul(value, 1.0 - self.momentum)))


def _fitted(values: Tensor, shape: tuple[int, ...] | None) -> Tensor:
    """Values for each feature in a shape that broadcasts with the inputs."""
    return values if shape is None else reshape_to(values, shape)


def _masked_moments(x: Tensor, axes: list[int], mask: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and variance along axes of the steps that the mask leaves in."""
    weights = reshape_to(cast_to(mask, x.dtype), (*mask.shape, *(1,) * (x.rank - mask.rank)))
    count = sum(mul(ones_like(x), weights), axes, True)
    mean = div_no_nan(sum(mul(x, weights), axes, True), count)
    variance = div_no_nan(sum(mul(squared_difference(x, mean), weights), axes, True), count)
    features = (mean.size,)
    return reshape_to(mean, features), reshape_to(variance, features)

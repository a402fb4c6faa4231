"""Normalization of each example by itself, over its features: layer, group, root-mean-square and unit normalization."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from varigrad.layers.arguments import Shape, axis_or_axes, integer, number
from varigrad.layers.base import InputSpec, Layer, LayerOptions
from varigrad.layers.constraints import Constraint
from varigrad.layers.initializers import Initializer
from varigrad.layers.normalization import ScaledAndShifted
from varigrad.layers.options import option
from varigrad.layers.regularizers import Regularizer
from varigrad.ops.arguments import normalize_axes, reshape_to
from varigrad.ops.arithmetic import add, maximum, mul, sub
from varigrad.ops.elementwise import rsqrt, square
from varigrad.ops.reduction import mean, moments, sum
from varigrad.ops.shaping import tile
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["GroupNormalization", "LayerNormalization", "RMSNormalization", "UnitNormalization"]


def _lengths(owner: str, axes: Sequence[int], shape: Shape) -> list[int]:
    """The lengths of axes of the inputs, which must be known."""
    lengths = [shape[axis] for axis in axes]
    known = [length for length in lengths if length is not None]
    if len(known) < len(lengths):
        raise ValueError(f"{owner}: axes {list(axes)} of its inputs must be known, got {format_shape(shape)}")
    return known


def _along(values: Tensor, axes: Sequence[int], x: Tensor) -> Tensor:
    """Values for each place along axes of x, in a shape that broadcasts with x."""
    if tuple(axes) == (x.rank - 1,):
        return values
    return reshape_to(values, tuple(n if axis in axes else 1 for axis, n in enumerate(x.shape)))


class _FeatureNormalization(ScaledAndShifted):
    """What the layers share that normalize each example by itself."""

    def _scaled_and_shifted(self, y: Tensor, axes: Sequence[int]) -> Tensor:
        if self.gamma is not None:
            y = mul(y, _along(self.gamma, axes, y))
        return y if self.beta is None else add(y, _along(self.beta, axes, y))


def _standardized(x: Tensor, axes: Sequence[int], epsilon: float) -> Tensor:
    """x with mean 0 and variance 1 along axes."""
    center, variance = moments(x, axes, True)
    return mul(sub(x, center), rsqrt(add(variance, epsilon)))


class LayerNormalization(_FeatureNormalization):
    """Normalizes the features of each example to mean 0 and variance 1, then scales by `gamma` and shifts by `beta`.

    Ba et al. (2016). Mirrors `tf.layers.layerNormalization`, which has no constraints.

    Args:
        axis: The axis of the features, or a list of axes; the last by default.
        epsilon: Added to the variance.
        center: Whether there is a `beta`.
        scale: Whether there is a `gamma`.
        beta_initializer: The first value of beta, `"zeros"` by default.
        gamma_initializer: That of gamma, `"ones"` by default.
        beta_regularizer: A penalty on beta.
        gamma_regularizer: A penalty on gamma.
        beta_constraint: A limit on beta.
        gamma_constraint: A limit on gamma.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.layer_normalization(epsilon=0)([[1, 3], [10, 30]]).tolist()
    [[-1.0, 1.0], [-1.0, 1.0]]
    """

    axis = option(axis_or_axes)

    def __init__(
        self,
        *,
        axis: int | Sequence[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: str | Initializer | None = None,
        gamma_initializer: str | Initializer | None = None,
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
        axes = tuple(sorted(normalize_axes(self.name, self.axis, rank)))
        lengths = _lengths(self.name, axes, input_shape)
        self.axis = axes  # counted from the front, as TensorFlow.js's files have it
        self._add_gamma_and_beta(lengths)
        self.input_spec = InputSpec(ndim=rank, axes=dict(zip(axes, lengths)))

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        axes = normalize_axes(self.name, self.axis, inputs.rank)
        return self._scaled_and_shifted(_standardized(inputs, axes, self.epsilon), axes)


class GroupNormalization(_FeatureNormalization):
    """Normalizes groups of channels of each example to mean 0 and variance 1, then scales by `gamma`, shifts by `beta`.

    Wu and He (2018). Mean and variance are taken over the channels of a group and over all axes but the batch. Not in
    TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        groups: How many groups, which divides the number of channels; -1 makes each channel one (instance
            normalization), 1 is layer normalization over all axes.
        axis: The axis of the channels, the last by default.
        epsilon: Added to the variance.
        center: Whether there is a `beta`, one for each channel.
        scale: Whether there is a `gamma`, likewise.
        beta_initializer: The first value of beta, `"zeros"` by default.
        gamma_initializer: That of gamma, `"ones"` by default.
        beta_regularizer: A penalty on beta.
        gamma_regularizer: A penalty on gamma.
        beta_constraint: A limit on beta.
        gamma_constraint: A limit on gamma.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.group_normalization(groups=2, epsilon=0)([[1, 3, 20, 40]]).tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """

    groups = option(integer)
    axis = option(integer)

    def __init__(
        self,
        *,
        groups: int = 32,
        axis: int = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: str | Initializer | None = None,
        gamma_initializer: str | Initializer | None = None,
        beta_regularizer: str | Regularizer | None = None,
        gamma_regularizer: str | Regularizer | None = None,
        beta_constraint: str | Constraint | None = None,
        gamma_constraint: str | Constraint | None = None,
        **options: Unpack[LayerOptions],
    ) -> None:
        super().__init__(**options)
        self._take(locals())
        if self.groups < 1 and self.groups != -1:
            raise ValueError(f"group_normalization: groups must be positive, or -1 for all channels, got {groups}")

    def build(self, input_shape: Shape) -> None:
        rank = len(input_shape)
        (axis,) = normalize_axes(self.name, self.axis, rank)
        (channels,) = _lengths(self.name, (axis,), input_shape)
        if axis == 0:
            raise ValueError(f"{self.name}: axis 0 is the batch; choose that of the channels")
        if channels % self._groups_of(channels):
            raise ValueError(f"{self.name}: its {channels} channels do not make {self.groups} groups of one size")
        self._add_gamma_and_beta([channels])
        self.input_spec = InputSpec(ndim=rank, axes={axis: channels})

    def _groups_of(self, channels: int) -> int:
        return channels if self.groups == -1 else self.groups

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        axis = self.axis % inputs.rank
        space = [a for a in range(1, inputs.rank) if a != axis]
        # Means of channels first and of groups of them then: NumPy is slow along axes that lie apart.
        centered = sub(inputs, self._of_groups(mean(inputs, space, True)))
        variance = self._of_groups(mean(square(centered), space, True))
        return self._scaled_and_shifted(mul(centered, rsqrt(add(variance, self.epsilon))), (axis,))

    def _of_groups(self, means: Tensor) -> Tensor:
        """For each channel the mean of its group, from means of the channels of each example."""
        channels = means.size // means.shape[0] if means.shape[0] else 0
        if not channels:
            return means
        groups = self._groups_of(channels)
        apart = reshape_to(means, (means.shape[0], groups, channels // groups))
        return reshape_to(tile(mean(apart, 2, True), [1, 1, channels // groups]), means.shape)


class RMSNormalization(Layer):
    """Divides the features of each example by their root mean square, then multiplies by a learned `scale`.

    Zhang and Sennrich (2019). Not in TensorFlow.js, which cannot open a model with it; as in Keras.

    Args:
        axis: The axis of the features, or a list of axes; the last by default.
        epsilon: Added to the mean square.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.rms_normalization(epsilon=0)([[1, 7]]).tolist()  # the root mean square is 5
    [[0.20000000298023224, 1.399999976158142]]
    """

    axis = option(axis_or_axes)
    epsilon = option(number, 0.0)
    supports_masking = True
    scale: Variable

    def __init__(
        self, *, axis: int | Sequence[int] = -1, epsilon: float = 1e-6, **options: Unpack[LayerOptions]
    ) -> None:
        super().__init__(**options)
        self._take(locals())

    def build(self, input_shape: Shape) -> None:
        rank = len(input_shape)
        axes = tuple(sorted(normalize_axes(self.name, self.axis, rank)))
        lengths = _lengths(self.name, axes, input_shape)
        self.scale = self.add_weight("scale", lengths, initializer="ones")
        self.input_spec = InputSpec(ndim=rank, axes=dict(zip(axes, lengths)))

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        axes = normalize_axes(self.name, self.axis, inputs.rank)
        factor = rsqrt(add(mean(square(inputs), axes, True), self.epsilon))
        return mul(mul(inputs, factor), _along(self.scale, axes, inputs))


class UnitNormalization(Layer):
    """Scales each example so that the sum of squares of its features is 1.

    Not in TensorFlow.js, which cannot open a model with it; as in Keras. An example of zeros stays so.

    Args:
        axis: The axis of the features, or a list of axes; the last by default.
        options: `name`, `input_shape` and so on, as for `vg.layers.dense`.

    >>> import varigrad as vg
    >>> vg.layers.unit_normalization()([[3, 4], [0, 0]]).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """

    axis = option(axis_or_axes)
    supports_masking = True

    def __init__(self, *, axis: int | Sequence[int] = -1, **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self._take(locals())

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        axes = normalize_axes(self.name, self.axis, inputs.rank)
        # The least is Keras's: norms below 1e-12 are taken for that.
        return mul(inputs, rsqrt(maximum(sum(square(inputs), axes, True), 1e-24)))

"""First values for weights: the namespace `vg.initializers`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from varigrad.dtypes import numpy_dtype
from varigrad.engine import make_tensor
from varigrad.keywords import snake_case, takes_options
from varigrad.layers import registry
from varigrad.layers.arguments import any_seed, choice, number
from varigrad.layers.registry import Serializable
from varigrad.ops import creation, random
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "Constant",
    "Identity",
    "Initializer",
    "Ones",
    "Orthogonal",
    "RandomNormal",
    "RandomUniform",
    "TruncatedNormal",
    "VarianceScaling",
    "Zeros",
    "constant",
    "get_initializer",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "identity",
    "le_cun_normal",
    "le_cun_uniform",
    "ones",
    "orthogonal",
    "random_normal",
    "random_uniform",
    "truncated_normal",
    "variance_scaling",
    "zeros",
]


class Initializer(Serializable):
    """Makes the first value of a weight. Subclass it and override `apply` to write your own.

    >>> import varigrad as vg
    >>> class Countdown(vg.initializers.Initializer):
    ...     def apply(self, shape, dtype="float32"):
    ...         return vg.range(shape[0], 0, -1, dtype)
    >>> vg.layers.dense(units=2, bias_initializer=Countdown(), kernel_initializer="zeros")([[1.0]]).tolist()
    [[2.0, 1.0]]
    """

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        """A tensor of the shape and dtype."""
        raise NotImplementedError(f"{type(self).__name__} must override apply(shape, dtype)")

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.get_config().items())
        return f"{type(self).__name__}({arguments})"


class Zeros(Initializer):
    """Zeros. Made by `vg.initializers.zeros`."""

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        return creation.zeros(shape, dtype)


class Ones(Initializer):
    """Ones. Made by `vg.initializers.ones`."""

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        return creation.ones(shape, dtype)


class Constant(Initializer):
    """One value everywhere. Made by `vg.initializers.constant`."""

    def __init__(self, *, value: float) -> None:
        infinite = isinstance(value, float) and not math.isfinite(value)
        self.value = value if infinite else number("constant", "value", value)

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        return creation.fill(shape, self.value, dtype)


class RandomUniform(Initializer):
    """Numbers spread evenly between two bounds. Made by `vg.initializers.random_uniform`."""

    def __init__(self, *, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> None:
        self.minval = number("random_uniform", "minval", minval)
        self.maxval = number("random_uniform", "maxval", maxval)
        self.seed = any_seed("random_uniform", seed)

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        return random.random_uniform(shape, self.minval, self.maxval, dtype, self.seed)


class RandomNormal(Initializer):
    """Numbers of a normal distribution. Made by `vg.initializers.random_normal`."""

    def __init__(self, *, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> None:
        owner = snake_case(self.class_name)
        self.mean = number(owner, "mean", mean)
        self.stddev = number(owner, "stddev", stddev, 0.0)
        self.seed = any_seed(owner, seed)

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        return random.random_normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """A normal distribution cut off two deviations from the mean. Made by `vg.initializers.truncated_normal`."""

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


class Identity(Initializer):
    """A multiple of the identity matrix. Made by `vg.initializers.identity`."""

    def __init__(self, *, gain: float = 1.0) -> None:
        self.gain = number("identity", "gain", gain)

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ValueError(f"identity: makes square matrices only, not {format_shape(shape)}")
        return make_tensor(np.eye(shape[0], dtype=numpy_dtype(dtype)) * numpy_dtype(dtype).type(self.gain))


_MODES = ("fan_in", "fan_out", "fan_avg")
_DISTRIBUTIONS = ("normal", "uniform", "truncated_normal", "untruncated_normal")
# The standard deviation that a standard normal distribution has left when cut off at two.
_TRUNCATED_DEVIATION = 0.87962566103423978


class VarianceScaling(Initializer):
    """Random numbers whose variance is `scale` over the number of inputs or outputs of a unit.

    Made by `vg.initializers.variance_scaling` and by `glorot_normal` and the like.
    """

    def __init__(
        self, *, scale: float = 1.0, mode: str = "fan_in", distribution: str = "normal", seed: int | None = None
    ) -> None:
        self.scale = number("variance_scaling", "scale", scale, 0.0)
        if not scale:
            raise ValueError(f"variance_scaling: scale must be positive, got {scale}")
        self.mode = choice("variance_scaling", "mode", mode, _MODES)
        self.distribution = choice("variance_scaling", "distribution", distribution, _DISTRIBUTIONS)
        self.seed = any_seed("variance_scaling", seed)

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        fan_in, fan_out = _fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            limit = math.sqrt(3 * variance)
            return random.random_uniform(shape, -limit, limit, dtype, self.seed)
        deviation = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, deviation, dtype, self.seed)
        if self.distribution == "truncated_normal":
            deviation /= _TRUNCATED_DEVIATION
        return random.truncated_normal(shape, 0.0, deviation, dtype, self.seed)


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """How many inputs and outputs a unit has, for a weight of this shape: `[...window, inputs, outputs]`."""
    if len(shape) < 2:
        fan = math.sqrt(math.prod(shape))
        return fan, fan
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


class Orthogonal(Initializer):
    """A matrix with orthogonal columns, or rows where it is wide. Made by `vg.initializers.orthogonal`."""

    def __init__(self, *, gain: float = 1.0, seed: int | None = None) -> None:
        self.gain = number("orthogonal", "gain", gain)
        self.seed = any_seed("orthogonal", seed)

    def apply(self, shape: Sequence[int], dtype: str = "float32") -> Tensor:
        if len(shape) < 2:
            raise ValueError(f"orthogonal: needs a shape of rank 2 or more, got {format_shape(shape)}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        # LAPACK has no half precision.
        wide = dtype if dtype == "float64" else "float32"
        normal = random.random_normal([max(rows, columns), min(rows, columns)], 0.0, 1.0, wide, self.seed).numpy()
        q, r = np.linalg.qr(normal)
        # The signs make every orthogonal matrix equally likely.
        q *= np.where(np.diagonal(r) < 0, -1, 1) * float(self.gain)
        matrix = q if rows >= columns else q.T
        return make_tensor(np.ascontiguousarray(matrix.reshape(tuple(shape)), dtype=numpy_dtype(dtype)))


@takes_options
def zeros() -> Initializer:
    """Zeros. Mirrors `tf.initializers.zeros`.

    >>> import varigrad as vg
    >>> vg.initializers.zeros().apply([2]).tolist()
    [0.0, 0.0]
    """
    return Zeros()


@takes_options
def ones() -> Initializer:
    """Ones. Mirrors `tf.initializers.ones`.

    >>> import varigrad as vg
    >>> vg.initializers.ones().apply([2]).tolist()
    [1.0, 1.0]
    """
    return Ones()


@takes_options
def constant(*, value: float) -> Initializer:
    """`value` everywhere. Mirrors `tf.initializers.constant`.

    >>> import varigrad as vg
    >>> vg.initializers.constant(value=3).apply([2]).tolist()
    [3.0, 3.0]
    """
    return Constant(value=value)


@takes_options
def random_uniform(*, minval: float = -0.05, maxval: float = 0.05, seed: int | None = None) -> Initializer:
    """Numbers spread evenly over `[minval, maxval)`. Mirrors `tf.initializers.randomUniform`.

    >>> import varigrad as vg
    >>> values = vg.initializers.random_uniform(minval=1, maxval=2, seed=1).apply([100])
    >>> values.min().item() >= 1, values.max().item() < 2
    (True, True)
    """
    return RandomUniform(minval=minval, maxval=maxval, seed=seed)


@takes_options
def random_normal(*, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> Initializer:
    """Numbers of a normal distribution. Mirrors `tf.initializers.randomNormal`.

    >>> import varigrad as vg
    >>> values = vg.initializers.random_normal(mean=3, stddev=0, seed=1).apply([2])
    >>> values.tolist()
    [3.0, 3.0]
    """
    return RandomNormal(mean=mean, stddev=stddev, seed=seed)


@takes_options
def truncated_normal(*, mean: float = 0.0, stddev: float = 0.05, seed: int | None = None) -> Initializer:
    """Numbers of a normal distribution, those over two `stddev` from `mean` drawn again.

    Mirrors `tf.initializers.truncatedNormal`.

    >>> import varigrad as vg
    >>> values = vg.initializers.truncated_normal(stddev=0.5, seed=1).apply([100])
    >>> values.abs().max().item() <= 1
    True
    """
    return TruncatedNormal(mean=mean, stddev=stddev, seed=seed)


@takes_options
def identity(*, gain: float = 1.0) -> Initializer:
    """`gain` times the identity, for square matrices. Mirrors `tf.initializers.identity`.

    >>> import varigrad as vg
    >>> vg.initializers.identity(gain=2).apply([2, 2]).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    return Identity(gain=gain)


@takes_options
def variance_scaling(
    *, scale: float = 1.0, mode: str = "fan_in", distribution: str = "normal", seed: int | None = None
) -> Initializer:
    """Random numbers with a variance fitted to the weight's shape. Mirrors `tf.initializers.varianceScaling`.

    Args:
        scale: The factor of the variance.
        mode: `"fan_in"`, `"fan_out"` or `"fan_avg"`: what the scale is divided by, the number of inputs of a unit, of
            its outputs, or the mean of both.
        distribution: `"uniform"` has exactly that variance. `"normal"`, as in TensorFlow.js, is a normal distribution
            of that variance cut off at two deviations, which leaves 77% of it; `"truncated_normal"`, as in Keras, is
            widened first, so that the variance is exact (TensorFlow.js draws a uniform one here);
            `"untruncated_normal"` is not cut off.
        seed: Chooses the numbers; None draws anew each time.

    >>> import varigrad as vg
    >>> uniform = vg.initializers.variance_scaling(scale=3, distribution="uniform", seed=1)  # limit sqrt(3 * 3 / 9)
    >>> uniform.apply([9, 2]).abs().max().item() <= 1
    True
    """
    return VarianceScaling(scale=scale, mode=mode, distribution=distribution, seed=seed)


@takes_options
def glorot_normal(*, seed: int | None = None) -> Initializer:
    """Glorot and Bengio's (2010): variance 2 / (inputs + outputs), normal. Mirrors `tf.initializers.glorotNormal`.

    >>> import varigrad as vg
    >>> vg.initializers.glorot_normal(seed=1).apply([2, 6]).abs().max().item() <= 1  # 2 sqrt(2 / (2 + 6))
    True
    """
    return VarianceScaling(scale=1.0, mode="fan_avg", distribution="normal", seed=seed)


@takes_options
def glorot_uniform(*, seed: int | None = None) -> Initializer:
    """Glorot and Bengio's (2010): variance 2 / (inputs + outputs), uniform. Mirrors `tf.initializers.glorotUniform`.

    >>> import varigrad as vg
    >>> vg.initializers.glorot_uniform(seed=1).apply([2, 4]).abs().max().item() <= 1  # the limit is sqrt(6 / (2 + 4))
    True
    """
    return VarianceScaling(scale=1.0, mode="fan_avg", distribution="uniform", seed=seed)


@takes_options
def he_normal(*, seed: int | None = None) -> Initializer:
    """He et al.'s (2015) for relu: variance 2 / inputs, normal. Mirrors `tf.initializers.heNormal`.

    >>> import varigrad as vg
    >>> vg.initializers.he_normal(seed=1).apply([8, 2]).abs().max().item() <= 1  # 2 sqrt(2 / 8)
    True
    """
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="normal", seed=seed)


@takes_options
def he_uniform(*, seed: int | None = None) -> Initializer:
    """He et al.'s (2015) for relu: variance 2 / inputs, uniform. Mirrors `tf.initializers.heUniform`.

    >>> import varigrad as vg
    >>> vg.initializers.he_uniform(seed=1).apply([6, 2]).abs().max().item() <= 1  # the limit is sqrt(6 / 6)
    True
    """
    return VarianceScaling(scale=2.0, mode="fan_in", distribution="uniform", seed=seed)


@takes_options
def le_cun_normal(*, seed: int | None = None) -> Initializer:
    """LeCun et al.'s (1998): variance 1 / inputs, normal. Mirrors `tf.initializers.leCunNormal`.

    >>> import varigrad as vg
    >>> vg.initializers.le_cun_normal(seed=1).apply([4, 2]).abs().max().item() <= 1  # 2 sqrt(1 / 4)
    True
    """
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="normal", seed=seed)


@takes_options
def le_cun_uniform(*, seed: int | None = None) -> Initializer:
    """LeCun et al.'s (1998): variance 1 / inputs, uniform. Mirrors `tf.initializers.leCunUniform`.

    >>> import varigrad as vg
    >>> vg.initializers.le_cun_uniform(seed=1).apply([3, 2]).abs().max().item() <= 1  # the limit is sqrt(3 / 3)
    True
    """
    return VarianceScaling(scale=1.0, mode="fan_in", distribution="uniform", seed=seed)


@takes_options
def orthogonal(*, gain: float = 1.0, seed: int | None = None) -> Initializer:
    """Saxe et al.'s (2014) random orthogonal matrix times `gain`, for rank 2 and more.

    Higher ranks are taken as `[everything else, last axis]`. Mirrors `tf.initializers.orthogonal`.

    >>> import varigrad as vg
    >>> w = vg.initializers.orthogonal(seed=1).apply([3, 2])
    >>> (w.transpose() @ w - vg.eye(2)).abs().max().item() < 1e-6
    True
    """
    return Orthogonal(gain=gain, seed=seed)


# By `spelling_key`, so that `"glorotNormal"`, `"glorot_normal"` and the class name `GlorotNormal` are all found.
_FACTORIES: dict[str, Callable[..., Initializer]] = {
    "constant": constant,
    "glorotnormal": glorot_normal,
    "glorotuniform": glorot_uniform,
    "henormal": he_normal,
    "heuniform": he_uniform,
    "identity": identity,
    "lecunnormal": le_cun_normal,
    "lecununiform": le_cun_uniform,
    "ones": ones,
    "orthogonal": orthogonal,
    "randomnormal": random_normal,
    "randomuniform": random_uniform,
    "truncatednormal": truncated_normal,
    "variancescaling": variance_scaling,
    "zeros": zeros,
}


@registry.naming_owner
def get_initializer(identifier: Any) -> Initializer:
    """An initializer from its name, its stored form, or itself.

    >>> get_initializer("heUniform")
    VarianceScaling(scale=2.0, mode='fan_in', distribution='uniform', seed=None)
    """
    if isinstance(identifier, Initializer):
        return identifier
    if isinstance(identifier, str):
        return registry.lookup("initializer", identifier, _FACTORIES)()
    if isinstance(identifier, Mapping):
        return registry.deserialize(cast("Mapping[str, Any]", identifier), Initializer, factories=_FACTORIES)
    raise TypeError(f"an initializer is a name or a vg.initializers object, got {identifier!r}")

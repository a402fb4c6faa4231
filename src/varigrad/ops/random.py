"""Random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from varigrad import randomness
from varigrad.dtypes import is_floating, kind_of, numpy_dtype
from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import TensorLike, convert, convert_floating, normalize_shape
from varigrad.ops.options import flag, integer, items_of, number
from varigrad.randomness import number_text
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "dropout",
    "multinomial",
    "rand",
    "random_gamma",
    "random_normal",
    "random_standard_normal",
    "random_uniform",
    "random_uniform_int",
    "set_random_seed",
    "truncated_normal",
]

Seed: TypeAlias = int | float | str | None


def set_random_seed(seed: int | None) -> None:
    """Makes the random numbers drawn from now on, without a seed of their own, the same in every run.

    An extension: TensorFlow.js seeds single calls only. All threads share the numbers, so which thread gets which is
    certain only where one draws at a time. None goes back to numbers that differ in every run.

    >>> import varigrad as vg
    >>> vg.set_random_seed(7)
    >>> first = vg.random_normal([3])
    >>> vg.set_random_seed(7)
    >>> first.tolist() == vg.random_normal([3]).tolist()
    True
    """
    randomness.restart(None if seed is None else integer("set_random_seed", "seed", seed))


def random_normal(
    shape: Sequence[int], mean: float = 0.0, std_dev: float = 1.0, dtype: str = "float32", seed: Seed = None
) -> Tensor:
    """Random numbers of a normal distribution. Mirrors `tf.randomNormal`.

    Args:
        shape: The shape of the result.
        mean: The mean.
        std_dev: The standard deviation.
        dtype: A floating-point dtype, or int32 for numbers rounded to whole ones.
        seed: Chooses the numbers, which are then those of TensorFlow.js for that seed; None draws anew each time.

    >>> import varigrad as vg
    >>> vg.random_normal([3], seed=42).numpy().round(4)
    array([1.9053, 0.4774, 0.4454], dtype=float32)
    """
    return _draw("RandomNormal", "random_normal", shape, dtype, seed, mean=mean, std_dev=std_dev)


def random_standard_normal(shape: Sequence[int], dtype: str = "float32", seed: Seed = None) -> Tensor:
    """`vg.random_normal` of mean 0 and standard deviation 1. Mirrors `tf.randomStandardNormal`.

    >>> import varigrad as vg
    >>> vg.random_standard_normal([3], seed=42).numpy().round(4)
    array([1.9053, 0.4774, 0.4454], dtype=float32)
    """
    return _draw("RandomNormal", "random_standard_normal", shape, dtype, seed, mean=0.0, std_dev=1.0)


def truncated_normal(
    shape: Sequence[int], mean: float = 0.0, std_dev: float = 1.0, dtype: str = "float32", seed: Seed = None
) -> Tensor:
    """Random numbers of a normal distribution, none more than two standard deviations from its mean.

    Mirrors `tf.truncatedNormal`; the arguments are those of `vg.random_normal`.

    >>> import varigrad as vg
    >>> vg.truncated_normal([1000]).abs().max().item() <= 2
    True
    """
    mean, std_dev = number("truncated_normal", "mean", mean), number("truncated_normal", "std_dev", std_dev)
    if not (0 <= std_dev < math.inf and math.isfinite(mean)):
        raise ValueError(
            f"truncated_normal: mean and std_dev must be finite, and the latter not negative, got {mean} and {std_dev}"
        )
    return _draw("TruncatedNormal", "truncated_normal", shape, dtype, seed, mean=mean, std_dev=std_dev)


def random_uniform(
    shape: Sequence[int], minval: float = 0.0, maxval: float = 1.0, dtype: str = "float32", seed: Seed = None
) -> Tensor:
    """Random numbers spread evenly over `[minval, maxval)`. Mirrors `tf.randomUniform`.

    Args:
        shape: The shape of the result.
        minval: The least number.
        maxval: The end of the range, not itself drawn.
        dtype: A floating-point dtype; int32 for whole numbers; bool for whole numbers taken as bools.
        seed: Chooses the numbers, which are then those of TensorFlow.js for that seed (its whole numbers are cut off
            towards 0, which favours 0 in a range with negative numbers); None draws anew each time.

    >>> import varigrad as vg
    >>> vg.random_uniform([3], 5, 6, seed=42).numpy().round(4)
    array([5.6849, 5.5463, 5.8456], dtype=float32)
    """
    return _draw("RandomUniform", "random_uniform", shape, dtype, seed, ("bool",), minval=minval, maxval=maxval)


def random_uniform_int(shape: Sequence[int], minval: int, maxval: int, seed: Seed = None) -> Tensor:
    """Random whole numbers from `minval` to `maxval - 1`, int32. Mirrors `tf.randomUniformInt`.

    Args:
        shape: The shape.
        minval: The least.
        maxval: One more than the largest.
        seed: Chooses the numbers; None draws anew each time.

    >>> import varigrad as vg
    >>> vg.random_uniform_int([5], 0, 10, seed=42).tolist()
    [6, 5, 8, 1, 5]
    """
    return _draw("RandomUniform", "random_uniform_int", shape, "int32", seed, minval=minval, maxval=maxval)


def random_gamma(
    shape: Sequence[int], alpha: float, beta: float = 1.0, dtype: str = "float32", seed: Seed = None
) -> Tensor:
    """Random numbers of a gamma distribution, of mean `alpha / beta`. Mirrors `tf.randomGamma`.

    Args:
        shape: The shape of the result.
        alpha: The distribution's shape, positive.
        beta: Its rate (inverse scale), positive. TensorFlow.js multiplies by it where it should divide.
        dtype: A floating-point dtype, or int32 for numbers rounded to whole ones.
        seed: Chooses the numbers, which with `beta` 1 are then those of TensorFlow.js; None draws anew each time.

    >>> import varigrad as vg
    >>> bool(vg.random_gamma([4], 2.0).min().item() > 0)
    True
    """
    alpha, beta = number("random_gamma", "alpha", alpha), number("random_gamma", "beta", beta)
    if not (0 < alpha < math.inf and 0 < beta < math.inf):
        raise ValueError(f"random_gamma: alpha and beta must be positive and finite, got {alpha} and {beta}")
    return _draw("RandomGamma", "random_gamma", shape, dtype, seed, alpha=alpha, beta=beta)


def rand(shape: Sequence[int], rand_function: Callable[[], float], dtype: str = "float32") -> Tensor:
    """Numbers that a function gives, called once for each. Mirrors `tf.rand`.

    Args:
        shape: The shape.
        rand_function: A function of nothing that returns a number.
        dtype: What the numbers become.

    Raises:
        TypeError: `rand_function` is no function, or gives no number.

    >>> import varigrad as vg
    >>> numbers = iter([1, 2, 3])
    >>> vg.rand([3], lambda: next(numbers)).tolist()
    [1.0, 2.0, 3.0]
    """
    if not callable(rand_function):
        raise TypeError(f"rand: rand_function must be a function, got {type(rand_function).__name__}")
    lengths = normalize_shape("rand", shape)
    target = numpy_dtype(dtype, "rand")
    values = [number("rand", "what rand_function returns", rand_function()) for _ in range(math.prod(lengths))]
    return make_tensor(np.array(values).astype(target).reshape(lengths))


def multinomial(logits: TensorLike, num_samples: int, seed: Seed = None, normalized: bool = False) -> Tensor:
    """Outcomes drawn by their probabilities. Mirrors `tf.multinomial`.

    Args:
        logits: Unnormalised log-probabilities of two or more outcomes: `[outcomes]` or `[batch, outcomes]`.
        num_samples: How many to draw.
        seed: Chooses the draws, the same in each batch, as TensorFlow.js does; None draws anew each time.
        normalized: Whether `logits` are probabilities that sum to 1 instead.

    Returns:
        int32, `[num_samples]` or `[batch, num_samples]`: which outcome, counted from 0.

    Raises:
        ValueError: A rank above 2, or fewer than two outcomes.

    >>> import varigrad as vg
    >>> vg.multinomial([0.1, 0.7, 0.2], 10, seed=7).tolist()
    [1, 0, 0, 1, 0, 0, 1, 1, 2, 1]
    """
    x = convert_floating(logits, "multinomial", "logits")
    if x.rank not in (1, 2) or x.shape[-1] < 2:
        raise ValueError(
            f"multinomial: logits must be [outcomes] or [batch, outcomes] with two outcomes or more, "
            f"got {format_shape(x.shape)}"
        )
    attrs = {
        "num_samples": normalize_shape("multinomial", (num_samples,), "num_samples")[0],
        "seed": _seed_text("multinomial", seed),
        "normalized": flag("multinomial", "normalized", normalized),
    }
    rows = x if x.rank == 2 else run_kernel("Reshape", (x,), {"shape": (1, x.size)})
    drawn = run_kernel("Multinomial", (rows,), attrs)
    return drawn if x.rank == 2 else run_kernel("Reshape", (drawn,), {"shape": (drawn.size,)})


def dropout(x: TensorLike, rate: float, noise_shape: Sequence[int | None] | None = None, seed: Seed = None) -> Tensor:
    """The values, each set to 0 with probability `rate` and otherwise divided by `1 - rate`. Mirrors `tf.dropout`.

    Args:
        x: Floating-point, any shape.
        rate: The probability, from 0 up to but not including 1.
        noise_shape: A shape that broadcasts to x's, whose axes of length 1 share their fate; None is x's own length.
        seed: Chooses what is set to 0, as TensorFlow.js does for that seed; None draws anew each time.

    Raises:
        ValueError: A rate outside [0, 1), or a noise shape that does not broadcast.
        TypeError: `x` is not floating-point.

    >>> import varigrad as vg
    >>> vg.dropout([1, 2, 3, 4, 5], 0.6, seed=42).tolist()
    [2.5, 0.0, 7.5, 0.0, 0.0]
    """
    x = convert(x, "dropout", "x")
    if kind_of(x.storage.dtype) != "f":
        raise TypeError(f"dropout: x must be floating-point, for what stays is scaled, got {x.dtype}")
    rate = number("dropout", "rate", rate)
    if not 0 <= rate < 1:
        raise ValueError(f"dropout: rate must be at least 0 and less than 1, got {rate}")
    if rate == 0:
        return run_kernel("Identity", (x,))
    shape = x.shape if noise_shape is None else _noise_shape(x, noise_shape)
    attrs = {"shape": shape, "rate": rate, "dtype": x.dtype, "seed": _seed_text("dropout", seed)}
    return run_kernel("Multiply", (x, run_kernel("DropoutMask", (), attrs)))


def _noise_shape(x: Tensor, given: Sequence[int | None]) -> tuple[int, ...]:
    lengths = items_of("dropout", "noise_shape", given)
    if len(lengths) == x.rank:
        lengths = [n if at is None else at for at, n in zip(lengths, x.shape, strict=True)]
    shape = normalize_shape("dropout", lengths, "noise_shape")
    if len(shape) > x.rank or any(n not in (1, length) for n, length in zip(shape[::-1], x.shape[::-1], strict=False)):
        raise ValueError(
            f"dropout: noise_shape {format_shape(shape)} does not broadcast to x's shape {format_shape(x.shape)}"
        )
    return shape


def _seed_text(op: str, seed: Seed) -> str | None:
    """The seed as the text from which TensorFlow.js makes its numbers."""
    return seed if seed is None or isinstance(seed, str) else number_text(number(op, "seed", seed))


def _draw(
    kernel: str,
    op: str,
    shape: Sequence[int],
    dtype: str,
    seed: Seed,
    also: tuple[str, ...] = (),
    **parameters: float,
) -> Tensor:
    numpy_dtype(dtype, op)
    if not is_floating(dtype) and dtype not in ("int32", "int64", *also):
        raise ValueError(f"{op}: dtype must be floating-point or int32, got {dtype!r}")
    attrs = {
        "shape": normalize_shape(op, shape),
        "dtype": dtype,
        "seed": _seed_text(op, seed),
        **{name: number(op, name, value) for name, value in parameters.items()},
    }
    return run_kernel(kernel, (), attrs)

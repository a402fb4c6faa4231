"""Random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad import randomness
from varigrad.engine import run_kernel
from varigrad.ops.arguments import check_dtype, normalize_shape
from varigrad.tensor import Tensor

__all__ = ["random_normal", "random_uniform", "set_random_seed"]


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
    randomness.restart(seed)


def random_normal(
    shape: Sequence[int],
    mean: float = 0.0,
    std_dev: float = 1.0,
    dtype: str = "float32",
    seed: int | float | str | None = None,
) -> Tensor:
    """Random numbers of a normal distribution. Mirrors `tf.randomNormal`.

    Args:
        shape: The shape of the result.
        mean: The mean.
        std_dev: The standard deviation.
        dtype: A floating-point dtype, or int32 for numbers rounded to whole ones.
        seed: Chooses the numbers, which are then those of TensorFlow.js for that seed; None draws anew each time.

    >>> import varigrad as vg
    >>> vg.random_normal([2, 3]).shape
    (2, 3)
    """
    return _draw("RandomNormal", "random_normal", shape, dtype, seed, mean=mean, std_dev=std_dev)


def random_uniform(
    shape: Sequence[int],
    minval: float = 0.0,
    maxval: float = 1.0,
    dtype: str = "float32",
    seed: int | float | str | None = None,
) -> Tensor:
    """Random numbers spread evenly over `[minval, maxval)`. Mirrors `tf.randomUniform`.

    Args:
        shape: The shape of the result.
        minval: The least number.
        maxval: The end of the range, not itself drawn.
        dtype: A floating-point dtype, or int32 for whole numbers from `minval` up to `maxval - 1`, or bool.
        seed: Chooses the numbers, which are then those of TensorFlow.js for that seed; None draws anew each time.

    >>> import varigrad as vg
    >>> bool(vg.random_uniform([2, 3], 5, 6).numpy().max() < 6)
    True
    """
    return _draw("RandomUniform", "random_uniform", shape, dtype, seed, minval=minval, maxval=maxval)


def _draw(
    kernel: str, op: str, shape: Sequence[int], dtype: str, seed: int | float | str | None, **parameters: float
) -> Tensor:
    attrs = {
        "shape": normalize_shape(op, shape),
        "dtype": check_dtype(op, dtype),
        "seed": None if seed is None else str(seed),
        **parameters,
    }
    return run_kernel(kernel, (), attrs)

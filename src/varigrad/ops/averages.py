"""Averages that follow a changing value."""

from __future__ import annotations

from typing import Any

from varigrad.ops.arguments import TensorLike, accept, convert, of_rank
from varigrad.ops.arithmetic import add, mul, sub
from varigrad.ops.options import flag, number
from varigrad.tensor import Tensor, format_shape

__all__ = ["moving_average"]


def moving_average(
    v: TensorLike, x: TensorLike, decay: TensorLike, step: TensorLike | None = None, zero_debias: bool = True
) -> Tensor:
    """The next value of an exponential moving average: v + (1 - decay) * (x - v). Mirrors `tf.movingAverage`.

    With `zero_debias`, the change is divided by 1 - decay^step, so that an average that starts from 0 soon forgets it.
    `vg.train.exponential_moving_average` keeps averages of variables.

    Args:
        v: The average so far, any shape.
        x: The new value, of v's shape and dtype.
        decay: How much of the average stays, a scalar.
        step: Which value this is, 1 for the first; needed by `zero_debias` only.
        zero_debias: Whether to correct for a start from 0.

    Raises:
        ValueError: Another shape, or no step.
        TypeError: Another dtype.

    >>> import varigrad as vg
    >>> v = vg.moving_average([0, 0], [1, 2], decay=0.5, step=1)
    >>> v.tolist(), vg.moving_average(v, [4, 5], decay=0.5, step=2).tolist()
    ([1.0, 2.0], [3.0, 4.0])
    """
    average = convert(v, "moving_average", "v")
    value = convert(x, "moving_average", "x")
    if average.dtype != value.dtype:
        raise TypeError(f"moving_average: v is {average.dtype} but x is {value.dtype}; cast one of them")
    if average.shape != value.shape:
        raise ValueError(
            f"moving_average: v and x must have the same shape "
            f"(v: {format_shape(average.shape)}, x: {format_shape(value.shape)})"
        )
    weight = 1.0 - _scalar(decay, "decay")
    if flag("moving_average", "zero_debias", zero_debias):
        if step is None:
            raise ValueError("moving_average: zero_debias needs the step")
        seen = 1.0 - _power(_scalar(decay, "decay"), _scalar(step, "step"))
        if not isinstance(seen, Tensor) and not seen:
            raise ValueError(
                f"moving_average: zero_debias needs a decay below 1 and a step from 1 on, got {decay}, {step}"
            )
        weight = weight / seen
    return add(average, mul(sub(value, average), weight))


def _scalar(value: TensorLike, argument: str) -> Any:
    """A Python number as it is, so that no dtype rounds it; anything else as a tensor."""
    if isinstance(value, (int, float)):
        return number("moving_average", argument, value)
    return of_rank("moving_average", 0, accept(value, "moving_average", argument, "f"), argument)


def _power(decay: Any, step: Any) -> Any:
    try:
        return decay**step
    except (OverflowError, ZeroDivisionError):
        raise ValueError(f"moving_average: decay to the power of step overflows, got {decay} and {step}") from None

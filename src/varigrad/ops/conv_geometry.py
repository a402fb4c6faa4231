"""Where a sliding window stands: output lengths and padding, for convolution and pooling."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from varigrad.ops.options import one_of
from varigrad.tensor import format_shape

__all__ = ["Geometry", "Pad", "Steps", "check_rounding", "explicit_pads", "geometry", "per_axis"]

# One number for all axes, or one each.
Steps = int | Sequence[int]
# "same", "valid", a number for both sides of every axis, or [before, after] for every axis of the input.
Pad = str | int | Sequence[Sequence[int]]
# What that comes to on each spatial axis.
Pads = tuple[tuple[int, int], ...]

_MOST = 2**31 - 1

_ROUNDING: dict[str | None, Callable[[float], int]] = {
    None: math.floor,
    "ceil": math.ceil,
    "floor": math.floor,
    "round": lambda steps: math.floor(steps + 0.5),
}


class Geometry(NamedTuple):
    """A window's steps over some lengths, one entry a spatial axis, in the numbers that kernels take.

    `pads` says how much to add before and after; after it, the last window ends inside.
    """

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: Pads
    output: tuple[int, ...]

    @property
    def attrs(self) -> dict[str, Any]:
        """The attributes of a kernel."""
        return {"strides": self.strides, "dilations": self.dilations, "pads": self.pads}

    def as_image(self) -> Geometry:
        """That of a sequence as that of an image of height 1."""
        return Geometry((1, *self.strides), (1, *self.dilations), ((0, 0), *self.pads), (1, *self.output))


def geometry(
    op: str,
    lengths: tuple[int, ...],
    window: tuple[int, ...],
    strides: Steps,
    pad: Pad,
    dilations: Steps | None = 1,
    dim_rounding_mode: str | None = None,
    channels_first: bool = False,
    both: bool = False,
    may_be_empty: bool = False,
) -> Geometry:
    """The geometry of a window over spatial axes of these lengths.

    Args:
        op: The op's name, for errors.
        lengths: The input's spatial lengths.
        window: The window's lengths, before dilation.
        strides: Steps, one for all axes or one each.
        pad: `"same"`, `"valid"`, a number for both sides of every axis, or `[before, after]` for every axis, those of
            batch and channels included.
        dilations: Steps inside the window, likewise.
        dim_rounding_mode: `"floor"`, `"ceil"` or `"round"`: how many steps where the last one is not whole.
        channels_first: Whether an explicit `pad` names the channels before the spatial axes.
        both: Whether strides and dilations may both exceed 1.
        may_be_empty: Whether the output is empty, rather than an error, where the window does not fit.
    """
    axes = len(lengths)
    steps = per_axis(op, "strides", strides, axes)
    rates = per_axis(op, "dilations", 1 if dilations is None else dilations, axes)
    if not both and max(steps) > 1 and max(rates) > 1:
        raise ValueError(f"{op}: strides or dilations must be 1, got strides {list(steps)} and dilations {list(rates)}")
    check_rounding(op, pad, dim_rounding_mode)
    given = pad if isinstance(pad, str) else explicit_pads(op, pad, axes, channels_first)
    return _geometry(op, lengths, window, steps, rates, given, dim_rounding_mode, may_be_empty)


@lru_cache(maxsize=1024)
def _geometry(
    op: str,
    lengths: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pad: str | Pads,
    dim_rounding_mode: str | None,
    may_be_empty: bool,
) -> Geometry:
    spans = tuple((w - 1) * d + 1 for w, d in zip(window, dilations))
    if pad == "same":
        output = tuple(-(-n // s) for n, s in zip(lengths, strides))
        # An odd one goes after.
        befores = tuple(max(0, (o - 1) * s + span - n) // 2 for o, s, span, n in zip(output, strides, spans, lengths))
    else:
        if isinstance(pad, str) and pad != "valid":
            raise ValueError(f"{op}: pad must be 'same', 'valid', a number or a list of pairs, got {pad!r}")
        pairs: Pads = ((0, 0),) * len(lengths) if isinstance(pad, str) else pad
        round_steps = _ROUNDING[dim_rounding_mode]
        output = tuple(
            max(0, round_steps((n + sum(pair) - span) / s) + 1)
            for n, pair, span, s in zip(lengths, pairs, spans, strides)
        )
        befores = tuple(before for before, _ in pairs)
        if not may_be_empty and any(n + sum(pair) < span for n, pair, span in zip(lengths, pairs, spans)):
            raise ValueError(
                f"{op}: a window of {format_shape(spans)} does not fit an input of {format_shape(lengths)} "
                f"with pad {pad if isinstance(pad, str) else [list(pair) for pair in pad]}"
            )
    afters = (
        max(0, (o - 1) * s + span - n - before)
        for o, s, span, n, before in zip(output, strides, spans, lengths, befores)
    )
    return Geometry(strides, dilations, tuple(zip(befores, afters)), output)


def per_axis(op: str, argument: str, value: Steps, axes: int) -> tuple[int, ...]:
    """One positive integer for each axis, from one for all or from a list."""
    try:
        numbers = (
            tuple([operator.index(n) for n in value])
            if isinstance(value, (list, tuple))
            else (
                (operator.index(value),) * axes  # pyright: ignore[reportArgumentType]
            )
        )
    except TypeError:
        raise TypeError(f"{op}: {argument} must be an integer or {axes} of them, got {value!r:.80}") from None
    if len(numbers) == 1:
        numbers *= axes
    if len(numbers) != axes or min(numbers) < 1:
        raise ValueError(f"{op}: {argument} must be {axes} positive integers or one for all, got {value!r:.80}")
    if max(numbers) > _MOST:
        raise ValueError(f"{op}: {argument} must be below 2**31, got {value!r:.80}")
    return numbers


def check_rounding(op: str, pad: Pad, dim_rounding_mode: str | None) -> None:
    """Raises unless there is something to round: the steps over an input padded by a number."""
    if dim_rounding_mode is None:
        return
    dim_rounding_mode = one_of(op, "dim_rounding_mode", dim_rounding_mode, ("floor", "ceil", "round"))
    if isinstance(pad, str):
        raise ValueError(
            f"{op}: dim_rounding_mode {dim_rounding_mode!r} needs a numeric pad; pad {pad!r} fixes the output"
        )


def explicit_pads(op: str, pad: Any, axes: int, channels_first: bool) -> Pads:
    """What to add to the spatial axes, of a number for all sides or pairs for all axes of the input."""
    given: list[Any] = list(pad) if isinstance(pad, (list, tuple)) else [(pad, pad)] * (axes + 2)  # pyright: ignore
    try:
        pairs = [(operator.index(before), operator.index(after)) for before, after in given]
    except (TypeError, ValueError):
        pairs = []
    if axes == 1 and len(pairs) == 4:
        pairs = pairs[1:]  # as for an image of height 1
    if len(pairs) != axes + 2 or min(map(min, pairs)) < 0:
        raise ValueError(
            f"{op}: pad must be 'same', 'valid', a whole number, or [before, after] for each axis, got {pad!r:.80}"
        )
    if max(map(max, pairs)) > _MOST:
        raise ValueError(f"{op}: pad must be below 2**31, got {pad!r:.80}")
    return tuple(pairs[2:] if channels_first else pairs[1:-1])

"""Convolutions whose channels and filters are divided into groups that meet only each other."""

from __future__ import annotations

from typing import Any

from varigrad.engine import run_kernel
from varigrad.ops.arguments import reshape_to
from varigrad.ops.joining import concat, split
from varigrad.tensor import Tensor, format_shape

__all__ = ["check_groups", "convolve_in_groups"]


def convolve_in_groups(kernel: str, x: Tensor, filter: Tensor, attrs: dict[str, Any], groups: int) -> Tensor:
    """The convolution of each group of channels with its group of filters, one beside the other.

    Args:
        kernel: The kernel of the whole convolution.
        x: `[batch, …, channels]`.
        filter: `[…, channels / groups, filters]`.
        attrs: The kernel's.
        groups: How many groups.
    """
    *window, inner, filters = filter.shape
    if kernel == "Conv2D" and inner == 1:  # each channel by itself: one kernel for all of them
        apart = reshape_to(filter, (*window, groups, filters // groups))
        return run_kernel("DepthwiseConv2dNative", (x, apart), attrs)
    last = x.rank - 1
    pairs = zip(split(x, groups, last), split(filter, groups, last))
    return concat([run_kernel(kernel, pair, attrs) for pair in pairs], last)


def check_groups(op: str, x: Tensor, filter: Tensor, groups: int) -> None:
    """Raises an error if the channels of x and the filters make no such groups, or do not fit each other then."""
    channels, (inner, filters) = x.shape[-1], filter.shape[-2:]
    shapes = f"(x: {format_shape(x.shape)}, filter: {format_shape(filter.shape)})"
    for count, what in ((channels, "channels of x"), (filters, "filters")):
        if count % groups:
            raise ValueError(f"{op}: the {count} {what} do not make {groups} groups of one size {shapes}")
    if inner != channels // groups:
        raise ValueError(
            f"{op}: the filter has {inner} input channels, but each of {groups} groups of x has {channels // groups} "
            f"{shapes}"
        )

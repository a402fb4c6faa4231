"""What calls of convolutions have in common: how arguments are checked, and a kernel run for them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from varigrad.dtypes import promote
from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, convert, normalize_shape, require_floating, reshape_to
from varigrad.ops.conv_geometry import Pad, Steps, geometry
from varigrad.ops.conv_groups import check_groups, convolve_in_groups
from varigrad.ops.options import integer, one_of
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor, format_shape

__all__ = ["check_filter", "convolve", "convolve_transposed", "floating", "with_batch", "without_batch"]

_AXES = {1: "[{}width, channels]", 2: "[{}height, width, channels]", 3: "[{}depth, height, width, channels]"}
_FORMATS = {1: ("NWC",), 2: ("NHWC", "NCHW"), 3: ("NDHWC",)}


def convolve(
    op: str,
    kernel: str,
    axes: int,
    x: TensorLike,
    filter: TensorLike,
    strides: Steps,
    pad: Pad,
    data_format: str,
    dilations: Steps = 1,
    dim_rounding_mode: str | None = None,
    bias: TensorLike | None = None,
    activation: str | None = None,
    groups: int = 1,
) -> Tensor:
    """Checks the arguments of a convolution over this many spatial axes and runs its kernel; one with an activation
    takes a bias too, and has one group."""
    x, filter = floating(op, x, filter)
    one_of(op, "data_format", data_format, _FORMATS[axes])
    x, single = with_batch(op, x, axes)
    channels_first = data_format == "NCHW"
    if channels_first:
        x = transpose(x, (0, 2, 3, 1))
    shape, window = x.storage.shape, filter.storage.shape
    groups = integer(op, "groups", groups, 1)
    check_filter(op, axes, x, filter, groups)
    placed = geometry(
        op,
        shape[1:-1],
        window[:axes],
        strides,
        pad,
        dilations,
        dim_rounding_mode,
        channels_first,
        may_be_empty=axes == 3,
    )
    inputs, attrs = (x, filter), placed.attrs
    if activation is not None:
        attrs["activation"] = activation
        if bias is not None:
            inputs = (x, filter, _bias(op, bias, x, (shape[0], *placed.output, _filters(kernel, filter))))
    if groups == 1:
        y = run_kernel(kernel, inputs, attrs)
    else:
        y = convolve_in_groups(kernel, x, filter, attrs, groups)
    if channels_first:
        y = transpose(y, (0, 3, 1, 2))
    return without_batch(y, single)


def _filters(kernel: str, filter: Tensor) -> int:
    """The channels of the result."""
    return prod(filter.shape[-2:]) if "Depthwise" in kernel else filter.shape[-1]


def _bias(op: str, bias: TensorLike, x: Tensor, shape: tuple[int, ...]) -> Tensor:
    bias = convert(bias, op, "bias", x.dtype)
    if bias.storage.shape != shape[-1:] and (
        bias.rank > len(shape) or any(n not in (1, m) for n, m in zip(bias.shape[::-1], shape[::-1]))
    ):
        raise ValueError(
            f"{op}: bias of shape {format_shape(bias.shape)} cannot be added to a result of shape {format_shape(shape)}"
        )
    return bias


def convolve_transposed(
    op: str,
    kernel: str,
    axes: int,
    x: TensorLike,
    filter: TensorLike,
    output_shape: Sequence[int],
    strides: Steps,
    pad: Pad,
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """The same for a transposed convolution."""
    x, filter = floating(op, x, filter)
    shape = normalize_shape(op, output_shape, "output_shape")
    if len(shape) != x.rank:
        raise ValueError(
            f"{op}: output_shape {format_shape(shape)} must have as many axes as x, {format_shape(x.shape)}"
        )
    x, single = with_batch(op, x, axes)
    if single:
        shape = (1, *shape)
    if filter.rank != axes + 2 or filter.shape[-1] != x.shape[-1] or filter.shape[-2] != shape[-1]:
        raise ValueError(
            f"{op}: the filter must be {_AXES[axes].format('').replace('channels', 'filters, channels')} with the "
            f"filters of output_shape and the channels of x (x: {format_shape(x.shape)}, "
            f"filter: {format_shape(filter.shape)}, output_shape: {format_shape(shape)})"
        )
    placed = geometry(op, shape[1:-1], filter.shape[:axes], strides, pad, 1, dim_rounding_mode)
    reduced = (shape[0], *placed.output)
    if reduced != x.shape[:-1]:
        raise ValueError(
            f"{op}: with these strides and pad, output_shape {format_shape(shape)} belongs to an x of "
            f"{format_shape((*reduced, x.shape[-1]))}, got {format_shape(x.shape)}"
        )
    return without_batch(run_kernel(kernel, (x, filter), {"input_shape": shape, **placed.attrs}), single)


def floating(op: str, x: TensorLike, filter: TensorLike) -> tuple[Tensor, Tensor]:
    """Input and filter as tensors of one floating dtype, the wider."""
    x, filter = require_floating(x, op, "x"), require_floating(filter, op, "filter")
    if x.storage.dtype is filter.storage.dtype:
        return x, filter
    dtype = promote(x.dtype, filter.dtype, op)
    return convert(x, op, "x", dtype), convert(filter, op, "filter", dtype)


def with_batch(op: str, x: Tensor, axes: int) -> tuple[Tensor, bool]:
    """x with a batch axis, and whether it had none."""
    rank = x.storage.ndim
    if rank == axes + 2:
        return x, False
    if rank == axes + 1:
        return reshape_to(x, (1, *x.shape)), True
    raise ValueError(
        f"{op}: x must be {_AXES[axes].format('batch, ')}, or without the batch, got shape {format_shape(x.shape)}"
    )


def without_batch(y: Tensor, single: bool) -> Tensor:
    """y without its batch axis where x had none."""
    return reshape_to(y, y.shape[1:]) if single else y


def check_filter(op: str, axes: int, x: Tensor, filter: Tensor, groups: int = 1) -> None:
    """Raises an error if the filter does not fit x."""
    if filter.storage.ndim != axes + 2:
        wanted = _AXES[axes].format("").replace("]", ", filters]")
        raise ValueError(f"{op}: the filter must be {wanted}, got shape {format_shape(filter.shape)}")
    if groups != 1:
        check_groups(op, x, filter, groups)
    elif filter.storage.shape[-2] != x.storage.shape[-1]:
        raise ValueError(
            f"{op}: the filter has {filter.shape[-2]} input channels but x has {x.shape[-1]} "
            f"(x: {format_shape(x.shape)}, filter: {format_shape(filter.shape)})"
        )

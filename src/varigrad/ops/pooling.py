"""Pooling: windows of images and volumes brought down to one value each."""

from __future__ import annotations

from typing import NamedTuple

from varigrad.engine import run_kernel, run_kernel_multi
from varigrad.ops.arguments import REAL, TensorLike, accept, require_floating, reshape_to
from varigrad.ops.conv_geometry import Geometry, Pad, Steps, geometry, per_axis
from varigrad.ops.options import flag, one_of
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "MaxPoolWithArgmax",
    "avg_pool",
    "avg_pool3d",
    "max_pool",
    "max_pool3d",
    "max_pool_with_argmax",
    "pool",
]


def max_pool(
    x: TensorLike, filter_size: Steps, strides: Steps, pad: Pad, dim_rounding_mode: str | None = None
) -> Tensor:
    """The largest value under a window that moves over images.

    NaN is passed over, as in TensorFlow.js. Of several largest values the first takes the gradient. A window of one
    place gives x itself where the shapes agree, whatever the strides and pad: a specification of TensorFlow.js holds
    that fixed. Mirrors `tf.maxPool`.

    Args:
        x: Numeric, `[batch, height, width, channels]`, or one image `[height, width, channels]`.
        filter_size: The window's size, `[height, width]` or one number for both.
        strides: How far the window moves, likewise.
        pad: `"same"`: as many windows as fit the strides, reaching over the edge, where nothing counts; `"valid"`:
            only whole windows; a number of places on every side where nothing counts; or that for each axis,
            `[[0, 0], [top, bottom], [left, right], [0, 0]]`.
        dim_rounding_mode: `"floor"` (the default), `"ceil"` or `"round"`: what becomes of a last step that is not
            whole. Needs a numeric `pad`.

    Returns:
        `[batch, height, width, channels]`, or without the batch where x has none, of x's dtype (int32 for bools).

    >>> import varigrad as vg
    >>> vg.max_pool([[[1], [5], [2], [3]]], [1, 2], strides=2, pad="valid").tolist()
    [[[5.0], [3.0]]]
    """
    return _pool("max_pool", "MaxPool", 2, x, filter_size, strides, pad, 1, dim_rounding_mode)


def avg_pool(
    x: TensorLike, filter_size: Steps, strides: Steps, pad: Pad, dim_rounding_mode: str | None = None
) -> Tensor:
    """The mean of the values under a window that moves over images.

    What a window covers beyond the edge is not counted. With a `pad` for each axis the gradient is divided by the
    whole window all the same: a specification of TensorFlow.js holds that number fixed. Mirrors `tf.avgPool`.

    Args:
        x: Floating, `[batch, height, width, channels]`, or one image without the batch.
        filter_size: As in `max_pool`.
        strides: As in `max_pool`.
        pad: As in `max_pool`.
        dim_rounding_mode: As in `max_pool`.

    Returns:
        `[batch, height, width, channels]`, or without the batch where x has none.

    >>> import varigrad as vg
    >>> vg.avg_pool([[[1], [5], [2]]], [1, 2], strides=2, pad="same").tolist()
    [[[3.0], [2.0]]]
    """
    return _pool("avg_pool", "AvgPool", 2, x, filter_size, strides, pad, 1, dim_rounding_mode)


def max_pool3d(
    x: TensorLike,
    filter_size: Steps,
    strides: Steps,
    pad: Pad,
    dim_rounding_mode: str | None = None,
    data_format: str = "NDHWC",
) -> Tensor:
    """The largest value under a window that moves over volumes, as `max_pool`. Mirrors `tf.maxPool3d`.

    Args:
        x: Numeric, `[batch, depth, height, width, channels]`, or one volume without the batch.
        filter_size: The window's size, `[depth, height, width]` or one number for all.
        strides: How far the window moves, likewise.
        pad: As in `max_pool`.
        dim_rounding_mode: As in `max_pool`.
        data_format: `"NDHWC"`, the only one.

    >>> import varigrad as vg
    >>> vg.max_pool3d(vg.tensor([1, 2, 3, 4, 5, 6, 7, 8]).reshape([2, 2, 2, 1]), 2, 1, "valid").tolist()
    [[[[8.0]]]]
    """
    _check_format("max_pool3d", data_format)
    return _pool("max_pool3d", "MaxPool3D", 3, x, filter_size, strides, pad, 1, dim_rounding_mode)


def avg_pool3d(
    x: TensorLike,
    filter_size: Steps,
    strides: Steps,
    pad: Pad,
    dim_rounding_mode: str | None = None,
    data_format: str = "NDHWC",
) -> Tensor:
    """The mean of the values under a window that moves over volumes, as `avg_pool`. Mirrors `tf.avgPool3d`.

    The arguments are those of `max_pool3d`, with a floating x.

    >>> import varigrad as vg
    >>> vg.avg_pool3d(vg.tensor([1, 2, 3, 4, 5, 6, 7, 8]).reshape([2, 2, 2, 1]), 2, 1, "valid").tolist()
    [[[[4.5]]]]
    """
    _check_format("avg_pool3d", data_format)
    return _pool("avg_pool3d", "AvgPool3D", 3, x, filter_size, strides, pad, 1, dim_rounding_mode)


def pool(
    input: TensorLike,
    window_shape: Steps,
    pooling_type: str,
    pad: Pad,
    dilations: Steps | None = None,
    strides: Steps | None = None,
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """`max_pool` or `avg_pool`, with dilations.

    Mirrors `tf.pool`, save that with dilations and `"same"` what lies beyond the edge is not counted as 0, but not
    counted, as without dilations.

    Args:
        input: Numeric, `[batch, height, width, channels]`, or one image without the batch.
        window_shape: The window's size, `[height, width]` or one number for both.
        pooling_type: `"max"` or `"avg"`.
        pad: As in `max_pool`.
        dilations: How far apart the values under the window are, likewise; 1 by default. Not above 1 together with
            strides.
        strides: How far the window moves, likewise; 1 by default.
        dim_rounding_mode: As in `max_pool`.

    >>> import varigrad as vg
    >>> vg.pool([[[1], [5], [2]]], [1, 2], "max", "valid", dilations=[1, 2]).tolist()
    [[[2.0]]]
    """
    kernels = {"avg": "AvgPool", "max": "MaxPool"}
    kernel = kernels[one_of("pool", "pooling_type", pooling_type, ("max", "avg"))]
    strides = 1 if strides is None else strides
    return _pool("pool", kernel, 2, input, window_shape, strides, pad, dilations, dim_rounding_mode)


class MaxPoolWithArgmax(NamedTuple):
    """What `vg.max_pool_with_argmax` returns."""

    result: Tensor
    indexes: Tensor


def max_pool_with_argmax(
    x: TensorLike, filter_size: Steps, strides: Steps, pad: Pad, include_batch_in_index: bool = False
) -> MaxPoolWithArgmax:
    """`max_pool`, and where the largest values were. Mirrors `tf.maxPoolWithArgmax`.

    Args:
        x: Numeric, `[batch, height, width, channels]`.
        filter_size: As in `max_pool`.
        strides: As in `max_pool`.
        pad: As in `max_pool`.
        include_batch_in_index: Whether the indexes count through the whole batch.

    Returns:
        `(result, indexes)`, both `[batch, height, width, channels]`. An index is int32 and counts through the values of
        an image, `(row * width + column) * channels + channel`; the first of several largest wins, -1 stands for
        a window of NaN.

    >>> import varigrad as vg
    >>> result, indexes = vg.max_pool_with_argmax([[[[1], [5], [2], [3]]]], [1, 2], 2, "valid")
    >>> indexes.tolist()
    [[[[1], [3]]]]
    """
    op = "max_pool_with_argmax"
    x = accept(x, op, "x", REAL)
    if x.rank != 4:
        raise ValueError(f"{op}: x must be [batch, height, width, channels], got shape {format_shape(x.shape)}")
    window, placed = _geometry(op, x, 2, filter_size, strides, pad)
    attrs = {
        "filter_size": window,
        **placed.attrs,
        "include_batch_in_index": flag(op, "include_batch_in_index", include_batch_in_index),
    }
    return MaxPoolWithArgmax(*run_kernel_multi("MaxPoolWithArgmax", (x,), attrs))


def _pool(
    op: str,
    kernel: str,
    axes: int,
    x: TensorLike,
    filter_size: Steps,
    strides: Steps,
    pad: Pad,
    dilations: Steps | None,
    dim_rounding_mode: str | None,
) -> Tensor:
    average = kernel.startswith("Avg")
    x = require_floating(x, op, "x") if average else accept(x, op, "x", REAL)
    single = x.storage.ndim == axes + 1
    if single:
        x = reshape_to(x, (1, *x.shape))
    elif x.storage.ndim != axes + 2:
        wanted = ("depth, " if axes == 3 else "") + "height, width, channels"
        raise ValueError(f"{op}: x must be [batch, {wanted}] or [{wanted}], got shape {format_shape(x.shape)}")
    window, placed = _geometry(op, x, axes, filter_size, strides, pad, dilations, dim_rounding_mode)
    if axes == 2 and max(window) == 1 and placed.output == x.storage.shape[1:-1]:
        y = run_kernel("Identity", (x,))
    else:
        attrs = {"filter_size": window, **placed.attrs}
        if average:
            attrs["count_padding"] = "in_gradient" if isinstance(pad, (list, tuple)) else "never"
        y = run_kernel(kernel, (x,), attrs)
    return reshape_to(y, y.shape[1:]) if single else y


def _geometry(
    op: str,
    x: Tensor,
    axes: int,
    filter_size: Steps,
    strides: Steps,
    pad: Pad,
    dilations: Steps | None = 1,
    dim_rounding_mode: str | None = None,
) -> tuple[tuple[int, ...], Geometry]:
    """The window and how it moves."""
    window = per_axis(op, "filter_size", filter_size, axes)
    lengths = x.storage.shape[1:-1]
    return window, geometry(op, lengths, window, strides, pad, dilations, dim_rounding_mode, may_be_empty=axes == 3)


def _check_format(op: str, data_format: str) -> None:
    one_of(op, "data_format", data_format, ("NDHWC",))

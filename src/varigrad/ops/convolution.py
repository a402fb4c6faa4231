"""Convolutions in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, require_floating, reshape_to
from varigrad.ops.conv_calls import check_filter, convolve, convolve_transposed, floating, with_batch, without_batch
from varigrad.ops.conv_geometry import Pad, Steps, geometry
from varigrad.ops.conv_groups import convolve_in_groups
from varigrad.ops.options import integer, one_of
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "conv1d",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "depthwise_conv2d",
    "dilation2d",
    "separable_conv2d",
]


def conv2d(
    x: TensorLike,
    filter: TensorLike,
    strides: Steps,
    pad: Pad,
    data_format: str = "NHWC",
    dilations: Steps = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """The 2-D convolution of images with filters (cross-correlation: the filter is not flipped).

    Mirrors `tf.conv2d`, which has no `groups`.

    Args:
        x: Floating, `[batch, height, width, channels]`, or one image `[height, width, channels]`.
        filter: Floating, `[height, width, channels / groups, filters]`.
        strides: How far the filter moves, `[height, width]` or one number for both.
        pad: `"same"` keeps height and width (divided by the strides, rounded up); `"valid"` adds nothing; a number is
            added on every side; or `[[0, 0], [top, bottom], [left, right], [0, 0]]`.
        data_format: `"NHWC"`, or `"NCHW"` where x and the result have the channels before height and width.
        dilations: How far apart the values under the filter are, likewise. Not above 1 together with strides.
        dim_rounding_mode: `"floor"` (the default), `"ceil"` or `"round"`: what becomes of a last step that is not
            whole. Needs a numeric `pad`.
        groups: Into how many groups the channels and the filters are divided; each group of channels meets only its
            group of filters.

    Returns:
        `[batch, height, width, filters]`, or without the batch where x has none.

    Raises:
        TypeError: `groups` is no integer.
        ValueError: The channels differ or make no such groups, or strides, dilations and pad do not fit.

    >>> import varigrad as vg
    >>> image = vg.tensor([[1, 2, 3], [4, 5, 6], [7, 8, 9]]).reshape([3, 3, 1])
    >>> vg.conv2d(image, vg.ones([2, 2, 1, 1]), strides=1, pad="valid").reshape([2, 2]).tolist()
    [[12.0, 16.0], [24.0, 28.0]]
    """
    return convolve(
        "conv2d", "Conv2D", 2, x, filter, strides, pad, data_format, dilations, dim_rounding_mode, groups=groups
    )


def conv1d(
    x: TensorLike,
    filter: TensorLike,
    stride: int,
    pad: Pad,
    data_format: str = "NWC",
    dilation: int = 1,
    dim_rounding_mode: str | None = None,
    groups: int = 1,
) -> Tensor:
    """The 1-D convolution of sequences with filters. Mirrors `tf.conv1d`.

    Args:
        x: Floating, `[batch, width, channels]`, or one sequence `[width, channels]`.
        filter: Floating, `[width, channels / groups, filters]`.
        stride: How far the filter moves.
        pad: `"same"`, `"valid"`, a number for both ends, `[[0, 0], [before, after], [0, 0]]`, or as for an
            image of height 1, `[[0, 0], [0, 0], [before, after], [0, 0]]`.
        data_format: `"NWC"`, the only one.
        dilation: How far apart the values under the filter are.
        dim_rounding_mode: As in `conv2d`.
        groups: As in `conv2d`.

    Returns:
        `[batch, width, filters]`, or without the batch where x has none.

    >>> import varigrad as vg
    >>> vg.conv1d([[1], [2], [3], [4]], [[[1]], [[10]]], stride=1, pad="valid").tolist()
    [[21.0], [32.0], [43.0]]
    """
    op = "conv1d"
    x, filter = floating(op, x, filter)
    one_of(op, "data_format", data_format, ("NWC",))
    x, single = with_batch(op, x, 1)
    groups = integer(op, "groups", groups, 1)
    check_filter(op, 1, x, filter, groups)
    placed = geometry(op, x.shape[1:2], filter.shape[:1], stride, pad, dilation, dim_rounding_mode)
    # The kernel has two spatial axes: the sequence is an image of height 1.
    image = reshape_to(x, (x.shape[0], 1, *x.shape[1:]))
    kernel = reshape_to(filter, (1, *filter.shape))
    if groups == 1:
        y = run_kernel("Conv2D", (image, kernel), placed.as_image().attrs)
    else:
        y = convolve_in_groups("Conv2D", image, kernel, placed.as_image().attrs, groups)
    return without_batch(reshape_to(y, (y.shape[0], *y.shape[2:])), single)


def conv3d(
    x: TensorLike,
    filter: TensorLike,
    strides: Steps,
    pad: Pad,
    data_format: str = "NDHWC",
    dilations: Steps = 1,
    groups: int = 1,
) -> Tensor:
    """The 3-D convolution of volumes with filters. Mirrors `tf.conv3d`.

    Args:
        x: Floating, `[batch, depth, height, width, channels]`, or one volume without the batch.
        filter: Floating, `[depth, height, width, channels / groups, filters]`.
        strides: How far the filter moves, `[depth, height, width]` or one number for all.
        pad: `"same"`, `"valid"`, a number for every side, or `[before, after]` for each axis of x.
        data_format: `"NDHWC"`, the only one.
        dilations: How far apart the values under the filter are, likewise.
        groups: As in `conv2d`.

    Returns:
        `[batch, depth, height, width, filters]`, or without the batch where x has none.

    >>> import varigrad as vg
    >>> vg.conv3d(vg.ones([2, 2, 2, 1]), vg.ones([2, 2, 2, 1, 1]), strides=1, pad="valid").tolist()
    [[[[8.0]]]]
    """
    return convolve("conv3d", "Conv3D", 3, x, filter, strides, pad, data_format, dilations, groups=groups)


def depthwise_conv2d(
    x: TensorLike,
    filter: TensorLike,
    strides: Steps,
    pad: Pad,
    data_format: str = "NHWC",
    dilations: Steps = 1,
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """The 2-D convolution of every channel with filters of its own. Mirrors `tf.depthwiseConv2d`.

    Args:
        x: Floating, `[batch, height, width, channels]`, or one image without the batch.
        filter: Floating, `[height, width, channels, multiplier]`.
        strides: As in `conv2d`.
        pad: As in `conv2d`.
        data_format: As in `conv2d`.
        dilations: As in `conv2d`.
        dim_rounding_mode: As in `conv2d`.

    Returns:
        `[batch, height, width, channels * multiplier]`, the filters of a channel next to each other.

    >>> import varigrad as vg
    >>> vg.depthwise_conv2d([[[1, 10]], [[2, 20]]], vg.ones([2, 1, 2, 1]), strides=1, pad="valid").tolist()
    [[[3.0, 30.0]]]
    """
    op, kernel = "depthwise_conv2d", "DepthwiseConv2dNative"
    return convolve(op, kernel, 2, x, filter, strides, pad, data_format, dilations, dim_rounding_mode)


def separable_conv2d(
    x: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: Steps,
    pad: Pad,
    dilation: Steps = 1,
    data_format: str = "NHWC",
) -> Tensor:
    """A depthwise convolution, then a 1 by 1 convolution that mixes its channels. Mirrors `tf.separableConv2d`.

    Args:
        x: Floating, `[batch, height, width, channels]`, or one image without the batch.
        depthwise_filter: Floating, `[height, width, channels, multiplier]`.
        pointwise_filter: Floating, `[1, 1, channels * multiplier, filters]`.
        strides: Of the depthwise convolution, as in `conv2d`.
        pad: Of the depthwise convolution, as in `conv2d`.
        dilation: Of the depthwise convolution, as in `conv2d`.
        data_format: As in `conv2d`.

    Returns:
        `[batch, height, width, filters]`, or without the batch where x has none.

    >>> import varigrad as vg
    >>> mixed = vg.separable_conv2d([[[1, 10]]], vg.ones([1, 1, 2, 1]), [[[[1], [2]]]], strides=1, pad="valid")
    >>> mixed.tolist()
    [[[21.0]]]
    """
    pointwise = require_floating(pointwise_filter, "separable_conv2d", "pointwise_filter")
    if pointwise.rank != 4 or pointwise.shape[:2] != (1, 1):
        raise ValueError(
            "separable_conv2d: pointwise_filter must be [1, 1, channels, filters], got shape "
            f"{format_shape(pointwise.shape)}"
        )
    op = "separable_conv2d"
    deep = convolve(op, "DepthwiseConv2dNative", 2, x, depthwise_filter, strides, pad, data_format, dilation)
    return convolve(op, "Conv2D", 2, deep, pointwise, 1, "valid", data_format)


def conv2d_transpose(
    x: TensorLike,
    filter: TensorLike,
    output_shape: Sequence[int],
    strides: Steps,
    pad: Pad,
    dim_rounding_mode: str | None = None,
) -> Tensor:
    """The transpose of `conv2d`: spreads every value of x over the filter's window. Mirrors `tf.conv2dTranspose`.

    Args:
        x: Floating, `[batch, height, width, channels]`, or one image without the batch.
        filter: Floating, `[height, width, filters, channels]`.
        output_shape: `[batch, height, width, filters]`, or without the batch as x: of several shapes that `conv2d`
            reduces to x's, the one wanted.
        strides: Of that `conv2d`.
        pad: Of that `conv2d`.
        dim_rounding_mode: Of that `conv2d`.

    Raises:
        ValueError: The channels differ, or that `conv2d` does not reduce `output_shape` to the shape of x.

    >>> import varigrad as vg
    >>> vg.conv2d_transpose([[[1], [2]]], vg.ones([1, 2, 1, 1]), [1, 4, 1], strides=2, pad="valid").tolist()
    [[[1.0], [1.0], [2.0], [2.0]]]
    """
    return convolve_transposed(
        "conv2d_transpose", "Conv2DBackpropInput", 2, x, filter, output_shape, strides, pad, dim_rounding_mode
    )


def conv3d_transpose(
    x: TensorLike, filter: TensorLike, output_shape: Sequence[int], strides: Steps, pad: Pad
) -> Tensor:
    """The transpose of `conv3d`. Mirrors `tf.conv3dTranspose`.

    Args:
        x: Floating, `[batch, depth, height, width, channels]`, or one volume without the batch.
        filter: Floating, `[depth, height, width, filters, channels]`.
        output_shape: `[batch, depth, height, width, filters]`, or without the batch as x.
        strides: As in `conv3d`.
        pad: As in `conv3d`.

    >>> import varigrad as vg
    >>> vg.conv3d_transpose(vg.ones([1, 1, 1, 1]), vg.ones([1, 1, 2, 1, 1]), [1, 1, 2, 1], 2, "same").tolist()
    [[[[1.0], [1.0]]]]
    """
    return convolve_transposed("conv3d_transpose", "Conv3DBackpropInputV2", 3, x, filter, output_shape, strides, pad)


def dilation2d(
    x: TensorLike,
    filter: TensorLike,
    strides: Steps,
    pad: Pad,
    dilations: Steps = 1,
    data_format: str = "NHWC",
) -> Tensor:
    """The grayscale morphological dilation: the largest of x plus filter under the window. Mirrors `tf.dilation2d`.

    Of several largest the first takes the gradient.

    Args:
        x: Floating, `[batch, height, width, channels]`, or one image without the batch.
        filter: Floating, `[height, width, channels]`.
        strides: As in `conv2d`.
        pad: As in `conv2d`; what is added is never the largest.
        dilations: As in `conv2d`; may be above 1 together with strides.
        data_format: `"NHWC"`, the only one.

    Returns:
        `[batch, height, width, channels]`, or without the batch where x has none.

    >>> import varigrad as vg
    >>> vg.dilation2d([[[1], [5], [2]]], vg.zeros([1, 2, 1]), strides=1, pad="valid").tolist()
    [[[5.0], [5.0]]]
    """
    op = "dilation2d"
    one_of(op, "data_format", data_format, ("NHWC",))
    x, filter = floating(op, x, filter)
    x, single = with_batch(op, x, 2)
    if filter.rank != 3 or filter.shape[2] != x.shape[3]:
        raise ValueError(
            f"{op}: the filter must be [height, width, channels] with the channels of x "
            f"(x: {format_shape(x.shape)}, filter: {format_shape(filter.shape)})"
        )
    attrs = geometry(op, x.shape[1:3], filter.shape[:2], strides, pad, dilations, both=True).attrs
    return without_batch(run_kernel("Dilation2D", (x, filter), attrs), single)

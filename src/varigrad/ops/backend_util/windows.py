"""Where the windows of convolution and pooling stand, for authors of kernels: part of the namespace
`vg.backend_util`.

Shapes of tensors are `[batch, height, width, channels]`, or `[batch, depth, height, width, channels]`; those of filters
`[height, width, in_channels, out_channels]`, with the depth in front in 3-D.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from varigrad.ops.backend_util.window_checks import convert_conv2d_data_format
from varigrad.ops.conv_geometry import Pad, Pads, Steps, explicit_pads, geometry, per_axis

__all__ = [
    "Conv2DInfo",
    "Conv3DInfo",
    "PadInfo",
    "PadInfo3D",
    "compute_conv2d_info",
    "compute_conv3d_info",
    "compute_default_pad",
    "compute_dilation2d_info",
    "compute_pool2d_info",
    "compute_pool3d_info",
]

Shape = Sequence[int]


class PadInfo(NamedTuple):
    """What padding adds on each side. `type` is `"SAME"`, `"VALID"` (nothing), `"NUMBER"` or `"EXPLICIT"`.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_conv2d_info((1, 4, 4, 1), (3, 3, 1, 1), 1, 1, "same").pad_info
    PadInfo(top=1, bottom=1, left=1, right=1, type='SAME')
    """

    top: int
    bottom: int
    left: int
    right: int
    type: str


class PadInfo3D(NamedTuple):
    """What padding adds on each side of a volume.

    >>> import varigrad as vg
    >>> info = vg.backend_util.compute_conv3d_info((1, 4, 4, 4, 1), (3, 3, 3, 1, 1), 1, 1, "same")
    >>> info.pad_info.front, info.pad_info.back
    (1, 1)
    """

    top: int
    bottom: int
    left: int
    right: int
    front: int
    back: int
    type: str


class Conv2DInfo(NamedTuple):
    """What `vg.backend_util.compute_conv2d_info` returns: a window over an image.

    The lengths of its dilated self are the `effective_filter_…` ones.
    """

    batch_size: int
    data_format: str
    in_height: int
    in_width: int
    in_channels: int
    out_height: int
    out_width: int
    out_channels: int
    pad_info: PadInfo
    stride_height: int
    stride_width: int
    filter_height: int
    filter_width: int
    effective_filter_height: int
    effective_filter_width: int
    dilation_height: int
    dilation_width: int
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    filter_shape: tuple[int, ...]


class Conv3DInfo(NamedTuple):
    """What `vg.backend_util.compute_conv3d_info` returns: a window over a volume."""

    batch_size: int
    data_format: str
    in_depth: int
    in_height: int
    in_width: int
    in_channels: int
    out_depth: int
    out_height: int
    out_width: int
    out_channels: int
    pad_info: PadInfo3D
    stride_depth: int
    stride_height: int
    stride_width: int
    filter_depth: int
    filter_height: int
    filter_width: int
    effective_filter_depth: int
    effective_filter_height: int
    effective_filter_width: int
    dilation_depth: int
    dilation_height: int
    dilation_width: int
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    filter_shape: tuple[int, ...]


def compute_conv2d_info(
    in_shape: Shape,
    filter_shape: Shape,
    strides: Steps,
    dilations: Steps,
    pad: Pad,
    rounding_mode: str | None = None,
    depthwise: bool = False,
    data_format: str = "channels_last",
) -> Conv2DInfo:
    """Where the windows of a 2-D convolution stand. Mirrors `tf.backend_util.computeConv2DInfo`.

    Args:
        in_shape: The input's shape, `[batch, height, width, channels]`; the channels come second with
            `"channels_first"`.
        filter_shape: `[height, width, in_channels, out_channels]`, whatever the data format.
        strides: Steps, one for both axes or one each.
        dilations: Steps inside the window, likewise.
        pad: `"same"`, `"valid"`, a number for all sides, or `[before, after]` for each of the input's axes.
        rounding_mode: `"floor"`, `"ceil"` or `"round"`, with a numeric pad.
        depthwise: Whether the filter's last length multiplies the channels.
        data_format: `"channels_last"` or `"channels_first"`.

    Raises:
        ValueError: A shape of another rank, or an argument outside its values.

    >>> import varigrad as vg
    >>> info = vg.backend_util.compute_conv2d_info([1, 5, 5, 3], [3, 3, 3, 8], 2, 1, "same")
    >>> info.out_shape, info.pad_info
    ((1, 3, 3, 8), PadInfo(top=1, bottom=1, left=1, right=1, type='SAME'))
    """
    fields = _info(
        "compute_conv2d_info", 2, in_shape, filter_shape, strides, dilations, pad, rounding_mode, depthwise, data_format
    )
    return Conv2DInfo(**fields)


def compute_conv3d_info(
    in_shape: Shape,
    filter_shape: Shape,
    strides: Steps,
    dilations: Steps,
    pad: Pad,
    depthwise: bool = False,
    data_format: str = "channels_last",
    rounding_mode: str | None = None,
) -> Conv3DInfo:
    """Where the windows of a 3-D convolution stand. Mirrors `tf.backend_util.computeConv3DInfo`.

    The arguments are those of `compute_conv2d_info`, in another order, with a depth.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_conv3d_info([1, 4, 4, 4, 3], [2, 2, 2, 3, 8], 2, 1, "valid").out_shape
    (1, 2, 2, 2, 8)
    """
    fields = _info(
        "compute_conv3d_info", 3, in_shape, filter_shape, strides, dilations, pad, rounding_mode, depthwise, data_format
    )
    return Conv3DInfo(**fields)


def compute_pool2d_info(
    in_shape: Shape,
    filter_size: Steps,
    strides: Steps,
    dilations: Steps,
    pad: Pad,
    rounding_mode: str | None = None,
    data_format: str = "channels_last",
) -> Conv2DInfo:
    """Where the windows of 2-D pooling stand. Mirrors `tf.backend_util.computePool2DInfo`.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_pool2d_info([1, 4, 4, 3], 2, 2, 1, "valid").out_shape
    (1, 2, 2, 3)
    """
    op = "compute_pool2d_info"
    filter_shape = _pool_filter(op, 2, in_shape, filter_size, data_format)
    return Conv2DInfo(
        **_info(op, 2, in_shape, filter_shape, strides, dilations, pad, rounding_mode, False, data_format)
    )


def compute_pool3d_info(
    in_shape: Shape,
    filter_size: Steps,
    strides: Steps,
    dilations: Steps,
    pad: Pad,
    rounding_mode: str | None = None,
    data_format: str = "NDHWC",
) -> Conv3DInfo:
    """Where the windows of 3-D pooling stand; `data_format` is `"NDHWC"` or `"NCDHW"`.

    Mirrors `tf.backend_util.computePool3DInfo`.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_pool3d_info([1, 4, 4, 4, 3], 2, 2, 1, "valid").out_shape
    (1, 2, 2, 2, 3)
    """
    op = "compute_pool3d_info"
    filter_shape = _pool_filter(op, 3, in_shape, filter_size, data_format)
    return Conv3DInfo(
        **_info(op, 3, in_shape, filter_shape, strides, dilations, pad, rounding_mode, False, data_format)
    )


def compute_dilation2d_info(
    input_shape: Shape,
    filter_shape: Shape,
    strides: Steps,
    pad: Pad,
    data_format: str = "NHWC",
    dilations: Steps = 1,
) -> Conv2DInfo:
    """Where the windows of `vg.dilation2d` stand, whose filter is `[height, width, channels]`.

    Mirrors `tf.backend_util.computeDilation2DInfo`.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_dilation2d_info([1, 4, 4, 3], [2, 2, 3], 1, "same").out_shape
    (1, 4, 4, 3)
    """
    fields = _info(
        "compute_dilation2d_info",
        2,
        input_shape,
        (*filter_shape, input_shape[-1]),
        strides,
        dilations,
        pad,
        None,
        False,
        convert_conv2d_data_format(data_format),
    )
    return Conv2DInfo(**fields)


# How TensorFlow.js says where the channels are; True is before the spatial axes.
_CHANNELS_FIRST = {
    "channels_last": False,
    "channelsLast": False,
    "NHWC": False,
    "NDHWC": False,
    "channels_first": True,
    "channelsFirst": True,
    "NCHW": True,
    "NCDHW": True,
}
_AXES = ("depth", "height", "width")
_SIDES = {"depth": ("front", "back"), "height": ("top", "bottom"), "width": ("left", "right")}


def _info(
    op: str,
    axes: int,
    in_shape: Shape,
    filter_shape: Shape,
    strides: Steps,
    dilations: Steps,
    pad: Pad,
    rounding_mode: str | None,
    depthwise: bool,
    data_format: str,
) -> dict[str, Any]:
    """The fields of `Conv2DInfo` or `Conv3DInfo`."""
    channels_first = _are_channels_first(op, data_format)
    for name, shape in (("input", in_shape), ("filter", filter_shape)):
        if len(shape) != axes + 2:
            raise ValueError(f"{op}: the shape of the {name} must have {axes + 2} axes, got {list(shape)}")
    lengths = tuple(in_shape[2:] if channels_first else in_shape[1:-1])
    window = tuple(filter_shape[:axes])
    placed = geometry(
        op, lengths, window, strides, pad, dilations, rounding_mode, channels_first, both=True, may_be_empty=True
    )
    in_channels = in_shape[1 if channels_first else -1]
    out_channels = filter_shape[-1] * (in_channels if depthwise else 1)
    channels = (out_channels,)
    spatial = (*channels, *placed.output) if channels_first else (*placed.output, *channels)
    effective = [(w - 1) * d + 1 for w, d in zip(window, placed.dilations, strict=True)]
    fields: dict[str, Any] = {
        "batch_size": in_shape[0],
        "data_format": "channels_first" if channels_first else "channels_last",
        "in_channels": in_channels,
        "out_channels": out_channels,
        "pad_info": _pad_info(op, axes, pad, placed.pads, channels_first),
        "in_shape": tuple(in_shape),
        "out_shape": (in_shape[0], *spatial),
        "filter_shape": tuple(filter_shape),
    }
    along = {
        "in": lengths,
        "out": placed.output,
        "stride": placed.strides,
        "filter": window,
        "effective_filter": effective,
        "dilation": placed.dilations,
    }
    for name, numbers in along.items():
        fields |= {f"{name}_{axis}": n for axis, n in zip(_AXES[-axes:], numbers, strict=True)}
    return fields


def _pad_info(op: str, axes: int, pad: Pad, placed: Pads, channels_first: bool) -> PadInfo | PadInfo3D:
    given = placed if isinstance(pad, str) else explicit_pads(op, pad, axes, channels_first)
    if isinstance(pad, str):
        kind = pad.upper()
    elif not any(map(any, given)):
        kind = "VALID"
    else:
        kind = "NUMBER" if isinstance(pad, int) else "EXPLICIT"
    sides: dict[str, int] = {}
    for axis, pair in zip(_AXES[-axes:], given, strict=True):
        sides |= zip(_SIDES[axis], pair, strict=True)
    return (PadInfo if axes == 2 else PadInfo3D)(**sides, type=kind)


def _are_channels_first(op: str, data_format: str) -> bool:
    try:
        return _CHANNELS_FIRST[data_format]
    except KeyError:
        raise ValueError(
            f"{op}: data_format must be 'channels_last' or 'channels_first', got {data_format!r}"
        ) from None


def _pool_filter(op: str, axes: int, in_shape: Shape, filter_size: Steps, data_format: str) -> tuple[int, ...]:
    channels = in_shape[1 if _are_channels_first(op, data_format) else -1]
    return (*per_axis(op, "filter_size", filter_size, axes), channels, channels)


def compute_default_pad(input_shape: Shape, field_size: int, stride: int, dilation: int = 1) -> int:
    """The pad with which a window leaves the input's first length as it is, whatever the stride.

    Mirrors `tf.backend_util.computeDefaultPad`.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_default_pad([5, 5], field_size=3, stride=1)
    1
    """
    span = (field_size - 1) * dilation + 1
    return math.floor((input_shape[0] * (stride - 1) - stride + span) / 2)

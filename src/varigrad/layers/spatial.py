"""What layers over spatial axes share: where the axes are, and how long the result is along them."""

from __future__ import annotations

from collections.abc import Callable

from varigrad.layers.arguments import Shape, choice
from varigrad.layers.options import option
from varigrad.ops.shaping import transpose
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "DATA_FORMATS",
    "PADDINGS",
    "channel_axis",
    "data_format_option",
    "in_channels_last",
    "known_channels",
    "transposed_output_length",
    "window_output_length",
    "with_space",
]

DATA_FORMATS = ("channels_last", "channels_first")
PADDINGS = ("valid", "same")


def data_format_option(unless: str | None = None) -> str:
    """Declares the argument `data_format`, channels last by default; `unless` as for `option`."""
    return option(choice, DATA_FORMATS, default="channels_last", unless=unless)


def channel_axis(data_format: str, rank: int) -> int:
    """Which axis of inputs of this rank, the batch included, holds the channels."""
    return 1 if data_format == "channels_first" else rank - 1


def known_channels(owner: str, data_format: str, shape: Shape) -> int:
    """The number of channels of inputs of this shape.

    Raises:
        ValueError: It is unknown.
    """
    channels = shape[channel_axis(data_format, len(shape))]
    if channels is None:
        raise ValueError(f"{owner}: the channels of its inputs must be known, got {format_shape(shape)}")
    return channels


def in_channels_last(data_format: str, x: Tensor, f: Callable[[Tensor], Tensor]) -> Tensor:
    """`f(x)`, for an `f` that takes and returns channels last."""
    if data_format == "channels_last":
        return f(x)
    rank = x.storage.ndim
    y = f(transpose(x, (0, *range(2, rank), 1)))
    return transpose(y, (0, rank - 1, *range(1, rank - 1)))


def with_space(
    data_format: str, shape: Shape, f: Callable[[tuple[int | None, ...]], Shape], channels: int | None = None
) -> Shape:
    """The shape with `f` of its spatial lengths, and perhaps other channels."""
    batch, *rest = shape
    if data_format == "channels_first":
        return (batch, channels or rest[0], *f(tuple(rest[1:])))
    return (batch, *f(tuple(rest[:-1])), channels or rest[-1])


def window_output_length(
    owner: str, length: int | None, window: int, stride: int, dilation: int, padding: str
) -> int | None:
    """How many windows stand along an axis of this length; None if it is unknown."""
    if length is None:
        return None
    span = (window - 1) * dilation + 1
    if padding != "valid":
        return -(-length // stride)
    if length < span:
        raise ValueError(
            f"{owner}: a window of {span} does not fit an input of length {length}; pad it or make it smaller"
        )
    return (length - span) // stride + 1


def transposed_output_length(
    length: int | None, window: int, stride: int, padding: str, output_padding: int | None
) -> int | None:
    """How long a result of that a convolution with this window reduces to `length` is; None if that is unknown.

    Of several such lengths it is the one that TensorFlow.js and Keras take, unless `output_padding` chooses another.
    """
    if length is None:
        return None
    if output_padding is not None:
        pad = 0 if padding == "valid" else window // 2
        return (length - 1) * stride + window - 2 * pad + output_padding
    return length * stride + (max(window - stride, 0) if padding == "valid" else 0)

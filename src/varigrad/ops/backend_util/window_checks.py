"""Arguments of convolution and pooling, for authors of kernels: part of the namespace `vg.backend_util`."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.ops.conv_geometry import Pad, Steps, check_rounding

__all__ = [
    "check_pad_on_dim_rounding_mode",
    "convert_conv2d_data_format",
    "either_strides_or_dilations_are_one",
    "strides_or_dilations_are_positive",
    "tuple_values_are_one",
]


def tuple_values_are_one(param: Steps) -> bool:
    """Whether strides or dilations are 1 on every axis. Mirrors `tf.backend_util.tupleValuesAreOne`.

    >>> import varigrad as vg
    >>> vg.backend_util.tuple_values_are_one([1, 2])
    False
    """
    return all(n == 1 for n in _as_list(param))


def either_strides_or_dilations_are_one(strides: Steps, dilations: Steps) -> bool:
    """Whether a window has no strides or no dilations. Mirrors `tf.backend_util.eitherStridesOrDilationsAreOne`.

    >>> import varigrad as vg
    >>> vg.backend_util.either_strides_or_dilations_are_one([1, 2], 1)
    True
    """
    return tuple_values_are_one(strides) or tuple_values_are_one(dilations)


def strides_or_dilations_are_positive(values: Steps) -> bool:
    """Whether strides or dilations are above 0 on every axis. Mirrors `tf.backend_util.stridesOrDilationsArePositive`.

    >>> import varigrad as vg
    >>> vg.backend_util.strides_or_dilations_are_positive([1, 0])
    False
    """
    return all(n > 0 for n in _as_list(values))


def _as_list(values: Steps) -> Sequence[int]:
    return [values] if isinstance(values, int) else values


def convert_conv2d_data_format(data_format: str) -> str:
    """`"channels_last"` for `"NHWC"`, `"channels_first"` for `"NCHW"`.

    Mirrors `tf.backend_util.convertConv2DDataFormat`.

    Raises:
        ValueError: It is neither.

    >>> import varigrad as vg
    >>> vg.backend_util.convert_conv2d_data_format("NCHW")
    'channels_first'
    """
    if data_format not in ("NHWC", "NCHW"):
        raise ValueError(f"convert_conv2d_data_format: data_format must be 'NHWC' or 'NCHW', got {data_format!r}")
    return "channels_first" if data_format == "NCHW" else "channels_last"


def check_pad_on_dim_rounding_mode(op_desc: str, pad: Pad, dim_rounding_mode: str | None) -> None:
    """Raises a ValueError, which `op_desc` begins, if a rounding mode comes without a numeric pad.

    Mirrors `tf.backend_util.checkPadOnDimRoundingMode`.

    >>> import varigrad as vg
    >>> vg.backend_util.check_pad_on_dim_rounding_mode("my_op", "same", "floor")
    Traceback (most recent call last):
        ...
    ValueError: my_op: dim_rounding_mode 'floor' needs a numeric pad; pad 'same' fixes the output
    """
    check_rounding(op_desc, pad, dim_rounding_mode)

"""`vg.image`: images, `[batch, height, width, channels]`, and boxes in them."""

from __future__ import annotations

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import REAL, TensorLike, accept, cast_to, convert, of_rank, require_floating
from varigrad.ops.arithmetic import scale
from varigrad.ops.comparison import greater, less_equal
from varigrad.ops.options import flag, number, one_of
from varigrad.ops.resampling import (
    crop_and_resize,
    resize_bilinear,
    resize_nearest_neighbor,
    rotate_with_offset,
    transform,
)
from varigrad.ops.suppression import (
    PaddedBoxes,
    ScoredBoxes,
    non_max_suppression,
    non_max_suppression_async,
    non_max_suppression_padded,
    non_max_suppression_padded_async,
    non_max_suppression_with_score,
    non_max_suppression_with_score_async,
)
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "PaddedBoxes",
    "ScoredBoxes",
    "crop_and_resize",
    "flip_left_right",
    "grayscale_to_rgb",
    "non_max_suppression",
    "non_max_suppression_async",
    "non_max_suppression_padded",
    "non_max_suppression_padded_async",
    "non_max_suppression_with_score",
    "non_max_suppression_with_score_async",
    "resize_bilinear",
    "resize_nearest_neighbor",
    "rgb_to_grayscale",
    "rotate_with_offset",
    "threshold",
    "transform",
]

# How bright red, green and blue look (CCIR 601).
_LUMA = [[0.2989], [0.5870], [0.1140]]


def flip_left_right(image: TensorLike) -> Tensor:
    """Images as in a mirror. Mirrors `tf.image.flipLeftRight`.

    Args:
        image: Floating, `[batch, height, width, channels]`.

    >>> import varigrad as vg
    >>> vg.image.flip_left_right([[[[1.0], [2.0], [3.0]]]]).tolist()
    [[[[3.0], [2.0], [1.0]]]]
    """
    image = of_rank("flip_left_right", 4, require_floating(image, "flip_left_right", "image"), "image")
    return run_kernel("FlipLeftRight", (image,))


def grayscale_to_rgb(image: TensorLike) -> Tensor:
    """Gray images as colored ones, whose three channels are equal. Mirrors `tf.image.grayscaleToRGB`.

    Args:
        image: Rank 2 or more, `[..., 1]`.

    Returns:
        `[..., 3]`, of image's dtype.

    >>> import varigrad as vg
    >>> vg.image.grayscale_to_rgb([[1.0], [2.0]]).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    image = convert(image, "grayscale_to_rgb", "image")
    _check_channels("grayscale_to_rgb", image, 1)
    return run_kernel("Tile", (image,), {"reps": (1,) * (image.rank - 1) + (3,)})


def rgb_to_grayscale(image: TensorLike) -> Tensor:
    """The brightness of colored images: 0.2989 red + 0.587 green + 0.114 blue. Mirrors `tf.image.rgbToGrayscale`.

    Args:
        image: Real numbers, rank 2 or more, `[..., 3]`.

    Returns:
        `[..., 1]`, of image's dtype; integers are cut.

    >>> import varigrad as vg
    >>> vg.image.rgb_to_grayscale(vg.tensor([[100, 10, 1]], dtype="int32")).tolist()
    [[35]]
    """
    image = accept(image, "rgb_to_grayscale", "image", REAL)
    _check_channels("rgb_to_grayscale", image, 3)
    return cast_to(_brightness(image), image.dtype)


def _check_channels(op: str, image: Tensor, channels: int) -> None:
    if image.rank < 2 or image.shape[-1] != channels:
        raise ValueError(
            f"{op}: image must have rank 2 or more, and {channels} on its last axis, got shape "
            f"{format_shape(image.shape)}"
        )


def _brightness(image: Tensor) -> Tensor:
    image = accept(image, "image", "image", "f")
    luma = make_tensor(np.array(_LUMA, image.storage.dtype))
    return run_kernel("BatchMatMul", (image, luma), {"transpose_a": False, "transpose_b": False})


def threshold(image: TensorLike, method: str = "binary", inverted: bool = False, thresh_value: float = 0.5) -> Tensor:
    """An image in black and white: 255 where it is brighter than a threshold, and 0 elsewhere.

    Mirrors `tf.image.threshold`.

    Args:
        image: Real numbers from 0 to 255, `[height, width, 3]` or `[height, width, 1]`.
        method: `"binary"`, by `thresh_value`, or `"otsu"`, by the threshold that best parts the pixels into dark and
            light ones (Otsu, 1979).
        inverted: Gives 0 for 255, and 255 for 0.
        thresh_value: The threshold as a share of 255.

    Returns:
        int32, `[height, width, 1]`.

    >>> import varigrad as vg
    >>> vg.image.threshold([[[10], [200]], [[30], [180]]], "otsu").tolist()
    [[[0], [255]], [[0], [255]]]
    """
    op = "threshold"
    image = of_rank(op, 3, accept(image, op, "image", REAL), "image")
    if image.shape[2] not in (1, 3):
        raise ValueError(f"{op}: image must have 1 or 3 channels, got shape {format_shape(image.shape)}")
    method, inverted = one_of(op, "method", method, ("binary", "otsu")), flag(op, "inverted", inverted)
    gray = _brightness(image) if image.shape[2] == 3 else accept(image, op, "image", "f")
    if method == "otsu":
        limit = run_kernel("OtsuThreshold", (gray,))
    else:
        limit = make_tensor(np.array(255 * number(op, "thresh_value", thresh_value), np.float32))
    chosen = less_equal(gray, limit) if inverted else greater(gray, limit)
    return scale(cast_to(chosen, "int32"), 255)

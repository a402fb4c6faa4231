"""Images sampled at other places than their pixels: resized, cropped, rotated, transformed. Part of `vg.image`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import (
    REAL,
    TensorLike,
    accept,
    convert_integers,
    normalize_shape,
    of_rank,
    require_floating,
    reshape_to,
)
from varigrad.ops.options import flag, number, one_of
from varigrad.tensor import Tensor, format_shape

__all__ = ["crop_and_resize", "resize_bilinear", "resize_nearest_neighbor", "rotate_with_offset", "transform"]


def resize_bilinear(
    images: TensorLike, size: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Images in another size, each new pixel mixed from the four nearest.

    The gradient takes account of `half_pixel_centers`, which TensorFlow.js forgets. Mirrors `tf.image.resizeBilinear`.

    Args:
        images: Real numbers, `[batch, height, width, channels]`, or one image without the batch; integers are taken as
            float32.
        size: `[new_height, new_width]`.
        align_corners: Puts the centers of the corner pixels onto those of the old ones.
        half_pixel_centers: Takes the center of a pixel to be in its middle, as Keras does, and not in its corner.

    Raises:
        ValueError: Both ways to place pixels at once, or images or a size without pixels.

    >>> import varigrad as vg
    >>> vg.image.resize_bilinear([[[2], [4]], [[6], [8]]], [2, 3], align_corners=True).tolist()
    [[[2.0], [3.0], [4.0]], [[6.0], [7.0], [8.0]]]
    """
    images = accept(images, "resize_bilinear", "images", "f")
    return _resize("ResizeBilinear", "resize_bilinear", images, size, align_corners, half_pixel_centers)


def resize_nearest_neighbor(
    images: TensorLike, size: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False
) -> Tensor:
    """Images in another size, each new pixel a copy of an old one. Mirrors `tf.image.resizeNearestNeighbor`.

    Args:
        images: Real numbers, `[batch, height, width, channels]`, or one image without the batch; bools become int32.
        size: `[new_height, new_width]`.
        align_corners: As in `resize_bilinear`.
        half_pixel_centers: As in `resize_bilinear`.

    >>> import varigrad as vg
    >>> vg.image.resize_nearest_neighbor([[[2], [4]]], [1, 4]).tolist()
    [[[2.0], [2.0], [4.0], [4.0]]]
    """
    images = accept(images, "resize_nearest_neighbor", "images", REAL)
    return _resize("ResizeNearestNeighbor", "resize_nearest_neighbor", images, size, align_corners, half_pixel_centers)


def _resize(
    kernel: str, op: str, images: Tensor, size: Sequence[int], align_corners: bool, half_pixel_centers: bool
) -> Tensor:
    if images.rank not in (3, 4):
        raise ValueError(f"{op}: images must have rank 3 or 4, got shape {format_shape(images.shape)}")
    attrs = {
        "size": _size(op, "size", size),
        "align_corners": flag(op, "align_corners", align_corners),
        "half_pixel_centers": flag(op, "half_pixel_centers", half_pixel_centers),
    }
    if attrs["align_corners"] and attrs["half_pixel_centers"]:
        raise ValueError(f"{op}: align_corners and half_pixel_centers cannot both be True; choose one")
    batch = reshape_to(images, (1, *images.shape)) if images.rank == 3 else images
    _check_pixels(op, "images", batch)
    resized = run_kernel(kernel, (batch,), attrs)
    return reshape_to(resized, resized.shape[1:]) if images.rank == 3 else resized


def _size(op: str, argument: str, size: Sequence[int]) -> tuple[int, int]:
    lengths = normalize_shape(op, size, argument)
    if len(lengths) != 2 or 0 in lengths:
        raise ValueError(f"{op}: {argument} must be [height, width], both positive, got {format_shape(lengths)}")
    return lengths[0], lengths[1]


def _check_pixels(op: str, argument: str, images: Tensor) -> None:
    if 0 in images.shape[1:3]:
        raise ValueError(f"{op}: {argument} has no pixels (shape {format_shape(images.shape)})")


def crop_and_resize(
    image: TensorLike,
    boxes: TensorLike,
    box_ind: TensorLike,
    crop_size: Sequence[int],
    method: str = "bilinear",
    extrapolation_value: float = 0,
) -> Tensor:
    """The parts of images in boxes, all resized to one size.

    Differentiable for the image and, if bilinear, for the boxes; TensorFlow.js has neither gradient. Mirrors
    `tf.image.cropAndResize`.

    Args:
        image: Real numbers, `[batch, height, width, channels]`; integers are taken as float32.
        boxes: `[boxes, 4]`, each `[y1, x1, y2, x2]` as shares of the image: 0 is its first pixel and 1 its last. A box
            may reach over the edge, or have its corners the other way round, which flips the crop.
        box_ind: Which image each box is in, integers, `[boxes]`.
        crop_size: `[crop_height, crop_width]`.
        method: `"bilinear"` or `"nearest"`.
        extrapolation_value: The value of samples that lie outside the image.

    Returns:
        `[boxes, crop_height, crop_width, channels]`, floating.

    Raises:
        ValueError: Shapes that do not fit.
        OutOfRangeError: A box in an image that there is not.

    >>> import varigrad as vg
    >>> vg.image.crop_and_resize([[[[1], [2]], [[3], [4]]]], [[0, 0, 1, 1]], [0], [1, 1]).tolist()
    [[[[2.5]]]]
    """
    op = "crop_and_resize"
    image = of_rank(op, 4, accept(image, op, "image", "f"), "image")
    boxes = accept(boxes, op, "boxes", "f")
    box_ind = convert_integers(box_ind, op, "box_ind")
    if boxes.rank != 2 or boxes.shape[1] != 4:
        raise ValueError(f"{op}: boxes must have shape [boxes, 4], got {format_shape(boxes.shape)}")
    if box_ind.shape != boxes.shape[:1]:
        raise ValueError(
            f"{op}: box_ind must name an image for each box "
            f"(boxes: {format_shape(boxes.shape)}, box_ind: {format_shape(box_ind.shape)})"
        )
    _check_pixels(op, "image", image)
    attrs = {
        "crop_size": _size(op, "crop_size", crop_size),
        "method": one_of(op, "method", method, ("bilinear", "nearest")),
        "extrapolation_value": float(number(op, "extrapolation_value", extrapolation_value)),
    }
    return run_kernel("CropAndResize", (image, boxes, box_ind), attrs)


def rotate_with_offset(
    image: TensorLike,
    radians: TensorLike,
    fill_value: float | Sequence[float] = 0,
    center: float | Sequence[float] = 0.5,
) -> Tensor:
    """Images turned counter-clockwise, each new pixel a copy of an old one. Mirrors `tf.image.rotateWithOffset`.

    Args:
        image: Floating, `[batch, height, width, channels]`.
        radians: The angle, one number.
        fill_value: What to put where no pixel comes to lie: one number, or one for each of the first three channels; a
            fourth, the opacity, is then 255.
        center: The point to turn about, as a share of width and height: one number for both, or `[x, y]`.

    >>> import varigrad as vg
    >>> vg.image.rotate_with_offset([[[[1.0], [2.0], [3.0]]]], 3.14159265, center=[1/3, 0]).tolist()
    [[[[3.0], [2.0], [1.0]]]]
    """
    op = "rotate_with_offset"
    image = of_rank(op, 4, require_floating(image, op, "image"), "image")
    # A tensor, so that a step is not compiled for each angle; of double precision, as pixels may lie on edges.
    if isinstance(radians, Tensor):
        angle = of_rank(op, 0, accept(radians, op, "radians", "f"), "radians")
    else:
        angle = make_tensor(np.array(number(op, "radians", radians), np.float64))
    attrs = {"fill_value": _fill_values(op, fill_value, image.shape[3]), "center": center_of(op, center)}
    _check_pixels(op, "image", image)
    return run_kernel("RotateWithOffset", (image, angle), attrs)


def _fill_values(op: str, fill_value: float | Sequence[float], channels: int) -> tuple[float, ...]:
    numbers = _numbers(op, "fill_value", fill_value)
    if not isinstance(numbers, tuple):
        return (numbers,) * channels
    values = (*numbers[:3], 255.0)
    if channels > 4 or len(values) <= min(channels, 3):
        raise ValueError(f"{op}: fill_value {list(numbers)} does not give a value to each of {channels} channels")
    return values[:channels]


def center_of(op: str, center: float | Sequence[float]) -> tuple[float, float]:
    """The share of width and that of height at which a center lies."""
    numbers = _numbers(op, "center", center)
    if not isinstance(numbers, tuple):
        return numbers, numbers
    if len(numbers) != 2:
        raise ValueError(f"{op}: center must be one number or [x, y], got {list(numbers)}")
    return numbers[0], numbers[1]


def _numbers(op: str, argument: str, value: float | Sequence[float]) -> float | tuple[float, ...]:
    """One number, or those of a list."""
    if isinstance(value, (list, tuple)):
        return tuple([float(number(op, f"{argument}[{place}]", n)) for place, n in enumerate(value)])
    return float(number(op, argument, value))


def transform(
    image: TensorLike,
    transforms: TensorLike,
    interpolation: str = "nearest",
    fill_mode: str = "constant",
    fill_value: float = 0,
    output_shape: Sequence[int] | None = None,
) -> Tensor:
    """Images seen through projective transforms. Mirrors `tf.image.transform`.

    Differentiable for the image and, if bilinear, for the transforms; TensorFlow.js has neither gradient, and leaves
    out all images of a batch but the first.

    Args:
        image: Floating, `[batch, height, width, channels]`.
        transforms: Floating, `[batch, 8]`, or `[1, 8]` for all. A row `[a0, a1, a2, b0, b1, b2, c0, c1]` says that the
            pixel at (x, y) of the result is the point `((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)` of the image,
            where `k = c0 x + c1 y + 1`.
        interpolation: `"nearest"` or `"bilinear"`.
        fill_mode: What the image is taken to be beyond its edges: `"constant"`, `fill_value`; `"nearest"`, the pixel
            at the edge; `"reflect"`, mirrored; `"wrap"`, repeated (beyond one repetition only roughly, as in
            TensorFlow, whose numbers are kept).
        fill_value: The value there, and where `k` is 0.
        output_shape: `[height, width]` of the result; the image's own by default.

    >>> import varigrad as vg
    >>> vg.image.transform([[[[1.0], [2.0], [3.0]]]], [[1, 0, 1, 0, 1, 0, 0, 0]]).tolist()
    [[[[2.0], [3.0], [0.0]]]]
    """
    op = "transform"
    image = of_rank(op, 4, require_floating(image, op, "image"), "image")
    transforms = require_floating(transforms, op, "transforms")
    if transforms.rank != 2 or transforms.shape[0] not in (1, image.shape[0]) or transforms.shape[1] != 8:
        raise ValueError(
            f"{op}: transforms must have shape [{image.shape[0]}, 8] or [1, 8], got {format_shape(transforms.shape)} "
            f"(image: {format_shape(image.shape)})"
        )
    _check_pixels(op, "image", image)
    attrs = {
        "interpolation": one_of(op, "interpolation", interpolation, ("nearest", "bilinear")),
        "fill_mode": one_of(op, "fill_mode", fill_mode, ("constant", "reflect", "wrap", "nearest")),
        "fill_value": float(number(op, "fill_value", fill_value)),
        "output_shape": _size(op, "output_shape", image.shape[1:3] if output_shape is None else output_shape),
    }
    return run_kernel("Transform", (image, transforms), attrs)

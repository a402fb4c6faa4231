"""Images sampled at other places than their pixels, with NumPy and SciPy.

Each sample is a weighted sum of a few pixels. So each kernel multiplies the pixels by a sparse matrix, and its gradient
multiplies the samples' gradients by the same matrix transposed.
"""

# SciPy's sparse arrays have no complete types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from varigrad.dtypes import Array
from varigrad.errors import OutOfRangeError

__all__ = ["KERNELS", "linear_places", "nearest_places"]

Size = tuple[int, int]
Shape = tuple[int, ...]

_OUTSIDE = -2.0  # a coordinate at which no pixel of any image has a share


def _matrix(places: Array, weights: Array, pixels: int, dtype: np.dtype[Any]) -> Any:
    """The sparse matrix whose row i has `weights[i]` in the columns `places[i]`, both `[samples, taps]`.

    Weights of zero are left out, so that a pixel that has no share in a sample cannot make it NaN.
    """
    from scipy.sparse import csr_array  # loaded when first used: it takes long

    samples, taps = places.shape
    starts = np.arange(0, samples * taps + 1, taps)
    shares = weights.astype(dtype, copy=False).reshape(-1)
    matrix: Any = csr_array((shares, places.reshape(-1), starts), shape=(samples, pixels))
    matrix.eliminate_zeros()
    return matrix


def _multiply(matrix: Any, x: Array) -> Array:
    return (matrix @ x.astype(matrix.dtype, copy=False)).astype(x.dtype, copy=False)


# Resizing: along each axis by itself.


def _positions(new: int, old: int, align_corners: bool, half_pixel_centers: bool, offset: float) -> Array:
    """Where on an axis of `old` pixels each of `new` pixels lies."""
    ratio = (old - 1) / (new - 1) if align_corners and new > 1 else old / new
    return ratio * (np.arange(new) + 0.5) - offset if half_pixel_centers else ratio * np.arange(new)


def linear_places(new: int, old: int, align_corners: bool, half_pixel_centers: bool) -> tuple[Array, Array]:
    """The two pixels that each new one lies between, and their shares, both `[new, 2]`."""
    position = np.clip(_positions(new, old, align_corners, half_pixel_centers, 0.5), 0, old - 1)
    lower = np.floor(position)
    upper = np.minimum(lower + 1, old - 1)
    share = position - lower
    return np.stack([lower, upper], 1).astype(np.int64), np.stack([1 - share, share], 1)


def nearest_places(new: int, old: int, align_corners: bool, half_pixel_centers: bool) -> Array:
    """The pixel that each new one is nearest to."""
    position = _positions(new, old, align_corners, half_pixel_centers, 0.0)
    return np.clip(_rounded(position) if align_corners else np.floor(position), 0, old - 1).astype(np.int64)


def _rounded(position: Array) -> Array:
    """The nearest whole numbers, and of two the larger; adding 0.5 would round 0.49999999999999994 up."""
    lower = np.floor(position)
    return lower + (position - lower >= 0.5)


def _repeated(blocks: int, places: Array, weights: Array, old: int, dtype: np.dtype[Any]) -> Any:
    """The matrix that resizes an axis, along the diagonal as often as there are rows or images."""
    first = np.arange(0, blocks * old, old)[:, None, None]
    every = (first + places).reshape(-1, places.shape[1])
    return _matrix(every, np.tile(weights, (blocks, 1)), blocks * old, dtype)


def _bilinear_matrices(shape: Shape, size: Size, dtype: np.dtype[Any], **centers: bool) -> tuple[Any, Any]:
    """The matrices that resize images of a shape: first their columns, then their rows."""
    batch, height, width, _ = shape
    rows = _repeated(batch, *linear_places(size[0], height, **centers), height, dtype)
    columns = _repeated(batch * size[0], *linear_places(size[1], width, **centers), width, dtype)
    return rows, columns


def _resize_bilinear(images: Array, size: Size, align_corners: bool, half_pixel_centers: bool) -> Array:
    batch, height, width, channels = images.shape
    if not images.size:
        return np.zeros((batch, *size, channels), images.dtype)
    rows, columns = _bilinear_matrices(
        images.shape, size, images.dtype, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )
    taller = _multiply(rows, images.reshape(batch * height, width * channels))
    wider = _multiply(columns, taller.reshape(batch * size[0] * width, channels))
    return wider.reshape(batch, *size, channels)


def _resize_bilinear_grad(dy: Array, size: Size, align_corners: bool, half_pixel_centers: bool) -> Array:
    """`size` is that of the images that were resized to that of `dy`."""
    batch, new_height, new_width, channels = dy.shape
    shape = (batch, *size, channels)
    if not dy.size:
        return np.zeros(shape, dy.dtype)
    rows, columns = _bilinear_matrices(
        shape, (new_height, new_width), dy.dtype, align_corners=align_corners, half_pixel_centers=half_pixel_centers
    )
    narrower = _multiply(columns.T, dy.reshape(batch * new_height * new_width, channels))
    return _multiply(rows.T, narrower.reshape(batch * new_height, size[1] * channels)).reshape(shape)


def _resize_nearest(images: Array, size: Size, align_corners: bool, half_pixel_centers: bool) -> Array:
    _, height, width, _ = images.shape
    rows = nearest_places(size[0], height, align_corners, half_pixel_centers)
    columns = nearest_places(size[1], width, align_corners, half_pixel_centers)
    return images.take(rows, 1).take(columns, 2)


def _resize_nearest_grad(dy: Array, size: Size, align_corners: bool, half_pixel_centers: bool) -> Array:
    batch, new_height, new_width, channels = dy.shape
    shape = (batch, *size, channels)
    if not dy.size:
        return np.zeros(shape, dy.dtype)
    rows = nearest_places(new_height, size[0], align_corners, half_pixel_centers)[:, None]
    columns = nearest_places(new_width, size[1], align_corners, half_pixel_centers)[:, None]
    places = (rows * size[1] + columns.T).reshape(-1, 1)
    matrix = _repeated(batch, places, np.ones(places.shape), math.prod(size), dy.dtype)
    return _multiply(matrix.T, dy.reshape(-1, channels)).reshape(shape)


# Sampling at any places.


def _between(position: Array, length: int, bilinear: bool, index: type[np.integer[Any]]) -> list[tuple[Array, Array]]:
    """The pixels of an axis that a position lies between, and their shares; or the nearest one."""
    # Nothing is nearer to the axis for being farther out, but its index might not fit.
    position = np.clip(position, _OUTSIDE, length + 1)
    if not bilinear:
        return [(_rounded(position).astype(index), np.ones(position.shape))]
    lower = np.floor(position)
    place, share = lower.astype(index), position - lower
    return [(place, 1 - share), (place + index(1), share)]


class _Sampler:
    """The samples `[n, height, width]` at finite coordinates `y` and `x`, of that shape or broadcast to it.

    `image` `[n]` says which of the images of a shape each sampled picture is of. Where a sample is wholly or partly
    outside its image, `missing` is the share of it that is.
    """

    def __init__(self, y: Array, x: Array, image: Array, shape: Shape, bilinear: bool, dtype: np.dtype[Any]) -> None:
        batch, height, width, self.channels = shape
        self.images = shape
        self.samples = np.broadcast_shapes(y.shape, x.shape)
        pixels, taps = batch * height * width, 4 if bilinear else 1
        index = np.int32 if pixels < 2**31 else np.int64
        first = (image.reshape(-1, 1, 1) * height).astype(index)
        places = np.empty((*self.samples, taps), index)
        shares = np.empty((*self.samples, taps), dtype)
        missing: Array = np.zeros(self.samples)
        tap = 0
        for row, row_share in _between(y, height, bilinear, index):
            row_start, row_inside = (first + row) * index(width), (row >= 0) & (row < height)
            for column, column_share in _between(x, width, bilinear, index):
                inside = row_inside & (column >= 0) & (column < width)
                weight = row_share * column_share
                np.multiply(row_start + column, inside, out=places[..., tap])
                np.multiply(weight, inside, out=shares[..., tap], casting="same_kind")
                if not inside.all():
                    missing += weight * ~inside
                tap += 1
        self.missing = missing.reshape(-1, 1)
        self.matrix = _matrix(places.reshape(-1, taps), shares.reshape(-1, taps), pixels, dtype)

    def take(self, images: Array, fill: Any) -> Array:
        """The samples of the images; what is missing of one has the value `fill`, a number or one a channel."""
        samples = _multiply(self.matrix, images.reshape(-1, self.channels))
        if np.any(fill):
            partly = np.flatnonzero(self.missing)
            samples[partly] += (self.missing[partly] * fill).astype(samples.dtype)
        return samples.reshape(*self.samples, self.channels)

    def put(self, dy: Array) -> Array:
        """The images' gradient, from that of the samples."""
        return _multiply(self.matrix.T, dy.reshape(-1, self.channels)).reshape(self.images)


def _crops(boxes: Array, box_ind: Array, size: Size, shape: Shape, method: str, dtype: np.dtype[Any]) -> _Sampler:
    batch, height, width, _ = shape
    if box_ind.size and not (box_ind.min() >= 0 and box_ind.max() < batch):
        raise OutOfRangeError(
            f"crop_and_resize: box_ind must be from 0 to {batch - 1}, for a batch of {batch}, got {box_ind.tolist()}"
        )
    y1, x1, y2, x2 = boxes.astype(np.float64).T[:, :, None]
    y = _along(y1, y2, size[0], height)[:, :, None]
    x = _along(x1, x2, size[1], width)[:, None, :]
    # A sample beyond the first or last pixel is wholly outside; so is one at no number at all.
    y, x = (np.where((c >= 0) & (c <= last), c, _OUTSIDE) for c, last in ((y, height - 1), (x, width - 1)))
    return _Sampler(y, x, box_ind, shape, method == "bilinear", dtype)


def _along(start: Array, end: Array, count: int, length: int) -> Array:
    """The coordinates of `count` samples from `start` to `end`, which are given as shares of an axis."""
    if count == 1:
        return 0.5 * (start + end) * (length - 1)
    return start * (length - 1) + np.arange(count) * ((end - start) * (length - 1) / (count - 1))


def _crop_and_resize(
    image: Array, boxes: Array, box_ind: Array, crop_size: Size, method: str, extrapolation_value: float
) -> Array:
    crops = _crops(boxes, box_ind, crop_size, image.shape, method, image.dtype)
    return crops.take(image, extrapolation_value)


def _crop_and_resize_grad_image(
    dy: Array, boxes: Array, box_ind: Array, shape: Shape, crop_size: Size, method: str
) -> Array:
    return _crops(boxes, box_ind, crop_size, shape, method, dy.dtype).put(dy)


def _reflect(c: Array, length: int) -> Array:
    """dcba|abcd|dcba"""
    turn = np.mod(c, 2 * length)
    return np.where(turn >= length, 2 * length - 1 - turn, turn)


def _wrap(c: Array, length: int) -> Array:
    """abcd|abcd|abcd"""
    # TensorFlow counts periods by length - 1, but shifts by length; TensorFlow.js's specs hold that fixed.
    period = max(length - 1, 1)
    return c + length * np.where(c < 0, np.floor(-c / period) + 1, np.where(c > length - 1, -np.floor(c / period), 0))


def _same(c: Array, length: int) -> Array:
    return c


# How the coordinate of a point beyond the edge is brought back, before it is put onto the edge itself.
_EXTENSIONS: dict[str, Callable[[Array, int], Array]] = {"nearest": _same, "reflect": _reflect, "wrap": _wrap}


def _transformed(
    transforms: Array, size: Size, shape: Shape, interpolation: str, fill_mode: str, dtype: np.dtype[Any]
) -> _Sampler:
    batch, height, width, _ = shape
    x = np.arange(size[1], dtype=np.float64)
    y = np.arange(size[0], dtype=np.float64)[:, None]
    a0, a1, a2, b0, b1, b2, c0, c1 = transforms.astype(np.float64).T[:, :, None, None]
    projection = c0 * x + c1 * y + 1
    across, down = (a0 * x + a1 * y + a2) / projection, (b0 * x + b1 * y + b2) / projection
    if fill_mode != "constant":
        extend = _EXTENSIONS[fill_mode]
        across = np.clip(extend(across, width), 0, width - 1)
        down = np.clip(extend(down, height), 0, height - 1)
    usable = np.isfinite(across) & np.isfinite(down)
    across, down = (np.where(usable & (projection != 0), c, _OUTSIDE) for c in (across, down))
    across, down = (np.broadcast_to(c, (batch, *size)) for c in (across, down))
    return _Sampler(down, across, np.arange(batch), shape, interpolation == "bilinear", dtype)


def _transform(
    image: Array, transforms: Array, interpolation: str, fill_mode: str, fill_value: float, output_shape: Size
) -> Array:
    samples = _transformed(transforms, output_shape, image.shape, interpolation, fill_mode, image.dtype)
    return samples.take(image, fill_value)


def _transform_grad_image(dy: Array, transforms: Array, shape: Shape, interpolation: str, fill_mode: str) -> Array:
    size = (dy.shape[1], dy.shape[2])
    return _transformed(transforms, size, shape, interpolation, fill_mode, dy.dtype).put(dy)


def _rotated(radians: Array, center: tuple[float, float], shape: Shape, dtype: np.dtype[Any]) -> _Sampler:
    if not math.isfinite(radians):
        raise ValueError(f"radians must be a finite number, got {radians}")
    batch, height, width, _ = shape
    center_x, center_y = width * center[0], height * center[1]
    sin, cos = math.sin(radians), math.cos(radians)
    x = np.arange(width) - center_x
    y = (np.arange(height) - center_y)[:, None]
    places = (batch, height, width)
    down = np.broadcast_to(x * sin + y * cos + center_y, places)
    across = np.broadcast_to(x * cos - y * sin + center_x, places)
    return _Sampler(down, across, np.arange(batch), shape, False, dtype)


def _rotate_with_offset(
    image: Array, radians: Array, fill_value: tuple[float, ...], center: tuple[float, float]
) -> Array:
    """`fill_value` holds a number for each channel."""
    return _rotated(radians, center, image.shape, image.dtype).take(image, np.array(fill_value, np.float64))


def _rotate_with_offset_grad(dy: Array, radians: Array, center: tuple[float, float]) -> Array:
    return _rotated(radians, center, dy.shape, dy.dtype).put(dy)


KERNELS: dict[str, Any] = {
    "CropAndResize": _crop_and_resize,
    "CropAndResizeGradImage": _crop_and_resize_grad_image,
    "ResizeBilinear": _resize_bilinear,
    "ResizeBilinearGrad": _resize_bilinear_grad,
    "ResizeNearestNeighbor": _resize_nearest,
    "ResizeNearestNeighborGrad": _resize_nearest_grad,
    "RotateWithOffset": _rotate_with_offset,
    "RotateWithOffsetGrad": _rotate_with_offset_grad,
    "Transform": _transform,
    "TransformGradImage": _transform_grad_image,
}

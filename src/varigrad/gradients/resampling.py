"""Derivatives of images sampled at other places than their pixels.

For the image each is linear, and has a kernel that goes back. For the places, the derivative is that of a formula in
ops, which gives the same samples as the kernel.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from varigrad.autodiff import grad
from varigrad.engine import make_tensor, run_kernel
from varigrad.gradients.rules import no_slope
from varigrad.ops.arguments import cast_to, reshape_to
from varigrad.ops.arithmetic import add, div_no_nan, minimum, mul, scale, sub
from varigrad.ops.comparison import greater, greater_equal, less, less_equal, logical_and, not_equal, where
from varigrad.ops.elementwise import clip_by_value, floor
from varigrad.ops.joining import split, stack
from varigrad.ops.shaping import broadcast_to, expand_dims
from varigrad.ops.slicing import gather_nd
from varigrad.tape import Gradient, Rule, inputs
from varigrad.tensor import Tensor

__all__ = ["GRADIENTS"]

Size = tuple[int, int]
Shape = tuple[int, ...]


# Resizing.


def _image_size(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return (inputs[0].storage.shape[1:3],)


def _back_by(kernel: str) -> Rule:
    def rule(dy: Tensor, given: Size, size: Size, **centers: bool) -> Tensor:
        return run_kernel(kernel, (dy,), {"size": given, **centers})

    return rule


# Samples by formula.


def _number(like: Tensor, value: Any) -> Tensor:
    return make_tensor(np.array(value, like.storage.dtype))


def _bilinear(image: Tensor, which: Tensor, y: Tensor, x: Tensor, fill: float | None = None) -> Tensor:
    """Samples `[n, height, width, channels]` of images at `y` and `x` `[n, height, width]`; `which` `[n, 1, 1]` says of
    which image. A pixel outside it has the value `fill`; without one, no sample is outside."""
    top, left = floor(y), floor(x)
    if fill is None:
        # A sample on the last pixel has a slope towards the one before it, and none towards nothing.
        top = minimum(top, max(image.shape[1] - 2.0, 0.0))
        left = minimum(left, max(image.shape[2] - 2.0, 0.0))
    down, right = sub(y, top), sub(x, left)
    which = broadcast_to(which, y.shape)
    samples: Tensor | None = None
    for row, by_row in ((top, sub(1.0, down)), (add(top, 1.0), down)):
        for column, by_column in ((left, sub(1.0, right)), (add(left, 1.0), right)):
            share = mul(expand_dims(mul(by_row, by_column), -1), _pixels(image, which, row, column, fill or 0.0))
            samples = share if samples is None else add(samples, share)
    assert samples is not None
    return samples


def _pixels(image: Tensor, which: Tensor, row: Tensor, column: Tensor, fill: float) -> Tensor:
    height, width = image.shape[1:3]
    kept_row, kept_column = clip_by_value(row, 0, height - 1), clip_by_value(column, 0, width - 1)
    index = stack([which, cast_to(kept_row, "int32"), cast_to(kept_column, "int32")], -1)
    inside = expand_dims(logical_and(row == kept_row, column == kept_column), -1)
    return where(inside, gather_nd(image, index), _number(image, fill))


def _crops(
    image: Tensor, boxes: Tensor, box_ind: Tensor, crop_size: Size, method: str, extrapolation_value: float
) -> Tensor:
    """What the kernel CropAndResize computes, bilinearly."""
    count = boxes.shape[0]
    y1, x1, y2, x2 = split(boxes, 4, 1)
    y = _along(y1, y2, crop_size[0], image.shape[1])
    x = _along(x1, x2, crop_size[1], image.shape[2])
    y = broadcast_to(reshape_to(y, (count, crop_size[0], 1)), (count, *crop_size))
    x = broadcast_to(reshape_to(x, (count, 1, crop_size[1])), (count, *crop_size))
    inside = logical_and(_within(y, image.shape[1]), _within(x, image.shape[2]))
    which = reshape_to(cast_to(box_ind, "int32"), (count, 1, 1))
    samples = _bilinear(image, which, where(inside, y, 0.0), where(inside, x, 0.0))
    return where(expand_dims(inside, -1), samples, _number(image, extrapolation_value))


def _along(start: Tensor, end: Tensor, count: int, length: int) -> Tensor:
    if count == 1:
        return scale(add(start, end), 0.5 * (length - 1))
    steps = _number(start, np.arange(count) / (count - 1))
    return scale(add(start, mul(sub(end, start), steps)), float(length - 1))


def _within(coordinate: Tensor, length: int) -> Tensor:
    return logical_and(greater_equal(coordinate, 0.0), less_equal(coordinate, length - 1.0))


def _reflect(c: Tensor, length: int) -> Tensor:
    turn = sub(c, scale(floor(scale(c, 1 / (2 * length))), 2.0 * length))
    return minimum(turn, sub(2.0 * length - 1, turn))


def _wrap(c: Tensor, length: int) -> Tensor:
    period = max(length - 1, 1)
    before = add(floor(scale(c, -1 / period)), 1.0)
    after = scale(floor(scale(c, 1 / period)), -1.0)
    turns = where(less(c, 0.0), before, where(greater(c, length - 1.0), after, 0.0))
    return add(c, scale(turns, float(length)))


_EXTENSIONS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "nearest": lambda c, length: c,
    "reflect": _reflect,
    "wrap": _wrap,
}


def _transformed(
    image: Tensor, transforms: Tensor, interpolation: str, fill_mode: str, fill_value: float, output_shape: Size
) -> Tensor:
    """What the kernel Transform computes, bilinearly."""
    batch, height, width, _ = image.shape
    x = _number(transforms, np.arange(output_shape[1]))
    y = _number(transforms, np.arange(output_shape[0])[:, None])
    a0, a1, a2, b0, b1, b2, c0, c1 = [reshape_to(part, (part.size, 1, 1)) for part in split(transforms, 8, 1)]
    projection = add(add(mul(c0, x), mul(c1, y)), 1.0)
    across = div_no_nan(add(add(mul(a0, x), mul(a1, y)), a2), projection)
    down = div_no_nan(add(add(mul(b0, x), mul(b1, y)), b2), projection)
    if fill_mode != "constant":
        extend = _EXTENSIONS[fill_mode]
        across = clip_by_value(extend(across, width), 0, width - 1)
        down = clip_by_value(extend(down, height), 0, height - 1)
    which = make_tensor(np.arange(batch, dtype=np.int32).reshape(batch, 1, 1))
    places = (batch, *output_shape)
    fill = fill_value if fill_mode == "constant" else None
    samples = _bilinear(image, which, broadcast_to(down, places), broadcast_to(across, places), fill)
    usable = broadcast_to(not_equal(projection, 0.0), places)
    return where(expand_dims(usable, -1), samples, _number(image, fill_value))


# Crops, transforms and rotations.


def _crop_and_resize(
    dy: Tensor, image: Tensor, boxes: Tensor, box_ind: Tensor, crop_size: Size, method: str, extrapolation_value: float
) -> tuple[Any, ...]:
    attrs: dict[str, Any] = {"crop_size": crop_size, "method": method}

    def for_image() -> Tensor:
        return run_kernel("CropAndResizeGradImage", (dy, boxes, box_ind), {**attrs, "shape": image.shape})

    def for_boxes() -> Tensor:
        if method == "nearest":
            return no_slope(boxes)
        return grad(lambda b: _crops(image, b, box_ind, extrapolation_value=extrapolation_value, **attrs))(boxes, dy)

    return for_image, for_boxes, None


def _crop_and_resize_grad_image(
    dy: Tensor, given: Tensor, boxes: Tensor, box_ind: Tensor, shape: Shape, crop_size: Size, method: str
) -> tuple[Any, ...]:
    """`given` is the gradient of the crops; that of the image, `dy`, is cropped the same way."""
    attrs: dict[str, Any] = {"crop_size": crop_size, "method": method, "extrapolation_value": 0.0}

    def for_given() -> Tensor:
        return run_kernel("CropAndResize", (dy, boxes, box_ind), attrs)

    def for_boxes() -> Tensor:
        if method == "nearest":
            return no_slope(boxes)
        return grad(lambda b: _crops(dy, b, box_ind, **attrs))(boxes, given)

    return for_given, for_boxes, None


def _transform(
    dy: Tensor,
    image: Tensor,
    transforms: Tensor,
    interpolation: str,
    fill_mode: str,
    fill_value: float,
    output_shape: Size,
) -> tuple[Any, ...]:
    attrs: dict[str, Any] = {"interpolation": interpolation, "fill_mode": fill_mode}

    def for_image() -> Tensor:
        return run_kernel("TransformGradImage", (dy, transforms), {**attrs, "shape": image.shape})

    def for_transforms() -> Tensor:
        if interpolation == "nearest":
            return no_slope(transforms)
        return grad(lambda t: _transformed(image, t, fill_value=fill_value, output_shape=output_shape, **attrs))(
            transforms, dy
        )

    return for_image, for_transforms


def _transform_grad_image(
    dy: Tensor, given: Tensor, transforms: Tensor, shape: Shape, interpolation: str, fill_mode: str
) -> tuple[Any, ...]:
    attrs: dict[str, Any] = {
        "interpolation": interpolation,
        "fill_mode": fill_mode,
        "fill_value": 0.0,
        "output_shape": given.shape[1:3],
    }

    def for_given() -> Tensor:
        return run_kernel("Transform", (dy, transforms), attrs)

    def for_transforms() -> Tensor:
        if interpolation == "nearest":
            return no_slope(transforms)
        return grad(lambda t: _transformed(dy, t, **attrs))(transforms, given)

    return for_given, for_transforms


def _rotate(dy: Tensor, radians: Tensor, fill_value: tuple[float, ...], center: tuple[float, float]) -> tuple[Any, ...]:
    return (
        lambda: run_kernel("RotateWithOffsetGrad", (dy, radians), {"center": center}),
        lambda: no_slope(radians),
    )


def _rotate_grad(dy: Tensor, radians: Tensor, center: tuple[float, float]) -> tuple[Any, ...]:
    attrs = {"fill_value": (0.0,) * dy.shape[3], "center": center}
    return lambda: run_kernel("RotateWithOffset", (dy, radians), attrs), lambda: no_slope(radians)


def _angle(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    return inputs[1:]


GRADIENTS: dict[str, Gradient] = {
    "CropAndResize": Gradient(_crop_and_resize, inputs),
    "CropAndResizeGradImage": Gradient(_crop_and_resize_grad_image, inputs),
    "ResizeBilinear": Gradient(_back_by("ResizeBilinearGrad"), _image_size),
    "ResizeBilinearGrad": Gradient(_back_by("ResizeBilinear"), _image_size),
    "ResizeNearestNeighbor": Gradient(_back_by("ResizeNearestNeighborGrad"), _image_size),
    "ResizeNearestNeighborGrad": Gradient(_back_by("ResizeNearestNeighbor"), _image_size),
    "RotateWithOffset": Gradient(_rotate, _angle),
    "RotateWithOffsetGrad": Gradient(_rotate_grad, _angle),
    "Transform": Gradient(_transform, inputs),
    "TransformGradImage": Gradient(_transform_grad_image, inputs),
}

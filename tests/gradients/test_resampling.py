"""Derivatives of resizing, cropping, rotating and transforming images."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.resampling import GRADIENTS, _crops, _transformed
from varigrad.testing import check_gradients

RANDOM = np.random.default_rng(3)
IMAGES = RANDOM.normal(size=(2, 3, 4, 2))
SMALL = RANDOM.normal(size=(2, 2, 3, 2))
# Away from places where a sample lies on a pixel, and the slope jumps.
BOXES = np.array([[0.12, 0.07, 0.83, 0.61], [-0.31, 0.9, 0.77, 0.26], [0.21, 0.13, 1.4, 0.71]])
BOX_IND = [0, 1, 1]
TRANSFORMS = np.array(
    [[0.81, 0.13, 0.21, -0.17, 0.71, 0.43, 0.011, 0.023], [1.21, -0.33, -0.7, 0.21, 1.13, 1.27, 0.0, 0.0]]
)


def square(x):
    """For a second order: sampling is linear in the image."""
    return vg.square(x)


def kernel(name, dy, *inputs, **attrs):
    return vg.square(vg.run_kernel(name, (dy, *[vg.tensor(i) for i in inputs]), attrs))


CASES = {}
for _way, _centers in {
    "corners": {},
    "aligned corners": {"align_corners": True},
    "half pixels": {"half_pixel_centers": True},
}.items():
    _given = {"align_corners": False, "half_pixel_centers": False, **_centers}
    for _size in ([5, 2], [2, 7], [1, 1]):
        CASES |= {
            f"ResizeBilinear: {_way}, {_size}": (
                lambda x, s=_size, c=_centers: square(vg.image.resize_bilinear(x, s, **c)),
                IMAGES,
            ),
            f"ResizeNearestNeighbor: {_way}, {_size}": (
                lambda x, s=_size, c=_centers: square(vg.image.resize_nearest_neighbor(x, s, **c)),
                IMAGES,
            ),
            f"ResizeBilinearGrad: {_way}, {_size}": (
                lambda dy, s=_size, c=_given: kernel("ResizeBilinearGrad", dy, size=tuple(s), **c),
                SMALL,
            ),
            f"ResizeNearestNeighborGrad: {_way}, {_size}": (
                lambda dy, s=_size, c=_given: kernel("ResizeNearestNeighborGrad", dy, size=tuple(s), **c),
                SMALL,
            ),
        }
for _size in ([3, 2], [1, 4], [2, 1]):
    for _method in ("bilinear", "nearest"):
        _attrs = {"shape": (2, 3, 4, 2), "crop_size": tuple(_size), "method": _method}
        CASES |= {
            f"CropAndResize: {_method}, {_size}": (
                lambda x, b, s=_size, m=_method: square(vg.image.crop_and_resize(x, b, BOX_IND, s, m, 0.7)),
                IMAGES,
                BOXES,
            ),
            f"CropAndResizeGradImage: {_method}, {_size}": (
                lambda dy, b, a=_attrs: vg.square(
                    vg.run_kernel("CropAndResizeGradImage", (dy, b, vg.tensor(BOX_IND, dtype="int32")), a)
                ),
                RANDOM.normal(size=(3, *_size, 2)),
                BOXES,
            ),
        }
for _mode in ("constant", "reflect", "wrap", "nearest"):
    for _method in ("bilinear", "nearest"):
        for _which in ("each", "all"):
            _attrs = {"shape": (2, 3, 4, 2), "interpolation": _method, "fill_mode": _mode}
            _rows = TRANSFORMS if _which == "each" else TRANSFORMS[:1]
            CASES |= {
                f"Transform: {_method}, {_mode}, {_which}": (
                    lambda x, t, i=_method, m=_mode: square(vg.image.transform(x, t, i, m, 0.3, [2, 3])),
                    IMAGES,
                    _rows,
                ),
                f"TransformGradImage: {_method}, {_mode}, {_which}": (
                    lambda dy, t, a=_attrs: vg.square(vg.run_kernel("TransformGradImage", (dy, t), a)),
                    SMALL,
                    _rows,
                ),
            }
for _angle in (0.6, -2.0):
    CASES |= {
        f"RotateWithOffset: {_angle}": (
            lambda x, a: square(vg.image.rotate_with_offset(x, a, 0.3, [0.4, 0.6])),
            IMAGES,
            _angle,
        ),
        f"RotateWithOffsetGrad: {_angle}": (
            lambda dy, a: vg.square(vg.run_kernel("RotateWithOffsetGrad", (dy, a), {"center": (0.4, 0.6)})),
            IMAGES,
            _angle,
        ),
    }


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


@pytest.mark.parametrize("size", [(3, 2), (1, 4), (2, 1)])
def test_the_formula_for_crops_gives_what_the_kernel_gives(size):
    image, boxes = vg.tensor(IMAGES, dtype="float64"), vg.tensor(BOXES, dtype="float64")
    attrs = {"crop_size": size, "method": "bilinear", "extrapolation_value": 0.7}
    which = vg.tensor(BOX_IND, dtype="int32")
    expected = vg.run_kernel("CropAndResize", (image, boxes, which), attrs)
    np.testing.assert_allclose(_crops(image, boxes, which, **attrs).numpy(), expected.numpy(), atol=1e-12)


@pytest.mark.parametrize("mode", ["constant", "reflect", "wrap", "nearest"])
def test_the_formula_for_transforms_gives_what_the_kernel_gives(mode):
    image = vg.tensor(IMAGES, dtype="float64")
    rows = np.random.default_rng(1).normal(size=(25, 2, 8)) * [2, 2, 9, 2, 2, 9, 0.3, 0.3]
    rows[:3] = [1, 0, 0, 0, 1, 0, -1, 0]  # the point at infinity
    attrs = {"interpolation": "bilinear", "fill_mode": mode, "fill_value": 0.3, "output_shape": (4, 5)}
    for row in rows:
        transforms = vg.tensor(row, dtype="float64")
        expected = vg.run_kernel("Transform", (image, transforms), attrs)
        np.testing.assert_allclose(_transformed(image, transforms, **attrs).numpy(), expected.numpy(), atol=1e-9)


# tf.grad(x => tf.image.resizeBilinear(x, [4, 4], alignCorners))(tf.zeros([1, 2, 2, 1]), dy), dy = 1 … 16
@pytest.mark.parametrize(
    ("align_corners", "expected"),
    [(False, [6, 17, 38, 75]), (True, [17.333332, 24, 44, 50.666664])],
)
def test_the_gradient_of_bilinear_resizing_is_tensorflow_js_s(align_corners, expected):
    dy = vg.reshape(vg.range(1, 17), [1, 4, 4, 1])
    gradient = vg.grad(lambda x: vg.image.resize_bilinear(x, [4, 4], align_corners))(vg.zeros([1, 2, 2, 1]), dy)
    np.testing.assert_allclose(gradient.numpy().ravel(), expected, rtol=1e-6)


def test_a_box_around_the_whole_image_has_the_slopes_towards_its_inside():
    image = np.arange(9.0).reshape(1, 3, 3, 1) ** 2
    crop = lambda boxes: vg.image.crop_and_resize(image, boxes, [0], [2, 2]).sum()  # noqa: E731
    slopes = vg.grad(crop)(vg.tensor([[0.0, 0.0, 1.0, 1.0]])).numpy()[0]
    step = 1e-3
    for place, inward in enumerate([step, step, -step, -step]):
        moved = np.array([[0.0, 0.0, 1.0, 1.0]])
        moved[0, place] += inward
        difference = (crop(moved).item() - crop(np.array([[0.0, 0.0, 1.0, 1.0]])).item()) / inward
        np.testing.assert_allclose(slopes[place], difference, rtol=2e-3)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_gradients_keep_the_dtype(dtype):
    x = vg.tensor(IMAGES, dtype=dtype)
    for f in (
        lambda x: vg.image.resize_bilinear(x, [2, 2]),
        lambda x: vg.image.resize_nearest_neighbor(x, [2, 2]),
        lambda x: vg.image.crop_and_resize(x, BOXES, BOX_IND, [2, 2]),
        lambda x: vg.image.rotate_with_offset(x, 0.3),
        lambda x: vg.image.transform(x, vg.tensor(TRANSFORMS)),
    ):
        assert f(x).dtype == dtype
        assert vg.grad(f)(x).dtype == dtype


def test_a_sample_that_is_not_used_leaks_nothing():
    x = vg.tensor([[[[1.0], [np.nan]]]])
    gradient = vg.grad(lambda x: vg.square(vg.image.resize_bilinear(x, [1, 2])))(x, vg.tensor([[[[1.0], [0.0]]]]))
    assert gradient.tolist() == [[[[2.0], [0.0]]]]

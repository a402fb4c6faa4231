"""Resizing, cropping, rotating and transforming: values against SciPy and TensorFlow.js, dtypes, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

import varigrad as vg

STABLE = settings(max_examples=50)
lengths = st.integers(1, 6)
shapes = st.tuples(st.integers(1, 2), lengths, lengths, st.integers(1, 3))


def random(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def sampled(image, y, x, **options):
    """One image `[height, width, channels]` at places `y` and `x`, by SciPy, bilinearly."""
    channels = [ndimage.map_coordinates(image[..., c], [y, x], order=1, **options) for c in range(image.shape[2])]
    return np.stack(channels, -1)


def places(new, old, align_corners, half_pixel_centers):
    if half_pixel_centers:
        return (np.arange(new) + 0.5) * old / new - 0.5
    if align_corners and new > 1:
        return np.linspace(0, old - 1, new)
    return np.arange(new) * old / new


@STABLE
@given(shapes, lengths, lengths, st.sampled_from([(False, False), (True, False), (False, True)]))
def test_bilinear_resizing_is_interpolation(shape, height, width, centers):
    images = random(shape)
    y, x = np.meshgrid(places(height, shape[1], *centers), places(width, shape[2], *centers), indexing="ij")
    result = vg.image.resize_bilinear(vg.tensor(images, dtype="float64"), [height, width], *centers)
    expected = np.stack([sampled(image, y, x, mode="nearest") for image in images])
    np.testing.assert_allclose(result.numpy(), expected, atol=1e-12)


@STABLE
@given(shapes, lengths, lengths, st.sampled_from([(False, False), (True, False), (False, True)]))
def test_every_pixel_of_a_nearest_neighbor_is_the_one_at_its_place(shape, height, width, centers):
    images = random(shape)

    def nearest(new, old):
        position = places(new, old, *centers)
        # Half away from zero, as positions are not negative; a pixel reaches half a pixel before and after its center.
        rounded = np.floor(position + 0.5 + 1e-12) if centers != (False, False) else np.floor(position + 1e-12)
        return np.clip(rounded, 0, old - 1).astype(int)

    result = vg.image.resize_nearest_neighbor(vg.tensor(images, dtype="float64"), [height, width], *centers)
    expected = images[:, nearest(height, shape[1])][:, :, nearest(width, shape[2])]
    np.testing.assert_array_equal(result.numpy(), expected)


# tf.image.resizeBilinear(tf.range(0, 18).reshape([1, 3, 3, 2]), [2, 4], …), and likewise resizeNearestNeighbor
COUNTED = np.arange(18.0).reshape(1, 3, 3, 2)
RESIZED = {
    ("resize_bilinear", False, False): [[0, 1.5, 3, 4], [9, 10.5, 12, 13]],
    ("resize_bilinear", True, False): [[0, 4 / 3, 8 / 3, 4], [12, 40 / 3, 44 / 3, 16]],
    ("resize_bilinear", False, True): [[1.5, 2.75, 4.25, 5.5], [10.5, 11.75, 13.25, 14.5]],
    ("resize_nearest_neighbor", False, False): [[0, 0, 2, 4], [6, 6, 8, 10]],
    ("resize_nearest_neighbor", True, False): [[0, 2, 2, 4], [12, 14, 14, 16]],
    ("resize_nearest_neighbor", False, True): [[0, 2, 2, 4], [12, 14, 14, 16]],
}


@pytest.mark.parametrize("case", RESIZED)
def test_resized_images_are_tensorflow_js_s(case):
    name, align_corners, half_pixel_centers = case
    result = getattr(vg.tensor(COUNTED), name)([2, 4], align_corners, half_pixel_centers).numpy()
    first = np.array(RESIZED[case])
    np.testing.assert_allclose(result, np.stack([first, first + 1], -1)[None], rtol=1e-6)


def test_one_image_is_resized_without_a_batch():
    image = random((3, 4, 2))
    alone = vg.image.resize_bilinear(image, [2, 2])
    np.testing.assert_array_equal(alone.numpy(), vg.image.resize_bilinear(image[None], [2, 2]).numpy()[0])
    assert vg.image.resize_nearest_neighbor(image, [5, 1]).shape == (5, 1, 2)


def test_resizing_to_the_same_size_changes_nothing_not_even_infinities():
    images = random((1, 2, 2, 1)).astype("float32")
    images[0, 0, 0] = np.inf
    images[0, 1, 1] = np.nan
    np.testing.assert_array_equal(vg.image.resize_bilinear(images, [2, 2]).numpy(), images)


def test_dtypes_of_resized_images():
    pixels = vg.tensor([[[1], [2]]], dtype="int32")
    assert vg.image.resize_bilinear(pixels, [2, 2]).dtype == "float32"
    assert vg.image.resize_nearest_neighbor(pixels, [2, 2]).dtype == "int32"
    for dtype in ("float16", "float32", "float64"):
        for resize in (vg.image.resize_bilinear, vg.image.resize_nearest_neighbor):
            assert resize(pixels.cast(dtype), [3, 3]).dtype == dtype


def test_images_of_an_empty_batch_are_resized_to_none():
    for resize in (vg.image.resize_bilinear, vg.image.resize_nearest_neighbor):
        assert resize(np.zeros((0, 2, 2, 3)), [4, 5]).shape == (0, 4, 5, 3)
        gradient = vg.grad(lambda x, resize=resize: resize(x, [4, 5]))(vg.zeros([0, 2, 2, 3]))
        assert gradient.shape == (0, 2, 2, 3)


# Crops


# tf.image.cropAndResize(tf.range(0, 9).reshape([1, 3, 3, 1]), [[0.1, 0.2, 0.8, 1.3], [1, 1, 0, 0]], [0, 0], [2, 3],
# method, -1)
@pytest.mark.parametrize(
    ("method", "first"),
    [("bilinear", [[1, 2.1, -1], [5.2, 6.3, -1]]), ("nearest", [[0, 1, -1], [6, 7, -1]])],
)
def test_crops_are_tensorflow_js_s(method, first):
    image = np.arange(9.0).reshape(1, 3, 3, 1)
    boxes = [[0.1, 0.2, 0.8, 1.3], [1, 1, 0, 0]]
    crops = vg.image.crop_and_resize(image, boxes, [0, 0], [2, 3], method, -1).numpy()[..., 0]
    np.testing.assert_allclose(crops, [first, [[8, 7, 6], [2, 1, 0]]], rtol=1e-6)


@STABLE
@given(shapes, st.integers(0, 3), lengths, lengths, st.integers(0, 99))
def test_crops_are_interpolation(shape, count, height, width, seed):
    images = random(shape)
    generator = np.random.default_rng(seed)
    boxes, which = generator.uniform(-0.3, 1.3, (count, 4)), generator.integers(0, shape[0], count)
    crops = vg.image.crop_and_resize(
        vg.tensor(images, dtype="float64"), vg.tensor(boxes, dtype="float64"), which, [height, width], "bilinear", 9.0
    )
    assert crops.shape == (count, height, width, shape[3])
    for crop, (y1, x1, y2, x2), image in zip(crops.numpy(), boxes, images[which], strict=True):
        down = np.linspace(y1, y2, height) if height > 1 else np.array([(y1 + y2) / 2])
        across = np.linspace(x1, x2, width) if width > 1 else np.array([(x1 + x2) / 2])
        y, x = np.meshgrid(down * (shape[1] - 1), across * (shape[2] - 1), indexing="ij")
        expected = sampled(image, y, x, mode="nearest")
        expected[(y < 0) | (y > shape[1] - 1) | (x < 0) | (x > shape[2] - 1)] = 9
        np.testing.assert_allclose(crop, expected, atol=1e-12)


# Rotations


# tf.image.rotateWithOffset(tf.range(0, 9).reshape([1, 3, 3, 1]), Math.PI / 4, -1, 0.5), and
# tf.image.rotateWithOffset(tf.range(0, 18).reshape([1, 3, 3, 2]), 1, -1, [0.3, 0.6])
def test_rotations_are_tensorflow_js_s():
    turned = vg.image.rotate_with_offset(np.arange(9.0).reshape(1, 3, 3, 1), np.pi / 4, -1)
    assert turned.numpy()[0, ..., 0].tolist() == [[-1, 2, -1], [1, 5, 8], [3, 7, 8]]
    turned = vg.image.rotate_with_offset(vg.tensor(COUNTED), 1, -1, [0.3, 0.6])
    assert turned.numpy()[0, ..., 0].tolist() == [[4, 10, -1], [8, 10, 16], [6, 14, -1]]


def test_each_image_of_a_batch_is_rotated_and_filled_by_channel():
    images = random((2, 4, 4, 4)).astype("float32")
    turned = vg.image.rotate_with_offset(images, 0.8, [1, 2, 3]).numpy()
    corner = turned[:, 0, 0]
    np.testing.assert_array_equal(corner, [[1, 2, 3, 255]] * 2)
    for image, alone in zip(turned, images, strict=True):
        np.testing.assert_array_equal(image, vg.image.rotate_with_offset(alone[None], 0.8, [1, 2, 3]).numpy()[0])


# tf.image.rotateWithOffset(tf.range(0, 6).reshape([1, 6, 1, 1]), Math.PI / 2, -1)
def test_a_place_a_hair_before_the_middle_between_two_pixels_is_nearer_to_the_first():
    turned = vg.image.rotate_with_offset(np.arange(6.0).reshape(1, 6, 1, 1), np.pi / 2, -1)
    assert turned.numpy().ravel().tolist() == [-1, -1, -1, 3, 3, -1]


def test_an_angle_may_be_a_tensor_and_a_whole_turn_changes_nothing():
    images = random((1, 5, 4, 1)).astype("float32")
    for angle in (2 * np.pi, vg.scalar(0.0), np.float32(0)):
        np.testing.assert_array_equal(vg.image.rotate_with_offset(images, angle).numpy(), images)


# Transforms


# tf.image.transform(tf.range(0, 9).reshape([1, 3, 3, 1]), [[0.9, 0.3, -0.4, -0.2, 1.1, 0.6, 0.05, 0.1]],
# interpolation, fillMode, -1, [2, 3])
LEFT = {
    ("nearest", "constant"): [3, 6],
    ("bilinear", "constant"): [0.68, 4.123967],
    ("nearest", "reflect"): [3, 6],
    ("bilinear", "reflect"): [1.8, 4.636364],
    ("nearest", "wrap"): [5, 8],
    ("bilinear", "wrap"): [3.8, 6.636364],
    ("nearest", "nearest"): [3, 6],
    ("bilinear", "nearest"): [1.8, 4.636364],
}


@pytest.mark.parametrize("case", LEFT)
def test_transforms_are_tensorflow_js_s(case):
    inside = [[0, 1], [4, 4]] if case[0] == "nearest" else [[1.619048, 1.818182], [4.608696, 4.666667]]
    transforms = [[0.9, 0.3, -0.4, -0.2, 1.1, 0.6, 0.05, 0.1]]
    result = vg.image.transform(np.arange(9.0).reshape(1, 3, 3, 1), vg.tensor(transforms), *case, -1, [2, 3])
    np.testing.assert_allclose(result.numpy()[0, ..., 0], np.column_stack([LEFT[case], inside]), rtol=1e-5)


@STABLE
@given(
    shapes,
    lengths,
    lengths,
    st.integers(0, 99),
    st.sampled_from([("constant", "grid-constant"), ("reflect", "reflect")]),
)
def test_transforms_are_interpolation(shape, height, width, seed, modes):
    images = random(shape)
    transforms = np.random.default_rng(seed).normal(size=(shape[0], 8)) * [1, 1, 5, 1, 1, 5, 0.1, 0.1]
    result = vg.image.transform(
        vg.tensor(images, dtype="float64"),
        vg.tensor(transforms, dtype="float64"),
        "bilinear",
        modes[0],
        0.7,
        [height, width],
    )
    assert result.shape == (shape[0], height, width, shape[3])
    y, x = np.mgrid[:height, :width]
    for picture, image, (a0, a1, a2, b0, b1, b2, c0, c1) in zip(result.numpy(), images, transforms, strict=True):
        k = c0 * x + c1 * y + 1
        across, down = (a0 * x + a1 * y + a2) / k, (b0 * x + b1 * y + b2) / k
        np.testing.assert_allclose(picture, sampled(image, down, across, mode=modes[1], cval=0.7), atol=1e-9)


def test_one_transform_serves_a_whole_batch():
    images = random((3, 4, 4, 2)).astype("float32")
    row = vg.tensor([[0.9, 0.1, 0.4, -0.1, 1.1, 0.3, 0.0, 0.0]])
    together = vg.image.transform(images, row, "bilinear").numpy()
    for image, alone in zip(together, images, strict=True):
        np.testing.assert_array_equal(image, vg.image.transform(alone[None], row, "bilinear").numpy()[0])


@pytest.mark.parametrize("mode", ["constant", "reflect", "wrap", "nearest"])
def test_points_at_infinity_have_the_fill_value(mode):
    image = vg.ones([1, 3, 3, 1])
    for interpolation in ("nearest", "bilinear"):
        result = vg.image.transform(image, vg.tensor([[1, 0, 0, 0, 1, 0, -1, 0]]), interpolation, mode, 7.0)
        assert result.numpy()[0, :, 1, 0].tolist() == [7, 7, 7]
        assert np.isfinite(result.numpy()).all()


def test_samples_at_no_number_are_outside():
    crops = vg.image.crop_and_resize(
        COUNTED, [[0, np.nan, 1, np.nan], [0, 0, np.inf, 1]], [0, 0], [2, 1], "bilinear", 5
    )
    assert crops.numpy()[0].ravel().tolist() == [5] * 4
    row = vg.tensor([[1, 0, np.nan, 0, 1, 0, 0, 0]])
    for interpolation in ("nearest", "bilinear"):
        assert vg.image.transform(COUNTED, row, interpolation, fill_value=5.0).numpy().ravel().tolist() == [5] * 18
    far = vg.tensor([[1, 0, 1e30, 0, 1, 0, 0, 0]])
    assert vg.image.transform(COUNTED, far, "bilinear", "nearest").numpy()[0, :, :, 0].tolist() == [
        [4, 4, 4],
        [10, 10, 10],
        [16, 16, 16],
    ]
    assert vg.image.transform(COUNTED, far, "bilinear", fill_value=5.0).numpy().ravel().tolist() == [5] * 18


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.image.resize_bilinear([[1]], [1, 1]), ValueError, r"resize_bilinear: images must have rank 3 or 4"),
        (lambda: vg.image.resize_bilinear(COUNTED, [1, 0]), ValueError, r"size must be \[height, width\]"),
        (lambda: vg.image.resize_bilinear(COUNTED, [1]), ValueError, r"size must be \[height, width\]"),
        (lambda: vg.image.resize_bilinear(COUNTED, [2, 2], True, True), ValueError, "cannot both be True"),
        (lambda: vg.image.resize_nearest_neighbor(np.zeros((1, 0, 2, 1)), [2, 2]), ValueError, "has no pixels"),
        (lambda: vg.image.resize_bilinear(vg.tensor([[[1j]]]), [1, 1]), TypeError, "must be real"),
        (lambda: vg.image.crop_and_resize(COUNTED, [[0, 0, 1]], [0], [1, 1]), ValueError, r"boxes must have shape"),
        (
            lambda: vg.image.crop_and_resize(COUNTED, [[0, 0, 1, 1]], [0, 0], [1, 1]),
            ValueError,
            "an image for each box",
        ),
        (lambda: vg.image.crop_and_resize(COUNTED, [[0, 0, 1, 1]], [1], [1, 1]), vg.OutOfRangeError, "box_ind must be"),
        (lambda: vg.image.crop_and_resize(COUNTED, [[0, 0, 1, 1]], [-1], [1, 1]), vg.OutOfRangeError, "got .-1."),
        (lambda: vg.image.crop_and_resize(COUNTED, [[0, 0, 1, 1]], [0], [1, 1], "cubic"), ValueError, "'cubic'"),
        (
            lambda: vg.image.crop_and_resize(COUNTED[0], [[0, 0, 1, 1]], [0], [1, 1]),
            ValueError,
            "image must have rank 4",
        ),
        (lambda: vg.image.rotate_with_offset(COUNTED.astype(int), 1), TypeError, "image must be floating, got int32"),
        (lambda: vg.image.rotate_with_offset(COUNTED, 1, [1]), ValueError, "does not give a value to each of 2"),
        (lambda: vg.image.rotate_with_offset(COUNTED, [1.0, 2.0]), TypeError, "radians must be a number"),
        (lambda: vg.image.rotate_with_offset(COUNTED, np.nan), ValueError, "radians must be a finite number, got nan"),
        (lambda: vg.image.rotate_with_offset(COUNTED, 1, 0, [1]), ValueError, r"center must be one number or \[x, y\]"),
        (lambda: vg.image.transform(COUNTED, vg.zeros([2, 8])), ValueError, r"transforms must have shape \[1, 8\]"),
        (lambda: vg.image.transform(COUNTED, vg.zeros([1, 8], "int32")), TypeError, "transforms must be floating"),
        (lambda: vg.image.transform(COUNTED, vg.zeros([1, 8]), "cubic"), ValueError, "interpolation must be"),
        (lambda: vg.image.transform(COUNTED, vg.zeros([1, 8]), "nearest", "mirror"), ValueError, "fill_mode must be"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()

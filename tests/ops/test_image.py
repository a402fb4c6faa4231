"""Mirrored, gray and black-and-white images; boxes that overlap: against NumPy, TensorFlow.js and plain loops."""

import asyncio

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

STABLE = settings(max_examples=50)


def test_mirrored_images_keep_rows_and_channels():
    images = np.random.default_rng(0).normal(size=(2, 3, 4, 2)).astype("float32")
    np.testing.assert_array_equal(vg.image.flip_left_right(images).numpy(), images[:, :, ::-1])
    assert vg.image.flip_left_right(vg.tensor(images, dtype="float64")).dtype == "float64"


@pytest.mark.parametrize("shape", [(4,), (2, 3), (2, 2, 2), (1, 2, 1, 2, 1)])
def test_gray_images_of_any_rank(shape):
    image = np.random.default_rng(0).uniform(0, 255, (*shape, 3))
    gray = vg.image.rgb_to_grayscale(vg.tensor(image, dtype="float64"))
    np.testing.assert_allclose(gray.numpy()[..., 0], image @ [0.2989, 0.587, 0.114], rtol=1e-12)
    np.testing.assert_array_equal(vg.image.grayscale_to_rgb(gray).numpy(), np.repeat(gray.numpy(), 3, -1))


def test_gray_images_keep_their_dtype():
    pixels = vg.tensor([[255, 255, 255], [10, 20, 30]], dtype="int32")
    assert vg.image.rgb_to_grayscale(pixels).tolist() == [[254], [18]]  # 254.97 and 18.149, cut
    assert vg.image.grayscale_to_rgb(vg.tensor([[True]])).tolist() == [[True] * 3]


def otsu(pixels):
    """Otsu's threshold by trying each level."""
    best, threshold = 0.0, -1
    for level in range(255):
        dark, light = pixels[pixels <= level], pixels[pixels > level]
        if dark.size and light.size:
            between = dark.size * light.size * (dark.mean() - light.mean()) ** 2
            if between > best * (1 + 1e-12):
                best, threshold = between, level
    return threshold


@STABLE
@given(st.integers(0, 999), st.booleans())
def test_otsus_threshold_parts_dark_from_light(seed, inverted):
    generator = np.random.default_rng(seed)
    pixels = np.clip(generator.normal(generator.choice([60, 180], (5, 6, 1)), 25), 0, 255).round()
    result = vg.image.threshold(pixels, "otsu", inverted)
    assert result.dtype == "int32"
    np.testing.assert_array_equal(result.numpy(), np.where((pixels > otsu(pixels)) != inverted, 255, 0))


def test_thresholds_of_plain_images():
    assert vg.image.threshold(np.full((2, 2, 1), 7.0), "otsu").tolist() == [[[255]] * 2] * 2  # as in TensorFlow.js
    colors = vg.tensor([[[144, 255, 51], [13, 32, 59]], [[222, 100, 51], [69, 71, 222]]], dtype="int32")
    assert vg.image.threshold(colors).shape == (2, 2, 1)
    assert vg.image.threshold(colors).numpy().ravel().tolist() == [255, 0, 255, 0]
    assert vg.image.threshold(colors, inverted=True).numpy().ravel().tolist() == [0, 255, 0, 255]
    assert vg.image.threshold(colors, thresh_value=0.1).numpy().ravel().tolist() == [255, 255, 255, 255]


# Boxes


def overlap(a, b):
    (ay, ax), (by, bx) = (np.sort(np.reshape(box, (2, 2)), 0).T for box in (a, b))
    areas = [(y[1] - y[0]) * (x[1] - x[0]) for y, x in ((ay, ax), (by, bx))]
    if min(areas) <= 0:
        return 0.0
    shared = max(min(ay[1], by[1]) - max(ay[0], by[0]), 0) * max(min(ax[1], bx[1]) - max(ax[0], bx[0]), 0)
    return shared / (sum(areas) - shared)


def suppressed(boxes, scores, count, limit, least, sigma):
    """Soft non-maximum suppression, a box at a time."""
    current = {i: float(s) for i, s in enumerate(scores) if s > least}
    chosen = []
    while current and len(chosen) < count:
        best = max(current, key=lambda i: (current[i], -i))
        chosen.append((best, current.pop(best)))
        for i in list(current):
            shared = overlap(boxes[best].astype(float), boxes[i].astype(float))
            if sigma:
                current[i] *= np.exp(-shared * shared / (2 * sigma))
            if shared >= limit or current[i] <= least:
                del current[i]
    return [i for i, _ in chosen], [s for _, s in chosen]


@STABLE
@given(
    st.integers(0, 999),
    st.integers(0, 20),
    st.integers(0, 8),
    st.sampled_from([0.0, 0.2, 0.5, 1.0]),
    st.sampled_from([-np.inf, 0.4]),
    st.sampled_from([0.0, 0.5]),
)
def test_suppression_is_that_of_a_plain_loop(seed, number, count, limit, least, sigma):
    generator = np.random.default_rng(seed)
    boxes = generator.uniform(0, 2, (number, 4)).astype("float32")
    scores = (generator.integers(0, 8, number) / 8).astype("float32")
    expected, values = suppressed(boxes, scores, count, limit, least, sigma)
    result = vg.image.non_max_suppression_with_score(boxes, scores, count, limit, least, sigma)
    assert result.selected_indices.dtype == "int32"
    assert result.selected_indices.tolist() == expected
    np.testing.assert_allclose(result.selected_scores.numpy(), values, rtol=1e-6)
    if not sigma:
        assert vg.image.non_max_suppression(boxes, scores, count, limit, least).tolist() == expected
        padded = vg.image.non_max_suppression_padded(boxes, scores, count, limit, least, True)
        assert padded.selected_indices.tolist() == expected + [0] * (count - len(expected))
        assert padded.valid_outputs.item() == len(expected)


# tf.image.nonMaxSuppressionWithScore(boxes, scores, 6, 0.99, 0, 0.5)
def test_soft_suppression_is_tensorflow_js_s():
    boxes = [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [1, 101, 0, 100]]
    scores = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3]
    indices, values = vg.image.non_max_suppression_with_score(boxes, scores, 6, 0.99, 0.0, 0.5)
    assert indices.tolist() == [3, 0, 1, 5, 4, 2]
    np.testing.assert_allclose(values.numpy(), [0.95, 0.9, 0.3840035, 0.3, 0.2560026, 0.1969725], rtol=1e-5)


def test_there_is_padding_beyond_the_number_of_boxes():
    result = vg.image.non_max_suppression_padded([[0.0, 0.0, 1.0, 1.0]], [0.5], 3, pad_to_max_output_size=True)
    assert (result.selected_indices.tolist(), result.valid_outputs.item()) == ([0, 0, 0], 1)


def test_coroutines_give_what_the_functions_give():
    args = ([[0, 0, 1, 1], [0, 5, 1, 6]], [0.25, 0.75], 2)
    assert asyncio.run(vg.image.non_max_suppression_async(*args)).tolist() == [1, 0]
    assert asyncio.run(vg.image.non_max_suppression_padded_async(*args)).valid_outputs.item() == 2
    assert asyncio.run(vg.image.non_max_suppression_with_score_async(*args)).selected_scores.tolist() == [0.75, 0.25]


BOX = [[0.0, 0.0, 1.0, 1.0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: vg.image.flip_left_right(vg.ones([1, 2, 2, 1], "int32")),
            TypeError,
            "image must be floating, got int32",
        ),
        (lambda: vg.image.flip_left_right(vg.ones([2, 2, 1])), ValueError, "flip_left_right: image must have rank 4"),
        (lambda: vg.image.grayscale_to_rgb(vg.ones([2, 3])), ValueError, "grayscale_to_rgb: image must have rank 2"),
        (lambda: vg.image.rgb_to_grayscale(vg.ones([3])), ValueError, "rgb_to_grayscale: image must have rank 2"),
        (lambda: vg.image.threshold(vg.ones([2, 2])), ValueError, "threshold: image must have rank 3"),
        (lambda: vg.image.threshold(vg.ones([2, 2, 2])), ValueError, "threshold: image must have 1 or 3 channels"),
        (lambda: vg.image.threshold(vg.ones([2, 2, 1]), "mean"), ValueError, "method must be 'binary' or 'otsu'"),
        (lambda: vg.image.non_max_suppression([[0.0, 1.0]], [0.5], 1), ValueError, "boxes must have shape"),
        (lambda: vg.image.non_max_suppression(BOX, [0.5, 0.5], 1), ValueError, "scores must have one number"),
        (lambda: vg.image.non_max_suppression(BOX, [0.5], 1, 1.2), ValueError, "iou_threshold must be from 0 to 1"),
        (lambda: vg.image.non_max_suppression(BOX, [0.5], -1), ValueError, "max_output_size must not be negative"),
        (lambda: vg.image.non_max_suppression(np.ones((1, 4), int), [0.5], 1), TypeError, "boxes must be floating"),
        (
            lambda: vg.image.non_max_suppression_with_score(BOX, [0.5], 1, soft_nms_sigma=2.0),
            ValueError,
            "soft_nms_sigma must be from 0 to 1",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()

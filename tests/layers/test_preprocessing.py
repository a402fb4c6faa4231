"""Preprocessing layers."""

import re

import numpy as np
import pytest

import varigrad as vg

IMAGE = np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1)


def test_rescaling_takes_a_number_or_one_for_each_channel():
    x = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    np.testing.assert_allclose(vg.layers.rescaling(scale=2, offset=1)(x).numpy(), 2 * x + 1)
    layer = vg.layers.rescaling(scale=[1, 2, 3], offset=[0, 0, -1], name="r")
    np.testing.assert_allclose(layer(x).numpy(), x * [1, 2, 3] + [0, 0, -1])
    assert layer.get_config() == {"scale": [1, 2, 3], "offset": [0, 0, -1], "name": "r", "trainable": True}
    for dtype, result in (("int32", "float32"), ("bool", "float32"), ("float64", "float64"), ("float16", "float16")):
        assert vg.layers.rescaling(scale=0.5)(vg.ones([2], dtype)).dtype == result


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize(("height", "width"), [(2, 2), (3, 5), (4, 6), (1, 1), (4, 5)])
def test_center_crop_cuts_the_middle_out(height, width, batched):
    x = IMAGE if batched else IMAGE[0]
    rows, columns = 4 - height, 6 - width
    left = 1 if columns == 1 else columns // 2  # a specification of TensorFlow.js has it so
    expected = x[..., rows // 2 : rows // 2 + height, left : left + width, :]
    layer = vg.layers.center_crop(height=height, width=width)
    np.testing.assert_array_equal(layer(x).numpy(), expected)
    assert layer.compute_output_shape((None, 4, 6, 1)) == (None, height, width, 1)
    assert layer(vg.tensor(x, dtype="int32")).dtype == "int32"


def test_resizing_cuts_before_it_resizes_if_the_shape_is_to_stay():
    layer = vg.layers.resizing(height=2, width=2, interpolation="nearest", crop_to_aspect_ratio=True)
    # The middle four of six columns, then every other pixel.
    np.testing.assert_array_equal(layer(IMAGE).numpy(), IMAGE[:, ::2, 1:5:2])
    tall = IMAGE.transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(layer(tall).numpy(), tall[:, 1:5:2, ::2])
    assert layer.compute_output_shape((None, None, None, 3)) == (None, 2, 2, 3)


def test_category_encoding_is_a_histogram_of_each_row():
    indices = np.array([[0, 2, 2], [3, 1, 0]])
    count = vg.layers.category_encoding(num_tokens=5, output_mode="count")
    expected = np.stack([np.bincount(row, minlength=5) for row in indices])
    np.testing.assert_array_equal(count(indices).numpy(), expected)
    np.testing.assert_array_equal(vg.layers.category_encoding(num_tokens=5)(indices).numpy(), expected > 0)
    weights = vg.tensor([[0.5, 1, 2], [1, 1, 4]])
    weighted = np.stack([np.bincount(r, w, minlength=5) for r, w in zip(indices, weights.numpy(), strict=True)])
    np.testing.assert_array_equal(count(indices, count_weights=weights).numpy(), weighted)


@pytest.mark.parametrize("shape", [[], [3], [2, 1], [2, 3], [2, 3, 2], [2, 3, 1]])
def test_one_hot_has_a_row_for_each_index(shape):
    indices = np.random.default_rng(0).integers(0, 4, size=shape)
    layer = vg.layers.category_encoding(num_tokens=4, output_mode="one_hot")
    y = layer(indices)
    expected = np.eye(4)[indices]
    np.testing.assert_array_equal(y.numpy(), expected[..., 0, :] if shape[-1:] == [1] else expected)
    assert y.dtype == "float32"
    assert layer.compute_output_shape(tuple(shape)) == y.shape


def test_random_height_and_width_are_those_of_tensorflow_js():
    # new RandomHeight({factor: 0.4, interpolation: 'nearest', seed: 42}) in the specification of tfjs-layers
    x = np.arange(16, dtype=np.float32).reshape(4, 4, 1)
    layer = vg.layers.random_height(factor=0.4, interpolation="nearest", seed=42)
    expected = [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    assert layer(x)[:, :, 0].tolist() == expected
    wide = vg.layers.random_width(factor=0.4, interpolation="nearest", seed=42)(x.transpose(1, 0, 2))
    assert wide[:, :, 0].numpy().T.tolist() == expected


@pytest.mark.parametrize("make", [vg.layers.random_height, vg.layers.random_width])
def test_random_sizes_stay_within_the_bounds_and_come_to_an_end_in_predict(make):
    axis = 1 if make is vg.layers.random_height else 2
    x = vg.ones([1, 20, 20, 2])
    for factor, low, high in ((0.5, 10, 30), ([-0.5, 0], 10, 20), ([0.1, 0.2], 22, 24)):
        layer = make(factor=factor, seed=1)
        lengths = [layer(x, training=training).shape[axis] for training in (None, True) * 10]
        assert low <= min(lengths) < max(lengths) <= high
        assert layer(x, training=False).shape == x.shape
        again = make.__wrapped__.from_config(layer.get_config())
        assert [again(x).shape[axis] for _ in range(20)] == lengths
    unknown = [None, 20, 20, 2]
    unknown[axis] = None
    assert make(factor=0.5).compute_output_shape((None, 20, 20, 2)) == tuple(unknown)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.rescaling(scale="x"), "rescaling: scale must be a number, got 'x'"),
        (lambda: vg.layers.resizing(height=0, width=1), "resizing: height must be a positive integer, got 0"),
        (
            lambda: vg.layers.resizing(height=1, width=1, interpolation="bicubic"),
            "interpolation must be one of bilinear",
        ),
        (
            lambda: vg.layers.resizing(height=1, width=1, name="r")([[1.0]]),
            "r: takes images [batch, height, width, chann",
        ),
        (lambda: vg.layers.center_crop(height=1, width=1.5), "center_crop: width must be a positive integer, got 1.5"),
        (lambda: vg.layers.category_encoding(num_tokens=2, output_mode="int"), "output_mode must be one of multi_hot"),
        (
            lambda: vg.layers.category_encoding(num_tokens=2, name="c")([[[1]]]),
            "c: takes inputs of rank 2 at most for 'multi_hot', got shape [1, 1, 1]",
        ),
        (
            lambda: vg.layers.category_encoding(num_tokens=2, name="c")([[1]], count_weights=vg.ones([1, 1])),
            "c: count_weights needs output_mode 'count', it is 'multi_hot'",
        ),
        (lambda: vg.layers.random_width(factor=-0.5), "random_width: factor must be a number of at least 0, got -0.5"),
        (lambda: vg.layers.random_width(factor=[0.5, 0.3]), "factor must be a positive number, or [lower, upper]"),
        (lambda: vg.layers.random_height(factor=[-5, 0.3]), "random_height: factor must be a number of at least -1"),
        (lambda: vg.layers.random_height(factor=[0, 0.3, 7]), "factor must be a positive number, or [lower, upper]"),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("indices", [[7, 2, 0, 1], [0, -1]])
def test_a_category_that_is_none_is_an_error(indices):
    layer = vg.layers.category_encoding(num_tokens=3, name="c")
    with pytest.raises(
        vg.OutOfRangeError, match=r"c: index -?\d at position \[\d\] of its inputs is outside of 0\.\.2"
    ):
        layer(vg.tensor(indices))

"""Convolution layers, with the first pooling layers among them."""

import re

import numpy as np
import pytest

import varigrad as vg

from .reference_values import ramp, with_ramps

# y of the layer with ramps as weights on ramp(shape, .3, -.5) in tfjs 4.22.
CASES = {
    "same padding and strides": (
        lambda: vg.layers.conv2d(filters=2, kernel_size=[3, 2], strides=[2, 1], padding="same", activation="sigmoid"),
        [1, 4, 3, 2],
        [1, 2, 3, 2],
        [
            0.3452466, 0.2768782, 0.5199893, 0.3543437, 0.2192573, 0.3822521,
            0.3658644, 0.5793242, 0.3251947, 0.5199894, 0.1915453, 0.1900016,
        ],
    ),
    "dilation": (
        lambda: vg.layers.conv2d(filters=1, kernel_size=2, dilation_rate=2, activation="softsign"),
        [1, 4, 4, 1],
        [1, 2, 2, 1],
        [-0.3710692, -0.2592593, -0.5555556, -0.6078431],
    ),
    "channels first": (
        lambda: vg.layers.conv2d(filters=2, kernel_size=2, data_format="channelsFirst", activation="relu"),
        [1, 1, 3, 3],
        [1, 2, 2, 2],
        [0, 0, 0, 0, 0.12, 0.12, 0.12, 0.12],
    ),
    "softmax with channels first": (
        lambda: vg.layers.conv2d(filters=2, kernel_size=2, data_format="channels_first", activation="softmax"),
        [1, 1, 3, 3],
        [1, 2, 2, 2],
        [0.529964, 0.4700359, 0.529964, 0.4700359, 0.5, 0.5, 0.5, 0.5],
    ),
    "max pooling, same padding": (
        lambda: vg.layers.max_pooling2d(pool_size=2, strides=1, padding="same"),
        [1, 3, 3, 1],
        [1, 3, 3, 1],
        [0.7, 1, 1, 1.6, 1.9, 1.9, 1.6, 1.9, 1.9],
    ),
    "average pooling, same padding": (
        lambda: vg.layers.average_pooling2d(pool_size=2, strides=1, padding="same"),
        [1, 3, 3, 1],
        [1, 3, 3, 1],
        [0.09999999, 0.4, 0.55, 1, 1.3, 1.45, 1.45, 1.75, 1.9],
    ),
    "average pooling, channels first": (
        lambda: vg.layers.average_pooling2d(pool_size=[1, 2], data_format="channels_first"),
        [1, 2, 2, 2],
        [1, 2, 2, 1],
        [-0.35, 0.25, 0.85, 1.45],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_tensorflow_js(case):
    make, shape, output_shape, expected = CASES[case]
    layer = with_ramps(make(), [None, *shape[1:]])
    y = layer(ramp(shape, 0.3, -0.5))
    assert list(y.shape) == output_shape
    assert layer.compute_output_shape((None, *shape[1:])) == (None, *output_shape[1:])
    np.testing.assert_allclose(y.numpy().reshape(-1), expected, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_a_layer_is_made_again_from_its_config(case):
    layer = CASES[case][0]()
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()


@pytest.mark.parametrize("use_bias", [True, False])
def test_gradients_reach_filters_biases_and_inputs(use_bias):
    options = {"filters": 2, "kernel_size": 2, "padding": "same", "activation": "tanh", "dtype": "float64"}
    layer = vg.layers.conv2d(use_bias=use_bias, kernel_initializer="random_normal", **options)
    x = np.random.default_rng(0).normal(size=[1, 3, 3, 2])
    vg.testing.check_gradients(lambda x: layer(x), x, order=1)
    _, grads = vg.variable_grads(lambda: layer(vg.tensor(x, dtype="float64")).sum())
    assert grads.keys() == {w.name for w in layer.weights}


def test_the_window_moves_by_its_size_unless_told_otherwise():
    layer = vg.layers.max_pooling2d(pool_size=[2, 3])
    assert layer.get_config()["strides"] == [2, 3]
    assert layer.compute_output_shape((None, 7, 7, 1)) == (None, 3, 2, 1)
    assert vg.layers.max_pooling2d().pool_size == (2, 2)


def test_unknown_lengths_stay_unknown():
    layer = vg.layers.conv2d(filters=2, kernel_size=3, padding="same", input_shape=[None, None, 3])
    model = vg.sequential(layers=[layer, vg.layers.max_pooling2d()])
    assert model.outputs[0].shape == (None, None, None, 2)
    assert model.predict(vg.zeros([1, 8, 6, 3])).shape == (1, 4, 3, 2)
    assert model.predict(vg.zeros([2, 5, 9, 3])).shape == (2, 2, 4, 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.conv2d(filters=0, kernel_size=3), "conv2d: filters must be a positive integer, got 0"),
        (lambda: vg.layers.conv2d(filters=2, kernel_size=[3]), "kernel_size must be an integer or 2 of them, got [3]"),
        (lambda: vg.layers.conv2d(filters=2, kernel_size="3"), "kernel_size must be a positive integer, got '3'"),
        (lambda: vg.layers.conv2d(filters=2, kernel_size=3, strides=0), "strides must be a positive integer"),
        (
            lambda: vg.layers.conv2d(filters=2, kernel_size=3, padding="causal"),
            "conv2d: padding must be one of valid, same, got 'causal'",
        ),
        (lambda: vg.layers.max_pooling2d(pool_size=[2, 2, 2]), "max_pooling2d: pool_size must be an integer or 2"),
        (lambda: vg.layers.average_pooling2d(data_format="NHWC"), "average_pooling2d: data_format must be one of"),
        (
            lambda: vg.sequential(layers=[vg.layers.conv2d(filters=2, kernel_size=5, input_shape=[4, 4, 1], name="c")]),
            "c: a window of 5 does not fit an input of length 4",
        ),
        (
            lambda: vg.sequential(layers=[vg.layers.max_pooling2d(pool_size=3, input_shape=[4, 2, 1], name="p")]),
            "p: a window of 3 does not fit an input of length 2",
        ),
        (
            lambda: vg.layers.conv2d(filters=2, kernel_size=3, name="c")(vg.zeros([4, 4, 1])),
            "c: takes inputs of rank 4, got shape [4, 4, 1]",
        ),
        (
            lambda: vg.sequential(
                layers=[vg.layers.conv2d(filters=2, kernel_size=1, input_shape=[4, 4, None], name="c")]
            ),
            "c: the channels of its inputs must be known, got [?, 4, 4, ?]",
        ),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_other_channels_than_built_for_are_an_error():
    layer = vg.layers.conv2d(filters=2, kernel_size=1, name="c")
    layer(vg.zeros([1, 2, 2, 3]))
    with pytest.raises(ValueError, match=r"c: was made for inputs with 3 on axis 3, got shape \[1, 2, 2, 4\]"):
        layer(vg.zeros([1, 2, 2, 4]))


def test_a_causal_window_sees_nothing_that_comes_later():
    layer = vg.layers.conv1d(filters=2, kernel_size=3, padding="causal", dilation_rate=2)
    x = np.random.default_rng(0).normal(size=[1, 8, 2]).astype(np.float32)
    y = layer(x).numpy()
    assert layer.compute_output_shape((None, 8, 2)) == (None, 8, 2)
    later = x.copy()
    later[:, 5:] += 1
    np.testing.assert_array_equal(layer(later).numpy()[:, :5], y[:, :5])
    kernel = layer.weights[0].numpy()
    padded = np.pad(x, [(0, 0), (4, 0), (0, 0)])
    expected = sum(padded[:, 2 * k : 2 * k + 8] @ kernel[k] for k in range(3))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    strided = vg.layers.conv1d(filters=2, kernel_size=3, padding="causal", strides=3)
    assert strided(x).shape == (1, 3, 2)
    assert strided.compute_output_shape((None, 8, 2)) == (None, 3, 2)


@pytest.mark.parametrize(
    ("name", "shape"), [("conv1d", (2, 5, 3)), ("conv2d", (2, 4, 5, 3)), ("conv3d", (1, 3, 4, 3, 2))]
)
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_channels_first_is_the_same_with_the_channels_elsewhere(name, shape, activation):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    make = getattr(vg.layers, name)
    last = make(filters=4, kernel_size=2, activation=activation)
    first = make(filters=4, kernel_size=2, activation=activation, data_format="channels_first")
    y = last(x).numpy()
    moved = np.moveaxis(x, -1, 1)
    first(moved)
    first.set_weights(last.get_weights())
    np.testing.assert_array_equal(first(moved).numpy(), np.moveaxis(y, -1, 1))
    assert first.compute_output_shape((None, *moved.shape[1:])) == (None, *first(moved).shape[1:])
    again = type(first).from_config(first.get_config())
    assert again.data_format == "channels_first"


@pytest.mark.parametrize("name", ["conv1d", "conv2d", "conv3d"])
def test_strides_and_dilation_together_are_an_error(name):
    with pytest.raises(ValueError, match=f"{name}: strides or dilation_rate must be 1, got strides"):
        getattr(vg.layers, name)(filters=1, kernel_size=2, strides=2, dilation_rate=2)


def test_groups_are_stored_where_there_are_more_than_one():
    assert "groups" not in vg.layers.conv2d(filters=2, kernel_size=1).get_config()
    layer = vg.layers.conv2d(filters=4, kernel_size=1, groups=2)
    assert type(layer).from_config(layer.get_config()).groups == 2


def test_groups_that_the_filters_or_channels_do_not_make_are_an_error():
    with pytest.raises(ValueError, match="conv1d: 4 filters do not make 3 groups of one size"):
        vg.layers.conv1d(filters=4, kernel_size=1, groups=3)
    with pytest.raises(ValueError, match="c: 5 channels do not make 2 groups of one size"):
        vg.layers.conv3d(filters=4, kernel_size=1, groups=2, name="c")(vg.zeros([1, 2, 2, 2, 5]))
    with pytest.raises(TypeError, match="conv2d_transpose: has no argument 'groups'"):
        vg.layers.conv2d_transpose(filters=4, kernel_size=1, groups=2)

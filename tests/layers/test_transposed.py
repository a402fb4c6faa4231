"""Transposed convolution layers."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=40)
LAYERS = {1: vg.layers.conv1d_transpose, 2: vg.layers.conv2d_transpose, 3: vg.layers.conv3d_transpose}


def spread(x, kernel, stride, lengths, before):
    """Each value times the window, added where the window stands; then the part that begins at `before`."""
    axes = x.ndim - 2
    window = kernel.shape[:axes]
    wide = [(n - 1) * s + w + max(0, m) for n, s, w, m in zip(x.shape[1:-1], stride, window, lengths, strict=True)]
    y = np.zeros([x.shape[0], *wide, kernel.shape[-2]])
    for place in np.ndindex(*x.shape[1:-1]):
        at = tuple(slice(p * s, p * s + w) for p, s, w in zip(place, stride, window, strict=True))
        y[(slice(None), *at)] += np.einsum("bc,...fc->b...f", x[(slice(None), *place)], kernel)
    return y[(slice(None), *(slice(b, b + n) for b, n in zip(before, lengths, strict=True)))]


@SETTINGS
@given(
    axes=st.integers(1, 3),
    window=st.tuples(*[st.integers(1, 3)] * 3),
    stride=st.tuples(*[st.integers(1, 3)] * 3),
    padding=st.sampled_from(["valid", "same"]),
    first=st.booleans(),
    use_bias=st.booleans(),
)
def test_each_value_is_spread_over_a_window(axes, window, stride, padding, first, use_bias):
    window, stride, space = window[:axes], stride[:axes], (3, 2, 2)[:axes]
    x = np.random.default_rng(0).normal(size=[2, *space, 3]).astype(np.float32)
    layer = LAYERS[axes](
        filters=2,
        kernel_size=window,
        strides=stride,
        padding=padding,
        use_bias=use_bias,
        bias_initializer="random_normal",
        data_format="channels_first" if first else "channels_last",
    )
    given_x = np.moveaxis(x, -1, 1) if first else x
    y = layer(given_x).numpy()
    assert layer.compute_output_shape((None, *given_x.shape[1:])) == (None, *y.shape[1:])
    kernel, *bias = [w.numpy() for w in layer.weights]
    assert kernel.shape == (*window, 2, 3)
    if padding == "same":
        lengths = [n * s for n, s in zip(space, stride, strict=True)]
        # What the convolution that this is the transpose of pads before.
        before = [max(0, (n - 1) * s + w - n * s) // 2 for n, s, w in zip(space, stride, window, strict=True)]
    else:
        lengths = [n * s + max(w - s, 0) for n, s, w in zip(space, stride, window, strict=True)]
        before = [0] * axes
    expected = spread(x, kernel, stride, lengths, before) + (bias[0] if use_bias else 0)
    np.testing.assert_allclose(np.moveaxis(y, 1, -1) if first else y, expected, rtol=1e-4, atol=1e-5)


def test_output_padding_chooses_among_the_lengths_that_a_convolution_reduces_to_the_input():
    x = np.random.default_rng(0).normal(size=[1, 4, 2]).astype(np.float32)
    for padding in ("valid", "same"):
        for extra in (0, 1, 2):
            layer = vg.layers.conv1d_transpose(
                filters=2, kernel_size=5, strides=3, padding=padding, output_padding=extra
            )
            y = layer(x)
            pad = 0 if padding == "valid" else 2
            assert y.shape == (1, 3 * 3 + 5 - 2 * pad + extra, 2)
            assert vg.conv1d(y, layer.weights[0], 3, padding).shape == x.shape
            assert layer.compute_output_shape((None, 4, 2)) == (None, *y.shape[1:])
            config = layer.get_config()
            assert config["output_padding"] == [extra]
            assert type(layer).from_config(config).get_config() == config


@pytest.mark.parametrize("axes", LAYERS)
def test_gradients_dtype_and_unknown_lengths(axes):
    layer = LAYERS[axes](filters=2, kernel_size=2, strides=2, activation="tanh", dtype="float64")
    x = np.random.default_rng(0).normal(size=[1, *(2,) * axes, 2])
    assert layer(x).dtype == "float64"
    vg.testing.check_gradients(lambda x: layer(x), x)
    assert layer.compute_output_shape((None, *(None,) * axes, 2)) == (None, *(None,) * axes, 2)
    assert "dilation_rate" not in layer.get_config()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dilation_rate": 2}, "conv2d_transpose: dilation_rate is not supported, got [2, 2]; leave it out"),
        ({"output_padding": 2, "strides": 2}, "output_padding must be less than strides, got output_padding [2, 2]"),
        ({"output_padding": -1}, "conv2d_transpose: output_padding must be 0 or a positive integer, got -1"),
        ({"padding": "causal"}, "conv2d_transpose: padding must be one of valid, same, got 'causal'"),
    ],
)
def test_bad_arguments_are_one_clear_error(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        vg.layers.conv2d_transpose(filters=1, kernel_size=3, **options)


def test_a_segmentation_network_comes_back_to_the_size_of_its_input():
    layers = [
        vg.layers.conv2d(filters=4, kernel_size=3, strides=2, padding="same", input_shape=[None, None, 3]),
        vg.layers.conv2d_transpose(filters=2, kernel_size=3, strides=2, padding="same"),
    ]
    assert vg.sequential(layers=layers).predict(vg.zeros([1, 6, 8, 3])).shape == (1, 6, 8, 2)

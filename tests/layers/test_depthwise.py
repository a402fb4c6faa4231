"""Depthwise and separable convolution layers."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=40)


def each_channel(x, kernel, **options):
    """The depthwise convolution as one dense convolution for each channel."""
    axes = x.ndim - 2
    conv = vg.layers.conv1d if axes == 1 else vg.layers.conv2d
    results = []
    for c in range(x.shape[-1]):
        layer = conv(filters=kernel.shape[-1], kernel_size=kernel.shape[:axes], use_bias=False, **options)
        layer(x[..., c : c + 1])
        layer.set_weights([kernel[..., c : c + 1, :]])
        results.append(layer(x[..., c : c + 1]).numpy())
    return np.concatenate(results, -1)


options = {
    "axes": st.integers(1, 2),
    "window": st.tuples(st.integers(1, 3), st.integers(1, 3)),
    "stride": st.integers(1, 2),
    "dilation": st.integers(1, 2),
    "padding": st.sampled_from(["valid", "same"]),
    "multiplier": st.integers(1, 2),
    "first": st.booleans(),
}


def set_up(make, axes, window, stride, dilation, padding, multiplier, first, **more):
    """A layer, its input with the channels last, and as the layer takes it."""
    steps = {"strides": stride, "dilation_rate": dilation if stride == 1 else 1, "padding": padding}
    layer = make(
        kernel_size=window[:axes],
        depth_multiplier=multiplier,
        data_format="channels_first" if first else "channels_last",
        bias_initializer="random_normal",
        **steps,
        **more,
    )
    x = np.random.default_rng(0).normal(size=[2, *(6, 5)[:axes], 3]).astype(np.float32)
    return layer, steps, x, np.moveaxis(x, -1, 1) if first else x


@SETTINGS
@given(**options)
def test_a_depthwise_convolution_is_one_for_each_channel(axes, first, **rest):
    make = vg.layers.depthwise_conv1d if axes == 1 else vg.layers.depthwise_conv2d
    layer, steps, x, given_x = set_up(make, axes, first=first, **rest)
    y = layer(given_x).numpy()
    assert layer.compute_output_shape((None, *given_x.shape[1:])) == (None, *y.shape[1:])
    kernel, bias = [w.numpy() for w in layer.weights]
    expected = each_channel(x, kernel, **steps) + bias
    np.testing.assert_allclose(np.moveaxis(y, 1, -1) if first else y, expected, rtol=1e-4, atol=1e-5)
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


@SETTINGS
@given(**options)
def test_a_separable_convolution_mixes_the_channels_afterwards(axes, first, **rest):
    make = vg.layers.separable_conv1d if axes == 1 else vg.layers.separable_conv2d
    layer, steps, x, given_x = set_up(make, axes, first=first, filters=4, activation="relu", **rest)
    y = layer(given_x).numpy()
    assert layer.compute_output_shape((None, *given_x.shape[1:])) == (None, *y.shape[1:])
    depthwise, pointwise, bias = [w.numpy() for w in layer.weights]
    expected = np.maximum(each_channel(x, depthwise, **steps) @ pointwise.reshape(-1, 4) + bias, 0)
    np.testing.assert_allclose(np.moveaxis(y, 1, -1) if first else y, expected, rtol=1e-4, atol=1e-5)
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


def test_both_kernels_of_a_separable_convolution_have_their_own_initializer():
    layer = vg.layers.separable_conv2d(
        filters=2, kernel_size=1, depthwise_initializer="ones", pointwise_initializer="zeros"
    )
    layer(vg.ones([1, 1, 1, 3]))
    depthwise, pointwise, _ = [w.numpy() for w in layer.weights]
    assert (depthwise == 1).all()
    assert (pointwise == 0).all()


LAYERS = {
    "depthwise_conv1d": ({"kernel_size": 2}, 1),
    "depthwise_conv2d": ({"kernel_size": 2}, 2),
    "separable_conv1d": ({"filters": 2, "kernel_size": 2}, 1),
    "separable_conv2d": ({"filters": 2, "kernel_size": 2}, 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_dtype_and_unknown_lengths(name):
    arguments, axes = LAYERS[name]
    layer = getattr(vg.layers, name)(**arguments, activation="tanh", dtype="float64", padding="same")
    x = np.random.default_rng(0).normal(size=[1, *(3,) * axes, 2])
    assert layer(x).dtype == "float64"
    vg.testing.check_gradients(lambda x: layer(x), x)
    _, grads = vg.variable_grads(lambda: layer(vg.tensor(x, dtype="float64")).sum())
    assert grads.keys() == {w.name for w in layer.weights}
    assert layer.compute_output_shape((None, *(None,) * axes, 2)) == (None, *(None,) * axes, 2)


@pytest.mark.parametrize("name", LAYERS)
def test_bad_arguments_are_one_clear_error(name):
    arguments, axes = LAYERS[name]
    make = getattr(vg.layers, name)
    for more, message in (
        ({"depth_multiplier": 0}, f"{name}: depth_multiplier must be a positive integer, got 0"),
        ({"strides": 2, "dilation_rate": 2}, f"{name}: strides or dilation_rate must be 1, got strides"),
        ({"kernel_size": [1, 2, 3]}, f"{name}: kernel_size must be an integer or {axes} of them, got [1, 2, 3]"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            make(**{**arguments, **more})
    with pytest.raises(TypeError, match=f"{name}: has no argument 'kernel_initializer'"):
        make(**arguments, kernel_initializer="ones")
    with pytest.raises(ValueError, match="n: the channels of its inputs must be known"):
        vg.sequential(layers=[make(**arguments, input_shape=[*(4,) * axes, None], name="n")])

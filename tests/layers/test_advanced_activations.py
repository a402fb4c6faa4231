"""Activations with parameters of their own, as layers."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=40)
X = np.array([[-3.0, -0.5, 0.25, 0.75, 2.0, 8.0]], np.float32)


@SETTINGS
@given(
    max_value=st.none() | st.floats(0.5, 7),
    negative_slope=st.sampled_from([0, 0.1, 1]),
    threshold=st.sampled_from([0, 0.5]),
)
def test_re_lu_is_the_formula_of_keras(max_value, negative_slope, threshold):
    layer = vg.layers.re_lu(max_value=max_value, negative_slope=negative_slope, threshold=threshold)
    above = X if max_value is None else np.minimum(X, max_value)
    expected = np.where(threshold < X, above, negative_slope * (X - threshold))
    np.testing.assert_allclose(layer(X).numpy(), expected, rtol=1e-6, atol=1e-7)


def test_re_lu_stores_what_tensorflow_js_does_not_know_only_where_it_is_used():
    assert vg.layers.re_lu(max_value=6, name="r").get_config() == {"max_value": 6, "name": "r", "trainable": True}
    config = vg.layers.re_lu(negative_slope=0.1, threshold=0.0, name="r").get_config()
    assert config == {"max_value": None, "name": "r", "trainable": True, "negative_slope": 0.1}
    assert vg.layers.ReLU.from_config(config).get_config() == config


def test_leaky_re_lu_takes_the_slope_under_both_names():
    assert vg.layers.leaky_re_lu()([[-1.0]]).item() == pytest.approx(-0.3)
    assert vg.layers.leaky_re_lu(alpha=0.5)([[-1.0]]).item() == -0.5
    assert vg.layers.leaky_re_lu(negative_slope=0.25)([[-1.0]]).item() == -0.25
    assert vg.layers.leaky_re_lu(alpha=0)([[-1.0]]).item() == 0


def test_elu_has_the_alpha_that_tensorflow_js_lacks():
    np.testing.assert_allclose(vg.layers.elu(alpha=2)(X).numpy(), np.where(X > 0, X, 2 * np.expm1(X)), rtol=1e-6)


def test_prelu_shares_slopes_along_axes():
    layer = vg.layers.prelu(shared_axes=[1, 2], alpha_initializer="random_uniform")
    x = -np.ones([2, 3, 4, 5], np.float32)
    y = layer(x).numpy()
    assert layer.weights[0].shape == (1, 1, 5)
    np.testing.assert_array_equal(y, np.broadcast_to(-layer.weights[0].numpy(), x.shape))
    # Shared axes may have any length.
    assert layer(-vg.ones([1, 7, 2, 5])).shape == (1, 7, 2, 5)
    model = vg.sequential(layers=[vg.layers.prelu(shared_axes=[1, 2], input_shape=[None, None, 3])])
    assert model.predict(vg.ones([1, 2, 4, 3])).shape == (1, 2, 4, 3)


def test_softmax_sums_to_one_along_any_axis_or_several():
    x = vg.random_normal([2, 3, 4], seed=1)
    for axis in (0, 1, -1, [1, 2], [0, 2], [2]):
        sums = vg.layers.softmax(axis=axis)(x).sum(axis).numpy()
        np.testing.assert_allclose(sums, np.ones_like(sums), rtol=1e-6)
    large = vg.tensor([[1000.0, 1000.0], [-1000.0, 0.0]])
    assert vg.layers.softmax(axis=[1])(large).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    np.testing.assert_allclose(vg.layers.softmax(axis=[0, 1])(large).sum().item(), 1, rtol=1e-6)


def test_softmax_leaves_out_what_is_masked():
    x = vg.random_normal([2, 3, 4], seed=1)
    # A mask of the same shape is for places.
    places = np.array([[[1, 1, 0, 1]] * 3, [[0, 1, 1, 0]] * 3], bool)
    y = vg.layers.softmax()(x, mask=vg.tensor(places)).numpy()
    expected = np.exp(x.numpy()) * places
    np.testing.assert_allclose(y, expected / expected.sum(-1, keepdims=True), rtol=1e-5)
    # A mask of steps is for whole steps if these are what the softmax goes along, and else for none.
    steps = np.array([[1, 0, 1], [1, 1, 1]], bool)
    y = vg.layers.softmax(axis=1)(x, mask=vg.tensor(steps)).numpy()
    expected = np.exp(x.numpy()) * steps[:, :, None]
    np.testing.assert_allclose(y, expected / expected.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(vg.layers.softmax()(x, mask=vg.tensor(steps)).numpy(), vg.layers.softmax()(x).numpy())


LAYERS = {
    "re_lu": lambda **options: vg.layers.re_lu(**options),
    "re_lu with slope": lambda **options: vg.layers.re_lu(negative_slope=0.2, threshold=0.4, max_value=1, **options),
    "leaky_re_lu": vg.layers.leaky_re_lu,
    "prelu": vg.layers.prelu,
    "elu": vg.layers.elu,
    "thresholded_re_lu": vg.layers.thresholded_re_lu,
    "softmax": vg.layers.softmax,
}


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_masks_dtypes_and_configs(name):
    layer = LAYERS[name](dtype="float64")
    layer(X)
    assert layer(X).dtype == "float64"
    vg.testing.check_gradients(lambda x: layer(x), X)
    mask = vg.tensor([[True]])
    assert layer.compute_mask(vg.ones([1, 1, 2]), mask) is mask
    assert LAYERS[name]()(vg.zeros([0, 3])).shape == (0, 3)
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.re_lu(max_value=-1), "re_lu: max_value must be a number of at least 0, got -1"),
        (lambda: vg.layers.re_lu(negative_slope="x"), "re_lu: negative_slope must be a number of at least 0, got 'x'"),
        (lambda: vg.layers.leaky_re_lu(alpha=float("nan")), "leaky_re_lu: alpha must be a number, got nan"),
        (lambda: vg.layers.elu(alpha=[1]), "elu: alpha must be a number, got [1]"),
        (lambda: vg.layers.thresholded_re_lu(theta=-2), "theta must be a number of at least 0, got -2"),
        (lambda: vg.layers.softmax(axis=1.5), "softmax: axis must be an integer or a list of integers, got 1.5"),
        (lambda: vg.layers.softmax(axis=[1, 1]), "softmax: axis must name one axis or several different ones"),
        (lambda: vg.layers.softmax(axis=2, name="s")(X), "s: axis 2 is out of range for a tensor of rank 2"),
        (lambda: vg.layers.prelu(shared_axes=0), "prelu: shared_axes must be axes from 1 on, the batch being 0, got 0"),
        (lambda: vg.layers.prelu(shared_axes=2, name="p")(X), "p: has shared_axes [2], but got inputs of shape [1, 6]"),
        (
            lambda: vg.sequential(layers=[vg.layers.prelu(input_shape=[None, 2], name="p")]),
            "p: every axis of its inputs but the batch and shared_axes must be known, got [?, ?, 2]",
        ),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_prelu_takes_the_inputs_that_it_was_made_for():
    layer = vg.layers.prelu(name="p")
    layer(vg.ones([1, 3, 2]))
    with pytest.raises(ValueError, match=r"p: was made for inputs with 3 on axis 1, got shape \[1, 4, 2\]"):
        layer(vg.ones([1, 4, 2]))

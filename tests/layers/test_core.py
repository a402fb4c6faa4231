"""Dense, activation and input layers, and what all factories have."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

from .reference_values import ramp, with_ramps

SETTINGS = settings(max_examples=30)


def close(y, expected):
    np.testing.assert_allclose(y.numpy().reshape(-1), expected, rtol=2e-5, atol=1e-6)


def test_dense_gives_the_numbers_of_tensorflow_js():
    # tfjs 4.22: dense({units: 3, activation: 'tanh'}) with ramps as weights, on ramp([2, 4], .3, -.5)
    layer = with_ramps(vg.layers.dense(units=3, activation="tanh"), [None, 4])
    y = layer(ramp([2, 4], 0.3, -0.5))
    close(y, [-0.3095069, -0.2354958, -0.1586485, -0.8210399, -0.5370496, -0.0399787])
    # dense({units: 2, activation: 'relu', useBias: false}) on ramp([1, 2, 4], .3, -.5)
    layer = with_ramps(vg.layers.dense(units=2, activation="relu", use_bias=False), [None, 2, 4])
    y = layer(ramp([1, 2, 4], 0.3, -0.5))
    assert y.shape == (1, 2, 2)
    close(y, [0.32, 0.3, 0, 0.3])


@SETTINGS
@given(batch=st.lists(st.integers(0, 3), min_size=1, max_size=3), inputs=st.integers(1, 4), units=st.integers(1, 4))
@pytest.mark.parametrize("use_bias", [True, False])
def test_dense_is_a_product_over_the_last_axis(batch, inputs, units, use_bias):
    layer = vg.layers.dense(units=units, use_bias=use_bias, bias_initializer="random_normal")
    x = np.random.default_rng(0).normal(size=[*batch, inputs]).astype(np.float32)
    y = layer(x)
    kernel, *bias = [w.numpy() for w in layer.weights]
    np.testing.assert_allclose(y.numpy(), x @ kernel + (bias[0] if bias else 0), rtol=1e-5, atol=1e-6)
    assert layer.compute_output_shape((None, *x.shape[1:])) == (None, *y.shape[1:])


def test_dense_takes_integers_and_other_floating_dtypes():
    layer = vg.layers.dense(units=1, kernel_initializer="ones")
    assert layer(vg.tensor([[1, 2]], dtype="int32")).tolist() == [[3.0]]
    assert layer(vg.tensor([[1, 2]], dtype="int32")).dtype == "float32"
    assert layer(vg.tensor([[1, 2]], dtype="float64")).dtype == "float64"
    double = vg.layers.dense(units=1, kernel_initializer="ones", dtype="float64")
    assert double([[1, 2]]).dtype == "float64"
    assert [w.dtype for w in double.weights] == ["float64", "float64"]


def test_dense_gradients_reach_weights_and_inputs():
    layer = vg.layers.dense(units=2, activation="relu", kernel_initializer="ones")
    x = vg.tensor([[1.0, 2.0], [-3.0, 1.0]])
    layer(x)
    _, grads = vg.variable_grads(lambda: layer(x).sum())
    kernel, bias = layer.weights
    assert grads[kernel.name].tolist() == [[1, 1], [2, 2]]
    assert grads[bias.name].tolist() == [1, 1]
    assert vg.grad(lambda x: layer(x).sum())(x).tolist() == [[2, 2], [0, 0]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: vg.layers.dense(), TypeError, "dense: needs units"),
        (lambda: vg.layers.dense(3), TypeError, "dense: takes keyword arguments only, got 3"),
        (lambda: vg.layers.dense(units=0), ValueError, "dense: units must be a positive integer, got 0"),
        (lambda: vg.layers.dense(units=2.5), ValueError, "dense: units must be a positive integer, got 2.5"),
        (lambda: vg.layers.dense(units=True), ValueError, "dense: units must be a positive integer, got True"),
        (lambda: vg.layers.dense(units=1, useBias=False), TypeError, "no argument 'useBias'; it is 'use_bias' here"),
        (lambda: vg.layers.dense(units=1, inputShape=[1]), TypeError, "'inputShape'; it is 'input_shape' here"),
        (lambda: vg.layers.dense(units=1, activaton="relu"), TypeError, "'activaton'; did you mean 'activation'?"),
        (lambda: vg.layers.dense(units=1, zzz=1), TypeError, "dense: has no argument 'zzz'"),
        (lambda: vg.layers.dense(units=1, input_shape="5"), TypeError, "dense: input_shape must be a list of lengths"),
        (lambda: vg.layers.dense(units=1, dtype="float8"), ValueError, "dense: unknown dtype 'float8'"),
        (lambda: vg.layers.dense(units=1, use_bias=1), TypeError, "dense: use_bias must be True or False, got 1"),
        (
            lambda: vg.layers.dense(units=1, trainable="no"),
            TypeError,
            "dense: trainable must be True or False, got 'no'",
        ),
        (lambda: vg.layers.dense(units=1, name=3), TypeError, "dense: name must be a string, got 3"),
        (lambda: vg.layers.input_layer(), ValueError, "either input_shape or batch_input_shape"),
        (lambda: vg.layers.input_layer(input_shape=[1], sparse=True), ValueError, "sparse inputs are not supported"),
        (
            lambda: vg.layers.input_layer(batch_input_shape=[None, 1], batch_size=2),
            ValueError,
            "batch_size goes with input_shape",
        ),
    ],
)
def test_bad_arguments_are_one_clear_error(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


def test_input_of_another_length_or_rank_is_an_error_that_names_the_layer():
    layer = vg.layers.dense(units=1, name="d")
    with pytest.raises(ValueError, match=r"d: takes inputs of rank 2 or more, got \[3\]"):
        layer([1, 2, 3])
    layer([[1, 2, 3]])
    with pytest.raises(ValueError, match=r"d: was made for inputs with 3 on axis -1, got shape \[1, 2\]"):
        layer([[1, 2]])


# layer.getConfig() in tfjs 4.22, in snake_case.
@pytest.mark.parametrize(
    ("layer", "config"),
    [
        (
            vg.layers.dropout(rate=0.5, seed=3, noise_shape=[1, 2], name="n"),
            {"rate": 0.5, "noise_shape": [1, 2], "seed": 3, "name": "n", "trainable": True},
        ),
        (
            vg.layers.flatten(data_format="channels_first", name="n"),
            {"data_format": "channels_first", "name": "n", "trainable": True},
        ),
        (vg.layers.flatten(name="n"), {"name": "n", "trainable": True}),
        (
            vg.layers.reshape(target_shape=[2, -1], name="n", trainable=False),
            {"target_shape": [2, None], "name": "n", "trainable": False},
        ),
        (
            vg.layers.input_layer(input_shape=[2], batch_size=3, name="n"),
            {"batch_input_shape": [3, 2], "dtype": "float32", "sparse": False, "name": "n"},
        ),
        (
            vg.layers.activation(activation="relu", name="n", input_shape=[1], dtype="int32"),
            {"activation": "relu", "name": "n", "trainable": True, "batch_input_shape": [None, 1], "dtype": "int32"},
        ),
    ],
    ids=lambda v: "",
)
def test_configs_are_those_of_tensorflow_js_and_make_an_equal_layer(layer, config):
    assert layer.get_config() == config
    assert list(layer.get_config()) == list(config)
    assert type(layer).from_config(config).get_config() == config


def test_factories_make_public_classes_and_carry_their_documentation():
    assert isinstance(vg.layers.dense(units=1), vg.layers.Dense)
    assert vg.layers.dense.__name__ == "dense"
    assert vg.layers.max_pooling2d.__name__ == "max_pooling2d"
    assert "Mirrors `tf.layers.dense`" in vg.layers.dense.__doc__

"""Batch normalization."""

import numpy as np
import pytest

import varigrad as vg

from .reference_values import ramp

X = [[1, 2], [3, 5], [4, -1]]
WEIGHTS = [[1, 2], [0.5, -0.5], [0.1, 0.2], [1.5, 2.5]]


def layer_with_weights(**options):
    layer = vg.layers.batch_normalization(**options)
    layer(vg.zeros(options.get("zeros", [1, 2])))
    layer.set_weights(WEIGHTS)
    return layer


def test_outside_of_training_it_uses_the_moving_averages():
    # bn.apply(x) in tfjs 4.22
    y = layer_with_weights(momentum=0.9)(X)
    np.testing.assert_allclose(y.numpy(), [[1.234602, 1.776385], [2.867051, 5.570359], [3.683276, -2.01759]], rtol=1e-5)


def test_in_training_it_uses_the_batch_and_moves_the_averages():
    # bn.apply(x, {training: true}), then bn.getWeights() in tfjs 4.22
    layer = layer_with_weights(momentum=0.9)
    y = layer(X, training=True)
    np.testing.assert_allclose(y.numpy(), [[-0.8358769, -0.5], [0.7671753, 1.949286], [1.568701, -2.949286]], rtol=1e-5)
    gamma, beta, mean, variance = [w.numpy() for w in layer.get_weights()]
    assert gamma.tolist() == [1, 2]
    assert beta.tolist() == [0.5, -0.5]
    np.testing.assert_allclose(mean, [0.3566667, 0.38], rtol=1e-6)
    np.testing.assert_allclose(variance, [1.505556, 2.85], rtol=1e-6)


def test_another_axis():
    # batchNormalization({axis: 1}) on ramp([1, 2, 3], .3, -.5) in tfjs 4.22
    layer = vg.layers.batch_normalization(axis=1)
    layer(vg.zeros([1, 2, 3]))
    layer.set_weights(WEIGHTS)
    y = layer(ramp([1, 2, 3], 0.3, -0.5))
    expected = [0.01026527, -1.005863, 0.5, -0.2470684, 0.9897347, 0.5117265]
    # The first is a difference of nearly equal numbers, so only its absolute error is bounded.
    expected[:3] = [(v - 0.1) / (1.501**0.5) + 0.5 for v in (-0.5, -0.2, 0.1)]
    expected[3:] = [2 * (v - 0.2) / (2.501**0.5) - 0.5 for v in (0.4, 0.7, 1.0)]
    np.testing.assert_allclose(y.numpy().reshape(-1), expected, rtol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_gradients_are_right(training):
    layer = vg.layers.batch_normalization(dtype="float64")
    x = np.random.default_rng(0).normal(size=[4, 3])
    layer(vg.tensor(x, dtype="float64"))
    vg.testing.check_gradients(lambda x: layer(x, training=training), x)
    _, grads = vg.variable_grads(lambda: layer(vg.tensor(x, dtype="float64"), training=training).square().sum())
    assert grads.keys() == {layer.gamma.name, layer.beta.name}


def test_frozen_it_leaves_its_averages_alone_and_uses_them_in_training():
    layer = layer_with_weights()
    before = layer(X).tolist()
    layer.trainable = False
    for _ in range(3):
        assert layer(X, training=True).tolist() == before
    assert [w.tolist() for w in layer.get_weights()] == [w.tolist() for w in map(vg.tensor, WEIGHTS)]
    layer.trainable = True
    assert layer(X, training=True).tolist() != before


def test_the_averages_are_never_trained():
    layer = layer_with_weights()
    assert [w.original_name.rpartition("/")[2] for w in layer.trainable_weights] == ["gamma", "beta"]
    assert [w.original_name.rpartition("/")[2] for w in layer.non_trainable_weights] == [
        "moving_mean",
        "moving_variance",
    ]
    layer.trainable = False
    layer.trainable = True
    assert not layer.moving_mean.trainable


@pytest.mark.parametrize(("center", "scale"), [(True, False), (False, True), (False, False)])
def test_gamma_and_beta_can_be_left_out(center, scale):
    layer = vg.layers.batch_normalization(center=center, scale=scale, epsilon=0)
    y = layer(X, training=True).numpy()
    x = np.array(X, np.float32)
    np.testing.assert_allclose(y, (x - x.mean(0)) / x.std(0), rtol=1e-5, atol=1e-6)
    assert len(layer.weights) == 2 + center + scale


def test_the_config_is_that_of_tensorflow_js():
    config = vg.layers.batch_normalization(name="n").get_config()
    zeros, ones = ({"class_name": name, "config": {}} for name in ("Zeros", "Ones"))
    assert config == {
        "axis": -1,
        "momentum": 0.99,
        "epsilon": 0.001,
        "center": True,
        "scale": True,
        "beta_initializer": zeros,
        "gamma_initializer": ones,
        "moving_mean_initializer": zeros,
        "moving_variance_initializer": ones,
        "beta_regularizer": None,
        "gamma_regularizer": None,
        "beta_constraint": None,
        "gamma_constraint": None,
        "name": "n",
        "trainable": True,
    }
    assert vg.layers.BatchNormalization.from_config(config).get_config() == config


def test_bad_arguments_are_errors():
    assert vg.layers.batch_normalization(axis=[3]).axis == 3
    with pytest.raises(ValueError, match="axis must be one integer"):
        vg.layers.batch_normalization(axis=[1, 2])
    with pytest.raises(ValueError, match="momentum must be a number from 0 to 1"):
        vg.layers.batch_normalization(momentum=2)
    with pytest.raises(ValueError, match=r"n: has axis 3, but got inputs of shape \[1, 2\]"):
        vg.layers.batch_normalization(axis=3, name="n")(vg.zeros([1, 2]))


@pytest.mark.parametrize("axis", [None, 1.5, "last", True, [], {}])
def test_an_axis_that_is_none_is_an_error(axis):
    with pytest.raises(ValueError, match="batch_normalization: axis must"):
        vg.layers.batch_normalization(axis=axis)


@pytest.mark.parametrize("shape", [[4, 3], [2, 4, 3], [2, 2, 3, 3], [2, 1, 2, 2, 3], [2, 1, 2, 1, 2, 3]])
@pytest.mark.parametrize("axis", [-1, 1])
def test_any_rank_is_normalized_over_all_axes_but_one(shape, axis):
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    layer = vg.layers.batch_normalization(axis=axis, epsilon=1e-3)
    y = layer(x, training=True).numpy()
    others = tuple(a for a in range(x.ndim) if a != axis % x.ndim)
    mean, variance = x.mean(others, keepdims=True), x.var(others, keepdims=True)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(variance + 1e-3), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.moving_mean.numpy(), 0.01 * mean.reshape(-1), rtol=1e-4, atol=1e-7)
    np.testing.assert_allclose(layer.moving_variance.numpy(), 0.99 + 0.01 * variance.reshape(-1), rtol=1e-5)


def test_steps_that_are_left_out_do_not_count():
    x = np.random.default_rng(0).normal(size=[2, 3, 4]).astype(np.float32)
    mask = np.array([[True, True, False], [True, False, False]])
    layer, plain = vg.layers.batch_normalization(), vg.layers.batch_normalization()
    y = layer(x, training=True, mask=vg.tensor(mask)).numpy()
    np.testing.assert_allclose(y[mask], plain(x[mask], training=True).numpy(), rtol=1e-4, atol=1e-5)
    for w, expected in zip(layer.weights, plain.weights, strict=True):
        np.testing.assert_allclose(w.numpy(), expected.numpy(), rtol=1e-5)
    other = x.copy()
    other[~mask] = 1e6
    np.testing.assert_allclose(layer(other, training=True, mask=vg.tensor(mask)).numpy()[mask], y[mask], rtol=1e-5)


def test_with_every_step_left_out_nothing_is_lost():
    layer = vg.layers.batch_normalization()
    y = layer(vg.ones([1, 2, 3]), training=True, mask=vg.tensor([[False, False]]))
    assert np.isfinite(y.numpy()).all()


@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_inputs_of_another_dtype_move_the_averages_in_their_own(dtype):
    layer = vg.layers.batch_normalization(momentum=0.5)
    x = vg.tensor([[1.0, 2.0], [3.0, 6.0]], dtype=dtype)
    y = layer(x, training=True)
    np.testing.assert_allclose(y.numpy(), [[-1, -1], [1, 1]], atol=2e-3)
    assert layer.moving_mean.dtype == "float32"
    np.testing.assert_allclose(layer.moving_mean.numpy(), [1.0, 2.0])
    np.testing.assert_allclose(layer.moving_variance.numpy(), [1.0, 2.5])

"""Noise layers."""

import numpy as np
import pytest

import varigrad as vg

MANY = vg.ones([200, 100])


def noisy(layer, x=MANY):
    return layer(x, training=True).numpy()


def test_gaussian_noise_adds_a_normal_distribution():
    noise = noisy(vg.layers.gaussian_noise(stddev=0.5, seed=1)) - 1
    assert noise.mean() == pytest.approx(0, abs=0.01)
    assert noise.std() == pytest.approx(0.5, abs=0.01)
    # A normal distribution has 68.3% within one deviation.
    assert (np.abs(noise) < 0.5).mean() == pytest.approx(0.683, abs=0.01)


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_gaussian_dropout_multiplies_with_the_variance_of_dropout(rate):
    factors = noisy(vg.layers.gaussian_dropout(rate=rate, seed=1), 3 * MANY) / 3
    assert factors.mean() == pytest.approx(1, abs=0.02)
    assert factors.var() == pytest.approx(rate / (1 - rate), rel=0.03)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_alpha_dropout_keeps_mean_0_and_variance_1(rate):
    x = vg.random_normal([400, 100], seed=2)
    y = noisy(vg.layers.alpha_dropout(rate=rate, seed=1), x)
    assert y.mean() == pytest.approx(0, abs=0.02)
    assert y.var() == pytest.approx(1, abs=0.03)
    # What is dropped becomes a x' + b, with x' selu's lowest value, and a and b of the paper.
    lowest = vg.selu(-1000.0).item()
    a = ((1 - rate) * (1 + rate * lowest**2)) ** -0.5
    values, counts = np.unique(y, return_counts=True)
    assert values[counts.argmax()] == pytest.approx(a * lowest * (1 - rate), rel=1e-5)
    assert counts.max() / y.size == pytest.approx(rate, abs=0.01)


def test_alpha_dropout_shares_the_fate_of_axes_in_noise_shape():
    y = noisy(vg.layers.alpha_dropout(rate=0.5, noise_shape=[None, 1], seed=1))
    assert all(len(set(row)) == 1 for row in y)
    assert len(set(y[:, 0])) == 2
    layer = vg.layers.alpha_dropout(rate=0.5, noise_shape=[3, 1], name="a")
    with pytest.raises(ValueError, match=r"a: noise_shape \[3, 1\] does not fit inputs of shape \[200, 100\]"):
        noisy(layer)


LAYERS = [
    lambda **options: vg.layers.gaussian_noise(stddev=1, **options),
    lambda **options: vg.layers.gaussian_dropout(rate=0.5, **options),
    lambda **options: vg.layers.alpha_dropout(rate=0.5, **options),
]


@pytest.mark.parametrize("make", LAYERS)
def test_with_a_seed_the_noise_is_a_fixed_sequence(make):
    first, second = make(seed=7), make(seed=7)
    draws = [[noisy(layer).tolist() for _ in range(2)] for layer in (first, second)]
    assert draws[0] == draws[1]
    assert draws[0][0] != draws[0][1]
    assert noisy(make()).tolist() != noisy(make()).tolist()


@pytest.mark.parametrize("make", LAYERS)
def test_outside_of_training_there_is_no_noise(make):
    for training in (None, False):
        assert make()(MANY, training=training).tolist() == MANY.tolist()


@pytest.mark.parametrize("make", LAYERS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_the_dtype_stays(make, dtype):
    assert make()(vg.ones([2, 2], dtype), training=True).dtype == dtype


@pytest.mark.parametrize("make", LAYERS)
def test_masks_are_handed_on_and_the_config_makes_an_equal_layer(make):
    mask = vg.tensor([[True, False]])
    assert make().compute_mask(vg.ones([1, 2, 3]), mask) is mask
    for layer in (make(name="n"), make(name="n", seed=4)):
        config = layer.get_config()
        assert ("seed" in config) == (layer.seed is not None)
        assert type(layer).from_config(config).get_config() == config


def test_the_gradient_passes_through():
    x = vg.ones([10])
    assert vg.grad(lambda x: vg.layers.gaussian_noise(stddev=1)(x, training=True))(x).tolist() == [1.0] * 10
    layer = vg.layers.gaussian_dropout(rate=0.5, seed=1)
    factors = vg.layers.gaussian_dropout(rate=0.5, seed=1)(x, training=True)
    assert vg.grad(lambda x: layer(x, training=True))(x).tolist() == factors.tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.gaussian_noise(stddev=-1), "gaussian_noise: stddev must be a number of at least 0, got -1"),
        (lambda: vg.layers.gaussian_dropout(rate=2), "gaussian_dropout: rate must be a number from 0 to 1, got 2"),
        (lambda: vg.layers.alpha_dropout(rate=None), "alpha_dropout: rate must be a number from 0 to 1, got None"),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError, match=message):
        make()

"""Normalization of each example by itself."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=30)


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def standardized(x, axes, epsilon):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@SETTINGS
@given(axes=st.sampled_from([-1, 1, 2, [1, 2], [2, 1], [-1, -3], [1, 2, 3]]), epsilon=st.sampled_from([1e-3, 0.5]))
def test_layer_normalization_is_the_formula(axes, epsilon):
    x = normal(2, 3, 4, 5)
    layer = vg.layers.layer_normalization(
        axis=axes, epsilon=epsilon, gamma_initializer="random_normal", beta_initializer="random_normal"
    )
    y = layer(x).numpy()
    places = tuple(sorted(a % 4 for a in ([axes] if isinstance(axes, int) else axes)))
    fit = [n if a in places else 1 for a, n in enumerate(x.shape)]
    gamma, beta = [w.numpy().reshape(fit) for w in layer.weights]
    assert layer.weights[0].shape == tuple(x.shape[a] for a in places)
    np.testing.assert_allclose(y, standardized(x, places, epsilon) * gamma + beta, rtol=1e-4, atol=1e-5)


@SETTINGS
@given(
    groups=st.sampled_from([1, 2, 3, 6, -1]),
    shape=st.sampled_from([(2, 6), (2, 3, 6), (2, 3, 2, 6), (2, 2, 1, 3, 6), (0, 4, 6)]),
    first=st.booleans(),
)
def test_group_normalization_is_the_formula(groups, shape, first):
    x = normal(*shape)
    layer = vg.layers.group_normalization(groups=groups, axis=1 if first else -1)
    given_x = np.moveaxis(x, -1, 1) if first else x
    y = layer(given_x).numpy()
    if first:
        y = np.moveaxis(y, 1, -1)
    count = 6 if groups == -1 else groups
    apart = x.reshape(*shape[:-1], count, 6 // count)
    others = tuple(a for a in range(1, apart.ndim) if a != apart.ndim - 2)
    np.testing.assert_allclose(y, standardized(apart, others, 1e-3).reshape(shape), rtol=1e-4, atol=1e-5)
    assert [w.shape for w in layer.weights] == [(6,), (6,)]


def test_one_group_is_layer_normalization_over_all_axes():
    x = normal(2, 3, 4)
    group = vg.layers.group_normalization(groups=1)(x).numpy()
    np.testing.assert_allclose(group, vg.layers.layer_normalization(axis=[1, 2])(x).numpy(), rtol=1e-4, atol=1e-5)


def test_rms_normalization_is_the_formula():
    x = normal(2, 3, 4)
    for axis in (-1, [1, 2]):
        layer = vg.layers.rms_normalization(axis=axis, epsilon=0.01)
        layer(x)
        scale = normal(*layer.weights[0].shape)
        layer.set_weights([scale])
        places = axis if isinstance(axis, int) else tuple(axis)
        expected = x / np.sqrt((x**2).mean(places, keepdims=True) + 0.01) * scale
        np.testing.assert_allclose(layer(x).numpy(), expected, rtol=1e-5)


def test_unit_normalization_makes_norms_1():
    x = normal(3, 4, 5)
    for axis in (-1, 1, [1, 2]):
        places = axis if isinstance(axis, int) else tuple(axis)
        norms = np.sqrt((x**2).sum(places, keepdims=True))
        np.testing.assert_allclose(vg.layers.unit_normalization(axis=axis)(x).numpy(), x / norms, rtol=1e-5)
    zeros = vg.zeros([1, 3])
    assert vg.layers.unit_normalization()(zeros).tolist() == [[0.0, 0.0, 0.0]]
    assert np.isfinite(vg.grad(lambda x: vg.layers.unit_normalization()(x))(zeros).numpy()).all()


LAYERS = {
    "layer_normalization": lambda **options: vg.layers.layer_normalization(**options),
    "group_normalization": lambda **options: vg.layers.group_normalization(groups=2, **options),
    "rms_normalization": lambda **options: vg.layers.rms_normalization(**options),
    "unit_normalization": lambda **options: vg.layers.unit_normalization(**options),
}


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_masks_dtypes_and_configs(name):
    layer = LAYERS[name](dtype="float64")
    x = normal(2, 3, 4)
    assert layer(x).dtype == "float64"
    layer.set_weights([1 + 0.3 * normal(*w.shape) for w in layer.weights])
    vg.testing.check_gradients(lambda x: layer(x), x)
    mask = vg.tensor([[True]])
    assert layer.compute_mask(vg.ones([1, 1, 4]), mask) is mask
    config = layer.get_config()
    assert type(layer).from_config(config).get_config() == config
    for dtype in ("float16", "bfloat16"):
        assert LAYERS[name](dtype=dtype)(x).dtype == dtype


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_model_with_it_trains_saves_and_loads(name, tmp_path):
    model = vg.sequential(layers=[LAYERS[name](input_shape=[4]), vg.layers.dense(units=1)])
    x, y = normal(8, 4), normal(8, 1)
    optimizer = vg.train.adam(0.05)
    losses = [optimizer.minimize(lambda: (model(x, training=True) - y).square().mean(), True) for _ in range(20)]
    assert losses[-1].item() < losses[0].item()
    model.save(tmp_path)
    np.testing.assert_array_equal(vg.load_layers_model(tmp_path).predict(x).numpy(), model.predict(x).numpy())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.layer_normalization(axis=1.5), "layer_normalization: axis must be an integer or a list of"),
        (lambda: vg.layers.layer_normalization(axis=None), "layer_normalization: axis must be an integer or a list of"),
        (lambda: vg.layers.layer_normalization(epsilon=-1), "epsilon must be a number of at least 0, got -1"),
        (lambda: vg.layers.layer_normalization(axis=3, name="n")(normal(1, 2)), "n: axis 3 is out of range for a"),
        (lambda: vg.layers.layer_normalization(axis=[1, -1], name="n")(normal(1, 2)), "n: axis [1, -1] names an axis"),
        (
            lambda: vg.sequential(layers=[vg.layers.layer_normalization(input_shape=[3, None], name="n")]),
            "n: axes [2] of its inputs must be known, got [?, 3, ?]",
        ),
        (lambda: vg.layers.group_normalization(groups=0), "groups must be positive, or -1 for all channels, got 0"),
        (lambda: vg.layers.group_normalization(groups=4, name="g")(normal(1, 6)), "g: its 6 channels do not make 4"),
        (lambda: vg.layers.group_normalization(groups=1, axis=0, name="g")(normal(1, 6)), "g: axis 0 is the batch"),
        (lambda: vg.layers.rms_normalization(epsilon="x"), "rms_normalization: epsilon must be a number of at least 0"),
        (lambda: vg.layers.unit_normalization(axis=2, name="u")(normal(1, 6)), "u: axis 2 is out of range"),
    ],
)  # fmt: skip
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()

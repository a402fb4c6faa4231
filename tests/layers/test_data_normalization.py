"""Normalization by the mean and variance of a data set."""

import re

import numpy as np
import pytest

import varigrad as vg


def normal(*shape):
    return np.random.default_rng(0).normal(loc=3, scale=2, size=shape).astype(np.float32)


@pytest.mark.parametrize("axis", [-1, 1, None, [1, 2], [-1, 1], (2,)])
def test_adapted_data_has_mean_0_and_variance_1_along_the_axes(axis):
    x = normal(6, 3, 4)
    layer = vg.layers.normalization(axis=axis)
    layer.adapt(x)
    y = layer(x).numpy()
    kept = [] if axis is None else [a % 3 for a in ([axis] if isinstance(axis, int) else axis)]
    others = tuple(a for a in range(3) if a not in kept)
    np.testing.assert_allclose(y.mean(others), np.zeros(y.mean(others).shape), atol=1e-5)
    np.testing.assert_allclose(y.var(others), np.ones(y.var(others).shape), rtol=1e-4)
    back = vg.layers.normalization(axis=axis, invert=True)
    back.adapt(x)
    np.testing.assert_allclose(back(y).numpy(), x, rtol=1e-4, atol=1e-4)


def test_batches_give_what_all_data_at_once_gives():
    x = normal(10, 4)
    whole, parts, pairs = (vg.layers.normalization() for _ in range(3))
    whole.adapt(x)
    parts.adapt([x[:3], vg.tensor(x[3:4]), x[4:]])
    pairs.adapt((x[i : i + 5], np.zeros(5)) for i in (0, 5))
    for layer in (parts, pairs):
        for w, expected in zip(layer.weights, whole.weights, strict=True):
            np.testing.assert_allclose(w.numpy(), expected.numpy(), rtol=1e-5)
    np.testing.assert_allclose(whole.weights[0].numpy(), x.mean(0), rtol=1e-5)
    np.testing.assert_allclose(whole.weights[1].numpy(), x.var(0), rtol=1e-5)
    assert [w.original_name.rpartition("/")[2] for w in whole.weights] == ["mean", "variance", "count"]
    assert whole.trainable_weights == []
    # Once more begins anew.
    whole.adapt(x + 1)
    np.testing.assert_allclose(whole.weights[0].numpy(), x.mean(0) + 1, rtol=1e-5)


def test_large_offsets_keep_their_digits():
    x = 1e6 + normal(100, 1).astype(np.float64)
    layer = vg.layers.normalization(dtype="float64")
    layer.adapt(x)
    np.testing.assert_allclose(layer(x).numpy().std(), 1, rtol=1e-6)


def test_mean_and_variance_can_be_given():
    x = normal(2, 3)
    layer = vg.layers.normalization(mean=[1, 2, 3], variance=[4, 9, 16], name="n")
    np.testing.assert_allclose(layer(x).numpy(), (x - [1, 2, 3]) / [2, 3, 4], rtol=1e-5)
    assert layer.weights == []
    config = layer.get_config()
    assert config == {
        "axis": [-1], "invert": False, "mean": [1, 2, 3], "variance": [4, 9, 16], "name": "n", "trainable": True
    }  # fmt: skip
    again = vg.layers.Normalization.from_config(config)
    np.testing.assert_array_equal(again(x).numpy(), layer(x).numpy())
    one = vg.layers.normalization(axis=None, mean=2, variance=4)
    np.testing.assert_allclose(one(x).numpy(), (x - 2) / 2, rtol=1e-5)


def test_what_never_changes_becomes_0():
    layer = vg.layers.normalization()
    layer.adapt([[5, 1], [5, 3]])
    assert layer([[5, 3]]).tolist() == [[0.0, 1.0]]


@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_model_with_it_saves_loads_and_passes_gradients(tmp_path):
    x = normal(8, 3)
    layer = vg.layers.normalization(input_shape=[3])
    layer.adapt(x)
    model = vg.sequential(layers=[layer, vg.layers.dense(units=1)])
    model.save(tmp_path)
    loaded = vg.load_layers_model(tmp_path)
    np.testing.assert_array_equal(loaded.predict(x).numpy(), model.predict(x).numpy())
    vg.testing.check_gradients(lambda x: vg.layers.normalization(mean=[1, 2, 3], variance=[4, 9, 16])(x), x)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.layers.normalization(mean=1), "normalization: needs both mean and variance, or neither"),
        (lambda: vg.layers.normalization(axis=1.5), "normalization: axis must be an integer or a list of integers"),
        (lambda: vg.layers.normalization(axis=2, name="n")(normal(1, 2)), "n: has axis [2], but got inputs of shape"),
        (
            lambda: vg.layers.normalization(mean=[1, 2], variance=[1, 2], name="n")(normal(1, 3)),
            "n: mean of shape [2] does not fit axes [1] of its inputs, which are [3]",
        ),
        (lambda: vg.layers.normalization(mean=1, variance=1, name="n").adapt([[1.0]]), "n: was given its mean"),
        (lambda: vg.layers.normalization(name="n").adapt([]), "n: adapt needs data, there is none"),
        (lambda: vg.layers.normalization(name="n").adapt(normal(0, 2)), "n: adapt needs data, there is none"),
        (
            lambda: vg.layers.normalization(name="n").adapt([normal(1, 2), normal(1, 3)]),
            "n: was made for inputs of shape [1, 2], got data of shape [1, 3]",
        ),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()

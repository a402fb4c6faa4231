"""Dropout layers."""

import numpy as np
import pytest

import varigrad as vg


def test_dropout_drops_the_rate_and_keeps_the_mean():
    vg.set_random_seed(3)
    layer = vg.layers.dropout(rate=0.3)
    y = layer(vg.ones([100, 200]), training=True).numpy()
    assert (y == 0).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(y[y != 0], 1 / 0.7, rtol=1e-6)


def test_dropout_does_nothing_outside_of_training():
    x = vg.ones([2, 3])
    for training in (None, False):
        assert vg.layers.dropout(rate=0.9)(x, training=training).tolist() == x.tolist()
    assert vg.layers.dropout(rate=0)(x, training=True).tolist() == x.tolist()
    assert vg.layers.dropout(rate=1)(x, training=True).tolist() == vg.zeros([2, 3]).tolist()


def test_dropout_with_a_seed_repeats_its_sequence_of_masks():
    x = vg.ones([50])
    first, second = [
        [layer(x, training=True).tolist() for _ in range(3)]
        for layer in (vg.layers.dropout(rate=0.5, seed=7), vg.layers.dropout(rate=0.5, seed=7))
    ]
    assert first == second
    assert first[0] != first[1] != first[2]


def test_dropout_shares_the_fate_of_axes_in_noise_shape():
    y = vg.layers.dropout(rate=0.5, noise_shape=[None, 1, 3], seed=1)(vg.ones([4, 50, 3]), training=True).numpy()
    assert y.shape == (4, 50, 3)
    assert all(len(set(y[i, :, j])) == 1 for i in range(4) for j in range(3))
    assert len(set(y.reshape(-1).tolist())) == 2


def test_dropout_passes_the_gradient_where_it_passes_the_value():
    layer = vg.layers.dropout(rate=0.5, seed=1)
    x = vg.ones([20])
    y = layer(x, training=True)
    layer = vg.layers.dropout(rate=0.5, seed=1)
    assert vg.grad(lambda x: layer(x, training=True))(x).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: vg.layers.dropout(), TypeError, "dropout: needs rate"),
        (lambda: vg.layers.dropout(rate=0.5, seed="x"), TypeError, "dropout: seed must be an integer or None, got 'x'"),
        (lambda: vg.layers.dropout(rate=1.5), ValueError, "dropout: rate must be a number from 0 to 1, got 1.5"),
        (lambda: vg.layers.dropout(rate="x"), ValueError, "dropout: rate must be a number from 0 to 1, got 'x'"),
        (lambda: vg.layers.spatial_dropout1d(rate=-1), ValueError, "spatial_dropout1d: rate must be a number from 0"),
        (lambda: vg.layers.spatial_dropout2d(rate=0.5)(vg.zeros([1, 2, 3])), ValueError, "takes inputs of rank 4"),
    ],
)
def test_bad_arguments_are_one_clear_error(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


SPATIAL = {
    "1d": (vg.layers.spatial_dropout1d, [4, 6, 50], (1,), {}),
    "2d": (vg.layers.spatial_dropout2d, [4, 2, 3, 50], (1, 2), {}),
    "2d, channels first": (vg.layers.spatial_dropout2d, [4, 50, 2, 3], (2, 3), {"data_format": "channels_first"}),
    "3d": (vg.layers.spatial_dropout3d, [4, 2, 2, 3, 50], (1, 2, 3), {}),
    "3d, channels first": (vg.layers.spatial_dropout3d, [4, 50, 2, 2, 3], (2, 3, 4), {"data_format": "channels_first"}),
}


@pytest.mark.parametrize("case", SPATIAL)
def test_spatial_dropout_drops_whole_channels(case):
    make, shape, space, options = SPATIAL[case]
    y = make(rate=0.5, seed=1, **options)(vg.ones(shape), training=True).numpy()
    np.testing.assert_array_equal(y.max(space), y.min(space))
    assert set(y.reshape(-1).tolist()) == {0.0, 2.0}
    assert 0.35 < (y.max(space) == 0).mean() < 0.65
    x = vg.ones(shape)
    assert make(rate=0.5, **options)(x).tolist() == x.tolist()


@pytest.mark.parametrize("case", SPATIAL)
def test_spatial_dropout_is_made_again_from_its_config(case):
    make, _, _, options = SPATIAL[case]
    config = make(rate=0.25, seed=3, name="n", **options).get_config()
    wanted = {"rate": 0.25, "seed": 3, "name": "n", "trainable": True}
    if case != "1d":
        wanted["data_format"] = options.get("data_format", "channels_last")
    assert config == wanted
    assert make.__wrapped__.from_config(config).get_config() == config


@pytest.mark.parametrize("make", [vg.layers.dropout, vg.layers.spatial_dropout1d])
def test_a_mask_is_handed_on(make):
    mask = vg.tensor([[True, False]])
    assert make(rate=0.5).compute_mask(vg.ones([1, 2, 3]), mask) is mask

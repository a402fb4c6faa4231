"""Dot-product and additive attention. Numbers are in tests/layers/keras_reference."""

import numpy as np
import pytest

import varigrad as vg

Q = np.sin(np.arange(12, dtype=np.float32)).reshape(1, 3, 4)
V = np.cos(np.arange(20, dtype=np.float32)).reshape(1, 5, 4)
KINDS = ["attention", "additive_attention"]


@pytest.mark.parametrize("kind", KINDS)
def test_masked_values_are_as_if_they_were_not_there(kind):
    layer = getattr(vg.layers, kind)()
    q, v = vg.tensor(Q), vg.tensor(V)
    y = layer([q, v], mask=[None, vg.tensor([[True, True, True, False, False]])])
    alone = layer([q, vg.tensor(V[:, :3])])  # fewer rows: the terms of its sums, of about 1, maybe in another order
    np.testing.assert_allclose(y.numpy(), alone.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_masked_queries_give_zeros_and_their_mask_goes_on(kind):
    layer = getattr(vg.layers, kind)()
    inputs, mask = [vg.tensor(Q), vg.tensor(V)], [vg.tensor([[True, False, True]]), None]
    y = layer(inputs, mask=mask).numpy()
    assert (y[:, 1] == 0).all()
    assert (y[:, 0] != 0).all()
    assert layer.compute_mask(inputs, mask) is mask[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_model_of_it_is_stored_and_loaded(kind, tmp_path):
    x = vg.input(shape=[3, 4])
    y, scores = getattr(vg.layers, kind)(use_scale=True)([x, x], use_causal_mask=True, return_attention_scores=True)
    model = vg.model(inputs=x, outputs=[y, scores])
    found = model.predict(Q)
    assert np.triu(found[1].numpy()[0], 1).tolist() == np.zeros([3, 3]).tolist()
    model.save(tmp_path)
    for one, other in zip(vg.load_layers_model(tmp_path).predict(Q), found, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_dropout_acts_on_the_weights_in_training():
    layer = vg.layers.attention(dropout=0.5, seed=1)
    ones = [vg.tensor(Q), vg.ones([1, 5, 1]), vg.tensor(V)]
    np.testing.assert_allclose(layer(ones).numpy(), 1, rtol=1e-6)
    assert np.abs(layer(ones, training=True).numpy() - 1).max() > 0.01


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: vg.layers.attention()(vg.tensor(Q)), r"takes a list \[query, value\]"),
        (lambda: vg.layers.attention()([vg.tensor(Q), vg.zeros([1, 5, 3])]), r"got \[1, 3, 4\], \[1, 5, 3\]"),
        (lambda: vg.layers.attention()([vg.scalar(1), vg.scalar(2)]), r"\[batch, values, size\], got \[\], \[\]"),
        (lambda: vg.layers.additive_attention()([vg.zeros([2]), vg.zeros([2])]), r"got \[2\], \[2\]"),
        (lambda: vg.layers.attention(score_mode="sum"), "score_mode must be one of dot, concat, got 'sum'"),
    ],
)
def test_errors(run, message):
    with pytest.raises(ValueError, match=message):
        run()

"""Multi-head attention: masks, models, errors. Numbers are in tests/layers/keras_reference."""

import numpy as np
import pytest

import varigrad as vg

X = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 3, 4)
MASK = np.array([[1, 1, 0], [1, 1, 1]], bool)


def make(**options):
    layer = vg.layers.multi_head_attention(num_heads=2, key_dim=3, **options)
    layer(X, X)
    return layer


def assert_same_sums(found, expected):
    """Products of other numbers of rows may be added in another order: they differ by so much of terms of about 1."""
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_the_three_ways_to_call_it_are_one():
    layer = make()
    x, v = vg.tensor(X), vg.tensor(X[:, :2])
    y = layer(x, v, v).numpy()
    for other in (layer(x, v), layer([x, v]), layer([x, v, v]), layer(x, value=v, key=v), layer(X, X[:, :2].tolist())):
        np.testing.assert_array_equal(other.numpy(), y)


def test_a_causal_query_does_not_see_what_comes_after():
    layer = make()
    y = layer(X, X, use_causal_mask=True).numpy()
    grown = layer(X[:, :2], X[:, :2], use_causal_mask=True).numpy()
    assert_same_sums(y[:, :2], grown)


def test_masked_values_weigh_nothing_and_get_no_gradient():
    layer = make()
    x = vg.variable(X)
    mask = vg.tensor(MASK)
    y, scores = layer(x, x, mask=[None, mask], return_attention_scores=True)
    assert (scores.numpy()[0, :, :, 2] == 0).all()
    np.testing.assert_allclose(scores.numpy().sum(-1), 1, rtol=1e-6)
    assert_same_sums(y.numpy()[:1], layer(X[:1], X[:1, :2]).numpy())
    value = vg.variable(X)
    _, grads = vg.variable_grads(lambda: layer(X, value, mask=[None, mask]).sum())
    assert (grads[value.name].numpy()[0, 2] == 0).all()
    assert (grads[value.name].numpy()[0, 1] != 0).any()


def test_a_query_that_sees_nothing_gets_the_last_bias_alone():
    layer = make(bias_initializer="ones")
    y, scores = layer(X, X, mask=[vg.tensor(MASK), None], return_attention_scores=True)
    assert (scores.numpy()[0, :, 2] == 0).all()
    assert (y.numpy()[0, 2] == 1).all()


def test_models_hand_masks_to_it_and_on():
    x = vg.input(shape=[None, 4])
    masked = vg.layers.masking()(x)
    attended = vg.layers.multi_head_attention(num_heads=1, key_dim=2)(masked, masked)
    model = vg.model(inputs=x, outputs=vg.layers.lstm(units=2)(attended))
    padded = np.concatenate([X, np.zeros([2, 4, 4], np.float32)], 1)
    assert_same_sums(model.predict(padded).numpy(), model.predict(X).numpy())


@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_model_with_scores_and_a_causal_mask_is_stored_and_loaded(tmp_path):
    x, v = vg.input(shape=[3, 4]), vg.input(shape=[3, 5])
    layer = vg.layers.multi_head_attention(num_heads=2, key_dim=3, name="stored_attention")
    y, scores = layer(x, v, use_causal_mask=True, return_attention_scores=True)
    assert (y.shape, scores.shape) == ((None, 3, 4), (None, 2, 3, 3))
    model = vg.model(inputs=[x, v], outputs=[y, scores])
    values = [vg.tensor(X), vg.ones([2, 3, 5])]
    found = model.predict(values)
    model.save(tmp_path)
    again = vg.load_layers_model(tmp_path)
    for one, other in zip(again.predict(values), found, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    assert [w.original_name for w in again.weights][:2] == [
        "stored_attention/query/kernel",
        "stored_attention/query/bias",
    ]


def test_it_trains():
    layer = make(dropout=0.1, seed=3)
    optimizer = vg.train.adam(0.01)
    target = vg.tensor(X[:, ::-1].copy())

    def loss():
        return (layer(X, X, training=True) - target).square().mean()

    first = loss().item()
    for _ in range(60):
        optimizer.minimize(loss)
    assert loss().item() < 0.7 * first


def test_kernels_begin_with_the_scale_of_the_matrices_that_they_are():
    layer = vg.layers.multi_head_attention(num_heads=8, key_dim=16)
    layer(vg.zeros([1, 2, 128]), vg.zeros([1, 2, 128]))
    # Glorot: uniform up to sqrt(6 / (inputs + outputs)), for each of the four 128 by 128.
    for kernel in (w.numpy() for w in layer.weights if w.rank > 2):
        assert np.abs(kernel).max() == pytest.approx(np.sqrt(6 / 256), rel=0.01)


def test_what_tensorflow_js_stores_is_read():
    config = {"num_heads": 2, "key_dim": 3, "query_shape": [2, 3, 4], "key_shape": None, "value_shape": [2, 3, 4]}
    assert vg.layers.MultiHeadAttention.from_config(config).num_heads == 2
    with pytest.raises(ValueError, match="sliding_window=4 is not supported"):
        vg.layers.MultiHeadAttention.from_config({**config, "sliding_window": 4})


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: make()(vg.zeros([2, 3, 4])), r"takes a query and a value, and perhaps a key: layer\(query, value"),
        (
            lambda: make()(vg.zeros([2, 3, 4]), vg.zeros([2, 3, 4]), vg.zeros([2, 4, 4])),
            r"got \[2, 3, 4\], \[2, 3, 4\]",
        ),
        (lambda: make()(vg.zeros([2, 3, 4]), vg.zeros([2, 4])), r"got \[2, 3, 4\], \[2, 4\]"),
        (lambda: vg.layers.multi_head_attention(num_heads=0, key_dim=1), "num_heads must be a positive integer"),
        (lambda: vg.layers.multi_head_attention(num_heads=1, key_dim=1, output_shape=[None]), "must be known"),
        (lambda: make(attention_axes=[[1]]), "attention_axes must be an integer or a list of integers"),
        (lambda: make(attention_axes={}), "attention_axes must be an integer or a list of integers"),
        (lambda: make(attention_axes=[5]), "attention_axes .* got rank 3"),
        (lambda: make(attention_axes=[2]), "attention_axes .* got rank 3"),
    ],
)
def test_errors(run, message):
    with pytest.raises(ValueError, match=message):
        run()

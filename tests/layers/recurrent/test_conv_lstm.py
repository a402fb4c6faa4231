"""Convolutional LSTM. Numbers are in tests/layers/reference and tests/layers/keras_reference."""

import numpy as np
import pytest

import varigrad as vg

X = np.sin(np.arange(2 * 3 * 5 * 4 * 2, dtype=np.float32)).reshape(2, 3, 5, 4, 2)


def test_channels_first_is_channels_last_transposed():
    last = vg.layers.conv_lstm2d(filters=3, kernel_size=[2, 3], return_sequences=True, return_state=True)
    results = last(X)
    first = vg.layers.conv_lstm2d(
        filters=3,
        kernel_size=[2, 3],
        return_sequences=True,
        return_state=True,
        data_format="channels_first",
        weights=last.get_weights(),
    )
    for y, expected in zip(first(X.transpose(0, 1, 4, 2, 3)), results, strict=True):
        np.testing.assert_allclose(np.moveaxis(y.numpy(), -3, -1), expected.numpy(), rtol=1e-4, atol=1e-6)


def test_a_window_of_one_is_an_lstm_at_every_place():
    layer = vg.layers.conv_lstm2d(filters=3, kernel_size=1)
    y = layer(X).numpy()
    weights = [w.numpy().reshape(w.shape[-2:]) if w.rank > 1 else w for w in layer.get_weights()]
    places = X.transpose(0, 2, 3, 1, 4).reshape(-1, 3, 2)
    expected = vg.layers.lstm(units=3, weights=weights)(places).numpy()
    np.testing.assert_allclose(y.reshape(-1, 3), expected, rtol=1e-4, atol=1e-6)


def test_stateful_goes_on():
    layer = vg.layers.conv_lstm2d(filters=2, kernel_size=2, padding="same", stateful=True, return_sequences=True)
    first = layer(X[:, :1]).numpy()
    second = layer(X[:, 1:]).numpy()
    whole = vg.layers.conv_lstm2d(
        filters=2, kernel_size=2, padding="same", return_sequences=True, weights=layer.get_weights()
    )
    np.testing.assert_allclose(np.concatenate([first, second], 1), whole(X).numpy(), rtol=1e-4, atol=1e-6)


def test_a_masked_end_is_as_if_it_were_not_there():
    layer = vg.layers.conv_lstm2d(filters=2, kernel_size=2, return_sequences=True)
    y = layer(X, mask=vg.tensor(np.array([[1, 1, 0], [1, 1, 1]], bool))).numpy()
    alone = layer(X).numpy()
    np.testing.assert_allclose(y[:, :2], alone[:, :2], rtol=1e-5)
    np.testing.assert_array_equal(y[0, 2], y[0, 1])
    np.testing.assert_allclose(y[1, 2], alone[1, 2], rtol=1e-5)


def test_dropout_acts_in_training_alone():
    layer = vg.layers.conv_lstm2d(filters=2, kernel_size=2, dropout=0.5, recurrent_dropout=0.5, seed=1)
    quiet = layer(X).numpy()
    np.testing.assert_array_equal(layer(X).numpy(), quiet)
    assert np.abs(layer(X, training=True).numpy() - quiet).max() > 1e-3


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: vg.layers.conv_lstm2d(filters=0, kernel_size=1), "units must be a positive integer, got 0"),
        (lambda: vg.layers.conv_lstm2d(filters=1, kernel_size=9)(X), "a window of 9 does not fit"),
        (lambda: vg.layers.conv_lstm2d(filters=1, kernel_size=1)(vg.zeros([1, 2, 3])), "of rank 5"),
    ],
)
def test_errors(run, message):
    with pytest.raises(ValueError, match=message):
        run()

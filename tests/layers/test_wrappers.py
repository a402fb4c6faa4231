"""Wrappers. Numbers of all options are in tests/layers/reference."""

import numpy as np
import pytest

import varigrad as vg

X = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)


def test_both_directions_are_a_layer_each():
    layer = vg.layers.bidirectional(layer=vg.layers.gru(units=3, return_sequences=True), merge_mode=None)
    forward, backward = layer(X)
    weights = layer.get_weights()
    one = vg.layers.gru(units=3, return_sequences=True, weights=weights[:3])
    other = vg.layers.gru(units=3, return_sequences=True, weights=weights[3:], go_backwards=True)
    np.testing.assert_allclose(forward.numpy(), one(X).numpy(), rtol=1e-6)
    np.testing.assert_allclose(backward.numpy(), other(X).numpy()[:, ::-1], rtol=1e-6)


def test_names_of_weights_are_those_of_tensorflow_js():
    layer = vg.layers.bidirectional(layer=vg.layers.lstm(units=1, name="inner"), name="outer")
    layer(X)
    parts = ("kernel", "recurrent_kernel", "bias")
    expected = [f"outer/{side}_inner/{part}" for side in ("forward", "backward") for part in parts]
    assert [w.original_name for w in layer.weights] == expected


def test_padding_does_not_change_the_last_outputs():
    layer = vg.layers.bidirectional(layer=vg.layers.lstm(units=3))
    y = layer(X, mask=vg.tensor(MASK)).numpy()
    np.testing.assert_allclose(y[0], layer(X[:1, :3]).numpy()[0], rtol=1e-5)
    np.testing.assert_allclose(y[1], layer(X[1:, :2]).numpy()[0], rtol=1e-5)


def test_a_mask_goes_on_with_sequences():
    layer = vg.layers.bidirectional(layer=vg.layers.lstm(units=3, return_sequences=True, return_state=True))
    x, mask = vg.tensor(X), vg.tensor(MASK)
    assert layer.compute_mask(x, mask) == [mask, None, None, None, None]
    pair = vg.layers.bidirectional(layer=vg.layers.lstm(units=3), merge_mode=None)
    assert pair.compute_mask(x, mask) == [None, None]


def test_two_layers_of_ones_own():
    backward = vg.layers.gru(units=2, go_backwards=True)
    layer = vg.layers.bidirectional(layer=vg.layers.lstm(units=3), backward_layer=backward)
    assert layer(X).shape == (2, 5)
    assert layer.compute_output_shape((None, 4, 3)) == (None, 5)
    again = vg.layers.Bidirectional.from_config(layer.get_config())
    again(X)
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(X).numpy(), layer(X).numpy())


def test_a_cell_of_ones_own_that_is_not_registered():
    class Total(vg.layers.RNNCell):
        state_size = 3

        def call(self, inputs, training=None):
            return [inputs[0] + inputs[1]] * 2

    y = vg.layers.bidirectional(layer=vg.layers.rnn(cell=Total(), return_sequences=True))(X).numpy()
    np.testing.assert_allclose(y[..., :3], np.cumsum(X, 1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(y[..., 3:], np.cumsum(X[:, ::-1], 1)[:, ::-1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("merge_mode", ["concat", None])
def test_a_stateful_wrapper_starts_anew_when_told(merge_mode):
    layer = vg.layers.bidirectional(layer=vg.layers.gru(units=2, stateful=True), merge_mode=merge_mode)
    assert layer.stateful

    def outputs():
        y = layer(X)
        return np.concatenate([part.numpy() for part in (y if isinstance(y, list) else [y])], -1)

    first, second = outputs(), outputs()
    assert np.abs(first - second).max() > 1e-4
    layer.reset_states()
    np.testing.assert_array_equal(outputs(), first)


def test_wrapped_models_are_stored_and_loaded(tmp_path):
    inner = vg.sequential(layers=[vg.layers.dense(units=4, input_shape=[3]), vg.layers.batch_normalization()])
    x = vg.input(shape=[None, 3])
    y = vg.layers.time_distributed(layer=inner)(x)
    y, *states = vg.layers.bidirectional(layer=vg.layers.lstm(units=2, return_state=True))(y)
    model = vg.model(inputs=x, outputs=[y, *states])
    model.save(tmp_path)
    for one, other in zip(vg.load_layers_model(tmp_path).predict(X), model.predict(X), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_freezing_and_penalties_reach_the_layers_inside():
    wrapped = vg.layers.gru(units=1, kernel_regularizer="l2", kernel_initializer="ones")
    layer = vg.layers.bidirectional(layer=wrapped, trainable=False)
    layer(X)
    assert layer.trainable_weights == []
    assert [loss.item() for loss in layer.calculate_losses()] == pytest.approx([0.09, 0.09])
    layer.trainable = True
    assert len(layer.trainable_weights) == 6
    distributed = vg.layers.time_distributed(layer=vg.layers.dense(units=1), trainable=False)
    distributed(X)
    assert distributed.trainable_weights == []


def test_layers_of_ones_own_get_one_step_at_a_time():
    class Share(vg.layers.Layer):
        """Looks at the whole batch."""

        def call(self, inputs, training=None):
            return inputs / inputs.sum(0)

    y = vg.layers.time_distributed(layer=Share())(np.abs(X) + 1).numpy()
    np.testing.assert_allclose(y.sum(0), 1, rtol=1e-6)


def test_batch_normalization_in_training_looks_at_each_step():
    layer = vg.layers.time_distributed(layer=vg.layers.batch_normalization())
    y = layer(X, training=True).numpy()
    np.testing.assert_allclose(y.mean(0), 0, atol=1e-5)


ERRORS = {
    "no layer": (lambda: vg.layers.time_distributed(layer="dense"), TypeError, "layer must be a layer, got 'dense'"),
    "not recurrent": (
        lambda: vg.layers.bidirectional(layer=vg.layers.dense(units=1)),
        TypeError,
        "layer must be a recurrent layer",
    ),
    "mode": (
        lambda: vg.layers.bidirectional(layer=vg.layers.gru(units=1), merge_mode="max"),
        ValueError,
        "merge_mode must be one of sum, mul, concat, ave, got 'max'",
    ),
    "time": (
        lambda: vg.layers.time_distributed(layer=vg.layers.dense(units=1))(vg.zeros([2, 3])),
        ValueError,
        r"takes inputs \[batch, time, …\] of rank 3 or more .* got shape \[2, 3\]",
    ),
    "states": (
        lambda: vg.layers.bidirectional(layer=vg.layers.gru(units=1))(X, initial_state=[vg.zeros([2, 1])]),
        ValueError,
        "must be the states of two layers, got 1",
    ),
    "directions": (
        lambda: vg.layers.bidirectional(layer=vg.layers.gru(units=1), backward_layer=vg.layers.gru(units=1)),
        ValueError,
        "must have go_backwards=True",
    ),
    "options": (
        lambda: vg.layers.bidirectional(
            layer=vg.layers.gru(units=1), backward_layer=vg.layers.gru(units=1, go_backwards=True, return_state=True)
        ),
        ValueError,
        "return_state must be the same",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    run, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        run()

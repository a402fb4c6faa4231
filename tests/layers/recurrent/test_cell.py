"""Cells by themselves, and dropout inside them."""

import numpy as np
import pytest

import varigrad as vg


@pytest.mark.parametrize(("kind", "count"), [("simple_rnn", 1), ("lstm", 2), ("gru", 1)])
def test_a_layer_is_its_cell_step_after_step(kind, count):
    cell = getattr(vg.layers, f"{kind}_cell")(units=3)
    layer = vg.layers.rnn(cell=cell, return_sequences=True)
    x = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)
    y = layer(x).numpy()
    states = [vg.zeros([2, 3])] * count
    for t in range(4):
        output, *states = cell([vg.tensor(x[:, t]), *states])
        np.testing.assert_allclose(output.numpy(), y[:, t], rtol=1e-5, atol=1e-7)


def test_a_cell_in_a_model():
    x, h = vg.input(shape=[3]), vg.input(shape=[2])
    output, state = vg.layers.gru_cell(units=2)([x, h])
    model = vg.model(inputs=[x, h], outputs=[output, state])
    found = model.predict([vg.ones([4, 3]), vg.zeros([4, 2])])
    assert [y.shape for y in found] == [(4, 2), (4, 2)]


def test_a_cell_says_what_it_is_called_on():
    cell = vg.layers.lstm_cell(units=2, name="called_example")
    cell.build((1, 3))
    cell.built = True
    with pytest.raises(ValueError, match="called_example: takes a list of 3 tensors, the input and 2 states, got 2"):
        cell([vg.ones([1, 3]), vg.zeros([1, 2])])


def dropped(**options):
    """The outputs of three steps that copy the input, or the state where the input is 0."""
    layer = vg.layers.simple_rnn(
        units=50,
        activation=None,
        kernel_initializer="identity",
        recurrent_initializer="identity",
        return_sequences=True,
        **options,
    )
    layer(vg.zeros([2, 3, 50]))
    return layer


def test_dropout_drops_the_same_inputs_at_every_step():
    layer = dropped(dropout=0.5)
    layer.set_weights([np.eye(50), np.zeros([50, 50]), np.zeros(50)])
    y = layer(vg.ones([2, 3, 50]), training=True).numpy()
    assert set(y.reshape(-1)) == {0.0, 2.0}
    assert (y[:, :1] == y).all()
    assert (y[0] != y[1]).any()
    assert (layer(vg.ones([2, 3, 50])).numpy() == 1).all()


def test_recurrent_dropout_drops_the_same_states_at_every_step():
    layer = dropped(recurrent_dropout=0.5)
    y = layer(vg.zeros([2, 3, 50]), initial_state=vg.ones([2, 50]), training=True).numpy()
    for step, kept in enumerate([2.0, 4.0, 8.0]):
        assert set(y[:, step].reshape(-1)) == {0.0, kept}
    assert ((y[:, 0] == 0) == (y[:, 2] == 0)).all()


def test_everything_can_be_dropped():
    y = dropped(dropout=1)(vg.ones([2, 3, 50]), training=True)
    assert (y.numpy() == 0).all()


@pytest.mark.parametrize("kind", ["simple_rnn", "lstm", "gru"])
def test_a_seed_fixes_what_is_dropped_call_after_call(kind):
    def outputs():
        layer = getattr(vg.layers, kind)(units=3, dropout=0.4, recurrent_dropout=0.4, seed=7, kernel_initializer="ones")
        layer(vg.ones([2, 4, 5]))
        layer.set_weights([vg.ones(w.shape) * 0.1 for w in layer.weights])
        assert layer.get_config()["seed"] == 7
        return [layer(vg.ones([2, 4, 5]), training=True).numpy() for _ in range(3)]

    first, again = outputs(), outputs()
    np.testing.assert_array_equal(first, again)
    assert (first[0] != first[1]).any()


def test_dropout_of_inputs_keeps_the_mean():
    layer = vg.layers.simple_rnn(units=1, dropout=0.25, activation=None)
    layer(vg.zeros([1, 1, 400]))
    layer.set_weights([np.full([400, 1], 1 / 400), np.zeros([1, 1]), np.zeros(1)])
    y = layer(vg.ones([200, 1, 400]), training=True).numpy()
    assert y.mean() == pytest.approx(1, abs=0.01)

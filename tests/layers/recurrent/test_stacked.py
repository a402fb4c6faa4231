"""Cells on top of one another."""

import numpy as np
import pytest

import varigrad as vg

X = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)


class Plain(vg.layers.RNNCell):
    """A cell of one's own: `h = tanh(x @ kernel + h)`."""

    def __init__(self, *, units, **options):
        super().__init__(**options)
        self.units = self.state_size = units

    def get_config(self):
        return {**super().get_config(), "units": self.units}

    def build(self, input_shape):
        self.kernel = self.add_weight("kernel", [input_shape[-1], self.units], initializer="ones")

    def call(self, inputs, training=None):
        x, h = inputs
        h = (x.mat_mul(self.kernel) + h).tanh()
        return [h, h]


def test_a_stack_is_layers_one_after_the_other():
    stack = vg.layers.rnn(cell=[vg.layers.lstm_cell(units=4), Plain(units=2)], return_sequences=True)
    y = stack(X)
    first = vg.layers.lstm(units=4, return_sequences=True, weights=stack.get_weights()[:3])
    second = vg.layers.rnn(cell=Plain(units=2), return_sequences=True, weights=stack.get_weights()[3:])
    np.testing.assert_allclose(y.numpy(), second(first(X)).numpy(), rtol=1e-6)


def test_a_stack_called_by_itself_does_one_step():
    stack = vg.layers.stacked_rnn_cells(cells=[vg.layers.lstm_cell(units=4), vg.layers.gru_cell(units=2)])
    layer = vg.layers.rnn(cell=stack, return_state=True)
    whole = layer(X[:, :1])
    step = stack([vg.tensor(X[:, 0]), vg.zeros([2, 2]), vg.zeros([2, 4]), vg.zeros([2, 4])])
    for y, expected in zip(step, whole, strict=True):
        np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-6)


def test_a_stack_in_a_stack():
    inner = vg.layers.stacked_rnn_cells(cells=[vg.layers.gru_cell(units=4), vg.layers.gru_cell(units=3)])
    layer = vg.layers.rnn(cell=[inner, vg.layers.gru_cell(units=2)], return_state=True)
    assert [y.shape for y in layer(X)] == [(2, 2), (2, 2), (2, 3), (2, 4)]
    flat = vg.layers.rnn(cell=[vg.layers.gru_cell(units=n) for n in (4, 3, 2)], weights=layer.get_weights())
    np.testing.assert_allclose(flat(X).numpy(), layer(X)[0].numpy(), rtol=1e-6)


@pytest.mark.filterwarnings("ignore::varigrad.CompatibilityWarning")
def test_a_stack_is_stored_and_loaded_with_cells_of_ones_own(tmp_path):
    cells = [Plain(units=3), vg.layers.gru_cell(units=2, reset_after=True)]
    model = vg.sequential(layers=[vg.layers.rnn(cell=cells, input_shape=[None, 3])])
    model.save(tmp_path)
    again = vg.load_layers_model(tmp_path, custom_objects={"Plain": Plain})
    np.testing.assert_array_equal(again.predict(X).numpy(), model.predict(X).numpy())


@pytest.mark.parametrize(
    ("cells", "error", "message"),
    [([], ValueError, "needs one cell"), ([vg.layers.dense(units=1)], TypeError, "cells must be of vg.layers.RNNCell")],
)
def test_errors(cells, error, message):
    with pytest.raises(error, match=message):
        vg.layers.stacked_rnn_cells(cells=cells)

"""LSTM: its first bias. Numbers of all options are in tests/layers/reference."""

import numpy as np
import pytest

import varigrad as vg


@pytest.mark.parametrize("forget", [False, True])
@pytest.mark.parametrize("initializer", ["zeros", "ones"])
def test_the_forget_gate_begins_with_ones_if_asked(forget, initializer):
    layer = vg.layers.lstm(units=2, unit_forget_bias=forget, bias_initializer=initializer)
    layer(vg.zeros([1, 1, 3]))
    rest = 1 if initializer == "ones" else 0
    expected = [rest, rest, *([1, 1] if forget else [rest, rest]), rest, rest, rest, rest]
    assert layer.weights[2].numpy().tolist() == expected


def test_the_recurrent_kernel_begins_orthogonal():
    layer = vg.layers.lstm(units=4)
    layer(vg.zeros([1, 1, 3]))
    kernel = layer.weights[1].numpy()
    np.testing.assert_allclose(kernel @ kernel.T, np.eye(4), atol=1e-5)


def test_a_loaded_model_begins_like_the_layer_it_was_made_from():
    model = vg.sequential(layers=[vg.layers.lstm(units=2, unit_forget_bias=True, input_shape=[None, 1])])
    again = vg.models.model_from_json(model.to_json())
    assert again.weights[2].numpy().tolist() == [0, 0, 1, 1, 0, 0, 0, 0]

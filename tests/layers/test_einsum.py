"""The einsum-dense layer. Numbers are in tests/layers/keras_reference."""

import numpy as np
import pytest

import varigrad as vg

X = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 3, 4)


def test_it_is_a_dense_layer_over_sequences():
    layer = vg.layers.einsum_dense(equation="abc,cd->abd", output_shape=[None, 5], bias_axes="d", activation="relu")
    dense = vg.layers.dense(units=5, activation="relu")
    y = layer(X).numpy()
    dense(X)
    dense.set_weights(layer.get_weights())
    np.testing.assert_allclose(y, dense(X).numpy(), rtol=1e-5)


def test_unknown_lengths_stay_unknown_in_a_model():
    x = vg.input(shape=[None, 4])
    y = vg.layers.einsum_dense(equation="abc,cde->abde", output_shape=[None, 2, 3], bias_axes="e")(x)
    assert y.shape == (None, None, 2, 3)
    assert vg.model(inputs=x, outputs=y).predict(X).shape == (2, 3, 2, 3)


ERRORS = {
    "form": ({"equation": "ab,bc", "output_shape": 3}, "equation must be like 'ab,bc->ac'"),
    "ellipsis": ({"equation": "...ab,bc->ac", "output_shape": 3}, "equation must be like"),
    "stranger": ({"equation": "ab,bc->ad", "output_shape": 3}, "equation must be like"),
    "bias": (
        {"equation": "abc,cd->abd", "output_shape": [None, 3], "bias_axes": "z"},
        "bias_axes 'z' are not all axes",
    ),
    "kind": ({"equation": "ab,bc->ac", "output_shape": 3, "bias_axes": 1}, "bias_axes must be a string .*, got 1"),
    "rank": ({"equation": "ab,bc->ac", "output_shape": 3}, r"inputs of shape \[2, 3, 4\] do not have the axes"),
    "lengths": ({"equation": "abc,cd->abd", "output_shape": 3}, "must have a length for each of the axes 'bd'"),
    "contradiction": ({"equation": "abc,cd->abd", "output_shape": [7, 3]}, "'b' is 3 in the inputs .* but 7 in output"),
    "unknown": ({"equation": "abc,cd->abd", "output_shape": [None, None]}, "the length of 'd' in .* must be known"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    options, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        vg.layers.einsum_dense(**options)(X)

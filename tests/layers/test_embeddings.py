"""Embedding layers."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=30)


@SETTINGS
@given(shape=st.lists(st.integers(0, 3), min_size=1, max_size=3), dtype=st.sampled_from(["int32", "float32", "int64"]))
def test_the_result_is_a_row_of_the_table_for_each_index(shape, dtype):
    layer = vg.layers.embedding(input_dim=5, output_dim=3)
    indices = np.random.default_rng(0).integers(0, 5, size=shape)
    y = layer(vg.tensor(indices, dtype=dtype))
    np.testing.assert_array_equal(y.numpy(), layer.weights[0].numpy()[indices])
    assert layer.compute_output_shape((None, *shape[1:])) == (None, *shape[1:], 3)


def test_rows_that_occur_often_get_the_sum_of_their_gradients():
    layer = vg.layers.embedding(input_dim=4, output_dim=2)
    layer([[0]])
    _, grads = vg.variable_grads(lambda: layer([[1, 3, 1]]).sum())
    assert grads[layer.weights[0].name].tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]


def test_large_indices_are_not_rounded():
    layer = vg.layers.embedding(input_dim=2**24 + 2, output_dim=1, embeddings_initializer="zeros")
    index = 2**24 + 1  # not a float32
    layer([[0]])
    _, grads = vg.variable_grads(lambda: layer(np.array([[index]])).sum())
    assert np.flatnonzero(grads[layer.weights[0].name].numpy()).tolist() == [index]


def test_mask_zero_masks_where_the_index_is_0():
    layer = vg.layers.embedding(input_dim=4, output_dim=2, mask_zero=True)
    assert layer.compute_mask(vg.tensor([[0, 2, 0]])).tolist() == [[False, True, False]]
    assert vg.layers.embedding(input_dim=4, output_dim=2).compute_mask(vg.tensor([[0, 2]])) is None
    assert layer.makes_mask
    assert not vg.layers.embedding(input_dim=4, output_dim=2).makes_mask


def test_inputs_are_sequences_of_any_length_by_default():
    layer = vg.layers.embedding(input_dim=4, output_dim=2)
    assert layer.batch_input_shape == (None, None)
    assert vg.layers.embedding(input_dim=4, output_dim=2, input_length=3).batch_input_shape == (None, 3)
    assert vg.layers.embedding(input_dim=4, output_dim=2, input_length=[3, 2], batch_size=5).batch_input_shape == (
        5,
        3,
        2,
    )
    assert vg.layers.embedding(input_dim=4, output_dim=2, input_shape=[7]).batch_input_shape == (None, 7)
    model = vg.sequential(layers=[layer])
    assert model.predict([[1, 2, 3]]).shape == (1, 3, 2)
    assert model.predict([[1], [2]]).shape == (2, 1, 2)


def test_another_length_than_input_length_is_an_error():
    layer = vg.layers.embedding(input_dim=4, output_dim=2, input_length=3, name="e")
    with pytest.raises(ValueError, match=re.escape("e: has input_length [3], but got inputs of shape [1, 2]")):
        layer([[1, 2]])
    layer = vg.layers.embedding(input_dim=4, output_dim=2, input_length=[None, 2], name="e")
    assert layer.compute_output_shape((None, 5, None)) == (None, 5, 2, 2)
    with pytest.raises(ValueError, match=r"e: has input_length \[\?, 2\], but got inputs of shape \[\?, 2\]"):
        layer.compute_output_shape((None, 2))


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([[0, 3]], vg.OutOfRangeError, "e: index 3 at position [0, 1] of its inputs is outside of 0..2 (input_dim=3)"),
        ([[1], [-2]], vg.OutOfRangeError, "e: index -2 at position [1, 0] of its inputs is outside of 0..2"),
        ([[0.5]], ValueError, "e: its inputs are indices, but 0.5 at position [0, 0] is not a whole number"),
        ([[float("nan")]], ValueError, "e: its inputs are indices, but nan at position [0, 0] is not a whole number"),
        ([["a"]], TypeError, "e: its inputs are indices, got string"),
    ],
)
def test_what_is_no_index_of_the_table_is_an_error(indices, error, message):
    layer = vg.layers.embedding(input_dim=3, output_dim=2, name="e")
    with pytest.raises(error, match=re.escape(message)):
        layer(vg.tensor(indices))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_dim": 0, "output_dim": 2}, "embedding: input_dim must be a positive integer, got 0"),
        ({"input_dim": 2, "output_dim": 1.5}, "embedding: output_dim must be a positive integer, got 1.5"),
        ({"input_dim": 2, "output_dim": 2, "mask_zero": 1}, "embedding: mask_zero must be True or False, got 1"),
    ],
)
def test_bad_arguments_are_one_clear_error(options, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        vg.layers.embedding(**options)


def test_the_table_takes_the_dtype_of_the_layer():
    layer = vg.layers.embedding(input_dim=3, output_dim=2, dtype="float64")
    assert layer([[1]]).dtype == "float64"
    assert vg.layers.embedding(input_dim=3, output_dim=2, dtype="int32")([[1]]).dtype == "float32"

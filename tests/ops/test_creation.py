"""Making tensors."""

import numpy as np
import pytest

import varigrad as vg


def test_flat_values_take_any_shape_they_fill():
    assert vg.tensor([1, 2, 3, 4], [2, 2]).tolist() == [[1, 2], [3, 4]]
    assert vg.tensor(7, [1, 1]).tolist() == [[7]]


def test_nested_values_have_the_shape_given():
    assert vg.tensor([[1, 2, 3], [4, 5, 6]], [2, 3]).shape == (2, 3)


def test_innermost_rows_may_hold_several_axes():
    assert vg.tensor([[1, 2, 3, 4], [5, 6, 7, 8]], [2, 2, 2]).tolist() == [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]


@pytest.mark.parametrize("shape", [[3, 2], [6], [1, 2, 3]])
def test_nested_values_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"nested as \[2, 3\]"):
        vg.tensor([[1, 2, 3], [4, 5, 6]], shape)


def test_an_array_is_reshaped():
    assert vg.tensor(np.array([[1, 2, 3], [4, 5, 6]]), [3, 2]).tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("shape", [[2, -2], [2, -1], [5], [2, 2.2]])
def test_a_shape_that_the_values_do_not_fill_is_refused(shape):
    with pytest.raises((ValueError, TypeError), match="tensor: "):
        vg.tensor([1, 2, 3, 4], shape)

"""dtypes: what values of each kind become."""

import numpy as np
import pytest

import varigrad as vg


@pytest.mark.parametrize("shape", [[0], [0, 5]])
def test_nothing_can_be_a_string_tensor(shape):
    x = vg.tensor([], shape, "string")
    assert x.shape == tuple(shape)
    assert x.dtype == "string"


def test_numbers_are_not_strings():
    with pytest.raises(TypeError, match="cannot become string"):
        vg.tensor([1.5], dtype="string")


def test_rows_that_are_arrays_keep_their_kind():
    rows = [np.array([1, 2], np.int32), np.array([3, 4], np.int32), [5, 6]]
    assert vg.tensor(rows).dtype == "int32"
    assert vg.tensor([np.array([1.5, 2.0]), np.array([3, 4])]).dtype == "float32"


def test_numbers_written_in_python_are_floats():
    assert vg.tensor([[1, 2], [3, 4]]).dtype == "float32"
    assert vg.tensor(range(3)).dtype == "float32"

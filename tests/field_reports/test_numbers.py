"""Complaints about numbers and dtypes that people have reported of other libraries, made impossible here."""

import numpy as np
import pytest

import varigrad as vg


def int32(*values):
    return vg.tensor(list(values), dtype="int32")


# Dividing integers gives a float, or a rounded integer, depending on version (tfjs#136)


def test_dividing_integers():
    a, b = int32(7, -7), int32(2, 2)
    assert (vg.div(a, b).tolist(), vg.div(a, b).dtype) == ([3, -4], "int32")
    assert ((a / b).tolist(), (a / b).dtype) == ([3.5, -3.5], "float32")
    assert ((a // b).tolist(), (a // b).dtype) == ([3, -4], "int32")
    assert ((a % b).tolist(), (a % b).dtype) == ([1, 1], "int32")


def test_dividing_by_zero_when_asked_to_give_zero():
    assert vg.div_no_nan([1.0, 0.0, 4.0], [0.0, 0.0, 2.0]).tolist() == [0.0, 0.0, 2.0]


# One-hot of an index outside the range lights a cell in another row (tfjs#443)


def test_one_hot_of_an_index_out_of_range():
    assert vg.one_hot(int32(-1, 5, 2), 5).tolist() == [[0] * 5, [0] * 5, [0, 0, 1, 0, 0]]
    assert vg.one_hot(int32(-1, 5, 2), 5, 2, -1).tolist() == [[-1] * 5, [-1] * 5, [-1, -1, 2, -1, -1]]


def test_one_hot_of_fractions_is_an_error():
    with pytest.raises((TypeError, ValueError), match="one_hot"):
        vg.one_hot(vg.tensor([0.5, 1.0]), 3)


# Remainders of negative numbers and infinities differ between devices and from Python (tfjs#291)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_a_remainder_has_the_sign_of_the_divisor(dtype):
    a, b = vg.tensor([-7, 7, -7, 7], dtype=dtype), vg.tensor([3, -3, -3, 3], dtype=dtype)
    assert vg.mod(a, b).tolist() == [2, -2, -1, 1]
    assert vg.mod(a, b).dtype == dtype


def test_the_remainder_by_infinity():
    assert vg.mod([1.0], [np.inf]).tolist() == [1.0]


def test_floor_division_floors():
    assert vg.floor_div([-7.0, 7.0], [2.0, -2.0]).tolist() == [-4.0, -4.0]


def test_gradients_of_a_remainder():
    a, b = [7.5, -7.5], [2.0, 2.0]
    da, db = vg.grads(vg.mod)([vg.tensor(a), vg.tensor(b)])
    assert da.tolist() == [1.0, 1.0]
    assert db.tolist() == [-3.0, 4.0]  # -floor(a / b)


def test_floor_division_has_gradient_zero():
    da, db = vg.grads(vg.floor_div)([vg.tensor([7.0]), vg.tensor([2.0])])
    assert (da.tolist(), db.tolist()) == ([0.0], [0.0])

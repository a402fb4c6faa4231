"""Derivatives of choice, and the lack of them in comparisons."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.errors import GradientError
from varigrad.gradients.comparison import GRADIENTS
from varigrad.ops.comparison import keep_where
from varigrad.testing import check_gradients

MASK = vg.tensor([[True, False, True], [False, False, True]])
MATRIX = [[1.3, -0.6, 2.1], [-1.7, 0.4, -2.5]]

CASES = {
    "KeepWhere": (lambda x: keep_where(x, MASK) * x, MATRIX),
    "Select": (lambda a, b: vg.where(MASK, a, b) * a, MATRIX, [0.8, -1.1, 1.9]),
    "Select: sides broadcast to the condition": (lambda a, b: vg.where(MASK, a * a, b * b), [[1.5], [0.3]], 0.7),
    "Select: condition broadcast to the sides": (
        lambda a, b: vg.where([[True], [False]], a * b, b * b),
        MATRIX,
        [0.8, -1.1, 1.9],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


@pytest.mark.parametrize(
    "positive",
    [
        lambda x: x > 0,
        lambda x: x >= 1,
        lambda x: x > 0.5,
        lambda x: ~(x <= 0),
        lambda x: x == vg.abs(x),
        lambda x: x != -vg.abs(x),
        lambda x: vg.logical_and(x > 0, x < 10),
        lambda x: (x > 0) | (x > 5),
        lambda x: (x > 0) ^ (x > 5),
    ],
)
def test_a_condition_on_a_differentiated_tensor_is_no_obstacle(positive):
    assert vg.grad(lambda x: vg.where(positive(x), x**2, 0))(vg.tensor([3.0, -1.0])).tolist() == [6, 0]


def test_a_comparison_has_gradient_zero_and_trains_nothing():
    assert vg.grad(lambda x: x > 0)(vg.tensor([1.0])).tolist() == [0.0]
    w = vg.variable(1.0)
    with pytest.raises(GradientError, match="Greater"):
        vg.variable_grads(lambda: w > 0, [w])


def test_an_infinite_or_nan_gradient_stays_on_the_chosen_side():
    chosen = vg.tensor([True, False])
    a, b = vg.grads(lambda a, b: vg.where(chosen, a, b))(
        [vg.tensor([1.0, 2.0]), vg.tensor([3.0, 4.0])], vg.tensor([np.inf, np.nan])
    )
    np.testing.assert_array_equal(a.numpy(), [np.inf, 0])
    np.testing.assert_array_equal(b.numpy(), [0, np.nan])


def test_choice_between_a_tensor_and_itself():
    assert vg.grad(lambda x: vg.where([True, False], x, x))(vg.tensor([1.0, 2.0])).tolist() == [1, 1]


def test_the_gradient_of_integers_beside_floats_goes_to_the_floats():
    x = vg.tensor([1.0, 2.0])
    assert vg.grad(lambda x: vg.where([True, False], x, vg.tensor([3, 4], dtype="int32")))(x).tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_keeping_where_a_mask_holds_keeps_every_bit(dtype):
    x = vg.tensor([np.nan, -np.inf, -0.0, 1.5, np.nan], dtype=dtype)
    kept = keep_where(x, vg.tensor([True, False, True, True, False]))
    assert kept.dtype == dtype
    np.testing.assert_array_equal(kept.numpy(), [np.nan, 0, -0.0, 1.5, 0])
    assert np.signbit(kept.numpy()[2])


def test_the_condition_of_where_has_gradient_zero():
    # tf.grads((c, a, b) => tf.where(c, a, b))([c, a, b], dy)
    arguments = [vg.tensor([True, False, True]), vg.tensor([1, 2, 3]), vg.tensor([4, 5, 6])]
    dc, da, db = vg.grads(lambda c, a, b: vg.where(c, a, b))(arguments, vg.tensor([1, 2, 3]))
    assert [g.tolist() for g in (dc, da, db)] == [[0, 0, 0], [1, 0, 3], [0, 2, 0]]

"""Moving averages against the formula."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg
from varigrad.testing import check_gradients

SETTINGS = settings(max_examples=50)


@SETTINGS
@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=6), st.sampled_from([0.0, 0.5, 0.9]))
def test_a_debiased_average_weighs_values_by_the_powers_of_decay(values, decay):
    average = vg.scalar(0.0, "float64")
    for step, value in enumerate(values, 1):
        previous = average
        average = vg.moving_average(average, vg.scalar(value, "float64"), decay, step)
        expected = previous.item() + (1 - decay) / (1 - decay**step) * (value - previous.item())
        np.testing.assert_allclose(average.item(), expected, rtol=1e-12, atol=1e-12)


def test_without_debiasing_it_needs_no_step():
    v = vg.moving_average([[0, 8]], [[4, 0]], 0.75, zero_debias=False)
    assert v.tolist() == [[1, 6]]


def test_decay_and_step_may_be_tensors():
    expected = vg.moving_average([1.0, 2.0], [3.0, 5.0], 0.6, 3).numpy()
    found = vg.moving_average([1.0, 2.0], [3.0, 5.0], vg.scalar(0.6), vg.scalar(3)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_averages_are_differentiable():
    check_gradients(lambda v, x, d: vg.square(vg.moving_average(v, x, d, 3)), [1.0, 2.0], [3.0, -5.0], 0.6)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.0], [1.0, 2.0], 0.5, 1), ValueError, r"the same shape \(v: \[1\], x: \[2\]\)"),
        (([0.0], vg.tensor([1], dtype="int32"), 0.5, 1), TypeError, "v is float32 but x is int32"),
        (([0.0], [1.0], 0.5), ValueError, "needs the step"),
        (([0.0], [1.0], 1, 1), ValueError, "a decay below 1"),
        (([0.0], [1.0], [0.5], 1), ValueError, "decay must have rank 0"),
    ],
)
def test_what_is_wrong_is_explained(arguments, error, message):
    with pytest.raises(error, match=f"moving_average: .*{message}"):
        vg.moving_average(*arguments)

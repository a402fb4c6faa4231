"""Derivatives of sums over segments."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.segment import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(4, 3))
IDS = [2, 0, 2, 5]  # 5 is outside

CASES = {
    "UnsortedSegmentSum": (lambda x: vg.square(vg.unsorted_segment_sum(x, IDS, 3)), X),
    "UnsortedSegmentSum: of rank 2": (lambda x: vg.square(vg.unsorted_segment_sum(x, [[0, 1, 0]] * 4, 2)), X),
    "UnsortedSegmentTake": (
        lambda x: vg.square(vg.run_kernel("UnsortedSegmentTake", (x, vg.tensor(IDS, dtype="int32")))),
        X[:3],
    ),
    "unique": (lambda x: vg.square(vg.unique(vg.concat([x, x]), 0).values), X),
    "setdiff1d": (lambda x: vg.square(vg.setdiff1d(x, [10.0]).values), X[0]),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_slices_left_out_of_every_sum_get_no_gradient():
    gradient = vg.grad(lambda x: vg.unsorted_segment_sum(x, [0, -1, 7, 1], 2))(vg.tensor([1.0, 2.0, 3.0, 4.0]))
    assert gradient.tolist() == [1, 0, 0, 1]

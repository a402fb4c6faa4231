"""Derivatives of ranking."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.counting import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(5).normal(size=(2, 3, 5))
PICKED = vg.tensor([[[4, 0], [1, 2], [3, 1]], [[0, 1], [2, 4], [4, 3]]], dtype="int32")

# "Kernel: which case", and the function and arguments that run it. Linear functions are squared, for a second order.
CASES = {
    "TopK": (lambda x: vg.square(vg.topk(x, 3).values), X),
    "TopK: one": (lambda x: vg.square(vg.topk(x).values), X),
    "TopK: all": (lambda x: vg.square(vg.topk(x, 5).values), X),
    "TopKGrad": (lambda dy: vg.square(vg.run_kernel("TopKGrad", (dy, PICKED), {"length": 5})), X[..., :2]),
    "TopKTake": (lambda x: vg.square(vg.run_kernel("TopKTake", (x, PICKED))), X),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}

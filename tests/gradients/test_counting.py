"""Derivatives of ranking and counting."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.counting import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(5).normal(size=(2, 3, 5))
PICKED = vg.tensor([[[4, 0], [1, 2], [3, 1]], [[0, 1], [2, 4], [4, 3]]], dtype="int32")
COUNTED = vg.tensor([[0, 2, 2], [7, 3, 0]], dtype="int32")

# "Kernel: which case", and the function and arguments that run it. Linear functions are squared, for a second order.
CASES = {
    "Bincount": (lambda w: vg.square(vg.bincount(COUNTED, w, 4)), X[0, :2, :3]),
    "Bincount: weights of another shape": (lambda w: vg.square(vg.bincount(COUNTED, w, 9)), [*X[0, 0].tolist(), 0.3]),
    "DenseBincount": (lambda w: vg.square(vg.dense_bincount(COUNTED, w, 4)), X[0, :2, :3]),
    "DenseBincount: a vector": (lambda w: vg.square(vg.dense_bincount(COUNTED[0], w, 4)), X[0, 0, :3]),
    "DenseBincountGrad": (
        lambda dy: vg.square(vg.run_kernel("DenseBincountGrad", (dy, COUNTED))),
        X[0, :2, :4],
    ),
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


def test_a_binary_count_does_not_depend_on_the_weights():
    with pytest.raises(vg.GradientError, match="does not depend"):
        vg.grad(lambda w: vg.dense_bincount(COUNTED, w, 4, binary_output=True))(X[0, :2, :3])

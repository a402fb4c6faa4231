"""Derivatives of joining and splitting."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.joining import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(2, 3))
Y = np.random.default_rng(2).normal(size=(2, 2))

CASES = {
    "Concat": (lambda x, y: vg.square(vg.concat([x, y, x], 1)), X, Y),
    "Concat: one part is empty": (lambda x: vg.square(vg.concat([x, vg.zeros([0, 3], "float64")], 0)), X),
    "Pack": (lambda x, y: vg.square(vg.stack([x, y, x * y], 1)), X, X + 1),
    "Pack: scalars": (lambda x, y: vg.square(vg.stack([x, y])), 0.5, -2.0),
    "SplitV": (lambda x: vg.split(x, [1, 2], 1)[1] * vg.split(x, [2, 1], 1)[0], X),
    "SplitV: some parts unused": (lambda x: vg.square(vg.split(x, 3, 1)[2]), X),
    "SplitV: into one part": (lambda x: vg.square(vg.split(x, 1, 1)[0]), X),
    "Unpack: into one part": (lambda x: vg.square(vg.unstack(x, 1)[0]), X[:, :1]),
    "Unpack": (lambda x: vg.unstack(x)[0] * vg.unstack(x)[1], X),
    "Unpack: by iteration": (lambda x: sum(row * row.sum() for row in x), X),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_gradients_flow_into_tensors_in_a_list():
    a, b = vg.grads(lambda a, b: vg.tensor([[a, 2.0], [b, a]]) * [[1, 2], [3, 4]])([vg.scalar(5.0), vg.scalar(6.0)])
    assert (a.item(), b.item()) == (5, 3)


def test_the_gradient_through_a_loop_over_rows_is_made_by_one_kernel():
    x = vg.tensor(np.ones((50, 3)))

    def total(x):
        result = vg.scalar(0.0)
        for row in x:
            result = result + row.sum()
        return result

    kernels = [kernel.name for kernel in vg.profile(lambda: vg.grad(total)(x)).kernels]
    assert kernels.count("Unpack") == kernels.count("Pack") == 1

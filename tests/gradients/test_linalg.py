"""Derivatives of linear algebra."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.linalg import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(4).normal(size=(2, 3, 2))

# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "Norm: clip_by_norm": (lambda x, limit: vg.clip_by_norm(x, limit), X, 0.7),
    "Norm: clip_by_norm along an axis": (lambda x: vg.clip_by_norm(x, 0.9, 1), X),
}
for _order in ("euclidean", 1, 2, 3, 1.5, np.inf, -np.inf):
    for _axis in (None, 0, 1, -1):
        for _keep_dims in (False, True):
            CASES[f"Norm: order {_order}, axis={_axis}, keep_dims={_keep_dims}"] = (
                lambda x, o=_order, a=_axis, k=_keep_dims: vg.square(vg.norm(x, o, a, k)),
                X,
            )
for _order in ("euclidean", "fro", 1, np.inf, -np.inf):
    for _axes in ((0, 1), (2, 0)):
        CASES[f"Norm: matrices, order {_order}, axis={_axes}"] = (
            lambda x, o=_order, a=_axes: vg.square(vg.norm(x, o, a)),
            X,
        )
for _order in (2.0, 3.0):
    CASES[f"NormGrad: order {_order}"] = (
        lambda dy, x, y, o=_order: vg.run_kernel("NormGrad", (dy, x, y), {"order": o}),
        X[:, :1],
        X,
        [[[0.7, 1.2]], [[0.4, 2.0]]],
    )


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


@pytest.mark.parametrize("order", ["euclidean", 1, 3, np.inf])
def test_a_gradient_of_zero_leaks_nothing(order):
    x = vg.tensor([[1.0, 2.0], [np.inf, np.nan]])
    gradient = vg.grad(lambda x: vg.norm(x, order, 1))(x, vg.tensor([1.0, 0.0]))
    assert gradient[1].tolist() == [0, 0]


def test_an_infinite_gradient_at_a_zero_vector_is_zero():
    assert vg.grad(lambda x: vg.sqrt(vg.norm(x)))(vg.tensor([0.0, 0.0])).tolist() == [0, 0]

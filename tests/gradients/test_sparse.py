"""Derivatives of sparse operations."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.sparse import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(3).normal(size=(4, 3))
PLACES = [[2, 1], [0, 3], [2, 0]]


def _filled(values, default):
    return vg.square(vg.sparse.sparse_fill_empty_rows(PLACES, values, [5, 4], default).output_values)


CASES = {
    "SparseFillEmptyRows": (_filled, X[0], X[1, 0]),
    "SparseSegmentMean": (lambda x: vg.square(vg.sparse.sparse_segment_mean(x, [3, 0, 3, 1], [0, 0, 2, 2])), X),
    "SparseSegmentMean: of rank 1": (lambda x: vg.square(vg.sparse.sparse_segment_mean(x, [2, 2], [1, 1])), X[0]),
    "SparseSegmentSum": (lambda x: vg.square(vg.sparse.sparse_segment_sum(x, [3, 0, 3, 1], [0, 0, 2, 2])), X),
    "SparseToDense": (lambda v, d: vg.square(vg.sparse_to_dense(PLACES, v, [3, 4], d)), X[0], X[1, 0]),
    "SparseToDense: one place twice": (lambda v, d: vg.square(vg.sparse_to_dense([1, 0, 1], v, [4], d)), X[0], X[1, 0]),
    "SparseToDense: one value for all": (lambda v, d: vg.square(vg.sparse_to_dense([1, 3], v, [4], d)), X[0, 0], 0.7),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}


def test_a_nan_gradient_stays_at_its_place():
    dy = vg.tensor([1.0, np.nan, 3.0])
    gradient = vg.grad(lambda v: vg.sparse_to_dense([0, 2], v, [3]))(vg.tensor([5.0, 6.0]), dy)
    assert gradient.tolist() == [1, 3]
    default = vg.grad(lambda d: vg.sparse_to_dense([1, 2], [5.0, 6.0], [3], d))(vg.scalar(5.0), dy)
    assert default.item() == 1

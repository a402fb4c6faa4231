"""Derivatives of ragged operations."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.ragged import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(4).normal(size=(5, 2))
SPLITS = [0, 2, 2, 5]


def _gather(splits, indices):
    return lambda x: vg.square(vg.ragged_gather(splits, x, indices).output_dense_values)


def _dense(shape, partitions, *kinds):
    return lambda x, default: vg.square(vg.ragged_tensor_to_tensor(shape, x, default, partitions, kinds))


def _range(starts, deltas):
    return vg.square(vg.ragged_range(starts, vg.tensor([3.2, 1.0], dtype="float64"), deltas).rt_dense_values)


CASES = {
    "RaggedGather": (_gather([SPLITS], [2, 0, 2]), X),
    "RaggedGather: one row": (_gather([SPLITS], 2), X),
    "RaggedGather: rows of rows": (_gather([[0, 1, 3], SPLITS], [[1, 0], [1, 1]]), X),
    "RaggedRange": (_range, [0.3, 2.0], [0.7, -0.4]),
    "RaggedRange: one step for all": (_range, [0.3, 0.5], 0.4),
    "RaggedRange: one start for all": (_range, 0.3, [0.4, 0.6]),
    "RaggedTensorToTensor": (_dense(-1, [SPLITS], "row_splits"), X, X[0]),
    "RaggedTensorToTensor: cut off": (
        _dense([2, 2], [3, [0, 0, 0, 1, 2]], "first_dim_size", "value_rowids"),
        X[:, 0],
        0.5,
    ),
    "RaggedTensorToTensor: one default": (
        _dense([2, 4, 3, 2], [[0, 2, 3], SPLITS], "row_splits", "row_splits"),
        X,
        0.5,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}

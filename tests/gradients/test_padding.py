"""Derivatives of margins and blocks."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.padding import GRADIENTS
from varigrad.testing import check_gradients

X = np.random.default_rng(1).normal(size=(2, 3, 4))

CASES = {
    "PadV2": (lambda x: vg.square(vg.pad(x, [[1, 0], [0, 2], [1, 1]])), X),
    "PadV2: with a value": (lambda x: vg.square(vg.pad(x, [[1, 0], [0, 0], [2, 1]], 3.0)), X),
    "mirror_pad: reflect": (lambda x: vg.square(vg.mirror_pad(x, [[1, 0], [2, 2], [0, 3]], "reflect")), X),
    "mirror_pad: symmetric": (lambda x: vg.square(vg.mirror_pad(x, [[2, 1], [0, 3], [1, 0]], "symmetric")), X),
    "space_to_batch_nd": (lambda x: vg.square(vg.space_to_batch_nd(x, [2, 2], [[1, 0], [0, 0]])), X),
    "batch_to_space_nd": (lambda x: vg.square(vg.batch_to_space_nd(x, [2], [[1, 2]])), X),
    "depth_to_space": (lambda x: vg.square(vg.depth_to_space(vg.reshape(x, [1, 2, 3, 4]), 2)), X),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_finite_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_gradient_has_a_case():
    assert set(GRADIENTS) <= {case.split(":")[0] for case in CASES}

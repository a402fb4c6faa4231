"""Derivatives of the norm of many gradients and of scaling to it."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.clipping import GRADIENTS
from varigrad.testing import check_gradients

A = [[1.3, -0.6, 2.1], [-1.7, 0.4, -2.5]]
B = [0.8, -1.1]
C = 1.7


def norm(*xs):
    return vg.run_kernel("GlobalNorm", xs)


def scaled(limit):
    def f(*xs):
        parts = vg.train.clip_by_global_norm({str(i): x for i, x in enumerate(xs)}, limit)
        return vg.concat([part.reshape([-1]) for part in parts.values()])

    return f


def scale_to_norm(*inputs):
    parts = vg.run_kernel_multi("ScaleToNorm", inputs)
    return vg.concat([part.reshape([-1]) for part in parts])


# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "EachNorm": (lambda *xs: vg.run_kernel("EachNorm", xs), A, B, C),
    "GlobalNorm": (norm, A, B, C),
    "GlobalNorm: of one": (norm, B),
    "ScaleToNorm": (scale_to_norm, A, B, 3.0, 2.0),
    "ScaleToNorm: of one": (scale_to_norm, B, 3.0, 2.0),
    "ScaleToNorm: a norm within the limit": (scale_to_norm, A, B, 2.0, 3.0),
    "ScaleToNorm: norms of each": (scale_to_norm, A, B, [3.0, 1.5], 2.0),
    "ScaleToNorm: clipping": (scaled(1.5), A, B, C),
    "ScaleToNorm: nothing to clip": (scaled(100.0), A, B, C),
}


@pytest.mark.parametrize("case", CASES)
def test_gradients_equal_differences(case):
    f, *args = CASES[case]
    check_gradients(f, *args)


def test_every_kernel_of_the_family_has_a_case():
    assert {case.split(":")[0] for case in CASES} == set(GRADIENTS)


def test_the_norm_of_zeros_has_gradient_zero():
    gradients = vg.grads(norm)([vg.zeros([2]), vg.zeros([3])])
    assert [g.tolist() for g in gradients] == [[0.0, 0.0], [0.0, 0.0, 0.0]]


def test_gradients_of_mixed_dtypes_come_back_in_their_own():
    x, y = vg.tensor([3.0]), vg.tensor([4.0], dtype="float64")
    gradients = vg.grads(norm)([x, y])
    assert [g.dtype for g in gradients] == ["float32", "float64"]
    np.testing.assert_allclose([g.item() for g in gradients], [0.6, 0.8], rtol=1e-6)

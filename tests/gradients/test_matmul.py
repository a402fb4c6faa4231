"""Derivatives of matrix products."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.matmul import GRADIENTS
from varigrad.testing import check_gradients


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def transposed(shape, transpose):
    return (*shape[:-2], shape[-1], shape[-2]) if transpose else shape


# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "BatchMatMul: dot of vectors": (vg.dot, normal(3), normal(3)),
    "BatchMatMul: vector @ matrices": (lambda a, b: a @ b, normal(3), normal(2, 3, 2)),
    "BatchMatMul: matrices @ vector": (lambda a, b: a @ b, normal(2, 2, 3), normal(3)),
    "BatchMatMul: outer product": (vg.outer_product, normal(2), normal(3)),
    "BatchMatMul: repeated operand": (lambda a: vg.mat_mul(a, a, transpose_b=True), normal(2, 3)),
}
for _left, _right in [
    ((2, 3), (3, 2)),
    ((2, 2, 3), (3, 2)),
    ((2, 3), (2, 3, 2)),
    ((2, 2, 3), (2, 3, 1)),
    ((2, 1, 2, 3), (3, 3, 2)),
    ((1, 2, 3), (2, 3, 2)),
]:
    for _a in (False, True):
        for _b in (False, True):
            CASES[f"BatchMatMul: {_left}{'ᵀ' * _a} @ {_right}{'ᵀ' * _b}"] = (
                lambda a, b, ta=_a, tb=_b: vg.mat_mul(a, b, ta, tb),
                normal(*transposed(_left, _a)),
                normal(*transposed(_right, _b)),
            )
for _equation, *_shapes in [
    ("ij,kj->ik", (2, 3), (2, 3)),
    ("bqhd,bkhd->bhqk", (1, 2, 2, 2), (1, 3, 2, 2)),
    ("i,j->ij", (2,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("ii->i", (3, 3)),
    ("ii->", (3, 3)),
    ("iij->j", (2, 2, 3)),
    ("ij->j", (2, 3)),
    ("ij->ji", (2, 3)),
    ("ij,k->j", (2, 3), (2,)),
    ("iij,ji->i", (2, 2, 3), (3, 2)),
    ("...ij,jk->...ik", (2, 2, 3), (3, 2)),
    ("...i,...i->...", (1, 3), (2, 3)),
    ("ab,bc,cd->da", (2, 2), (2, 3), (3, 2)),
    (",i->i", (), (3,)),
]:
    CASES[f"Einsum: {_equation} {_shapes}"] = (
        lambda *xs, equation=_equation: vg.einsum(equation, *xs),
        *[normal(*shape) for shape in _shapes],
    )


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_differences(case):
    f, *arguments = CASES[case]
    check_gradients(f, *arguments)


def test_every_gradient_of_the_family_has_a_case():
    assert GRADIENTS.keys() <= {case.split(":")[0] for case in CASES}


def test_a_matrix_shared_by_a_batch_has_the_summed_gradient():
    a = vg.tensor(np.arange(1.0, 13.0).reshape(3, 2, 2))
    b = vg.tensor([[1, 0], [2, 1]])
    da, db = vg.grads(lambda a, b: vg.mat_mul(a, b).sum())([a, b])
    assert db.tolist() == [[36, 36], [42, 42]]
    assert da.tolist() == [[[1, 3], [1, 3]]] * 3


def test_einsum_of_a_repeated_operand_has_both_gradients():
    x = vg.tensor([[1, 2], [3, 4]])
    assert vg.grad(lambda x: vg.einsum("ij,kj->ik", x, x).sum())(x).tolist() == [[8, 12], [8, 12]]


def test_gradients_of_a_dense_layer_run_one_product_each():
    x, w = vg.ones([4, 3]), vg.ones([3, 2])
    profile = vg.profile(lambda: vg.grads(lambda x, w: vg.mat_mul(x, w).sum())([x, w]))
    kernels = [k.name for k in profile.kernels]
    assert kernels.count("BatchMatMul") == 3
    assert "Transpose" not in kernels


def test_a_batch_against_one_matrix_has_its_gradient_from_one_product_without_a_sum():
    x, w = vg.ones([5, 4, 3]), vg.ones([3, 2])
    profile = vg.profile(lambda: vg.grad(lambda w: vg.mat_mul(x, w))(w))
    assert [k.name for k in profile.kernels].count("Sum") == 0


def test_the_gradient_of_a_complex_product_is_taken_with_conjugates():
    # |a b|² = |a|² |b|²; the gradient for the real parts plus i times that for the imaginary ones is 2 a |b|².
    a, b = np.array([[1 + 2j]], np.complex64), np.array([[3 - 1j]], np.complex64)
    gradient = vg.grad(lambda a: vg.square(vg.abs(vg.mat_mul(a, vg.tensor(b)))).sum())(vg.tensor(a))
    np.testing.assert_allclose(gradient.numpy(), 2 * a * np.abs(b) ** 2, rtol=1e-5)

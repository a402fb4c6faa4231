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

TALL = np.random.default_rng(5).normal(size=(2, 4, 3))
SQUARE, WIDE = TALL[:, :3], TALL.swapaxes(1, 2)


def both(matrices, **options):
    """The factors side by side, so that both are weighted and both gradients flow."""
    q, r = vg.linalg.qr(matrices, **options)
    return vg.concat([vg.reshape(q, [-1]), vg.reshape(r, [-1])])


CASES |= {
    "MatrixBandPart": (lambda x: vg.square(vg.linalg.band_part(x, 1, 0)), TALL),
    "MatrixBandPart: all above": (lambda x: vg.square(vg.linalg.band_part(x, vg.scalar(0, "int32"), -1)), WIDE),
    "Qr: tall": (both, TALL),
    "Qr: square": (both, SQUARE),
    "Qr: wide": (both, WIDE),
    "Qr: one matrix": (both, TALL[0]),
    "Qr: one column": (both, TALL[0, :, :1]),
    "Qr: one row": (both, TALL[0, :1]),
    "Qr: full wide": (lambda x: both(x, full_matrices=True), WIDE),
    # With one column more, the last column of q has no other to turn with.
    "Qr: full tall": (lambda x: both(x, full_matrices=True), TALL),
    "Qr: r alone": (lambda x: vg.linalg.qr(x).r, TALL),
    "Qr: q alone": (lambda x: vg.square(vg.linalg.qr(x).q), TALL),
    "gram_schmidt": (vg.linalg.gram_schmidt, WIDE[0]),
    "gram_schmidt: a list": (lambda a, b: vg.stack(vg.linalg.gram_schmidt([a, b])), WIDE[0, 0], WIDE[0, 1]),
}
for _transposed in (False, True):
    CASES[f"MatrixTriangularSolve: transposed={_transposed}"] = (
        lambda matrix, x, t=_transposed: vg.run_kernel("MatrixTriangularSolve", (matrix, x), {"transposed": t}),
        SQUARE + 2 * np.eye(3),
        TALL[:, :3, :2],
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


def test_the_gradient_through_the_free_columns_of_a_full_q_is_that_of_the_space_they_span():
    x = np.random.default_rng(7).normal(size=(5, 2))
    weights = np.random.default_rng(8).normal(size=(5, 5))

    def projection(x):
        q = vg.linalg.qr(x, full_matrices=True).q[:, 2:]
        return vg.mat_mul(q, q, transpose_b=True) * vg.tensor(weights, dtype="float64")

    check_gradients(projection, x)


def test_the_gradient_of_qr_where_columns_depend_on_each_other_is_refused():
    with pytest.raises(ValueError, match="linearly dependent"):
        vg.grad(lambda x: vg.linalg.qr(x).q)(vg.tensor([[1.0, 0.0], [1.0, 0.0]]))


def test_the_gradient_of_qr_at_a_zero_on_the_diagonal_where_signs_jump():
    weights = vg.tensor(np.arange(9.0).reshape(3, 3))

    def whole(x):
        q, r = vg.linalg.qr(x)
        return q @ r

    gradient = vg.grad(whole)(vg.tensor([[0.0, 2.0, 2.0], [1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]), weights)
    np.testing.assert_allclose(gradient.numpy(), weights.numpy(), atol=1e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_norm_of_a_scalar_has_the_slope_of_its_absolute_value(order):
    slope = vg.grad(lambda x: vg.norm(x, order))
    assert [slope(vg.scalar(x)).item() for x in (-3.0, 0.0, 3.0)] == [-1, 0, 1]

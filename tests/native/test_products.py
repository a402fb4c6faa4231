"""Matrix products and sums of products as machine code, against NumPy in double precision."""

import numpy as np
import pytest

import varigrad as vg

SHAPES = [
    (1, 1, 1),
    (2, 3, 1),
    (1, 7, 9),
    (5, 1, 4),
    (6, 8, 16),
    (7, 5, 33),
    (13, 64, 32),
    (32, 784, 48),
    (40, 1025, 64),
    (128, 96, 160),
    (64, 300, 100),
    (31, 1032, 90),
    (3, 200, 70),
    (256, 40, 20),
    (259, 33, 150),
    (320, 65, 96),
    (20, 65, 300),
    (20, 1024, 300),
    (280, 70, 90),
    (288, 1040, 40),
    (288, 1031, 40),
    (40, 1031, 64),
]


def factors(m, k, n, transpose_a, transpose_b, batch=()):
    random = np.random.default_rng(m * k + n)
    a = random.normal(size=(*batch, k, m) if transpose_a else (*batch, m, k)).astype("f")
    b = random.normal(size=(*batch, n, k) if transpose_b else (*batch, k, n)).astype("f")
    return a, b


def product(a, b, transpose_a, transpose_b):
    a, b = a.astype("d"), b.astype("d")
    return (a.swapaxes(-1, -2) if transpose_a else a) @ (b.swapaxes(-1, -2) if transpose_b else b)


@pytest.fixture(params=["loops", "BLAS"])
def by(request, monkeypatch):
    from varigrad.backends.native import matmul

    monkeypatch.setattr(matmul, "_LARGE", {"loops": 2**62, "BLAS": 0}[request.param])


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("by")
def test_matrix_products(shape, transpose_a, transpose_b, compile_native):
    a, b = factors(*shape, transpose_a, transpose_b)
    compiled = compile_native(lambda a, b: vg.mat_mul(a, b, transpose_a, transpose_b), vg.tensor(a), vg.tensor(b))
    (found,) = compiled(vg.tensor(a), vg.tensor(b))
    right = product(a, b, transpose_a, transpose_b)
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5 * np.sqrt(shape[1]))


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("batches", [((3,), (3,)), ((2, 3), (2, 3)), ((4,), ()), ((2, 1), (1, 3))])
@pytest.mark.usefixtures("by")
def test_batches_of_matrices(batches, transpose_a, transpose_b, compile_native):
    a, b = (
        factors(12, 24, 32, transpose_a, transpose_b, batches[0])[0],
        factors(12, 24, 32, transpose_a, transpose_b, batches[1])[1],
    )
    compiled = compile_native(lambda a, b: vg.mat_mul(a, b, transpose_a, transpose_b), vg.tensor(a), vg.tensor(b))
    (found,) = compiled(vg.tensor(a), vg.tensor(b))
    np.testing.assert_allclose(found, product(a, b, transpose_a, transpose_b), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_products_of_other_dtypes(dtype, compile_native):
    random = np.random.default_rng(0)
    a, b = ((9 * random.normal(size=s)).astype(dtype) for s in ((17, 40), (40, 48)))
    x, y = vg.tensor(a, dtype=dtype), vg.tensor(b, dtype=dtype)
    (found,) = compile_native(lambda x, y: vg.mat_mul(x, y), x, y)(x, y)
    np.testing.assert_allclose(found, a @ b, rtol=1e-12)


def test_infinity_and_nan_stay_in_their_rows(compile_native):
    a, b = factors(20, 30, 40, False, False)
    a[3, 4], a[5, 6] = np.inf, np.nan
    (found,) = compile_native(lambda a, b: vg.mat_mul(a, b), vg.tensor(a), vg.tensor(b))(vg.tensor(a), vg.tensor(b))
    with np.errstate(invalid="ignore"):
        right = a @ b
    np.testing.assert_array_equal(np.isnan(found), np.isnan(right))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(right))


EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("bij,bkj->bik", (2, 3, 4), (2, 5, 4)),
    ("bthd,bshd->bhts", (2, 6, 3, 8), (2, 7, 3, 8)),
    ("ii->i", (4, 4)),
    ("ii->", (4, 4)),
    ("ij->j", (3, 4)),
    ("i,j->ij", (3,), (4,)),
    ("ij,jk,kl->il", (3, 4), (4, 5), (5, 2)),
    ("ijj,j->i", (3, 4, 4), (4,)),
]


@pytest.mark.parametrize(("equation", "shapes"), [(e, s) for e, *s in EQUATIONS])
def test_einsum(equation, shapes, compile_native):
    random = np.random.default_rng(0)
    arrays = [random.normal(size=s).astype("f") for s in shapes]
    xs = [vg.tensor(a) for a in arrays]
    (found,) = compile_native(lambda *xs: vg.einsum(equation, *xs), *xs)(*xs)
    right = np.einsum(equation, *[a.astype("d") for a in arrays])
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("batch", [(1, 5), (5, 1), (2, 5), (1, 5, 1), (2, 3, 4)])
@pytest.mark.parametrize("rows", [1, 2])
def test_batches_of_several_axes(batch, rows, transpose_a, transpose_b, assert_native_as_eager):
    a, b = factors(rows, 6, 4, transpose_a, transpose_b, batch)
    assert_native_as_eager(lambda a, b: vg.mat_mul(a, b, transpose_a, transpose_b), a, b)


@pytest.mark.parametrize("shape", [(2, 1_000_000, 2), (32, 78_400, 32), (32, 78_401, 32)], ids=str)
def test_long_sums_of_products_keep_their_digits(shape, compile_native):
    m, k, n = shape
    x, y = np.random.default_rng(1).uniform(0, 2, (m, k)).astype("f"), np.ones((k, n), "f")
    (found,) = compile_native(vg.mat_mul, vg.tensor(x), vg.tensor(y))(vg.tensor(x), vg.tensor(y))
    np.testing.assert_allclose(found, x.astype("d") @ y, rtol=3e-6)

"""Matrix products and einsum, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

LENGTHS = st.integers(0, 4)


def normal(shape, dtype=np.float32):
    return np.random.default_rng(sum(shape) + len(shape)).normal(size=shape).astype(dtype)


def swapped(array, transpose):
    return np.ascontiguousarray(array.swapaxes(-1, -2)) if transpose else array


@given(
    sides=st.tuples(LENGTHS, LENGTHS, LENGTHS),
    batches=st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["both", "a", "b"])), max_size=2),
    cut=st.tuples(st.integers(0, 2), st.integers(0, 2)),
    transpose=st.tuples(st.booleans(), st.booleans()),
)
@settings(max_examples=50)
def test_mat_mul_is_numpys_product_for_all_shapes_batches_and_transposes(sides, batches, cut, transpose):
    rows, inner, columns = sides
    a_batch = tuple(n if who != "b" else 1 for n, who in batches)[cut[0] :]
    b_batch = tuple(n if who != "a" else 1 for n, who in batches)[cut[1] :]
    a, b = normal((*a_batch, rows, inner)), normal((*b_batch, inner, columns))
    product = vg.mat_mul(swapped(a, transpose[0]), swapped(b, transpose[1]), *transpose)
    expected = a @ b
    assert product.shape == expected.shape
    assert product.dtype == "float32"
    np.testing.assert_allclose(product.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("a", "b"),
    [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (4, 3, 2)), ((4, 2, 3), (3,)), ((0,), (0,)), ((0,), (0, 2))],
)
def test_the_operator_and_matmul_take_vectors_as_numpy_does(a, b):
    a, b = normal(a), normal(b)
    for product in (vg.tensor(a) @ vg.tensor(b), vg.tensor(a) @ b, a @ vg.tensor(b), vg.matmul(a, b)):
        assert product.shape == np.shape(a @ b)
        np.testing.assert_allclose(product.numpy(), a @ b, rtol=1e-5, atol=1e-6)


def test_the_methods_are_the_functions():
    a, b = vg.tensor([[1, 2], [3, 4]]), vg.tensor([[1, 0], [2, 1]])
    expected = [[5, 2], [11, 4]]
    assert a.mat_mul(b).tolist() == a.matmul(b).tolist() == a.dot(b).tolist() == (a @ b).tolist() == expected


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64", "complex64"])
def test_products_keep_their_dtype(dtype):
    a = vg.tensor([[1, 2], [3, 4]], dtype=dtype)
    for product in (vg.mat_mul(a, a), vg.mat_mul(a.reshape([1, 2, 2]), a), vg.einsum("ij,jk->ik", a, a)):
        assert product.dtype == dtype
        np.testing.assert_allclose(product.numpy().reshape(2, 2), [[7, 10], [15, 22]])


def test_bools_are_counted():
    a = vg.tensor([[True, True]])
    assert vg.mat_mul(a, a, transpose_b=True).tolist() == [[2]]
    assert vg.einsum("ij->i", a).tolist() == [2]


def test_the_wider_dtype_wins():
    assert vg.mat_mul(vg.ones([1, 1], "int32"), vg.ones([1, 1])).dtype == "float32"
    assert vg.einsum("ij,jk->ik", vg.ones([1, 1]), vg.ones([1, 1], "float64")).dtype == "float64"


def test_nan_and_infinity_pass_through_a_product():
    product = vg.mat_mul([[np.inf, 0], [np.nan, 1]], [[1], [1]])
    np.testing.assert_array_equal(product.numpy(), np.float32([[np.inf], [np.nan]]))


def test_operands_are_left_as_they_were():
    a, b = vg.tensor(normal((2, 2))), vg.tensor(normal((2, 2)))
    before = a.numpy(), b.numpy()
    vg.fused.mat_mul(a, b, bias=[1, 1], activation="relu")
    vg.einsum("ij->ij", a).dispose()
    np.testing.assert_array_equal(a.numpy(), before[0])
    np.testing.assert_array_equal(b.numpy(), before[1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: vg.mat_mul(vg.ones([2, 3]), vg.ones([4, 5])),
            "mat_mul: a has 3 columns but b has 4 rows to multiply them with (a: [2, 3], b: [4, 5])",
        ),
        (
            lambda: vg.mat_mul(vg.ones([2, 3]), vg.ones([4, 5]), True, True),
            "mat_mul: a has 2 rows but b has 5 columns to multiply them with "
            "(a: [2, 3], b: [4, 5], transpose_a=True, transpose_b=True)",
        ),
        (
            lambda: vg.mat_mul(vg.ones([2, 2, 3]), vg.ones([3, 3, 4])),
            "mat_mul: the batch axes before the last two of a and b cannot be broadcast together "
            "(a: [2, 2, 3], b: [3, 3, 4])",
        ),
        (
            lambda: vg.mat_mul(vg.ones([2, 3]), vg.ones([3])),
            "mat_mul: a and b must have rank 2 or more; dot and a @ b take vectors (a: [2, 3], b: [3])",
        ),
        (
            lambda: vg.ones([2, 3]) @ vg.ones([2]),
            "matmul: a has 3 columns but b has 2 elements to multiply them with (a: [2, 3], b: [2])",
        ),
        (lambda: vg.ones([2]) @ 3.0, "matmul: b is a scalar; use mul to scale a tensor"),
        (lambda: vg.matmul([1, 2], [[1]], True), "matmul: a is a vector, [2], which has no transpose"),
        (lambda: vg.dot(vg.ones([2, 2, 2]), [1, 2]), "dot: t1 must be a vector or a matrix, got shape [2, 2, 2]"),
        (lambda: vg.outer_product([[1]], [1]), "outer_product: v1 must be a vector, got shape [1, 1]"),
    ],
)
def test_what_cannot_be_multiplied_is_explained(call, message):
    with pytest.raises(ValueError, match=r"^") as raised:
        call()
    assert str(raised.value) == message


def test_strings_are_refused():
    with pytest.raises(TypeError, match=r"^mat_mul: a and b must be numeric, got strings$"):
        vg.mat_mul([["a"]], [["b"]])
    with pytest.raises(TypeError, match=r"^einsum: the tensors must be numeric, got strings$"):
        vg.einsum("i->i", ["a"])


# Einsum


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ba,cb", [(2, 3), (4, 2)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 2, 3), (2, 3, 4)]),
        ("bqhd,bkhd->bhqk", [(2, 3, 2, 4), (2, 5, 2, 4)]),
        ("i,j->ij", [(2,), (3,)]),
        ("i,i->", [(3,), (3,)]),
        ("i,i->i", [(3,), (3,)]),
        ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]),
        ("ii", [(3, 3)]),
        ("ii->i", [(3, 3)]),
        ("iij,ji->i", [(2, 2, 3), (3, 2)]),
        ("ij,k->j", [(2, 3), (2,)]),
        ("ab,bc,cd->da", [(2, 3), (3, 4), (4, 2)]),
        ("a,a,a->a", [(3,), (3,), (3,)]),
        ("...ij,...jk->...ik", [(4, 1, 2, 3), (5, 3, 2)]),
        ("...i,...i->...", [(1, 3), (2, 3)]),
        ("i...->...", [(2, 3, 4)]),
        ("...", [(2, 3)]),
        ("i...j,j", [(2, 2, 3), (3,)]),
        ("ij,jk->ik", [(2, 0), (0, 3)]),
        ("ij->i", [(2, 0)]),
        (" i j , j -> i ", [(2, 3), (3,)]),
        (",->", [(), ()]),
    ],
)
def test_einsum_is_numpys(equation, shapes):
    arrays = [normal(shape) for shape in shapes]
    result = vg.einsum(equation, *arrays)
    expected = np.einsum(equation, *arrays)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk->ik", [(2, 3)], "the equation names 2 tensors, but 1 are given"),
        ("ij,jk->ik", [(2, 3), (2, 3)], "'j' stands for axes of lengths 3 and 2"),
        ("...i,...i->i", [(2, 3), (4, 3)], "'...' stands for axes of lengths 2 and 4"),
        ("i->i", [(2, 3)], "every tensor needs a letter for each of its axes"),
        ("ijk->i", [(2, 3)], "every tensor needs a letter for each of its axes"),
        ("ij->ik", [(2, 3)], "the result's letters must differ, and each occur in a tensor"),
        ("ij->ii", [(2, 3)], "the result's letters must differ, and each occur in a tensor"),
        ("i!->i", [(2,)], "an equation is letters"),
        ("i->i->i", [(2,)], "an equation is letters"),
        ("......->", [(2,)], "an equation is letters"),
    ],
)
def test_a_wrong_equation_is_explained(equation, shapes, message):
    with pytest.raises(ValueError, match=r"^einsum: ") as raised:
        vg.einsum(equation, *[normal(shape) for shape in shapes])
    assert str(raised.value).startswith(f"einsum: {message}")
    assert f"(equation: {equation!r}, tensors: " in str(raised.value)


@pytest.mark.parametrize("compiled", [False, True])
def test_zero_times_nan_is_nan_in_products_with_one_number(compiled):
    product = vg.jit(vg.mat_mul, executor="numpy") if compiled else vg.mat_mul
    row, nothing = vg.fill([1, 3], np.nan), vg.zeros([1, 1])
    for left, right in ((nothing, row), (row.reshape([3, 1]), nothing), (vg.zeros([2, 1, 1]), row)):
        for _ in range(2):
            assert np.isnan(product(left, right).numpy()).all()

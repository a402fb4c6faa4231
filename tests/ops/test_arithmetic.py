"""Binary arithmetic."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import varigrad as vg
from varigrad.ops.arithmetic import multiply_no_nan, scale


def ints(*values):
    return vg.tensor(list(values), dtype="int32")


REFERENCES = {
    "add": np.add,
    "atan2": np.arctan2,
    "div": np.divide,
    "div_no_nan": lambda a, b: np.where(b == 0, 0, a / np.where(b == 0, 1, b)),
    "floor_div": np.floor_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "mod": np.mod,
    "mul": np.multiply,
    "squared_difference": lambda a, b: (a - b) ** 2,
    "sub": np.subtract,
}


@settings(max_examples=50)
@given(data=st.data(), name=st.sampled_from(sorted(REFERENCES)), dtype=st.sampled_from([np.float32, np.float64]))
def test_operands_broadcast(data, name, dtype):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=4))
    # Quarters, so that sums, products and remainders are exact.
    elements = st.integers(-40, 40).map(lambda n: n / 4)
    a, b = (data.draw(hnp.arrays(dtype, shape, elements=elements)) for shape in shapes.input_shapes)
    found = getattr(vg, name)(vg.tensor(a, dtype=a.dtype.name), vg.tensor(b, dtype=b.dtype.name))
    with np.errstate(all="ignore"):
        expected = REFERENCES[name](a, b)
    assert found.dtype == a.dtype.name
    assert found.shape == shapes.result_shape
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


@settings(max_examples=50)
@given(
    base=hnp.arrays(np.int32, 6, elements=st.integers(-9, 9)),
    exp=hnp.arrays(np.int32, 6, elements=st.integers(0, 9)),
)
def test_powers_of_integers(base, exp):
    found = vg.pow(vg.tensor(base), vg.tensor(exp))
    assert found.dtype == "int32"
    assert found.tolist() == [b**e for b, e in zip(base.tolist(), exp.tolist(), strict=True)]


def test_negative_powers_of_integers():
    # tf.pow([-7, 7], [3, -3]) of int32, and the reciprocals of 1 and -1
    assert vg.pow(ints(-7, 7, 0, 1, -1, -1), ints(3, -3, -1, -5, -3, -2)).tolist() == [-343, 0, 0, 1, -1, 1]


def test_the_square_is_the_same_by_every_way():
    for x in (vg.tensor([1.5, -3.0]), ints(2, -3), vg.tensor([1 + 2j])):
        for squared in (x**2, vg.pow(x, 2.0), vg.square(x), x * x, vg.pow(x, vg.tensor(2, dtype=x.dtype))):
            assert squared.dtype == x.dtype
            np.testing.assert_allclose(squared.numpy(), np.square(x.numpy()), rtol=1e-6)
    assert (vg.tensor([True, False]) ** 2).tolist() == [1, 0]


def test_powers_at_the_edges():
    # tf.pow([-7, 7, -7, 7, 5, 0], [3, -3, -3, 3, 0, 0])
    np.testing.assert_allclose(
        vg.pow([-7, 7, -7, 7, 5, 0], [3, -3, -3, 3, 0, 0]).numpy(),
        [-343, 0.0029154520016163588, -0.0029154520016163588, 343, 1, 1],
        rtol=1e-6,
    )
    assert math.isnan(vg.pow(-8, 1 / 3).item())


@pytest.mark.parametrize("exp", [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_power_to_one_exponent_for_all(exp, dtype):
    base = np.array([[-2.5, -0.0, 0.0], [0.25, 3.0, np.inf]])
    with np.errstate(all="ignore"):
        expected = base**exp
    for exponent in (exp, vg.tensor(exp, dtype=dtype), vg.tensor([[exp]], dtype=dtype), vg.fill([2, 3], exp, dtype)):
        found = vg.pow(vg.tensor(base, dtype=dtype), exponent)
        assert found.dtype == dtype
        np.testing.assert_allclose(found.numpy(), expected, rtol=4 * np.finfo(dtype).eps)
    assert vg.pow(2.0, vg.tensor([[[exp]]])).shape == (1, 1, 1)


def test_integer_division_floors_and_true_division_does_not():
    a, b = ints(7, -7, 7, -7, 5), ints(2, 2, -2, -2, 0)
    # tf.div(a, b)
    assert vg.div(a, b).tolist() == [3, -4, -4, 3, 0]
    assert vg.div(a, b).dtype == "int32"
    assert (a // b).tolist() == [3, -4, -4, 3, 0]
    quotient = a / b
    assert quotient.dtype == "float32"
    assert quotient.tolist() == [3.5, -3.5, -3.5, 3.5, math.inf]
    assert (7 / ints(2)).tolist() == [3.5]
    assert (ints(7) / 2).tolist() == [3.5]
    assert (vg.tensor([True]) / vg.tensor([True])).dtype == "float32"
    assert vg.div(vg.tensor([True, False]), True).dtype == "int32"


def test_division_of_floats():
    # tf.div and tf.divNoNan of [5, 0, 3]/[0, 0, 2]
    np.testing.assert_array_equal(vg.div([5, 0, 3], [0, 0, 2]).numpy(), [np.inf, np.nan, 1.5])
    assert vg.div_no_nan([5, 0, 3], [0, 0, 2]).tolist() == [0, 0, 1.5]
    assert vg.div_no_nan(ints(5, -7), ints(0, 2)).tolist() == [0, -4]
    assert vg.div_no_nan(math.nan, 0).item() == 0


def test_floor_division_keeps_floats():
    found = vg.floor_div([-7, 7, 1], [2, -2, math.inf])
    assert found.dtype == "float32"
    assert found.tolist() == [-4, -4, 0]


@pytest.mark.parametrize("dtype", ["float32", "int32", "float64"])
def test_remainders_have_the_sign_of_the_divisor(dtype):
    a, b = vg.tensor([-7, 7, -7, 7], dtype=dtype), vg.tensor([3, -3, -3, 3], dtype=dtype)
    # tf.mod(a, b)
    assert vg.mod(a, b).tolist() == [2, -2, -1, 1]
    assert (a % b).dtype == dtype


def test_remainder_of_an_integer_by_zero_is_zero():
    assert vg.mod(ints(5), ints(0)).tolist() == [0]


def test_maximum_and_minimum_keep_nan():
    for f in (vg.maximum, vg.minimum):
        assert math.isnan(f(math.nan, 1.0).item())
        assert math.isnan(f(1.0, math.nan).item())


def test_angles_of_all_quadrants_and_axes():
    y, x = np.array([1, 1, -1, -1, 0, 0, 1, -1.0]), np.array([1, -1, 1, -1, 1, -1, 0, 0.0])
    np.testing.assert_allclose(vg.atan2(y, x).numpy(), np.arctan2(y, x), rtol=1e-6)
    # tf.atan2([1, 2], [2.5, 2]), the first of int32
    np.testing.assert_allclose(vg.atan2(ints(1, 2), [2.5, 2]).numpy(), [0.38050636649131775, 0.7853981852531433])


@pytest.mark.parametrize("f", [vg.add, vg.sub, vg.mul, vg.maximum, vg.minimum, vg.mod, vg.squared_difference])
def test_bools_are_counted_as_integers(f):
    a, b = vg.tensor([True, False, True]), vg.tensor([True, True, True])
    found = f(a, b)
    assert found.dtype == "int32"
    assert found.tolist() == f(a.cast("int32"), b.cast("int32")).tolist()


def test_a_python_number_takes_the_dtype_of_the_tensor_beside_it():
    for dtype in ("float16", "float32", "float64"):
        x = vg.tensor([1], dtype=dtype)
        assert (x + 1).dtype == (1.5 * x).dtype == (x / 3).dtype == (2 - x).dtype == dtype
    assert (ints(1) + 1).dtype == "int32"
    assert (ints(1) * 1.5).dtype == "float32"
    assert (ints(1) * True).dtype == "int32"


def test_the_wider_dtype_wins():
    order = ["bool", "int32", "int64", "float16", "float32", "float64"]
    for i, narrow in enumerate(order):
        for wide in order[i + 1 :]:
            assert vg.add(vg.tensor([1], dtype=narrow), vg.tensor([1], dtype=wide)).dtype == wide
    assert vg.mul(vg.tensor([2.0]), vg.tensor([1 + 2j])).tolist() == [2 + 4j]


def test_complex_numbers():
    a, b = vg.tensor(np.array([1 + 3j, -2 + 4j])), vg.tensor(np.array([2 + 1j, 1 + 4j]))
    # tf.add, tf.sub and tf.mul of these
    assert vg.add(a, b).tolist() == [3 + 4j, -1 + 8j]
    assert vg.sub(a, b).tolist() == [-1 + 2j, -3]
    assert vg.mul(a, b).tolist() == [-1 + 7j, -18 - 4j]
    np.testing.assert_allclose(vg.div(a, b).numpy(), a.numpy() / b.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["maximum", "minimum", "mod", "floor_div", "atan2", "squared_difference"])
def test_real_arithmetic_refuses_complex_numbers(name):
    with pytest.raises(TypeError, match=f"{name}: a must be real, got complex64"):
        getattr(vg, name)(vg.tensor([1j]), vg.tensor([2j]))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "mod"])
def test_strings_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: a must be (numeric|real), got string"):
        getattr(vg, name)(["a"], ["b"])
    with pytest.raises(TypeError, match=f"{name}: dtypes string and float32 cannot be combined"):
        getattr(vg, name)(["a"], 1.0)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "div_no_nan", "pow", "maximum", "mod", "floor_div"])
def test_shapes_that_do_not_broadcast_are_named(name):
    message = rf"{name}: a and b cannot be broadcast together \(a: \[2, 3\], b: \[2\]\)"
    with pytest.raises(ValueError, match=message):
        getattr(vg, name)(vg.ones([2, 3]), vg.ones([2]))


def test_none_is_refused():
    with pytest.raises(TypeError, match="add: b must be a tensor or an array, got None"):
        vg.tensor([1.0]) + None


def test_sum_of_a_list():
    terms = [vg.tensor([1.0, 2.0]), vg.tensor([3.0, 4.0]), vg.tensor([5.0, 6.0])]
    assert vg.add_n(terms).tolist() == [9, 12]
    assert vg.add_n(terms[:1]).tolist() == [1, 2]
    assert vg.add_n([vg.scalar(1.0), vg.scalar(2.0), vg.scalar(3.0)]).item() == 6
    assert vg.add_n([[True, False], [True, True]]).tolist() == [2, 1]
    assert terms[0].tolist() == [1, 2]


def test_a_list_to_sum_must_be_of_one_shape_and_dtype():
    with pytest.raises(ValueError, match=r"tensors\[0\] is \[2\] float32 and tensors\[1\] is \[1, 2\] float32"):
        vg.add_n([[1, 2], [[3, 4]]])
    with pytest.raises(ValueError, match=r"tensors\[0\] is \[1\] float32 and tensors\[1\] is \[1\] int32"):
        vg.add_n([[1], ints(3)])
    with pytest.raises(ValueError, match="needs at least one tensor"):
        vg.add_n([])
    with pytest.raises(TypeError, match="must be a list of tensors, got Tensor"):
        vg.add_n(vg.ones([2]))


def test_operators_and_their_reverses():
    x = vg.tensor([4.0, -3.0])
    n = np.array([4.0, -3.0])
    for found, expected in [
        (x + 2, n + 2),
        (2 + x, 2 + n),
        (x - 2, n - 2),
        (2 - x, 2 - n),
        (x * 2, n * 2),
        (2 * x, 2 * n),
        (x / 2, n / 2),
        (2 / x, 2 / n),
        (x // 3, n // 3),
        (10 // x, 10 // n),
        (x % 3, n % 3),
        (10 % x, 10 % n),
        (x**3, n**3),
        (2**x, 2**n),
        (n + x, n + n),
        (np.float32(2) * x, 2 * n),
        (np.array([1.0, 2.0]) / x, np.array([1.0, 2.0]) / n),
        ([1.0, 2.0] - x, np.array([1.0, 2.0]) - n),
    ]:
        assert isinstance(found, vg.Tensor)
        assert found.dtype == "float32"
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_methods_are_the_functions():
    a, b = vg.tensor([1.5, -2.0]), vg.tensor([2.0, 3.0])
    for name in REFERENCES:
        assert getattr(a, name)(b).tolist() == getattr(vg, name)(a, b).tolist()
    assert a.pow(b).tolist() == vg.pow(a, b).tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_a_product_without_nan(dtype):
    x = vg.tensor([np.inf, np.nan, np.inf, 0.0, 2.0], dtype=dtype)
    weight = vg.tensor([0.0, 0.0, 2.0, np.inf, 3.0], dtype=dtype)
    found = multiply_no_nan(x, weight)
    assert found.dtype == dtype
    assert found.numpy()[[0, 1, 4]].tolist() == [0, 0, 6]
    assert np.isinf(found.numpy()[2])
    assert np.isnan(found.numpy()[3])


def test_a_product_of_large_numbers_is_right_where_its_square_overflows():
    assert multiply_no_nan(vg.tensor([1e30, np.inf]), vg.tensor([2.0, 0.0])).tolist() == [np.float32(2e30), 0]


def test_scaling_keeps_the_dtype():
    assert scale(vg.tensor([1.5], dtype="float16"), 2.0).dtype == "float16"


def test_operators_in_place_keep_a_variable_and_make_a_new_tensor():
    w = vg.variable([7.0, -7.0])
    same, before = w, w.clone()
    w += 1
    w -= 1
    w *= 2
    w /= 2
    w %= 4
    w **= 2
    w //= 2
    assert w is same
    assert w.tolist() == [4, 0]
    x = before
    x //= 2
    assert x is not before
    assert before.tolist() == [7, -7]

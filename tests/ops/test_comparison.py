"""Comparison, logic, and choice by a condition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import varigrad as vg

COMPARISONS = {
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "not_equal": np.not_equal,
}
LOGIC = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}


def ints(*values):
    return vg.tensor(list(values), dtype="int32")


@settings(max_examples=50)
@given(
    data=st.data(),
    name=st.sampled_from(sorted(COMPARISONS)),
    dtype=st.sampled_from(["float32", "float64", "int32", "bool"]),
)
def test_comparisons_broadcast(data, name, dtype):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=4))
    a, b = (
        data.draw(hnp.arrays(np.int32, shape, elements=st.integers(-2, 2))).astype(dtype)
        for shape in shapes.input_shapes
    )
    found = getattr(vg, name)(vg.tensor(a, dtype=dtype), vg.tensor(b, dtype=dtype))
    assert found.dtype == "bool"
    assert found.shape == shapes.result_shape
    np.testing.assert_array_equal(found.numpy(), COMPARISONS[name](a, b))


@pytest.mark.parametrize("name", COMPARISONS)
def test_nan_equals_nothing(name):
    assert getattr(vg, name)([math.nan, math.nan], [math.nan, 1]).tolist() == [name == "not_equal"] * 2


def test_integers_and_floats_are_compared_as_floats():
    # tf.less([1, 2], [2.5, 2]), the first of int32
    assert vg.less(ints(1, 2), [2.5, 2]).tolist() == [True, False]
    assert (ints(1, 2) < 1.5).tolist() == [True, False]


def test_strings_are_compared():
    a, b = vg.tensor(["a", "b"]), vg.tensor(["a", "c"])
    # tf.equal(a, b) and so on
    assert (a == b).tolist() == [True, False]
    assert (a != b).tolist() == [False, True]
    assert (a < b).tolist() == [False, True]
    assert (a == "b").tolist() == [False, True]
    with pytest.raises(TypeError, match="equal: dtypes string and float32 cannot be combined"):
        vg.equal(a, 1.0)


def test_complex_numbers_are_equal_or_not_but_have_no_order():
    z = vg.tensor([1 + 2j, 2j])
    assert (z == 2j).tolist() == [False, True]
    assert (z != z).tolist() == [False, False]
    with pytest.raises(TypeError, match=r"less: a must be .*, got complex64"):
        vg.less(z, z)


def test_operators_compare_values():
    x = vg.tensor([1.0, 2.0, 3.0])
    for found, expected in [
        (x < 2, [True, False, False]),
        (x <= 2, [True, True, False]),
        (x > 2, [False, False, True]),
        (x >= 2, [False, True, True]),
        (x == 2, [False, True, False]),
        (x != 2, [True, False, True]),
        (2 > x, [True, False, False]),  # noqa: SIM300
        (2 == x, [False, True, False]),  # noqa: SIM300
        (np.array([1.0, 0.0, 3.0]) == x, [True, False, True]),
        (x == [1.0, 0.0, 3.0], [True, False, True]),
        (np.float32(2) < x, [False, False, True]),
    ]:
        assert isinstance(found, vg.Tensor)
        assert found.tolist() == expected


@pytest.mark.parametrize("other", [None, "a", b"a", object(), {"a": 1}, print])
def test_a_tensor_is_never_equal_to_what_is_no_number(other):
    x = vg.tensor([1.0])
    assert (x == other) is False
    assert (x != other) is True
    assert (other == x) is False


def test_ordering_a_tensor_and_none_is_an_error():
    with pytest.raises(TypeError, match="less: b must be a tensor or an array, got None"):
        vg.tensor([1.0]) < None  # noqa: B015


def test_tensors_are_hashed_by_identity():
    x, y = vg.tensor([1.0]), vg.tensor([1.0])
    assert len({x, y, x}) == 2
    assert {x: 1}[x] == 1


@settings(max_examples=30)
@given(data=st.data(), name=st.sampled_from(sorted(LOGIC)))
def test_logic_broadcasts(data, name):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_side=3, max_dims=3))
    a, b = (data.draw(hnp.arrays(np.bool_, shape)) for shape in shapes.input_shapes)
    found = getattr(vg, name)(vg.tensor(a), vg.tensor(b))
    assert found.dtype == "bool"
    np.testing.assert_array_equal(found.numpy(), LOGIC[name](a, b))


@pytest.mark.parametrize("name", LOGIC)
def test_logic_of_numbers_is_an_error(name):
    with pytest.raises(TypeError, match=rf"{name}: a must be bool \(compare numbers first.*\), got float32"):
        getattr(vg, name)(vg.tensor([1.0]), [True])
    with pytest.raises(TypeError, match="logical_not: x must be bool"):
        vg.logical_not(ints(1, 0))


def test_numbers_that_are_no_tensor_yet_are_bools_where_bools_are_wanted():
    assert vg.logical_and([0, 1, 2.5], [1, 0, 1]).tolist() == [False, False, True]
    assert vg.logical_or(vg.tensor([True, False]), 0).tolist() == [True, False]
    assert vg.logical_not(np.array([0, 3])).tolist() == [True, False]
    assert vg.where(1, 10, 20).item() == 10
    assert vg.where([0, 1], 10, 20).tolist() == [20, 10]
    with pytest.raises(TypeError, match="logical_and: b must be bool"):
        vg.logical_and([0, 1], vg.tensor([0, 1]))
    with pytest.raises(TypeError, match="logical_not: x holds strings"):
        vg.logical_not(["a"])


def test_operators_of_bools_are_logical():
    a, b = vg.tensor([True, True, False, False]), vg.tensor([True, False, True, False])
    assert (a & b).tolist() == [True, False, False, False]
    assert (a | b).tolist() == [True, True, True, False]
    assert (a ^ b).tolist() == [False, True, True, False]
    assert (~a).tolist() == [False, False, True, True]
    assert (True & a).tolist() == a.tolist()
    assert (False | a).tolist() == a.tolist()
    assert (True ^ a).tolist() == (~a).tolist()
    assert (np.array([True, False, True, False]) & a).tolist() == (a & b).tolist()


def test_operators_of_integers_are_bitwise():
    a, b = ints(5, -2), ints(3, 7)
    # tf.bitwiseAnd(a, b)
    assert vg.bitwise_and(a, b).tolist() == [1, 6]
    assert (a & b).tolist() == [1, 6]
    assert (a | b).tolist() == [7, -1]
    assert (a ^ b).tolist() == [6, -7]
    assert (~a).tolist() == [-6, 1]
    assert (a & 4).tolist() == [4, 4]
    assert (4 | a).tolist() == [5, -2]
    assert (1 ^ a).tolist() == [4, -1]


def test_bits_of_floats_are_an_error():
    with pytest.raises(TypeError, match="bitwise_and: a must be integer, got float32"):
        vg.tensor([1.0]) & vg.tensor([2.0])
    with pytest.raises(TypeError, match="bitwise_not: x must be integer, got float32"):
        ~vg.tensor([1.0])


@settings(max_examples=50)
@given(data=st.data(), dtype=st.sampled_from(["float32", "float64", "int32", "bool"]))
def test_where_broadcasts(data, dtype):
    shapes = data.draw(hnp.mutually_broadcastable_shapes(num_shapes=3, min_side=0, max_side=3, max_dims=4))
    first, second, third = shapes.input_shapes
    condition = data.draw(hnp.arrays(np.bool_, first))
    a, b = (
        data.draw(hnp.arrays(np.int32, shape, elements=st.integers(-9, 9))).astype(dtype) for shape in (second, third)
    )
    found = vg.where(vg.tensor(condition), vg.tensor(a, dtype=dtype), vg.tensor(b, dtype=dtype))
    assert found.dtype == dtype
    assert found.shape == shapes.result_shape
    np.testing.assert_array_equal(found.numpy(), np.where(condition, a, b))


def test_where_takes_numbers_beside_tensors():
    x = vg.tensor([1.0, -2.0])
    assert vg.where(x > 0, x, 0).tolist() == [1, 0]
    assert vg.where(x > 0, 0.5, x).tolist() == [0.5, -2]
    assert vg.where(True, x, 0.0).tolist() == [1, -2]
    assert x.where(x > 0, 0).tolist() == [1, 0]
    assert vg.where([True, False], ["a", "b"], ["c", "d"]).tolist() == ["a", "d"]
    # tf.where([true, false], [1, 2], [3.5, 4]), the first of int32
    found = vg.where([True, False], ints(1, 2), [3.5, 4])
    assert found.dtype == "float32"
    assert found.tolist() == [1, 4]


def test_where_wants_bools_for_its_condition():
    with pytest.raises(TypeError, match=r"where: condition must be bool \(compare numbers first.*\), got int32"):
        vg.where(ints(1, 0), [1, 2], [3, 4])


def test_where_names_shapes_that_do_not_broadcast():
    message = r"where: condition, a and b cannot be broadcast together \(condition: \[2\], a: \[3\], b: \[\]\)"
    with pytest.raises(ValueError, match=message):
        vg.where([True, False], [1, 2, 3], 0)


def test_methods_are_the_functions():
    a, b = vg.tensor([1.5, 2.0]), vg.tensor([2.0, 2.0])
    for name in COMPARISONS:
        assert getattr(a, name)(b).tolist() == getattr(vg, name)(a, b).tolist()
    p, q = vg.tensor([True, True]), vg.tensor([True, False])
    for name in LOGIC:
        assert getattr(p, name)(q).tolist() == getattr(vg, name)(p, q).tolist()
    assert q.logical_not().tolist() == [False, True]
    assert ints(5).bitwise_and(ints(3)).tolist() == [1]

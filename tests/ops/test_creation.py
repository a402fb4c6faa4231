"""Making tensors."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

DTYPES = ["float32", "int32", "bool", "complex64", "float64", "float16", "int64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [0], [2, 3], (np.int64(2),)])
def test_zeros_and_ones_fill_a_shape(shape, dtype):
    for made, value in ((vg.zeros(shape, dtype), 0), (vg.ones(shape, dtype), 1)):
        assert made.dtype == dtype
        np.testing.assert_array_equal(made.numpy(), np.full(shape, value))


@pytest.mark.parametrize("dtype", DTYPES)
def test_likenesses_take_shape_and_dtype(dtype):
    x = vg.tensor([[1, 0]], dtype=dtype)
    assert (vg.zeros_like(x).dtype, vg.ones_like(x).dtype) == (dtype, dtype)
    assert vg.zeros_like(x).tolist() == [[0, 0]]
    assert vg.ones_like(x).tolist() == [[1, 1]]


def test_strings_are_empty_where_numbers_are_zero():
    assert vg.zeros_like(["a", "b"]).tolist() == ["", ""]
    assert vg.zeros([2], "string").tolist() == ["", ""]


@pytest.mark.parametrize(
    ("value", "dtype", "expected", "expected_dtype"),
    [
        (4, None, 4.0, "float32"),
        (True, None, True, "bool"),
        ("a", None, "a", "string"),
        (1.5, "int32", 1, "int32"),
        (2j, None, 2j, "complex64"),
        (0.1, "float64", 0.1, "float64"),
    ],
)
def test_fill_repeats_one_value(value, dtype, expected, expected_dtype):
    made = vg.fill([2, 1], value, dtype)
    assert made.dtype == expected_dtype
    assert made.tolist() == [[expected], [expected]]


# tensor


def test_ranks_are_checked():
    assert vg.tensor1d([1, 2]).shape == (2,)
    assert vg.tensor2d([1, 2], [1, 2], "int32").tolist() == [[1, 2]]
    assert vg.tensor3d(np.zeros((1, 2, 3))).shape == (1, 2, 3)
    assert vg.tensor4d([1, 2], [1, 1, 1, 2]).rank == 4
    assert vg.tensor5d([1, 2], [1, 1, 1, 1, 2]).rank == 5
    assert vg.tensor6d([1, 2], [1, 1, 1, 1, 1, 2]).rank == 6
    with pytest.raises(ValueError, match="tensor1d: values must be nested 1 deep"):
        vg.tensor1d([[1]])
    with pytest.raises(ValueError, match=r"tensor2d: values must be nested 2 deep, got shape \[2\]; give a shape"):
        vg.tensor2d([1, 2])
    with pytest.raises(ValueError, match="tensor3d: shape must have 3 lengths"):
        vg.tensor3d([1, 2], [1, 2])
    with pytest.raises(ValueError, match="scalar: needs one value"):
        vg.scalar([1])


def test_values_that_do_not_fill_the_shape_are_explained():
    for values in ([1, 2, 3], vg.tensor([1, 2, 3])):
        with pytest.raises(ValueError, match=r"tensor: 3 values do not fill shape \[2, 2\]"):
            vg.tensor(values, [2, 2])


def test_a_tensor_of_a_tensor_is_another_with_its_values():
    x = vg.tensor([1.0, 2.0])
    y = vg.tensor(x)
    assert y is not x
    assert y.tolist() == [1, 2]
    assert vg.tensor(x, [2, 1], "int32").tolist() == [[1], [2]]


def test_tensors_in_lists_are_stacked():
    a, b = vg.scalar(1.0), vg.scalar(2.0)
    assert vg.tensor([a, b]).tolist() == [1, 2]
    assert vg.tensor([[a, 3], [b, a]]).tolist() == [[1, 3], [2, 1]]
    integers = vg.tensor([1, 2], dtype="int32")
    assert vg.tensor([integers, [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert vg.tensor([integers, integers]).dtype == vg.tensor([vg.scalar(1, "int32"), 2]).dtype == "int32"
    assert vg.add([a, b], 1).tolist() == [2, 3]
    assert vg.variable([a, b]).tolist() == [1, 2]
    with pytest.raises(ValueError, match=r"tensor: values is ragged: item 0 has shape \[\], item 1 has \[2\]"):
        vg.tensor([a, integers])


# sequences


@settings(max_examples=50)
@given(st.integers(-20, 20), st.integers(-20, 20), st.sampled_from([1, 2, 0.25, -1, -3]))
def test_range_counts_from_start_to_stop(start, stop, step):
    made = vg.range(start, stop, step)
    assert made.dtype == "float32"
    downwards = -1 if step == 1 and stop < start else step  # as in TensorFlow.js
    np.testing.assert_array_equal(made.numpy(), np.arange(start, stop, downwards))


def test_range_does_not_sum_rounding_errors():
    # TensorFlow.js adds the step over and over and is 0.01 off at the end.
    assert vg.range(0, 1000, 0.1).numpy()[-1] == np.float32(999.9)


def test_range_of_integers():
    made = vg.range(0, 5, 2, "int32")
    assert made.dtype == "int32"
    assert made.tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="step must not be 0"):
        vg.range(0, 1, 0)


@pytest.mark.parametrize(("start", "stop", "num"), [(0, 1, 3), (2, 5, 1), (1, -1, 101), (-3.5, -3.5, 4)])
def test_linspace_divides_a_range(start, stop, num):
    made = vg.linspace(start, stop, num)
    assert made.dtype == "float32"
    np.testing.assert_array_equal(made.numpy(), np.linspace(start, stop, num).astype(np.float32))


@pytest.mark.parametrize("num", [0, -2])
def test_linspace_wants_a_number_of_values(num):
    with pytest.raises(ValueError, match=f"linspace: num must be 1 or more, got {num}"):
        vg.linspace(0, 1, num)


def test_the_number_of_values_of_linspace_is_an_integer():
    with pytest.raises(TypeError, match=r"linspace: num must be an integer, got 2\.5"):
        vg.linspace(0, 1, 2.5)


# matrices


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((3,), np.eye(3)),
        ((2, 3), np.eye(2, 3)),
        ((3, 2, None, "int32"), np.eye(3, 2, dtype=np.int32)),
        ((2, 2, [3, 1]), np.broadcast_to(np.eye(2), (3, 1, 2, 2))),
        ((0,), np.zeros((0, 0))),
    ],
)
def test_eye_has_ones_on_the_diagonal(arguments, expected):
    made = vg.eye(*arguments)
    assert made.shape == expected.shape
    np.testing.assert_array_equal(made.numpy(), expected)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (0,), (1, 2, 2)])
def test_diag_puts_values_where_both_halves_of_the_index_agree(shape):
    x = np.arange(1, 1 + math.prod(shape), dtype=np.float32).reshape(shape)
    made = vg.diag(x)
    expected = np.zeros(shape + shape, np.float32)
    for at in np.ndindex(shape):
        expected[at + at] = x[at]
    assert made.shape == shape + shape
    np.testing.assert_array_equal(made.numpy(), expected)


def test_diag_wants_an_axis():
    with pytest.raises(ValueError, match="scalar"):
        vg.diag(1.0)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_meshgrid_is_numpys(count, indexing):
    vectors = [np.arange(n, dtype=np.float32) for n in (2, 3, 4)[:count]]
    for made, expected in zip(
        vg.meshgrid(*vectors, indexing=indexing), np.meshgrid(*vectors, indexing=indexing), strict=True
    ):
        np.testing.assert_array_equal(made.numpy(), expected)


def test_meshgrid_keeps_dtypes_and_names_its_indexing():
    x, y = vg.meshgrid(vg.tensor([1], dtype="int32"), [0.5])
    assert (x.dtype, y.dtype) == ("int32", "float32")
    with pytest.raises(ValueError, match="indexing must be"):
        vg.meshgrid([1], indexing="yx")


# one_hot


def test_one_hot_rows_of_indices_outside_are_off():
    # The report tensorflow/tfjs#443 has another row lit up by -1 and by 5.
    assert vg.one_hot([-1, 5, 2], 5).tolist() == [[0] * 5, [0] * 5, [0, 0, 1, 0, 0]]
    assert vg.one_hot([-1, 5, 2], 3, 2, -1).tolist() == [[-1, -1, -1], [-1, -1, -1], [-1, -1, 2]]


def test_one_hot_of_any_shape_and_dtype():
    indices = np.array([[0, 2, 1], [1, 1, 0]])
    for dtype in ("int32", "float32", "bool", "float64"):
        made = vg.one_hot(indices, 3, dtype=dtype)
        assert made.dtype == dtype
        np.testing.assert_array_equal(made.numpy(), np.eye(3)[indices])
    assert vg.one_hot(2, 4, 1.5, 0.5, "float32").tolist() == [0.5, 0.5, 1.5, 0.5]
    assert vg.one_hot([True, False], 2).tolist() == [[0, 1], [1, 0]]
    assert vg.one_hot([], 2).shape == (0, 2)
    assert vg.tensor([1], dtype="int64").one_hot(2).tolist() == [[0, 1]]


def test_one_hot_of_floats_is_refused():
    with pytest.raises(TypeError, match="one_hot: indices must hold integers, got float64 values"):
        vg.one_hot([0.5], 2)
    with pytest.raises(TypeError, match=r"float32 tensor; cast it with .cast\('int32'\)"):
        vg.one_hot(vg.tensor([0, 1]), 2)


# complex numbers


def test_complex_numbers_come_from_their_parts_and_give_them_back():
    z = vg.complex([1, 2], vg.tensor([3, 4], dtype="int32"))
    assert z.dtype == "complex64"
    assert z.tolist() == [1 + 3j, 2 + 4j]
    assert (vg.real(z).tolist(), vg.imag(z).tolist()) == ([1, 2], [3, 4])
    assert vg.real(z).dtype == vg.imag(z).dtype == "float32"
    assert (vg.real([1.5]).tolist(), vg.imag([1.5]).tolist()) == ([1.5], [0])
    with pytest.raises(ValueError, match=r"complex: real and imag must have one shape \(real: \[1\], imag: \[2\]\)"):
        vg.complex([1], [1, 2])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.zeros([2, -1]), ValueError, r"zeros: shape \[2, -1\] has a negative length"),
        (lambda: vg.ones(3), TypeError, "ones: shape must be a list of integers, got 3"),
        (lambda: vg.ones([1.5]), TypeError, "list of integers"),
        (lambda: vg.zeros([1], "float"), ValueError, "zeros: unknown dtype 'float'"),
        (lambda: vg.ones([1], "string"), TypeError, "ones: there is no one among strings"),
        (lambda: vg.fill([2], [1, 2]), ValueError, "fill: value must be one value"),
        (lambda: vg.eye(-1), ValueError, "negative"),
        (lambda: vg.one_hot([0], -1), ValueError, "depth"),
    ],
)
def test_wrong_arguments_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()

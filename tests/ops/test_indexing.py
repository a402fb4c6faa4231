"""`x[...]`, against NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

OFTEN = settings(max_examples=50)
X = np.arange(120, dtype=np.float32).reshape(2, 3, 4, 5)


def same(result, expected):
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


KEYS = [
    0,
    -1,
    (1, 2),
    np.int64(1),
    (1, 2, 3, 4),
    slice(None),
    slice(None, None, -1),
    (slice(0, 2), slice(3, 0, -2)),
    (slice(-2, None), ..., slice(None, -1)),
    slice(5, 2),
    ...,
    (..., 0),
    (0, ...),
    None,
    (0, None, ..., 1),
    (),
    [0, 1, 1],
    [],
    [-1],
    ((0, 1),),
    np.array([[0, 1], [1, 0]]),
    np.array([1, 0], np.uint8),
    (slice(None), [0, 2]),
    (slice(None), [0, 2], slice(None), [1, 1]),
    (slice(None), [0, 1], [[0], [1]]),
    (0, [0, 2]),
    ([0, 1], slice(None), 0),
    (0, slice(None), [0, 1]),
    (0, slice(None), [0, 1], 1),
    (slice(None), 1, slice(None), [0, 1]),
    (1, ..., [0, 2]),
    (..., [0, 1], [1, 2]),
    (slice(None), [0, -1], 2, ...),
    (None, [0, 1]),
    ([0], None, [1]),
    (slice(None), [0, 1], ..., [1, 2], slice(None)),
    (slice(None), [0, 1], ..., [1, 2]),
    [True, False],
    X > 50,
    (slice(None), np.array([True, False, True])),
    (np.array([[True, False, True], [False, True, True]]), slice(None), 0),
    (np.array([True, True]), [0, 2]),
    np.zeros((2, 3), bool),
    True,
    False,
    (0, True),
    (slice(None), True, [0, 1]),
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_key_takes_what_it_takes_from_a_numpy_array(key):
    same(vg.tensor(X)[key], X[key])


@st.composite
def arrays_and_keys(draw):
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    array = np.arange(math.prod(shape), dtype=np.int32).reshape(shape)
    # Shapes that broadcast together, for all the arrays in the key.
    full = draw(st.lists(st.integers(0, 3), max_size=2))
    key = []
    ellipsis_at = draw(st.integers(-1, len(shape)))
    axis = 0
    while axis < len(shape) and draw(st.integers(0, 6)):
        n = shape[axis]
        if axis == ellipsis_at:
            key.append(...)
        kind = draw(st.sampled_from(["slice", "slice", "int", "array", "mask", "new"]))
        if kind == "new":
            key.append(None)
            continue
        if kind == "mask":
            depth = draw(st.integers(1, min(2, len(shape) - axis)))
            count = math.prod(shape[axis : axis + depth])
            bits = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            # A mask with as many places as the other arrays, or one, broadcasts; others are errors on both sides.
            key.append(np.array(bits, bool).reshape(shape[axis : axis + depth]))
            axis += depth
            continue
        if kind == "int" and n:
            key.append(draw(st.integers(-n, n - 1)))
        elif kind == "array" and n:
            own = [draw(st.sampled_from([1, length])) for length in full[draw(st.integers(0, len(full))) :]]
            flat = draw(st.lists(st.integers(-n, n - 1), min_size=math.prod(own), max_size=math.prod(own)))
            key.append(np.array(flat, np.int64).reshape(own))
        else:
            ends = st.none() | st.integers(-n - 2, n + 2)
            step = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
            key.append(slice(draw(ends), draw(ends), step))
        axis += 1
    return array, tuple(key)


@OFTEN
@given(arrays_and_keys())
def test_any_key_takes_what_it_takes_from_a_numpy_array(case):
    array, key = case
    x = vg.tensor(array)
    try:
        expected = array[key]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            x[key]
        return
    same(x[key], expected)


@OFTEN
@given(arrays_and_keys())
def test_the_gradient_of_any_key_puts_back_what_it_took(case):
    array, key = case
    try:
        taken = array[key]
    except IndexError:
        return
    expected = np.zeros(array.shape)
    np.add.at(expected, key, np.arange(1, taken.size + 1).reshape(taken.shape))
    dy = np.arange(1, taken.size + 1, dtype=np.float64).reshape(taken.shape)
    gradient = vg.grad(lambda x: x[key])(vg.tensor(array, dtype="float64"), vg.tensor(dy, dtype="float64"))
    np.testing.assert_array_equal(gradient.numpy(), expected)


def test_tensors_of_integers_and_bools_are_keys_too():
    x = vg.tensor(X)
    same(x[vg.tensor([1, 0], dtype="int32")], X[[1, 0]])
    same(x[:, vg.tensor(-1, dtype="int32")], X[:, -1])
    same(x[x > 30], X[X > 30])
    same(x[vg.tensor([1, 0, -1], dtype="int64")], X[[1, 0, -1]])


def test_strings_can_be_indexed():
    x = vg.tensor([["a", "b"], ["c", "d"]])
    assert x[::-1, [1, 0]].tolist() == [["d", "c"], ["b", "a"]]


def test_one_row_takes_one_kernel():
    x = vg.tensor(X)
    assert [k.name for k in vg.profile(lambda: x[1]).kernels] == ["StridedSlice"]


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (2, IndexError, r"index 2 is outside axis 0, which is 2 long \(x: \[2, 3, 4, 5\]\)"),
        ((0, -4), IndexError, "index -4 is outside axis 1, which is 3 long"),
        ([[0, 7]], IndexError, r"index 7, at \[0, 1\] of the indices, is outside axis 0, which is 2 long"),
        ((slice(None), [0, -4]), IndexError, "index -4, at .1. of the indices, is outside axis 1, which is 3 long"),
        ((0, 0, 0, 0, 0), IndexError, "5 indices for a tensor of 4 axes"),
        ((..., ...), ValueError, "only one ellipsis"),
        (slice(0, 2, 0), ValueError, "step 0"),
        (([0, 1], [0, 1, 2]), ValueError, "cannot be broadcast together"),
        (np.array([True] * 3), ValueError, r"a mask of shape \[3\] does not fit"),
        ([0.5], TypeError, "float64"),
        (1.0, TypeError, "float64"),
        ("name", TypeError, "has no field 'name'"),
        (slice(0.5, 2), TypeError, "slices take integers"),
    ],
)
def test_a_key_that_does_not_fit_is_explained(key, error, message):
    with pytest.raises(error, match=message):
        vg.tensor(X)[key]


def test_an_index_out_of_range_is_an_error_of_varigrad_and_an_index_error():
    with pytest.raises(vg.OutOfRangeError):
        vg.tensor([1.0])[1]
    with pytest.raises(IndexError):
        vg.tensor([1.0])[1]


def test_float_tensors_are_refused_as_indices_with_the_way_out():
    with pytest.raises(TypeError, match=r"float32 tensor; cast it with .cast\('int32'\)"):
        vg.tensor(X)[vg.tensor([0, 1])]

"""Joining and splitting, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

OFTEN = settings(max_examples=50)


def same(result, expected):
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.numpy(), expected)


@st.composite
def parts(draw):
    shape = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    random = np.random.default_rng(0)
    arrays = []
    for length in lengths:
        own = list(shape)
        own[axis] = length
        arrays.append(random.normal(size=own).astype(np.float32))
    return arrays, axis, lengths


@OFTEN
@given(parts())
def test_concat_joins_and_split_parts_again(case):
    arrays, axis, lengths = case
    joined = vg.concat(arrays, axis)
    same(joined, np.concatenate(arrays, axis))
    for part, array in zip(vg.split(joined, lengths, axis), arrays, strict=True):
        same(part, array)


@OFTEN
@given(st.lists(st.integers(0, 3), max_size=3), st.integers(1, 4), st.data())
def test_stack_joins_along_a_new_axis_and_unstack_parts_again(shape, count, data):
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    arrays = [np.random.default_rng(i).normal(size=shape).astype(np.float32) for i in range(count)]
    stacked = vg.stack(arrays, axis)
    same(stacked, np.stack(arrays, axis))
    for part, array in zip(vg.unstack(stacked, axis), arrays, strict=True):
        same(part, array)


def test_one_tensor_is_joined_into_a_tensor_of_its_own():
    x = vg.tensor([1.0])
    y = vg.concat([x])
    assert y is not x
    x.dispose()
    assert y.tolist() == [1]


def test_the_widest_dtype_wins():
    assert vg.concat([vg.tensor([1], dtype="int32"), vg.tensor([1.5])]).tolist() == [1, 1.5]
    assert vg.stack([vg.tensor([True]), vg.tensor([2], dtype="int32")]).dtype == "int32"
    with pytest.raises(TypeError, match="concat: dtypes"):
        vg.concat([["a"], [1.0]])


def test_a_tensor_is_joined_as_the_list_of_its_rows():
    same(vg.concat(vg.tensor([[1, 2], [3, 4]])), [1, 2, 3, 4])


def test_methods_join_with_one_or_several_others():
    x = vg.tensor([1, 2])
    assert x.concat(np.array([3.0])).tolist() == [1, 2, 3]
    assert x.concat([vg.tensor([3]), vg.tensor([4])]).tolist() == [1, 2, 3, 4]
    assert x.stack([vg.tensor([3, 4])], 1).tolist() == [[1, 3], [2, 4]]


def test_concats_by_rank():
    assert vg.concat1d([[1], [2, 3]]).tolist() == [1, 2, 3]
    assert vg.concat2d([[[1]], [[2]]], 1).tolist() == [[1, 2]]
    assert vg.concat3d([np.ones((1, 1, 2)), np.ones((1, 1, 1))], 2).shape == (1, 1, 3)
    assert vg.concat4d([np.ones((1, 1, 2, 1)), np.ones((3, 1, 2, 1))]).shape == (4, 1, 2, 1)
    with pytest.raises(ValueError, match=r"concat1d: tensors\[1\] must have rank 1"):
        vg.concat1d([[1], [[2]]])


def test_split_into_equal_parts_or_by_length():
    x = np.arange(6)
    assert [p.tolist() for p in vg.split(x, 3)] == [[0, 1], [2, 3], [4, 5]]
    assert [p.tolist() for p in vg.split(x, [1, -1, 2])] == [[0], [1, 2, 3], [4, 5]]
    assert [p.tolist() for p in vg.split(x, [6])] == [x.tolist()]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vg.concat([]), "concat: needs at least one tensor"),
        (
            lambda: vg.concat([[[1]], [[1, 2]]]),
            r"tensors\[1\] differs from tensors\[0\] in more than the length of axis 0",
        ),
        (lambda: vg.concat([[1], [[1]]]), r"\(tensors\[0\]: \[1\], tensors\[1\]: \[1, 1\]\)"),
        (lambda: vg.concat([[1]], 1), "axis 1 is out of range"),
        (lambda: vg.concat([1, 2]), "axis 0 is out of range"),
        (lambda: vg.stack([]), "stack: needs at least one tensor"),
        (lambda: vg.stack([[1], [1, 2]]), r"stack: the shapes differ \(tensors\[0\]: \[1\], tensors\[1\]: \[2\]\)"),
        (lambda: vg.split([1, 2, 3], 2), "axis 0 is 3 long, which does not make 2 equal parts"),
        (lambda: vg.split([1, 2, 3], 0), "0 equal parts"),
        (lambda: vg.split([1, 2, 3], [1, 1]), "does not add up to axis 0, which is 3"),
        (lambda: vg.split([1, 2, 3], [-1, -1]), "more than one length"),
        (lambda: vg.split([1, 2, 3], [4, -1]), "does not add up"),
        (lambda: vg.unstack(1.0), "axis 0 is out of range"),
    ],
)
def test_what_does_not_fit_is_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()

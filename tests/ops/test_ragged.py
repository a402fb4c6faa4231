"""Ragged tensors, against nested lists."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

SETTINGS = settings(max_examples=50)
ROWS = st.lists(st.integers(0, 3), min_size=1, max_size=4)


def splits_of(lengths):
    return np.cumsum([0, *lengths]).astype(np.int32)


def nested(splits, values):
    """The rows as nested lists."""
    items = list(values)
    for each in reversed(splits):
        items = [items[begin:end] for begin, end in itertools.pairwise(each)]
    return items


@st.composite
def ragged_tensors(draw):
    """Rows of rows: two vectors of splits and the values of all rows."""
    outer = draw(ROWS)
    inner = draw(st.lists(st.integers(0, 3), min_size=sum(outer), max_size=sum(outer)))
    return [splits_of(outer), splits_of(inner)], np.arange(1, sum(inner) + 1, dtype=np.float32)


# Gather


@SETTINGS
@given(ragged_tensors(), st.data())
def test_gathered_rows_are_the_rows_of_the_nested_lists(ragged, data):
    splits, values = ragged
    rows = nested(splits, values.tolist())
    shape = data.draw(st.sampled_from([(), (0,), (3,), (2, 2)]))
    size = int(np.prod(shape))
    indices = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=size, max_size=size))
    indices = np.array(indices, np.int32).reshape(shape)
    found = vg.ragged_gather(splits, values, indices, len(shape) + 1)
    result = nested([each.tolist() for each in found.output_nested_splits], found.output_dense_values.tolist())

    def take(at):
        return [take(i) for i in at] if isinstance(at, list) else rows[at]

    assert result == take(indices.tolist())
    assert all(each.dtype == "int32" for each in found.output_nested_splits)


def test_one_gathered_row_has_no_splits():
    found = vg.ragged_gather([[0, 2, 3]], ["a", "b", "c"], 0)
    assert found.output_nested_splits == ()
    assert found.output_dense_values.tolist() == ["a", "b"]


def test_gathered_values_keep_their_inner_axes():
    found = vg.ragged_gather([[0, 1, 3]], [[1, 2], [3, 4], [5, 6]], [1])
    assert found.output_dense_values.tolist() == [[3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [1], [0]), "at least one vector of splits"),
        (([[0, 1]], 1, [0]), "values of rank 1 or more"),
        (([[0, 1]], [1], [1]), "index 1 is outside"),
        (([[0, 1]], [1], [-1]), "index -1 is outside"),
        (([[0, 2]], [1], [0]), "at most 1"),
        (([[0, 2], [0, 1]], [1], [0]), "at most 1"),
        (([[1, 0]], [1], [0]), "ascends"),
        (([[-1, 0]], [1], [0]), "ascends"),
        (([np.zeros(0, np.int32)], [1], np.zeros(0, np.int32)), "ascends"),
        (([[0, 1]], [1], [0], 2), "output_ragged_rank must be 1"),
    ],
)
def test_gathering_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=f"(?i)ragged_?gather: .*{message}"):
        vg.ragged_gather(*arguments)


# Range


@SETTINGS
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.sampled_from([-2, -1, 1, 3])), max_size=4))
def test_ranges_are_the_ranges_of_python(rows):
    starts, limits, deltas = np.array(rows, np.int32).reshape(-1, 3).T
    for dtype in ("int32", "float32"):
        splits, values = vg.ragged_range(*[vg.tensor(x, dtype=dtype) for x in (starts, limits, deltas)])
        expected = [list(range(*row)) for row in rows]
        assert nested([splits.tolist()], values.tolist()) == expected
        assert (splits.dtype, values.dtype) == ("int32", dtype)


def test_a_scalar_counts_for_every_row():
    splits, values = vg.ragged_range(1, [2, 4], 1.5)
    assert (splits.tolist(), values.tolist()) == ([0, 1, 3], [1, 1, 2.5])
    splits, values = vg.ragged_range(0, 3, 1)
    assert (splits.tolist(), values.tolist()) == ([0, 3], [0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0], [1], 0), "deltas must not be 0"),
        (([0, 1], [1, 2, 3], 1), "vectors of one length"),
        (([[0]], [1], 1), "scalars or vectors"),
        ((0, 1e10, 1e-10), "at most 2147483647 numbers"),
        ((0, np.nan, 1), "at most 2147483647 numbers"),
    ],
)
def test_ranges_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=f"(?i)ragged_?range: .*{message}"):
        vg.ragged_range(*arguments)


# To dense


def row_ids(splits):
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits)).astype(np.int32)


@SETTINGS
@given(ragged_tensors(), st.lists(st.integers(-1, 4), min_size=3, max_size=3), st.booleans())
def test_dense_tensors_hold_the_rows_cut_off_and_filled_up(ragged, shape, by_ids):
    splits, values = ragged
    rows = nested(splits, values.tolist())
    natural = [len(rows), max(map(len, rows)), max((len(row) for outer in rows for row in outer), default=0)]
    lengths = [free if n == -1 else n for n, free in zip(shape, natural, strict=True)]
    expected = np.full(lengths, -1.0)
    for i, outer in enumerate(rows[: lengths[0]]):
        for j, row in enumerate(outer[: lengths[1]]):
            expected[i, j, : len(row)] = row[: lengths[2]]
    if by_ids:
        partitions = [len(rows), *map(row_ids, splits)]
        kinds = ["first_dim_size", "value_rowids", "value_rowids"]
    else:
        partitions, kinds = splits, ["row_splits", "row_splits"]
    found = vg.ragged_tensor_to_tensor(shape, values, -1, partitions, kinds)
    np.testing.assert_array_equal(found.numpy(), expected)
    assert found.dtype == "float32"


@pytest.mark.parametrize("shape", [-1, [-1, -1], np.zeros(0, np.int32)])
def test_a_free_shape_fits_the_longest_row(shape):
    found = vg.ragged_tensor_to_tensor(shape, ["a", "b", "c"], "", [[0, 2, 2, 3]], ["ROW_SPLITS"])
    assert found.tolist() == [["a", "b"], ["", ""], ["c", ""]]


def test_defaults_broadcast_to_one_value():
    values = [[1, 2], [3, 4]]
    found = vg.ragged_tensor_to_tensor(-1, values, [8, 9], [[0, 0, 2]], ["row_splits"])
    assert found.tolist() == [[[8, 9], [8, 9]], [[1, 2], [3, 4]]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, [1], 0, [[0, 1]], []), "a type for each of the 1 partitions"),
        ((-1, [1], 0, [], []), "a type for each of the 0 partitions"),
        ((-1, [1], 0, [[0, 1]], ["row_lengths"]), "'row_splits' or 'value_rowids'"),
        ((-1, [1], 0, [[0]], ["value_rowids"]), "'first_dim_size' first"),
        ((-1, [1], 0, [1], ["first_dim_size"]), "a type for each"),
        ((-1, 1, 0, [[0, 1]], ["row_splits"]), "values must have rank 1 or more"),
        ((-1, [1], [0], [[0, 1]], ["row_splits"]), "default_value broadcast"),
        ((-1, [[1, 2]], [0, 0, 0], [[0, 1]], ["row_splits"]), "default_value broadcast"),
        (([2, 2, 2], [1], 0, [[0, 1]], ["row_splits"]), "shape must be -1 or 2 lengths"),
        ((2, [1], 0, [[0, 1]], ["row_splits"]), "shape must be -1 or 2 lengths"),
        (([-2, 2], [1], 0, [[0, 1]], ["row_splits"]), "shape must be -1 or 2 lengths"),
        (([1, 1, 3], [[1, 2]], 0, [[0, 1]], ["row_splits"]), r"must end in the shape of one value, \[2\]"),
        ((-1, [1], 0, [[0, 2]], ["row_splits"]), "of 2 values, but there are 1"),
        ((-1, [1], 0, [[1, 1]], ["row_splits"]), "begin with 0"),
        ((-1, [1], 0, [[0, 1, 0]], ["row_splits"]), "ascends"),
        ((-1, [1], 0, [[0, 1], [0, 1, 1]], ["row_splits", "row_splits"]), "has 2 rows"),
        ((-1, [1], 0, [[0, 1], [0, 0, 1]], ["row_splits", "row_splits"]), "has 2 rows"),
        ((-1, [1], 0, [[0, 1], [0, 0, 0, 1]], ["row_splits", "row_splits"]), "has 3 rows"),
        ((-1, [1, 2], 0, [2, [1, 0]], ["first_dim_size", "value_rowids"]), "value_rowids must ascend"),
        ((-1, [1, 2], 0, [1, [0, 1]], ["first_dim_size", "value_rowids"]), "has 2 rows"),
        ((-1, [1], 0, [[1, 2], [0]], ["first_dim_size", "value_rowids"]), "first_dim_size must be one length"),
        ((-1, [1], 0, [-1, [0]], ["first_dim_size", "value_rowids"]), "first_dim_size must be one length"),
    ],
)
def test_making_a_tensor_dense_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=f"(?i)ragged_?tensor_?to_?tensor: .*{message}"):
        vg.ragged_tensor_to_tensor(*arguments)

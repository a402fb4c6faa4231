"""Margins and blocks, against NumPy and TensorFlow.js."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import varigrad as vg

OFTEN = settings(max_examples=50)


@st.composite
def padded(draw, most=3, min_side=0):
    shape = draw(st.lists(st.integers(min_side, 6), min_size=1, max_size=3))
    array = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    return array, [[draw(st.integers(0, min(most, n + 3))), draw(st.integers(0, most))] for n in shape]


@OFTEN
@given(padded(), st.sampled_from([0, 2.5, math.inf]))
def test_pad_puts_a_margin_around(case, value):
    array, paddings = case
    np.testing.assert_array_equal(
        vg.pad(array, paddings, value).numpy(), np.pad(array, paddings, constant_values=value)
    )


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
@OFTEN
@given(padded(most=4, min_side=5))
def test_mirror_pad_mirrors_as_numpy_does(mode, case):
    array, paddings = case
    np.testing.assert_array_equal(vg.mirror_pad(array, paddings, mode).numpy(), np.pad(array, paddings, mode))


@OFTEN
@given(padded(most=1, min_side=2))
def test_mirror_pad_mirrors_up_to_the_whole_axis(case):
    array, _ = case
    paddings = [[n, n] for n in array.shape]
    result = vg.mirror_pad(array, paddings, "symmetric")
    np.testing.assert_array_equal(result.numpy(), np.pad(array, paddings, "symmetric"))


def test_pads_by_rank():
    assert vg.pad1d([1, 2], [1, 2], 3).tolist() == [3, 1, 2, 3, 3]
    assert vg.pad2d([[1]], [[0, 1], [1, 0]]).tolist() == [[0, 1], [0, 0]]
    assert vg.pad3d([[[1]]], [[0, 0], [0, 1], [1, 0]]).tolist() == [[[0, 1], [0, 0]]]
    assert vg.pad4d([[[[1]]]], [[0, 0]] * 3 + [[1, 1]]).tolist() == [[[[0, 1, 0]]]]
    with pytest.raises(ValueError, match="pad2d: x must have rank 2"):
        vg.pad2d([1], [[0, 0], [0, 0]])


def test_the_margin_of_integers_is_an_integer():
    # tf.pad(tf.tensor1d([1, 2], 'int32'), [[1, 0]], 1.5)
    result = vg.pad(vg.tensor([1, 2], dtype="int32"), [[1, 0]], 1.5)
    assert result.dtype == "int32"
    assert result.tolist() == [1, 1, 2]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.pad(1.0, []), ValueError, "scalar"),
        (lambda: vg.pad([1.0], [[1, 1], [0, 0]]), ValueError, "paddings must be 1 pairs"),
        (lambda: vg.pad([1.0], [[1]]), ValueError, "paddings must be 1 pairs"),
        (lambda: vg.pad([1.0], [[-1, 0]]), ValueError, "negative"),
        (lambda: vg.pad(["a"], [[1, 0]]), TypeError, "strings"),
        (lambda: vg.mirror_pad([1.0, 2.0], [[2, 0]], "reflect"), ValueError, "leaves 1 values to mirror"),
        (lambda: vg.mirror_pad([1.0, 2.0], [[0, 3]], "symmetric"), ValueError, "leaves 2 values to mirror"),
        (lambda: vg.mirror_pad([1.0], [[0, 0]], "wrap"), ValueError, "mode must be"),
        (lambda: vg.mirror_pad(1.0, [], "reflect"), ValueError, "scalar"),
    ],
)
def test_margins_that_do_not_fit_are_explained(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_mirror_pad_by_nothing_is_a_tensor_of_its_own():
    x = vg.tensor([1.0])
    assert vg.mirror_pad(x, [[0, 0]], "reflect") is not x


# Blocks. From TensorFlow.js: what it does to [[[[1, 2, 3]], …]] is fixed by this loop over its definition.


def blocks_by_loops(x, block, paddings):
    (bh, bw), ((top, bottom), (left, right)) = block, paddings
    x = np.pad(x, [(0, 0), (top, bottom), (left, right), (0, 0)])
    parts = [x[:, row::bh, column::bw] for row in range(bh) for column in range(bw)]
    return np.concatenate(parts)


@pytest.mark.parametrize("block", [(2, 2), (1, 3), (3, 1)])
@pytest.mark.parametrize("paddings", [((0, 0), (0, 0)), ((2, 4), (3, 3))])
def test_space_to_batch_moves_blocks_and_batch_to_space_brings_them_back(block, paddings):
    x = np.arange(2 * 6 * 6 * 2, dtype=np.float32).reshape(2, 6, 6, 2)
    moved = vg.space_to_batch_nd(x, block, paddings)
    np.testing.assert_array_equal(moved.numpy(), blocks_by_loops(x, block, paddings))
    np.testing.assert_array_equal(vg.batch_to_space_nd(moved, block, paddings).numpy(), x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vg.space_to_batch_nd(np.zeros((1, 3)), [2], [[0, 0]]), "not a whole number of blocks of 2"),
        (lambda: vg.space_to_batch_nd(np.zeros(3), [2], [[0, 0]]), "needs a batch axis and 1 spatial ones"),
        (lambda: vg.space_to_batch_nd(np.zeros((1, 2)), [2], []), "paddings must be 1 pairs"),
        (lambda: vg.space_to_batch_nd(np.zeros((1, 2)), [0], [[0, 0]]), "must be positive"),
        (lambda: vg.batch_to_space_nd(np.zeros((3, 1)), [2], [[0, 0]]), "batch of 3 is not a multiple"),
        (lambda: vg.batch_to_space_nd(np.zeros((2, 1)), [2], [[2, 1]]), "cut more than there is"),
    ],
)
def test_blocks_that_do_not_fit_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_depth_to_space_lays_channels_out_as_blocks():
    x = np.arange(2 * 2 * 3 * 8, dtype=np.float32).reshape(2, 2, 3, 8)
    result = vg.depth_to_space(x, 2)
    expected = np.empty((2, 4, 6, 2), np.float32)
    for row in range(4):
        for column in range(6):
            cell = (row % 2) * 2 + column % 2
            expected[:, row, column] = x[:, row // 2, column // 2, cell * 2 : cell * 2 + 2]
    np.testing.assert_array_equal(result.numpy(), expected)
    channels_first = vg.depth_to_space(np.moveaxis(x, 3, 1), 2, "NCHW")
    np.testing.assert_array_equal(np.moveaxis(channels_first.numpy(), 1, 3), expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vg.depth_to_space(np.zeros((1, 1, 1, 6)), 2), "6 channels are not a multiple of 4"),
        (lambda: vg.depth_to_space(np.zeros((1, 1, 1, 4)), 1), "block_size must be 2 or more"),
        (lambda: vg.depth_to_space(np.zeros((1, 1, 1, 4)), 2, "NWHC"), "data_format"),
        (lambda: vg.depth_to_space(np.zeros((1, 1, 4)), 2), "must have rank 4"),
    ],
)
def test_depth_to_space_explains_what_does_not_fit(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_depth_to_space_takes_no_integer_tensor():
    with pytest.raises(TypeError, match="depth_to_space: x must be floating, got int32; cast it"):
        vg.depth_to_space(vg.zeros([1, 1, 1, 4], "int32"), 2)

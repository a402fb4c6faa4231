"""Pooling: its arguments, ties, NaN and errors. Geometry is in test_windows.py."""

import numpy as np
import pytest

import varigrad as vg

X = np.arange(1.0, 10.0, dtype=np.float32).reshape(3, 3, 1)


def test_x_without_a_batch_gives_a_result_without_one():
    for op in (vg.max_pool, vg.avg_pool):
        np.testing.assert_array_equal(op(X, 2, 1, "same").numpy(), op(X[None], 2, 1, "same").numpy()[0])
    for op in (vg.max_pool3d, vg.avg_pool3d):
        assert op(vg.ones([3, 4, 5, 2]), 2, 1, "valid").shape == (2, 3, 4, 2)


def test_the_methods_are_the_functions():
    x = vg.tensor(X)
    assert x.max_pool(2, 1, "valid").tolist() == [[[5], [6]], [[8], [9]]]
    assert x.avg_pool(2, 1, "valid").tolist() == [[[3], [4]], [[6], [7]]]
    assert x.pool(2, "max", "valid").tolist() == [[[5], [6]], [[8], [9]]]


def test_a_mean_at_the_edge_counts_only_what_is_inside():
    assert vg.avg_pool([[[1], [2]], [[3], [4]]], 2, 1, "same").tolist() == [[[2.5], [3]], [[3.5], [4]]]


def test_the_largest_of_negative_numbers_at_the_edge_is_negative():
    assert vg.max_pool(-X, 3, 3, 1).reshape([-1]).tolist() == [-1]
    assert vg.max_pool(vg.tensor(-X, dtype="int32"), 3, 3, 1).reshape([-1]).tolist() == [-1]


def test_max_pool_passes_over_nan_and_avg_pool_does_not():
    x = np.where(X == 8, np.nan, X)
    # tf.maxPool(x, 2, 1, 0) and tf.avgPool(x, 2, 1, 0)
    np.testing.assert_array_equal(vg.max_pool(x, 2, 1, 0).numpy().ravel(), [5, 6, 7, 9])
    np.testing.assert_array_equal(vg.avg_pool(x, 2, 1, 0).numpy().ravel(), [3, 4, np.nan, np.nan])


def test_a_window_of_nan_has_no_largest_value():
    result, indexes = vg.max_pool_with_argmax(np.full((1, 2, 2, 1), np.nan), 2, 2, "valid")
    assert np.isnan(result.numpy()).all()
    assert indexes.reshape([-1]).tolist() == [-1]


def test_argmax_takes_the_first_of_several_and_counts_in_the_image_or_the_batch():
    x = vg.tensor([1, 4, 4, 0, 2, 2, 2, 2], [2, 2, 2, 1])
    assert vg.max_pool_with_argmax(x, 2, 2, "valid").indexes.reshape([-1]).tolist() == [1, 0]
    assert vg.max_pool_with_argmax(x, 2, 2, "valid", True).indexes.reshape([-1]).tolist() == [1, 4]
    assert vg.max_pool_with_argmax(x, 2, 2, "valid").indexes.dtype == "int32"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "int64"])
def test_max_pool_keeps_the_dtype(dtype):
    assert vg.max_pool(vg.tensor(X, dtype=dtype), 2, 1, "same").dtype == dtype


def test_bools_are_pooled_as_integers():
    y = vg.max_pool(vg.tensor([[[True], [False]]]), [1, 2], 1, "valid")
    assert (y.dtype, y.tolist()) == ("int32", [[[1]]])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_avg_pool_keeps_the_dtype(dtype):
    assert vg.avg_pool(vg.tensor(X, dtype=dtype), 2, 1, "same").dtype == dtype


def test_with_dilations_what_lies_beyond_the_edge_is_not_counted():
    assert vg.pool(-X, 2, "max", "same", dilations=2).reshape([-1]).tolist() == [-5, -4, -5, -2, -1, -2, -5, -4, -5]
    assert vg.pool([[[2], [4], [6]]], [1, 2], "avg", "same", dilations=[1, 2]).tolist() == [[[4], [4], [4]]]


@pytest.mark.parametrize("pooling_type", ["max", "avg"])
def test_a_window_of_one_place_gives_x_itself_where_the_shapes_agree(pooling_type):
    # TensorFlow.js's own specification: tf.pool(x, 1, 'max', 1, undefined, 2) of [2, 2, 3]
    x = vg.tensor(np.arange(1.0, 13.0).reshape(2, 2, 3))
    assert vg.pool(x, 1, pooling_type, 1, strides=2).tolist() == x.tolist()
    assert vg.grad(lambda x: vg.pool(x, 1, pooling_type, 1, strides=2))(x).tolist() == vg.ones_like(x).tolist()


def test_an_empty_batch_gives_an_empty_result_and_gradient():
    x = vg.zeros([0, 4, 4, 2])
    for op in (vg.max_pool, vg.avg_pool):
        assert op(x, 2, 2, "same").shape == (0, 2, 2, 2)
        assert vg.grad(lambda x, op=op: op(x, 2, 2, "same"))(x).shape == x.shape


def test_a_volume_smaller_than_the_window_gives_an_empty_result():
    assert vg.avg_pool3d(vg.ones([1, 1, 1, 1]), [1, 1, 3], 1, "valid").shape == (1, 1, 0, 1)


def test_pooling_leaves_its_input_as_it_was():
    x = vg.tensor(X)
    vg.max_pool(x, 1, 1, "valid")
    vg.avg_pool(x, 2, 1, "valid")
    np.testing.assert_array_equal(x.numpy(), X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: vg.max_pool(vg.ones([2, 2]), 2, 1, "same"),
            "max_pool: x must be [batch, height, width, channels] or [height, width, channels], got shape [2, 2]",
        ),
        (
            lambda: vg.max_pool(X, 4, 1, "valid"),
            "max_pool: a window of [4, 4] does not fit an input of [3, 3] with pad valid",
        ),
        (
            lambda: vg.max_pool(X, [2, 2, 2], 1, "valid"),
            "max_pool: filter_size must be 2 positive integers or one for all, got [2, 2, 2]",
        ),
        (
            lambda: vg.max_pool(X, 2, 1, [[0, 0], [1, 1]]),
            "max_pool: pad must be 'same', 'valid', a whole number, or [before, after] for each axis, "
            "got [[0, 0], [1, 1]]",
        ),
        (
            lambda: vg.avg_pool(X, 2, 1, [[0, 0], [0, 1.5], [0, 0], [0, 0]], "floor"),
            "avg_pool: pad must be 'same', 'valid', a whole number, or [before, after] for each axis, "
            "got [[0, 0], [0, 1.5], [0, 0], [0, 0]]",
        ),
        (
            lambda: vg.avg_pool(X, 2, 1, "same", "ceil"),
            "avg_pool: dim_rounding_mode 'ceil' needs a numeric pad; pad 'same' fixes the output",
        ),
        (
            lambda: vg.pool(X, 2, "sum", "same"),
            "pool: pooling_type must be 'max' or 'avg', got 'sum'",
        ),
        (
            lambda: vg.pool(X, 2, "max", "same", 2, 2),
            "pool: strides or dilations must be 1, got strides [2, 2] and dilations [2, 2]",
        ),
        (
            lambda: vg.max_pool3d(vg.ones([2, 2, 2, 1]), 2, 1, "same", data_format="NCDHW"),
            "max_pool3d: data_format must be 'NDHWC', got 'NCDHW'",
        ),
        (
            lambda: vg.max_pool_with_argmax(X, 2, 1, "same"),
            "max_pool_with_argmax: x must be [batch, height, width, channels], got shape [3, 3, 1]",
        ),
    ],
)
def test_what_does_not_fit_is_explained(call, message):
    with pytest.raises(ValueError, match=r"^") as raised:
        call()
    assert str(raised.value) == message


def test_integers_have_no_mean_here():
    with pytest.raises(TypeError, match=r"^avg_pool: x must be floating, got int32; cast it with .cast\('float32'\)$"):
        vg.avg_pool(vg.ones([2, 2, 1], "int32"), 2, 1, "same")
    with pytest.raises(TypeError, match=r"^max_pool: x must be real, got string$"):
        vg.max_pool([[["a"]]], 1, 1, "same")

"""Convolutions: against SciPy, their arguments and their errors. Geometry is in test_windows.py."""

import numpy as np
import pytest
from scipy.signal import correlate

import varigrad as vg


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def correlated(x, w):
    """SciPy's correlation of every image with every filter."""
    return np.stack(
        [
            [
                sum(correlate(image[..., c], w[..., c, f], "valid") for c in range(w.shape[-2]))
                for f in range(w.shape[-1])
            ]
            for image in x
        ]
    )


@pytest.mark.parametrize("shape", [(3, 9, 8, 2), (40, 28, 28, 1), (9, 20, 20, 16)])
def test_conv2d_is_scipys_correlation_for_batches_small_and_large(shape):
    x, w = normal(*shape), normal(5, 4, shape[-1], 3)
    np.testing.assert_allclose(
        vg.conv2d(x, w, 1, "valid").numpy(), np.moveaxis(correlated(x, w), 1, -1), rtol=1e-3, atol=1e-3
    )


def test_the_gradient_of_the_filter_adds_up_over_a_large_batch():
    x, w = normal(100, 20, 20, 2), normal(5, 5, 2, 3)
    dy = normal(100, 16, 16, 3)
    gradient = vg.grad(lambda w: vg.conv2d(x, w, 1, "valid"))(vg.tensor(w), vg.tensor(dy))
    expected = np.empty(w.shape)
    for i, j in np.ndindex(5, 5):
        expected[i, j] = np.einsum("nhwc,nhwf->cf", x[:, i : i + 16, j : j + 16], dy, dtype=np.float64)
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-3, atol=1e-2)


def test_a_filter_of_one_place_with_strides_and_padding_skips_and_pads():
    # tf.conv2d(tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]), tf.ones([1, 1, 1, 1]), 2, 1)
    y = vg.conv2d(vg.tensor([1, 2, 3, 4]).reshape([1, 2, 2, 1]), vg.ones([1, 1, 1, 1]), 2, 1)
    assert y.reshape([4]).tolist() == [0, 0, 0, 4]


def test_same_padding_puts_the_odd_one_after():
    y = vg.conv1d([[1], [2], [3]], vg.ones([2, 1, 1]), 1, "same")
    assert y.tolist() == [[3], [5], [3]]


def test_x_without_a_batch_gives_a_result_without_one():
    x, w = normal(4, 5, 2), normal(2, 2, 2, 3)
    for op in (vg.conv2d, vg.depthwise_conv2d):
        np.testing.assert_array_equal(op(x, w, 1, "same").numpy(), op(x[None], w, 1, "same").numpy()[0])
    line, w = normal(5, 2), normal(2, 2, 3)
    np.testing.assert_array_equal(vg.conv1d(line, w, 1, "same").numpy(), vg.conv1d(line[None], w, 1, "same").numpy()[0])
    assert vg.conv3d(normal(3, 4, 5, 2), normal(2, 2, 2, 2, 1), 1, "same").shape == (3, 4, 5, 1)
    assert vg.conv2d_transpose(normal(2, 3, 1), normal(2, 2, 4, 1), [4, 6, 4], 2, "same").shape == (4, 6, 4)
    assert vg.dilation2d(normal(4, 5, 2), normal(2, 2, 2), 1, "valid").shape == (3, 4, 2)


def test_the_methods_are_the_functions():
    x, w = vg.tensor(normal(1, 4, 4, 2)), vg.tensor(normal(2, 2, 2, 2))
    for name in ("conv2d", "depthwise_conv2d"):
        assert getattr(x, name)(w, 1, "same").tolist() == getattr(vg, name)(x, w, 1, "same").tolist()
    assert x.conv2d_transpose(w, [1, 4, 4, 2], 1, "same").shape == (1, 4, 4, 2)
    assert x.reshape([1, 16, 2]).conv1d(vg.ones([2, 2, 1]), 1, "valid").shape == (1, 15, 1)
    assert x.separable_conv2d(w, vg.ones([1, 1, 4, 1]), 1, "same").shape == (1, 4, 4, 1)
    assert x.dilation2d(vg.ones([2, 2, 2]), 1, "valid").shape == (1, 3, 3, 2)


def test_separable_conv2d_mixes_the_depthwise_results():
    x, d, p = normal(2, 5, 4, 3), normal(2, 3, 3, 2), normal(1, 1, 6, 4)
    deep = vg.depthwise_conv2d(x, d, [1, 1], "same", dilations=2).numpy()
    np.testing.assert_allclose(vg.separable_conv2d(x, d, p, 1, "same", 2).numpy(), deep @ p[0, 0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("length", [4, 5])
def test_conv2d_transpose_gives_the_one_wanted_of_several_shapes(length):
    y = vg.conv2d_transpose(vg.ones([1, 2, 2, 1]), vg.ones([2, 2, 1, 1]), [1, length, length, 1], 2, "valid")
    expected = np.zeros((length, length))
    expected[:4, :4] = 1
    np.testing.assert_array_equal(y.numpy()[0, ..., 0], expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_dtype_is_that_of_x(dtype):
    x, w = vg.ones([1, 3, 3, 1], dtype), vg.ones([2, 2, 1, 1], dtype)
    assert vg.conv2d(x, w, 1, "valid").dtype == dtype
    assert vg.conv2d(x, w, 1, "valid").reshape([4]).tolist() == [4] * 4
    assert vg.depthwise_conv2d(x, w, 1, "valid").dtype == dtype
    assert vg.dilation2d(x, w.reshape([2, 2, 1]), 1, "valid").dtype == dtype


def test_the_wider_dtype_wins():
    assert vg.conv2d(vg.ones([1, 2, 2, 1]), vg.ones([1, 1, 1, 1], "float64"), 1, "same").dtype == "float64"


def test_an_empty_batch_has_an_empty_result_and_a_gradient_of_zero():
    x, w = vg.zeros([0, 4, 4, 2]), vg.ones([3, 3, 2, 5])
    assert vg.conv2d(x, w, 1, "same").shape == (0, 4, 4, 5)
    dx, dw = vg.grads(lambda x, w: vg.conv2d(x, w, 1, "same"))([x, w])
    assert dx.shape == x.shape
    assert dw.tolist() == vg.zeros(w.shape).tolist()


def test_a_volume_smaller_than_the_filter_has_an_empty_result():
    assert vg.conv3d(vg.ones([1, 1, 1, 1]), vg.ones([1, 1, 3, 1, 1]), 1, "valid").shape == (1, 1, 0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: vg.conv2d(vg.ones([8, 28, 28, 4]), vg.ones([3, 3, 3, 16]), 1, "same"),
            "conv2d: the filter has 3 input channels but x has 4 (x: [8, 28, 28, 4], filter: [3, 3, 3, 16])",
        ),
        (
            lambda: vg.conv2d(vg.ones([2, 2]), vg.ones([1, 1, 1, 1]), 1, "same"),
            "conv2d: x must be [batch, height, width, channels], or without the batch, got shape [2, 2]",
        ),
        (
            lambda: vg.conv2d(vg.ones([2, 2, 1]), vg.ones([1, 1, 1]), 1, "same"),
            "conv2d: the filter must be [height, width, channels, filters], got shape [1, 1, 1]",
        ),
        (
            lambda: vg.conv2d(vg.ones([2, 2, 1]), vg.ones([3, 3, 1, 1]), 1, "valid"),
            "conv2d: a window of [3, 3] does not fit an input of [2, 2] with pad valid",
        ),
        (
            lambda: vg.conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), 2, "same", dilations=[1, 2]),
            "conv2d: strides or dilations must be 1, got strides [2, 2] and dilations [1, 2]",
        ),
        (
            lambda: vg.conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), 0, "same"),
            "conv2d: strides must be 2 positive integers or one for all, got 0",
        ),
        (
            lambda: vg.conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), 1, "SAME"),
            "conv2d: pad must be 'same', 'valid', a number or a list of pairs, got 'SAME'",
        ),
        (
            lambda: vg.conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), 1, -1),
            "conv2d: pad must be 'same', 'valid', a whole number, or [before, after] for each axis, got -1",
        ),
        (
            lambda: vg.conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), 1, "same", dim_rounding_mode="ceil"),
            "conv2d: dim_rounding_mode 'ceil' needs a numeric pad; pad 'same' fixes the output",
        ),
        (
            lambda: vg.conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), 1, 1, dim_rounding_mode="up"),
            "conv2d: dim_rounding_mode must be 'floor', 'ceil' or 'round', got 'up'",
        ),
        (
            lambda: vg.conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), 1, "same", "channels_last"),
            "conv2d: data_format must be 'NHWC' or 'NCHW', got 'channels_last'",
        ),
        (
            lambda: vg.conv1d(vg.ones([4, 1]), vg.ones([2, 1, 1]), 1, "same", "NCW"),
            "conv1d: data_format must be 'NWC', got 'NCW'",
        ),
        (
            lambda: vg.separable_conv2d(vg.ones([4, 4, 1]), vg.ones([2, 2, 1, 1]), vg.ones([2, 1, 1, 1]), 1, "same"),
            "separable_conv2d: pointwise_filter must be [1, 1, channels, filters], got shape [2, 1, 1, 1]",
        ),
        (
            lambda: vg.conv2d_transpose(vg.ones([1, 2, 2, 1]), vg.ones([2, 2, 3, 1]), [1, 6, 6, 3], 2, "valid"),
            "conv2d_transpose: with these strides and pad, output_shape [1, 6, 6, 3] belongs to an x of [1, 3, 3, 1], "
            "got [1, 2, 2, 1]",
        ),
        (
            lambda: vg.conv2d_transpose(vg.ones([1, 2, 2, 1]), vg.ones([2, 2, 3, 2]), [1, 4, 4, 3], 2, "valid"),
            "conv2d_transpose: the filter must be [height, width, filters, channels] with the filters of output_shape "
            "and the channels of x (x: [1, 2, 2, 1], filter: [2, 2, 3, 2], output_shape: [1, 4, 4, 3])",
        ),
        (
            lambda: vg.conv2d_transpose(vg.ones([1, 2, 2, 1]), vg.ones([2, 2, 3, 1]), [4, 4, 3], 2, "valid"),
            "conv2d_transpose: output_shape [4, 4, 3] must have as many axes as x, [1, 2, 2, 1]",
        ),
        (
            lambda: vg.dilation2d(vg.ones([4, 4, 2]), vg.ones([2, 2, 1]), 1, "same"),
            "dilation2d: the filter must be [height, width, channels] with the channels of x "
            "(x: [1, 4, 4, 2], filter: [2, 2, 1])",
        ),
    ],
)
def test_what_does_not_fit_is_explained(call, message):
    with pytest.raises(ValueError, match=r"^") as raised:
        call()
    assert str(raised.value) == message


def test_integers_are_for_the_caller_to_cast():
    with pytest.raises(TypeError, match=r"^conv2d: x must be floating, got int32; cast it with .cast\('float32'\)$"):
        vg.conv2d(vg.ones([2, 2, 1], "int32"), vg.ones([1, 1, 1, 1]), 1, "same")
    with pytest.raises(TypeError, match=r"^conv2d: strides must be an integer or 2 of them, got 1.5$"):
        vg.conv2d(vg.ones([2, 2, 1]), vg.ones([1, 1, 1, 1]), 1.5, "same")


OPS = {1: vg.conv1d, 2: vg.conv2d, 3: vg.conv3d}


@pytest.mark.parametrize("groups", [2, 6])
@pytest.mark.parametrize("axes", OPS)
def test_each_group_of_channels_meets_its_group_of_filters_alone(axes, groups):
    x, w = normal(2, *[5] * axes, 6), normal(*[2] * axes, 6 // groups, 12)
    parts = zip(np.split(x, groups, -1), np.split(w, groups, -1))
    expected = np.concatenate([np.moveaxis(correlated(*part), 1, -1) for part in parts], -1)
    y = OPS[axes](x, w, 1, "valid", groups=groups)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-4)
    alone = OPS[axes](x[0], w, 1, "valid", groups=groups)  # sums of terms of about 1, maybe in another order
    np.testing.assert_allclose(alone.numpy(), y[0].numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("groups", [2, 4])
def test_a_convolution_in_groups_has_gradients_of_both_orders(groups):
    x, w = normal(1, 3, 3, 4), normal(2, 2, 4 // groups, 4)
    vg.testing.check_gradients(lambda x, w: vg.conv2d(x, w, 1, "same", groups=groups), x, w)


def test_groups_are_of_the_channels_wherever_these_are():
    x, w = normal(2, 5, 4, 6), normal(3, 2, 3, 4)
    last = vg.conv2d(x, w, [2, 1], "same", groups=2)
    first = vg.conv2d(np.moveaxis(x, -1, 1), w, [2, 1], "same", "NCHW", groups=2)
    np.testing.assert_allclose(np.moveaxis(first.numpy(), 1, -1), last.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("filter", "groups", "message"),
    [
        ([2, 2, 3, 4], 4, "conv2d: the 6 channels of x do not make 4 groups of one size"),
        ([2, 2, 3, 5], 2, "conv2d: the 5 filters do not make 2 groups of one size"),
        ([2, 2, 6, 4], 2, "conv2d: the filter has 6 input channels, but each of 2 groups of x has 3"),
        ([2, 2, 6, 4], 0, "conv2d: groups must be 1 or more, got 0"),
        ([2, 2, 6, 4], "2", "conv2d: groups must be an integer, got '2'"),
    ],
)
def test_groups_that_do_not_fit_are_an_error(filter, groups, message):
    with pytest.raises((TypeError, ValueError), match=message):
        vg.conv2d(vg.zeros([1, 4, 4, 6]), vg.zeros(filter), 1, "valid", groups=groups)

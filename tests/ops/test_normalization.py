"""Softmax and normalization: values against SciPy, formulas and TensorFlow.js; axes, limits, errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import log_softmax, softmax

import varigrad as vg

STABLE = settings(max_examples=50)


@STABLE
@given(
    hnp.arrays(np.float32, hnp.array_shapes(min_dims=1, max_dims=3, max_side=5), elements=st.floats(-99, 99, width=32)),
    st.integers(-3, 2),
)
def test_softmax_is_scipys_along_any_axis(x, axis):
    axis = axis % x.ndim
    np.testing.assert_allclose(vg.softmax(x, axis).numpy(), softmax(x, axis), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(vg.log_softmax(x, axis).numpy(), log_softmax(x, axis), rtol=1e-5, atol=1e-5)


def test_softmax_of_widely_spread_logits():
    np.testing.assert_allclose(vg.softmax([999.5, 1000, 0, -5]).numpy(), [0.3775407, 0.6224593, 0, 0], rtol=1e-6)
    assert vg.softmax([-400, 300, 450]).tolist() == [0, 0, 1]
    assert vg.log_softmax([-400, 300, 450]).tolist() == [-850, -150, 0]
    dy = vg.tensor([1, 2, 3])
    assert vg.grad(vg.softmax)(vg.tensor([-400, 300, 450]), dy).tolist() == [0, 0, 0]
    assert vg.grad(vg.log_softmax)(vg.tensor([-400, 300, 450]), dy).tolist() == [1, 2, -3]


def test_softmax_gives_a_masked_logit_nothing():
    assert vg.softmax([-np.inf, 0, 0]).tolist() == [0, 0.5, 0.5]
    assert vg.grad(vg.softmax)(vg.tensor([-np.inf, 0, 0]), vg.tensor([5, 1, -1])).tolist() == [0, 0.5, -0.5]


@pytest.mark.parametrize("op", [vg.softmax, vg.log_softmax])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_softmax_of_nothing(op, shape):
    assert op(np.zeros(shape)).shape == shape
    assert vg.grad(lambda x: op(x, 0))(vg.tensor(np.zeros(shape))).shape == shape


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_softmax_keeps_the_dtype(dtype):
    assert vg.softmax(vg.tensor([1, 2], dtype=dtype)).dtype == dtype
    assert vg.log_softmax(vg.tensor([1, 2], dtype=dtype)).dtype == dtype


def test_softmax_takes_floating_tensors_and_numbers_of_any_kind():
    assert vg.softmax([0, 0]).tolist() == [0.5, 0.5]
    assert vg.softmax(np.zeros(2, np.int64)).tolist() == [0.5, 0.5]
    with pytest.raises(TypeError, match="softmax: logits must be floating, got int32; cast it"):
        vg.softmax(vg.tensor([0, 0], dtype="int32"))


# batch_norm


def test_batch_norm_is_tensorflow_js_s():
    x = [[2, 4], [6, 8]]
    # tf.batchNorm(x, [1, 2], [4, 9], [3, 4], [2, .5], .001)
    expected = [[3.9998750687, 4.3333148956], [7.9993753433, 4.9999446869]]
    np.testing.assert_allclose(vg.batch_norm(x, [1, 2], [4, 9], [3, 4], [2, 0.5]).numpy(), expected, rtol=1e-6)
    # tf.batchNorm(x, tf.tensor([[1, 2], [3, 4]]), tf.tensor([[4, 9], [1, 1]]))
    expected = [[0.4999375045, 0.6666296124], [2.9985010624, 3.9980015755]]
    result = vg.batch_norm(x, [[1, 2], [3, 4]], [[4, 9], [1, 1]])
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 4, 3), (2, 4, 5, 3), (2, 1, 4, 5, 3)])
@pytest.mark.parametrize("offset", [None, [1.0, 2.0, 3.0]])
@pytest.mark.parametrize("scale", [None, [0.5, -1.0, 2.0]])
def test_batch_norm_follows_its_formula_for_every_rank(shape, offset, scale):
    x = np.random.default_rng(0).normal(size=shape)
    mean, variance = np.array([0.5, 1.0, -1.0]), np.array([1.0, 2.0, 0.25])
    expected = (x - mean) / np.sqrt(variance + 0.1) * (1 if scale is None else scale) + (
        0 if offset is None else offset
    )
    result = vg.batch_norm(x, mean, variance, offset, scale, 0.1)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-6)


def test_batch_norm_keeps_its_digits_far_from_zero():
    x = np.array([[10_000.25], [10_000.75]], np.float32)
    result = vg.batch_norm(x, [10_000.5], [0.0625], variance_epsilon=0)
    assert result.tolist() == [[-1], [1]]


def test_batch_norm_with_a_mean_for_each_row():
    result = vg.batch_norm([[1, 3], [5, 9]], [[2], [7]], [[1], [4]], variance_epsilon=0)
    assert result.tolist() == [[-1, 1], [-1, 1]]


@pytest.mark.parametrize(("op", "rank"), [(vg.batch_norm2d, 2), (vg.batch_norm3d, 3), (vg.batch_norm4d, 4)])
def test_batch_norm_of_one_rank(op, rank):
    x = np.full((1,) * (rank - 1) + (2,), 3.0)
    np.testing.assert_allclose(op(x, [1, 2], [4, 1], variance_epsilon=0).numpy().ravel(), [1, 1])
    with pytest.raises(ValueError, match=rf"batch_norm{rank}d: x must have rank {rank}, got shape \[2\]"):
        op([1, 2], [1, 2], [4, 1])


def test_the_parameters_of_batch_norm_take_the_dtype_of_x():
    result = vg.batch_norm(vg.tensor([[1, 2]], dtype="float64"), [1, 2], [1, 1], offset=[1, 1])
    assert result.dtype == "float64"


# local_response_normalization


def test_local_response_normalization_is_tensorflow_js_s():
    x = np.arange(1.0, 9.0)
    # tf.localResponseNormalization(tf.range(1, 9).reshape([1, 2, 2, 2]))
    expected = [0.408248305, 0.816496611, 0.588348389, 0.784464538, 0.635000646, 0.762000740, 0.655610085, 0.749268651]
    result = vg.local_response_normalization(x.reshape(1, 2, 2, 2))
    assert result.shape == (1, 2, 2, 2)
    np.testing.assert_allclose(result.numpy().ravel(), expected, rtol=1e-6)
    # tf.localResponseNormalization(tf.range(1, 9).reshape([2, 2, 2]), 1, 1, .5, .75)
    expected = [0.390794963, 0.781589925, 0.425962061, 0.567949414, 0.376042634, 0.451251149, 0.335233301, 0.383123785]
    result = vg.local_response_normalization(x.reshape(2, 2, 2), 1, 1.0, 0.5, 0.75)
    np.testing.assert_allclose(result.numpy().ravel(), expected, rtol=1e-6)


@pytest.mark.parametrize("radius", [0, 1, 2, 7])
def test_local_response_normalization_sums_the_neighbours_within_the_radius(radius):
    x = np.random.default_rng(0).normal(size=(2, 3, 6))
    total = np.stack([(x[..., max(0, c - radius) : c + radius + 1] ** 2).sum(-1) for c in range(6)], -1)
    result = vg.local_response_normalization(x, radius, 2.0, 0.3, 0.6)
    np.testing.assert_allclose(result.numpy(), x / (2 + 0.3 * total) ** 0.6, rtol=1e-5)


# Errors


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: vg.softmax(1.0), ValueError, "softmax: dim -1 is out of range for a tensor of rank 0"),
        (lambda: vg.softmax([1, 2], 1), ValueError, "softmax: dim 1 is out of range"),
        (lambda: vg.softmax(["a"]), TypeError, "softmax: logits must be real, got string"),
        (lambda: vg.log_softmax(vg.tensor([1j])), TypeError, "log_softmax: logits must be real"),
        (
            lambda: vg.batch_norm([[1, 2, 3]], [1, 2], [1, 2]),
            ValueError,
            r"batch_norm: mean does not broadcast to x \(x: \[1, 3\], mean: \[2\]\)",
        ),
        (
            lambda: vg.batch_norm([1, 2], [1, 2], [[1, 2], [3, 4]]),
            ValueError,
            "batch_norm: variance does not broadcast",
        ),
        (lambda: vg.batch_norm([1, 2], [1, 2], [1, 2], scale=[1, 2, 3]), ValueError, "batch_norm: scale does not"),
        (lambda: vg.batch_norm([1, 2], [1, 2], [1, 2], offset=[1, 2, 3]), ValueError, "batch_norm: offset does not"),
        (lambda: vg.local_response_normalization([[1, 2]]), ValueError, r"x must have rank 3 or 4, got shape \[1, 2\]"),
        (lambda: vg.local_response_normalization(np.ones((1, 1, 2)), 1.5), TypeError, "must be an integer, got 1.5"),
        (lambda: vg.local_response_normalization(np.ones((1, 1, 2)), -1), ValueError, "must not be negative, got -1"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()

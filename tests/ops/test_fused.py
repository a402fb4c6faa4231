"""Products with bias and activation in one step, against the separate ops."""

import numpy as np
import pytest

import varigrad as vg

ACTIVATIONS = {
    "linear": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "leakyrelu": lambda x: np.where(x > 0, x, 0.3 * x),
    "prelu": lambda x: np.where(x > 0, x, np.arange(1, x.shape[-1] + 1) * x),
    None: lambda x: x,
}
RANDOM = np.random.default_rng(0)
OPTIONS = {"leakyrelu_alpha": 0.3, "prelu_activation_weights": [1.0, 2.0]}


def normal(*shape):
    return 3 * RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("bias", [None, (2,), (1, 2), (4, 1), ()])
def test_mat_mul_adds_and_activates(activation, bias):
    a, b = normal(4, 3), normal(3, 2)
    bias = None if bias is None else normal(*bias)
    y = vg.fused.mat_mul(a, b, bias=bias, activation=activation, **OPTIONS)
    expected = ACTIVATIONS[activation]((a @ b + (0 if bias is None else bias)).astype(np.float64))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_mat_mul_transposes(transpose_a, transpose_b, batch):
    a, b = normal(*batch, 4, 3), normal(3, 2)
    y = vg.fused.mat_mul(
        a.swapaxes(-1, -2) if transpose_a else a, b.T if transpose_b else b, transpose_a, transpose_b, [1, 2], "relu"
    )
    np.testing.assert_allclose(y.numpy(), np.maximum(a @ b + [1, 2], 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_dtype_is_that_of_the_factors(dtype):
    a = vg.ones([1, 2], dtype)
    y = vg.fused.mat_mul(a, vg.ones([2, 1], dtype), bias=[0.5], activation="relu")
    assert y.dtype == dtype
    assert y.tolist() == [[2.5]]


def test_integers_become_floats():
    y = vg.fused.mat_mul(vg.ones([1, 2], "int32"), vg.ones([2, 1], "int32"), activation="sigmoid")
    np.testing.assert_allclose(y.numpy(), [[1 / (1 + np.exp(-2))]], rtol=1e-6)


def test_a_sigmoid_far_below_zero_is_zero_without_a_warning():
    assert vg.fused.mat_mul([[-1000.0]], [[1.0]], activation="sigmoid").tolist() == [[0.0]]


def test_nan_passes_through_relu():
    assert np.isnan(vg.fused.mat_mul([[np.nan]], [[1.0]], activation="relu").numpy()).all()


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_conv2d_adds_and_activates_by_channel(activation, data_format):
    x, w, bias = normal(2, 4, 5, 3), normal(2, 2, 3, 2), normal(2)
    first = data_format == "NCHW"
    y = vg.fused.conv2d(
        x.transpose(0, 3, 1, 2) if first else x, w, 1, "same", data_format, bias=bias, activation=activation, **OPTIONS
    ).numpy()
    expected = ACTIVATIONS[activation](vg.conv2d(x, w, 1, "same").numpy() + bias)
    np.testing.assert_allclose(y.transpose(0, 2, 3, 1) if first else y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_depthwise_conv2d_adds_and_activates(activation):
    x, w, bias = normal(2, 4, 5, 1), normal(2, 2, 1, 2), normal(2)
    y = vg.fused.depthwise_conv2d(x, w, 2, "same", bias=bias, activation=activation, **OPTIONS)
    expected = ACTIVATIONS[activation](vg.depthwise_conv2d(x, w, 2, "same").numpy() + bias)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: vg.fused.mat_mul(vg.ones([2, 3]), vg.ones([4, 5])),
            "fused.mat_mul: a has 3 columns but b has 4 rows to multiply them with (a: [2, 3], b: [4, 5])",
        ),
        (
            lambda: vg.fused.mat_mul(vg.ones([2, 3]), vg.ones([3, 5]), bias=[1, 2]),
            "fused.mat_mul: bias of shape [2] cannot be added to a product of shape [2, 5]",
        ),
        (
            lambda: vg.fused.mat_mul(vg.ones([3]), vg.ones([3, 5])),
            "fused.mat_mul: a and b must have rank 2 or more (a: [3], b: [3, 5])",
        ),
        (
            lambda: vg.fused.mat_mul([[1]], [[1]], activation="tanh"),
            "fused.mat_mul: unknown activation 'tanh'; use one of elu, leakyrelu, linear, prelu, relu, relu6, sigmoid",
        ),
        (
            lambda: vg.fused.mat_mul([[1]], [[1]], activation="prelu"),
            "fused.mat_mul: the activation 'prelu' needs prelu_activation_weights",
        ),
        (
            lambda: vg.fused.conv2d(vg.ones([1, 2, 2, 1]), vg.ones([1, 1, 1, 3]), 1, "same", bias=[1, 2]),
            "fused.conv2d: bias of shape [2] cannot be added to a result of shape [1, 2, 2, 3]",
        ),
    ],
)
def test_what_does_not_fit_is_explained(call, message):
    with pytest.raises(ValueError, match=r"^") as raised:
        call()
    assert str(raised.value) == message

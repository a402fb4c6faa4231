"""Derivatives of pooling."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.gradients.pooling import GRADIENTS
from varigrad.testing import check_gradients


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


SETTINGS = {
    "apart": (2, 2, "valid"),
    "apart, same": (2, 2, "same"),
    "overlapping": (3, 1, "same"),
    "unequal": ([2, 3], [2, 1], 1, "ceil"),
    "unused columns": (2, 3, "valid"),
}
PLANE = {"filter_size": (2, 2), "strides": (1, 2), "dilations": (1, 1), "pads": ((0, 1), (1, 0))}
SPACE = {
    "filter_size": (1, 2, 2),
    "strides": (1, 2, 1),
    "dilations": (1, 1, 1),
    "pads": ((0, 0), (0, 1), (0, 0)),
}
X2, X3 = normal(2, 3, 3, 2), normal(1, 2, 3, 2, 2)


def at(kernel, attrs, x):
    """A kernel that is linear in its first argument, at a fixed x and the maximum that belongs to it."""
    x = vg.tensor(x, dtype="float64")
    y = vg.run_kernel(kernel.replace("Grad", ""), (x,), attrs)
    return lambda g: vg.run_kernel(kernel, (g, x, y), attrs)


# "Kernel: which case", and the function and arguments that run it.
CASES = {
    "AvgPool: one image": (lambda x: vg.avg_pool(x, 2, 2, "valid"), normal(4, 5, 2)),
    "AvgPool: dilations": (lambda x: vg.pool(x, 2, "avg", "same", dilations=2), normal(1, 4, 4, 1)),
    "AvgPool3D: same": (lambda x: vg.avg_pool3d(x, 2, 1, "same"), X3),
    "AvgPoolGrad: padded": (
        lambda dy: vg.run_kernel(
            "AvgPoolGrad", (dy,), {"input_shape": (1, 3, 3, 2), "count_padding": "never", **PLANE}
        ),
        normal(1, 3, 2, 2),
    ),
    "AvgPoolGrad: padding counted": (
        lambda dy: vg.run_kernel(
            "AvgPoolGrad", (dy,), {"input_shape": (1, 3, 3, 2), "count_padding": "always", **PLANE}
        ),
        normal(1, 3, 2, 2),
    ),
    "AvgPool3DGrad: padded": (
        lambda dy: vg.run_kernel(
            "AvgPool3DGrad", (dy,), {"input_shape": (1, 2, 3, 2, 2), "count_padding": "never", **SPACE}
        ),
        normal(1, 2, 2, 1, 2),
    ),
    "MaxPool: one image": (lambda x: vg.max_pool(x, 2, 2, "valid"), normal(4, 5, 2)),
    "MaxPool: dilations": (lambda x: vg.pool(x, 2, "max", "same", dilations=2), normal(1, 4, 4, 1)),
    "MaxPool: explicit pad": (
        lambda x: vg.max_pool(x, 2, 2, [[0, 0], [1, 0], [0, 1], [0, 0]]),
        normal(2, 3, 5, 2),
    ),
    "MaxPool3D: same": (lambda x: vg.max_pool3d(x, 2, 1, "same"), X3),
    "MaxPoolGrad: padded": (at("MaxPoolGrad", PLANE, X2), normal(2, 3, 2, 2)),
    "MaxPoolGradGrad: padded": (at("MaxPoolGradGrad", PLANE, X2), normal(2, 3, 3, 2)),
    "MaxPool3DGrad: padded": (at("MaxPool3DGrad", SPACE, X3), normal(1, 2, 2, 1, 2)),
    "MaxPool3DGradGrad: padded": (at("MaxPool3DGradGrad", SPACE, X3), normal(1, 2, 3, 2, 2)),
    "MaxPoolWithArgmax: same": (lambda x: vg.max_pool_with_argmax(x, 2, 1, "same").result, normal(1, 4, 4, 2)),
}
for _name, _arguments in SETTINGS.items():
    CASES |= {
        f"AvgPool: {_name}": (lambda x, a=_arguments: vg.avg_pool(x, *a), normal(2, 4, 5, 2)),
        f"MaxPool: {_name}": (lambda x, a=_arguments: vg.max_pool(x, *a), normal(2, 4, 5, 2)),
    }


@pytest.mark.parametrize("case", CASES)
def test_gradients_agree_with_differences(case):
    f, *arguments = CASES[case]
    check_gradients(f, *arguments)


def test_every_gradient_of_the_family_has_a_case():
    assert GRADIENTS.keys() <= {case.split(":")[0] for case in CASES}


@pytest.mark.parametrize("strides", [1, 2])
def test_of_several_largest_values_the_first_takes_the_gradient(strides):
    x = vg.tensor([[[3], [3]], [[3], [3]]])
    gradient = vg.grad(lambda x: vg.max_pool(x, 2, strides, "valid"))(x)
    assert gradient.reshape([4]).tolist() == [1, 0, 0, 0]


def test_a_value_that_is_largest_in_several_windows_takes_all_their_gradients():
    x = vg.tensor(np.arange(9.0).reshape(3, 3, 1)[::-1, ::-1].copy())
    x = vg.tensor(np.where(np.arange(9).reshape(3, 3, 1) == 4, 99.0, x.numpy()))
    gradient = vg.grad(lambda x: vg.max_pool(x, 2, 1, "valid"))(x, vg.tensor([1, 2, 3, 4]).reshape([2, 2, 1]))
    assert gradient.reshape([9]).tolist() == [0, 0, 0, 0, 10, 0, 0, 0, 0]


@pytest.mark.parametrize("strides", [1, 2])
def test_an_infinite_gradient_stays_out_of_what_is_not_the_largest(strides):
    gradient = vg.grad(lambda x: vg.max_pool(x, [1, 2], strides, "valid"))(vg.tensor([[[1], [2]]]), [[[np.inf]]])
    assert gradient.tolist() == [[[0], [np.inf]]]


def test_a_window_of_nan_has_no_gradient():
    x = vg.tensor([[[np.nan], [np.nan], [1], [2]]])
    gradient = vg.grad(lambda x: vg.max_pool(x, [1, 2], 2, "valid"))(x)
    assert gradient.reshape([4]).tolist() == [0, 0, 0, 1]


def test_with_a_pad_for_each_axis_the_gradient_of_a_mean_is_divided_by_the_whole_window():
    # The numbers of TensorFlow.js's own specification: tf.grad(x => x.avgPool(3, 1, [[0, 0], [1, 2], [0, 1], [0, 0]])).
    x = vg.tensor(np.arange(9.0).reshape(3, 3, 1))
    dy = vg.tensor([0, 3, 0, 6, 0, 9, 0, 12]).reshape([4, 2, 1])
    gradient = vg.grad(lambda x: vg.avg_pool(x, 3, 1, [[0, 0], [1, 2], [0, 1], [0, 0]]))(x, dy)
    np.testing.assert_allclose(gradient.numpy().ravel(), [0, 1, 1, 0, 2, 2, 0, 3, 3], rtol=1e-6)

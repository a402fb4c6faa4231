"""Products whose tiles go through what follows before they are written, against eager mode."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native.finishing import Finished
from varigrad.backends.native.machine import vector_lanes
from varigrad.backends.native.operations import Routine

random = np.random.default_rng(0)


def numbers(*shape):
    return random.normal(size=shape).astype("f")


def finished(program):
    return [step for step in program._steps if isinstance(step, Routine) and isinstance(step.code, Finished)]


SHAPES = [(1, 5, 40), (7, 12, 8), (24, 40, 64), (37, 300, 90), (128, 96, 160), (320, 20, 48)]

FOLLOWED_BY = {
    "a bias": lambda y, bias, other: y + bias,
    "a bias and an activation": lambda y, bias, other: vg.relu(y + bias),
    "a number": lambda y, bias, other: y * 0.5,
    "an array": lambda y, bias, other: y + other,
    "a mask": lambda y, bias, other: vg.where(other > 0, y, vg.zeros_like(y)),
    "a number for each row": lambda y, bias, other: y * other.max(1, keep_dims=True),
    "what is returned beside it": lambda y, bias, other: [vg.relu(y + bias), y],
    "two readers": lambda y, bias, other: [vg.relu(y), y.transpose()],
}


@pytest.mark.parametrize("follow", FOLLOWED_BY)
@pytest.mark.parametrize("shape", SHAPES)
def test_products_followed_by(shape, follow, assert_native_as_eager):
    m, k, n = shape
    assert_native_as_eager(
        lambda x, w, bias, other: FOLLOWED_BY[follow](vg.mat_mul(x, w), bias, other),
        numbers(m, k),
        numbers(k, n),
        numbers(n),
        numbers(m, n),
    )


@pytest.mark.parametrize("follow", ["a bias", "a bias and an activation", "a number", "an array"])
def test_they_run_as_one(follow, assert_native_as_eager):
    program = assert_native_as_eager(
        lambda x, w, bias, other: FOLLOWED_BY[follow](vg.mat_mul(x, w), bias, other),
        numbers(24, 40),
        numbers(40, 64),
        numbers(64),
        numbers(24, 64),
    )
    assert len(program._steps) == len(finished(program)) == 1


@pytest.mark.parametrize("vectors", [0.5, 1, 2, 5])
@pytest.mark.parametrize("strides", [1, 2])
def test_convolutions_with_bias_and_activation(vectors, strides, assert_native_as_eager):
    filters = int(vectors * vector_lanes())
    program = assert_native_as_eager(
        lambda x, w, bias: vg.relu(vg.conv2d(x, w, strides, "valid") + bias),
        numbers(3, 9, 11, 4),
        numbers(3, 3, 4, filters),
        numbers(filters),
    )
    assert len(finished(program)) == 1


def test_batches_of_products(assert_native_as_eager):
    n = 3 * vector_lanes()
    program = assert_native_as_eager(
        lambda x, y, bias: vg.relu(vg.mat_mul(x, y) + bias), numbers(3, 2, 10, 12), numbers(3, 2, 12, n), numbers(n)
    )
    assert len(finished(program)) == 1


def test_nan_and_infinity_pass_through(compile_native):
    x, w, bias = numbers(16, 8), numbers(8, 32), numbers(32)
    x[3, 2], x[5, 1], bias[7] = np.nan, np.inf, np.nan
    xs = [vg.tensor(array) for array in (x, w, bias)]
    (found,) = compile_native(lambda x, w, b: vg.relu(vg.mat_mul(x, w) + b), *xs)(*xs)
    (expected,) = [vg.relu(vg.mat_mul(xs[0], xs[1]) + xs[2]).numpy()]
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


def test_a_factor_that_is_overwritten_before_is_read_before():
    def step(w, x, bias):
        y = vg.mat_mul(x, w)
        w.assign(w * 2.0)
        return vg.relu(y + bias)

    weights, x, bias = numbers(12, 32), vg.tensor(numbers(6, 12)), vg.tensor(numbers(32))
    eager, compiled = vg.variable(weights), vg.variable(weights)
    jitted = vg.jit(lambda x, bias: step(compiled, x, bias), executor="native")
    for _ in range(4):
        np.testing.assert_allclose(jitted(x, bias).numpy(), step(eager, x, bias).numpy(), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(compiled.numpy(), eager.numpy())

"""Functions of numbers as vector code, over all of float32: within 4 units in the last place of float64."""

import numpy as np
import pytest
from scipy import special

import varigrad as vg


def all_magnitudes():
    """Numbers of every exponent and sign, those near 0 and 1, subnormal ones, zeros, infinities and NaN."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 100_000, dtype=np.uint64).astype(np.uint32)
    near = np.concatenate(
        [random.uniform(-1, 1, 40_000), random.uniform(-110, 110, 40_000), 1 + random.normal(0, 1e-3, 9_999)]
    )
    special_values = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1.0,
        -1.0,
        88.72283,
        88.73,
        -87.4,
        -103.9,
        -104.1,
        1e-45,
        -1e-45,
    ]
    return np.concatenate([bits.view(np.float32), near.astype(np.float32), np.float32(special_values)])


def softplus(x):
    return np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x)))


FUNCTIONS = {
    "exp": (vg.exp, np.exp),
    "expm1": (vg.expm1, np.expm1),
    "log": (vg.log, np.log),
    "log1p": (vg.log1p, np.log1p),
    "tanh": (vg.tanh, np.tanh),
    "sigmoid": (vg.sigmoid, special.expit),
    "softplus": (vg.softplus, softplus),
    "erf": (vg.erf, special.erf),
    "sqrt": (vg.sqrt, np.sqrt),
    "rsqrt": (vg.rsqrt, lambda x: 1 / np.sqrt(x)),
    "reciprocal": (vg.reciprocal, lambda x: 1 / x),
    "elu": (vg.elu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "sin": (vg.sin, np.sin),
    "cos": (vg.cos, np.cos),
    "atan": (vg.atan, np.arctan),
}

# As in eager mode: 1 / (1 + exp(-x)) is 0 where exp(-x) is infinite, though the right number is subnormal.
FLUSHED_TO_ZERO = {"sigmoid"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_four_units_in_the_last_place(name, compile_native):
    f, exact = FUNCTIONS[name]
    x = all_magnitudes()
    (found,) = compile_native(f, vg.tensor(x))(vg.tensor(x))
    with np.errstate(all="ignore"):
        right = exact(x.astype(np.float64))
        rounded = right.astype(np.float32)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
    overflow = np.isinf(rounded)
    assert np.all((found[overflow] == rounded[overflow]) | (np.abs(found[overflow]) > 3.4028e38))
    unit = np.spacing(np.maximum(np.abs(rounded[finite]), np.float32(2.0**-126)).astype(np.float32)).astype(np.float64)
    error = np.abs(found[finite].astype(np.float64) - right[finite]) / unit
    if name in FLUSHED_TO_ZERO:
        error[np.abs(right[finite]) < 2.0**-126] = 0
    worst = error.argmax()
    assert error[worst] <= 4, (x[finite][worst], found[finite][worst], right[finite][worst], error[worst])


@pytest.mark.parametrize("name", ["expm1", "log1p", "tanh", "erf", "sqrt", "sin", "elu"])
def test_the_sign_of_zero_stays(name, compile_native):
    x = vg.tensor(np.float32([0.0, -0.0]))
    (found,) = compile_native(FUNCTIONS[name][0], x)(x)
    np.testing.assert_array_equal(np.signbit(found), [False, True])
    np.testing.assert_array_equal(found, [0, 0])


@pytest.mark.parametrize("length", [1, 2, 3, 7, 8, 9, 15, 16, 17, 100])
def test_every_length_of_the_last_vector(length, compile_native):
    x = np.random.default_rng(length).normal(size=length).astype(np.float32)
    found = compile_native(lambda x: [vg.exp(x), vg.exp(x).sum(), x > 0], vg.tensor(x))(vg.tensor(x))
    right = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(found[0], right, rtol=1e-6)
    np.testing.assert_allclose(found[1], right.sum(), rtol=1e-6)
    np.testing.assert_array_equal(found[2], x > 0)

"""Functions of numbers as vector code, over all of float32 and float64: within 4 units in the last place.

What is right is computed with more digits: in float64 for float32, and in the C library's long double for float64,
where that has more than float64 itself.
"""

import numpy as np
import pytest
from scipy import special

import varigrad as vg


def all_magnitudes(dtype=np.float32):
    """Numbers of every exponent and sign, those near 0 and 1, subnormal ones, zeros, infinities and NaN."""
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**64, 100_000, dtype=np.uint64) >> (32 if dtype == np.float32 else 0)
    bits = bits.astype(np.uint32 if dtype == np.float32 else np.uint64)
    near = np.concatenate(
        [
            *(random.uniform(-1, 1, 40_000), random.uniform(-110, 110, 40_000), 1 + random.normal(0, 1e-3, 9_999)),
            *(random.uniform(-750, 750, 20_000), random.uniform(-1e9, 1e9, 5_000), np.arange(-500, 500) * np.pi / 4),
        ]
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
    return np.concatenate([bits.view(dtype), near.astype(dtype), np.array(special_values, dtype)])


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
    "tan": (vg.tan, np.tan),
    "asin": (vg.asin, np.arcsin),
    "acos": (vg.acos, np.arccos),
    "atan": (vg.atan, np.arctan),
    "sinh": (vg.sinh, np.sinh),
    "cosh": (vg.cosh, np.cosh),
    "asinh": (vg.asinh, np.arcsinh),
    "acosh": (vg.acosh, np.arccosh),
    "atanh": (vg.atanh, np.arctanh),
}

# As in eager mode: 1 / (1 + exp(-x)) is 0 where exp(-x) is infinite, though the right number is subnormal.
FLUSHED_TO_ZERO = {"sigmoid"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_four_units_in_the_last_place(name, compile_native):
    f, exact = FUNCTIONS[name]
    x = all_magnitudes()
    (found,) = compile_native(f, vg.tensor(x))(vg.tensor(x))
    with np.errstate(all="ignore"):
        assert_within_four_units(found, exact(x.astype(np.float64)), x, name in FLUSHED_TO_ZERO)


# SciPy's are no more exact than what they would judge; their own formulas take long double.
IN_LONG_DOUBLE = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": lambda x: special.erf(x.astype(np.float64)).astype(np.longdouble),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_four_units_of_float64(name, compile_native):
    f, exact = FUNCTIONS[name]
    x = all_magnitudes(np.float64)
    if np.finfo(np.longdouble).nmant < 60 and name in ("sin", "cos", "tan"):
        x = x[np.abs(x) < 1e9]  # both are the C library's, or as exact as it is
    (found,) = compile_native(f, vg.tensor(x, dtype="float64"))(vg.tensor(x, dtype="float64"))
    with np.errstate(all="ignore"):
        right = IN_LONG_DOUBLE.get(name, exact)(x.astype(np.longdouble))
        assert_within_four_units(found, right, x, name in FLUSHED_TO_ZERO)


def assert_within_four_units(found, right, x, flushed_to_zero=False):
    kind = np.finfo(found.dtype)
    rounded = right.astype(found.dtype)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded))
    overflow = np.isinf(rounded)
    assert np.all((found[overflow] == rounded[overflow]) | (np.abs(found[overflow]) >= kind.max * (1 - 2 * kind.eps)))
    unit = np.spacing(np.maximum(np.abs(rounded[finite]), kind.tiny)).astype(right.dtype)
    error = np.abs(found[finite].astype(right.dtype) - right[finite]) / unit
    if flushed_to_zero:
        error[np.abs(right[finite]) < kind.tiny] = 0
    worst = error.argmax()
    assert error[worst] <= 4, (x[finite][worst], found[finite][worst], right[finite][worst], error[worst])


def powers(dtype):
    """Bases and exponents whose power is neither 0 nor infinite, and some whose is; bases near 1 with large ones."""
    random = np.random.default_rng(1)
    limit = np.log(np.finfo(dtype).max) * 1.02
    base = np.concatenate([np.exp(random.uniform(-30, 30, 20_000)), 1 + random.normal(0, 1e-2, 20_000)])
    exponent = random.uniform(-1, 1, base.size) * limit / np.maximum(np.abs(np.log(base)), 1e-3)
    whole = np.repeat(np.arange(-7.0, 8.0), 40), np.tile(random.normal(0, 3, 40), 15)
    return np.concatenate([base, whole[1]]).astype(dtype), np.concatenate([exponent, whole[0]]).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_within_four_units_in_the_last_place(dtype, compile_native):
    base, exponent = powers(dtype)
    tensors = vg.tensor(base, dtype=dtype), vg.tensor(exponent, dtype=dtype)
    (found,) = compile_native(vg.pow, *tensors)(*tensors)
    wide = np.float64 if dtype == "float32" else np.longdouble
    with np.errstate(all="ignore"):
        assert_within_four_units(found, np.power(base.astype(wide), exponent.astype(wide)), base)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_angles_of_points_within_four_units_in_the_last_place(dtype, compile_native):
    x = all_magnitudes(np.dtype(dtype).type)
    random = np.random.default_rng(2)
    with np.errstate(all="ignore"):
        near = x * random.uniform(-3, 3, x.size).astype(dtype)
    y = np.where(random.random(x.size) < 0.5, near, random.permutation(x))
    tensors = vg.tensor(y, dtype=dtype), vg.tensor(x, dtype=dtype)
    (found,) = compile_native(vg.atan2, *tensors)(*tensors)
    wide = np.float64 if dtype == "float32" else np.longdouble
    with np.errstate(all="ignore"):
        assert_within_four_units(found, np.arctan2(y.astype(wide), x.astype(wide)), x)


ODD = ["expm1", "log1p", "tanh", "erf", "sqrt", "sin", "elu", "tan", "asin", "atan", "sinh", "asinh", "atanh"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ODD)
def test_the_sign_of_zero_stays(name, dtype, compile_native):
    x = vg.tensor([0.0, -0.0], dtype=dtype)
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

"""Trigonometric and hyperbolic functions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import varigrad as vg

REFERENCES = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "sin": np.sin,
    "sinh": np.sinh,
    "tan": np.tan,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_values(name, dtype):
    x = np.array([-np.inf, -2.5, -1, -0.5, 0, 0.5, 1, 1.5, np.inf, np.nan]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = REFERENCES[name](x.astype(np.float64))
    found = getattr(vg, name)(vg.tensor(x, dtype=dtype))
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found.numpy(), expected, rtol={"float16": 4e-3, "float32": 1e-6, "float64": 1e-14}[dtype]
    )


@settings(max_examples=50)
@given(
    x=hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
        elements=st.floats(-20, 20, width=32),
    ),
    name=st.sampled_from(sorted(REFERENCES)),
)
def test_any_shape_keeps_its_shape_and_float32(x, name):
    found = getattr(vg, name)(vg.tensor(x))
    assert found.dtype == "float32"
    assert found.shape == x.shape
    with np.errstate(all="ignore"):
        expected = REFERENCES[name](x.astype(np.float64))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)


FLOATING_ONLY = ["cos", "cosh", "sin", "tan", "tanh"]


@pytest.mark.parametrize("name", FLOATING_ONLY)
def test_what_tensorflow_js_keeps_from_integers_takes_no_integer_or_bool_tensor(name):
    for x in (vg.tensor([1, 4], dtype="int32"), vg.tensor([True])):
        with pytest.raises(TypeError, match=rf"{name}: x must be floating, got {x.dtype}; cast it"):
            getattr(vg, name)(x)
    assert getattr(vg, name)(np.array([1, 4])).dtype == "float32"


@pytest.mark.parametrize("name", sorted(REFERENCES.keys() - set(FLOATING_ONLY)))
def test_integers_and_bools_are_taken_as_float32(name):
    for x in (vg.tensor([-3, 0, 1, 7], dtype="int32"), vg.tensor([True, False])):
        found = getattr(vg, name)(x)
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found.numpy(), getattr(vg, name)(x.cast("float32")).numpy())


@pytest.mark.parametrize("name", ["cos", "cosh", "sin", "sinh", "tan", "tanh"])
def test_complex_numbers(name):
    z = np.array([1 + 0.3j, -0.2 + 0.4j], np.complex64)
    found = getattr(vg, name)(vg.tensor(z))
    assert found.dtype == "complex64"
    np.testing.assert_allclose(found.numpy(), REFERENCES[name](z.astype(np.complex128)), rtol=1e-5)


@pytest.mark.parametrize("name", ["acos", "acosh", "asin", "asinh", "atan", "atanh"])
def test_inverses_refuse_complex_numbers(name):
    with pytest.raises(TypeError, match=f"{name}: x must be real, got complex64"):
        getattr(vg, name)(vg.tensor([1 + 2j]))


def test_methods_are_the_functions():
    x = vg.tensor([0.5, 0.25])
    for name in REFERENCES:
        np.testing.assert_array_equal(getattr(x, name)().numpy(), getattr(vg, name)(x).numpy())


def test_outside_its_domain_an_inverse_is_nan():
    for name, x in (("acos", 1.5), ("asin", -1.5), ("acosh", 0.5), ("atanh", 2.0)):
        assert math.isnan(getattr(vg, name)(x).item())


def test_tan_of_large_numbers_is_exact_to_the_last_place():
    x = np.array([-608065414.8781943, -470910673.97399473, 1873777868.5510726, 1.5707963], np.float32)
    np.testing.assert_array_equal(vg.tan(x).numpy(), np.tan(x.astype(np.float64)).astype(np.float32))

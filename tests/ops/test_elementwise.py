"""Functions of single numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import special

import varigrad as vg

INTS = vg.tensor([-3, 0, 1, 7], dtype="int32")
BOOLS = vg.tensor([True, False])
ALL = np.array([-np.inf, -1e3, -2.5, -1.5, -0.5, -1e-4, 0, 1e-4, 0.5, 1.5, 2.5, 1e3, np.inf, np.nan])

# Each function beside another implementation in float64, and numbers where it has a value.
REFERENCES = {
    "abs": (vg.abs, np.abs, ALL),
    "ceil": (vg.ceil, np.ceil, ALL),
    "clip_by_value": (lambda x: vg.clip_by_value(x, -1.5, 2), lambda x: np.clip(x, -1.5, 2), ALL),
    "elu": (vg.elu, lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), ALL),
    "elu with alpha": (
        lambda x: vg.elu(x, 0.3),
        lambda x: np.where(x > 0, x, 0.3 * np.expm1(np.minimum(x, 0))),
        ALL,
    ),
    "erf": (vg.erf, special.erf, ALL),
    "exp": (vg.exp, np.exp, ALL[np.abs(ALL) != 1e3]),
    "expm1": (vg.expm1, np.expm1, ALL[ALL != 1e3]),
    "floor": (vg.floor, np.floor, ALL),
    "gelu": (vg.gelu, lambda x: x * special.ndtr(x), ALL[np.isfinite(ALL)]),
    "leaky_relu": (vg.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x), ALL),
    "leaky_relu with a steep slope": (lambda x: vg.leaky_relu(x, 3), lambda x: np.where(x > 0, x, 3 * x), ALL),
    "log": (vg.log, np.log, ALL),
    "log1p": (vg.log1p, np.log1p, ALL),
    "log_sigmoid": (vg.log_sigmoid, special.log_expit, ALL),
    "neg": (vg.neg, np.negative, ALL),
    "reciprocal": (vg.reciprocal, np.reciprocal, ALL),
    "relu": (vg.relu, lambda x: np.maximum(x, 0), ALL),
    "relu6": (vg.relu6, lambda x: np.clip(x, 0, 6), ALL),
    "round": (vg.round, np.round, ALL),
    "rsqrt": (vg.rsqrt, lambda x: 1 / np.sqrt(x), ALL),
    "selu": (
        vg.selu,
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
        ALL,
    ),
    "sigmoid": (vg.sigmoid, special.expit, ALL),
    "sign": (vg.sign, lambda x: np.nan_to_num(np.sign(x)), ALL),
    "softplus": (vg.softplus, lambda x: np.logaddexp(x, 0), ALL),
    "sqrt": (vg.sqrt, np.sqrt, ALL),
    "square": (vg.square, np.square, ALL),
    "step": (vg.step, lambda x: np.heaviside(x, 0), ALL),
    "step with alpha": (lambda x: vg.step(x, 0.3), lambda x: np.heaviside(x, 0.3) + 0.3 * (x < 0), ALL),
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values(name, dtype):
    f, reference, values = REFERENCES[name]
    x = values.astype(dtype)
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64)).astype(dtype)
    found = f(vg.tensor(x, dtype=dtype))
    assert found.dtype == dtype
    epsilon = np.finfo(dtype).eps
    # gelu far below 0 is a difference of numbers near 1.
    np.testing.assert_allclose(found.numpy(), expected, rtol=4 * epsilon, atol=epsilon if name == "gelu" else 1e-7)


@settings(max_examples=50)
@given(
    x=hnp.arrays(
        np.float32,
        hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
        elements=st.floats(-80, 80, width=32),
    ),
    name=st.sampled_from(sorted(REFERENCES)),
)
def test_any_shape_keeps_its_shape_and_float32(x, name):
    f, reference, _ = REFERENCES[name]
    found = f(vg.tensor(x))
    assert found.dtype == "float32"
    assert found.shape == x.shape
    with np.errstate(all="ignore"):
        expected = reference(x.astype(np.float64))
    np.testing.assert_allclose(found.numpy(), expected, rtol=3e-6, atol=1e-5)


@settings(max_examples=50)
@given(hnp.arrays(np.float32, 20, elements=st.floats(-40, 0, width=32)))
def test_elu_keeps_its_digits_near_zero(x):
    np.testing.assert_allclose(vg.elu(vg.tensor(x)).numpy(), np.expm1(x.astype(np.float64)), rtol=5e-7, atol=1e-40)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        # tf.abs([-3, 0, 1, 7]) and so on, of int32
        (vg.abs, [3, 0, 1, 7]),
        (vg.neg, [3, 0, -1, -7]),
        (vg.sign, [-1, 0, 1, 1]),
        (vg.square, [9, 0, 1, 49]),
        (vg.relu, [0, 0, 1, 7]),
        (vg.relu6, [0, 0, 1, 6]),
        (vg.round, [-3, 0, 1, 7]),
        (vg.step, [0, 0, 1, 1]),
        (lambda x: vg.clip_by_value(x, -2, 5), [-2, 0, 1, 5]),
    ],
)
def test_integers_stay_integers_where_the_result_is_whole(f, expected):
    found = f(INTS)
    assert found.dtype == "int32"
    assert found.tolist() == expected


@pytest.mark.parametrize(
    "f",
    [
        vg.erf,
        vg.exp,
        vg.expm1,
        vg.gelu,
        vg.leaky_relu,
        vg.log1p,
        vg.log_sigmoid,
        vg.reciprocal,
        vg.selu,
        vg.softplus,
        lambda x: vg.prelu(x, 0.5),
    ],
)
def test_functions_with_fractions_take_integers_and_bools_as_float32(f):
    for x in (INTS, BOOLS):
        found = f(x)
        assert found.dtype == "float32"
        np.testing.assert_array_equal(found.numpy(), f(x.cast("float32")).numpy())


@pytest.mark.parametrize("name", ["ceil", "elu", "floor", "log", "rsqrt", "sigmoid", "sqrt"])
def test_what_tensorflow_js_keeps_from_integers_takes_no_integer_or_bool_tensor(name):
    for x in (INTS, BOOLS):
        with pytest.raises(TypeError, match=rf"{name}: x must be floating, got {x.dtype}; cast it"):
            getattr(vg, name)(x)
    # What is no tensor yet becomes float32.
    for x in ([1, 4], np.array([1, 4]), [True, True]):
        expected = getattr(vg, name)(vg.tensor(x).cast("float32"))
        np.testing.assert_array_equal(getattr(vg, name)(x).numpy(), expected.numpy())


def test_bools_become_integers_where_the_result_is_whole():
    for f in (vg.abs, vg.neg, vg.square, vg.sign, vg.relu, vg.round):
        assert f(BOOLS).dtype == "int32"
    assert vg.neg(BOOLS).tolist() == [-1, 0]


def test_rounding_goes_to_the_even_number():
    # tf.round([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])
    assert vg.round([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]).tolist() == [-2, -2, 0, 0, 2, 2]


def test_the_sign_of_nan_is_zero_and_its_step_nan():
    # As the specs of tf.sign and tf.step have it.
    assert vg.sign([math.nan]).tolist() == [0]
    assert math.isnan(vg.step([math.nan]).item())
    assert math.isnan(vg.step([math.nan], 0.3).item())


def test_relus_keep_nan():
    for f in (vg.relu, vg.relu6, vg.leaky_relu, vg.elu, vg.selu, vg.gelu):
        assert math.isnan(f([math.nan]).item())


@pytest.mark.parametrize(
    ("f", "reference"), [(vg.is_nan, np.isnan), (vg.is_inf, np.isinf), (vg.is_finite, np.isfinite)]
)
def test_what_kind_of_number_it_is(f, reference):
    for x in (ALL, np.array([-3, 7], np.int32), np.array([True]), np.array([1j, np.nan], np.complex64)):
        assert f(x).dtype == "bool"
        np.testing.assert_array_equal(f(x).numpy(), reference(x))


def test_clipping_integers_by_fractions_stays_within_the_limits():
    x = vg.tensor([-5, -1, 1, 3, 10], dtype="int32")
    assert vg.clip_by_value(x, -1.5, 5.5).tolist() == [-1, -1, 1, 3, 5]
    assert vg.clip_by_value(x, 1.5, math.inf).tolist() == [2, 2, 2, 3, 10]
    assert vg.clip_by_value(x, -math.inf, 2.5).tolist() == [-5, -1, 1, 2, 2]


def test_clipping_by_numpy_numbers_keeps_the_dtype():
    assert vg.clip_by_value(vg.tensor([-5, 9], dtype="int32"), np.float32(-1), np.int64(2)).dtype == "int32"


def test_clipping_by_tensors_broadcasts():
    x = vg.tensor([[-3.0, 3.0], [0.5, 5.0]])
    assert vg.clip_by_value(x, [[-1.0], [1.0]], [2.0, 4.0]).tolist() == [[-1, 3], [1, 4]]


def test_clipping_to_no_interval_is_an_error():
    with pytest.raises(ValueError, match=r"clip_by_value: clip_value_min \(3\) must not be greater than"):
        vg.clip_by_value([1.0], 3, 2)


def test_prelu_broadcasts_its_slopes():
    assert vg.prelu([[-2, 3], [-4, -6]], [0.5, 2]).tolist() == [[-1, 3], [-2, -12]]
    with pytest.raises(ValueError, match=r"prelu: a and b cannot be broadcast together \(a: \[2\], b: \[3\]\)"):
        vg.prelu([1, 2], [1, 2, 3])


def test_complex_numbers():
    z = np.array([1 + 3j, -2 + 4j, 0.5j], np.complex64)
    x = vg.tensor(z)
    # tf.abs(tf.complex([1, -2], [3, 4]))
    np.testing.assert_allclose(vg.abs(x).numpy()[:2], [3.1622776985168457, 4.4721360206604], rtol=1e-6)
    assert vg.abs(x).dtype == "float32"
    for f, reference in [
        (vg.neg, np.negative),
        (vg.square, np.square),
        (vg.exp, np.exp),
        (vg.log, np.log),
        (vg.sqrt, np.sqrt),
        (vg.rsqrt, lambda z: 1 / np.sqrt(z)),
        (vg.reciprocal, lambda z: 1 / z),
    ]:
        assert f(x).dtype == "complex64"
        np.testing.assert_allclose(f(x).numpy(), reference(z.astype(np.complex128)), rtol=1e-5)


@pytest.mark.parametrize("name", ["relu", "floor", "sign", "sigmoid", "erf", "softplus", "step", "log1p", "gelu"])
def test_functions_of_real_numbers_refuse_complex_ones(name):
    with pytest.raises(TypeError, match=f"{name}: x must be real, got complex64"):
        getattr(vg, name)(vg.tensor([1 + 2j]))


@pytest.mark.parametrize("name", ["relu", "exp", "abs", "sqrt", "is_nan"])
def test_strings_are_refused(name):
    with pytest.raises(TypeError, match=f"{name}: x must be (numeric|real), got string"):
        getattr(vg, name)(["a"])


def test_none_is_refused():
    with pytest.raises(TypeError, match="exp: x must be a tensor or an array, got None"):
        vg.exp(None)


def test_python_operators():
    x = vg.tensor([-1.25, 2.5])
    assert (-x).tolist() == [1.25, -2.5]
    assert (+x).tolist() == [-1.25, 2.5]
    assert abs(x).tolist() == [1.25, 2.5]
    assert round(x).tolist() == [-1, 2]
    np.testing.assert_allclose(round(vg.tensor([3.14159, 2.71828]), 2).numpy(), [3.14, 2.72], rtol=1e-6)


def test_methods_are_the_functions():
    x = vg.tensor([0.5, 0.25])
    for name in sorted(set(vg.ops.elementwise.__all__) - {"clip_by_value", "prelu"}):
        np.testing.assert_array_equal(getattr(x, name)().numpy(), getattr(vg, name)(x).numpy())
    assert x.clip_by_value(0.3, 1).tolist() == vg.clip_by_value(x, 0.3, 1).tolist()
    assert x.prelu(0.5).tolist() == x.tolist()


def test_slopes_of_prelu_do_not_matter_where_x_is_not_negative():
    slopes = [np.inf, -np.inf, np.nan]
    assert vg.prelu([2.0, 1.0, 3.0], slopes).tolist() == [2, 1, 3]
    assert vg.prelu([0.0, 0.0, 0.0], slopes).tolist() == [0, 0, 0]

"""First values of weights."""

import math

import numpy as np
import pytest

import varigrad as vg
from varigrad.layers.initializers import get_initializer

I = vg.initializers  # noqa: E741

# new class names and configs by tf.initializers.X({}).getConfig() in tfjs 4.22, keys in snake_case.
STORED = [
    (I.zeros(), "Zeros", {}),
    (I.ones(), "Ones", {}),
    (I.constant(value=2.5), "Constant", {"value": 2.5}),
    (I.random_uniform(), "RandomUniform", {"minval": -0.05, "maxval": 0.05, "seed": None}),
    (I.random_normal(), "RandomNormal", {"mean": 0, "stddev": 0.05, "seed": None}),
    (I.truncated_normal(), "TruncatedNormal", {"mean": 0, "stddev": 0.05, "seed": None}),
    (I.identity(), "Identity", {"gain": 1}),
    (I.orthogonal(seed=4), "Orthogonal", {"gain": 1, "seed": 4}),
    (
        I.variance_scaling(),
        "VarianceScaling",
        {"scale": 1, "mode": "fan_in", "distribution": "normal", "seed": None},
    ),
]
# As VarianceScaling: scale, mode, distribution.
SCALED = {
    "glorot_normal": (1, "fan_avg", "normal"),
    "glorot_uniform": (1, "fan_avg", "uniform"),
    "he_normal": (2, "fan_in", "normal"),
    "he_uniform": (2, "fan_in", "uniform"),
    "le_cun_normal": (1, "fan_in", "normal"),
    "le_cun_uniform": (1, "fan_in", "uniform"),
}


@pytest.mark.parametrize(("initializer", "class_name", "config"), STORED, ids=lambda v: v if isinstance(v, str) else "")
def test_stored_forms_are_those_of_tensorflow_js_and_make_an_equal_one(initializer, class_name, config):
    assert initializer.class_name == class_name
    assert initializer.get_config() == config
    again = get_initializer({"class_name": class_name, "config": config})
    assert type(again) is type(initializer)
    assert again.get_config() == config


@pytest.mark.parametrize("name", SCALED)
def test_the_named_scalings_are_stored_as_variance_scaling(name):
    scale, mode, distribution = SCALED[name]
    initializer = getattr(I, name)(seed=3)
    assert initializer.class_name == "VarianceScaling"
    assert initializer.get_config() == {"scale": scale, "mode": mode, "distribution": distribution, "seed": 3}


@pytest.mark.parametrize(
    "names",
    [
        ("glorotNormal", "glorot_normal", "GlorotNormal"),
        ("leCunUniform", "le_cun_uniform", "lecun_uniform", "LecunUniform", "LeCunUniform"),
        ("zeros", "Zeros"),
        ("randomNormal", "random_normal", "RandomNormal"),
    ],
)
def test_every_spelling_of_a_name_is_found(names):
    assert len({repr(get_initializer(name)) for name in names}) == 1
    assert len({repr(get_initializer({"class_name": name, "config": {}})) for name in names}) == 1


def test_an_unknown_name_is_an_error_that_suggests_one():
    with pytest.raises(ValueError, match=r"unknown initializer 'zeroes'; did you mean 'zeros'\?"):
        get_initializer("zeroes")
    with pytest.raises(TypeError, match="an initializer is a name"):
        get_initializer(7)


# Array.from(tf.initializers.X({seed: 3}).apply([2, 3]).dataSync()) in tfjs 4.22.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("glorot_uniform", [-0.2429951, -0.2265892, -0.9463276, 0.03168083, -0.7086091, -0.6374328]),
        ("he_uniform", [-0.384209, -0.358269, -1.496275, 0.05009178, -1.120409, -1.00787]),
        ("random_uniform", [-0.01109116, -0.01034234, -0.04319375, 0.001446025, -0.03234343, -0.02909469]),
        ("random_normal", [-0.07988404, -0.07449065, -0.03815809, 0.001277443, -0.02773509, -0.02494923]),
        ("truncated_normal", [-0.07988404, -0.07449065, -0.03815809, 0.001277443, -0.02773509, -0.02494923]),
        ("glorot_normal", [-1.010462, -0.9422405, -0.4826659, 0.01615852, -0.3508242, -0.3155856]),
    ],
)
def test_a_seed_gives_the_numbers_of_tensorflow_js(name, expected):
    values = getattr(I, name)(seed=3).apply([2, 3])
    np.testing.assert_allclose(values.numpy().reshape(-1), expected, rtol=2e-6)


# The share of its variance that a normal distribution keeps when cut off at two deviations:
# 1 - 4 phi(2) / (2 Phi(2) - 1).
CUT = 1 - 4 * math.exp(-2) / math.sqrt(2 * math.pi) / math.erf(math.sqrt(2))


@pytest.mark.parametrize(
    ("distribution", "share"), [("normal", CUT), ("uniform", 1), ("truncated_normal", 1), ("untruncated_normal", 1)]
)
@pytest.mark.parametrize(
    ("mode", "shape", "fan"),
    [
        ("fan_in", [3, 5, 40, 70], 600),
        ("fan_out", [200, 210], 210),
        ("fan_avg", [200, 210], 205),
        ("fan_in", [40000], 200),
    ],
)
def test_the_variance_is_scale_over_fan(distribution, share, mode, shape, fan):
    values = I.variance_scaling(scale=3, mode=mode, distribution=distribution, seed=1).apply(shape).numpy()
    assert values.var() == pytest.approx(3 / fan * share, rel=0.03)
    assert abs(values.mean()) < 3 * math.sqrt(3 / fan / values.size)


def test_truncated_values_stay_within_two_deviations():
    values = I.truncated_normal(mean=1, stddev=0.5, seed=2).apply([10000]).numpy()
    assert np.abs(values - 1).max() <= 1.0


@pytest.mark.parametrize("shape", [[6, 4], [4, 6], [5, 5], [3, 2, 4], [2, 1, 5]])
def test_orthogonal_columns_or_rows_have_length_gain_and_right_angles(shape):
    values = I.orthogonal(gain=2, seed=5).apply(shape)
    assert values.shape == tuple(shape)
    matrix = values.numpy().reshape(-1, shape[-1])
    square = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(square, 4 * np.eye(len(square)), atol=1e-5)


def test_identity_is_square():
    assert I.identity(gain=3).apply([2, 2]).tolist() == [[3, 0], [0, 3]]
    with pytest.raises(ValueError, match=r"square matrices only, not \[2, 3\]"):
        I.identity().apply([2, 3])


def test_bad_arguments_are_errors():
    with pytest.raises(ValueError, match="scale must be positive"):
        I.variance_scaling(scale=0)
    with pytest.raises(ValueError, match="mode must be one of fan_in"):
        I.variance_scaling(mode="fan")
    with pytest.raises(ValueError, match="rank 2 or more"):
        I.orthogonal().apply([3])
    for wrong in (None, "1", [1], math.nan, 10**400):
        with pytest.raises(ValueError, match="variance_scaling: scale must be a number of at least 0"):
            I.variance_scaling(scale=wrong)
        with pytest.raises(ValueError, match="orthogonal: gain must be a number"):
            I.orthogonal(gain=wrong)
        with pytest.raises(ValueError, match="identity: gain must be a number"):
            I.identity(gain=wrong)


@pytest.mark.parametrize("name", ["zeros", "ones", "glorot_uniform", "glorot_normal", "orthogonal", "identity"])
@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_other_floating_dtypes_are_made(name, dtype):
    assert get_initializer(name).apply([3, 3], dtype).dtype == dtype


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float16", 5e-3), ("bfloat16", 4e-2)])
def test_orthogonal_matrices_of_other_dtypes_have_right_angles(dtype, tolerance):
    matrix = I.orthogonal(gain=10**20 if dtype != "float16" else 100, seed=5).apply([4, 4], dtype)
    scaled = matrix.numpy().astype(np.float64) / (1e20 if dtype != "float16" else 100)
    np.testing.assert_allclose(scaled.T @ scaled, np.eye(4), atol=tolerance)


def test_an_initializer_of_your_own_is_stored_once_registered():
    @vg.serialization.register_class
    class Rising(I.Initializer):
        def __init__(self, step=1):
            self.step = step

        def apply(self, shape, dtype="float32"):
            return vg.reshape(vg.range(0, self.step * math.prod(shape), self.step), shape)

    layer = vg.layers.dense(units=2, kernel_initializer=Rising(step=2), input_shape=[2])
    model = vg.sequential(layers=[layer])
    again = vg.Sequential.from_config(model.get_config())
    assert again.get_weights()[0].tolist() == [[0, 2], [4, 6]]

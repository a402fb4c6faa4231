"""Random numbers: TensorFlow.js's own for a seed, well distributed and fresh ones without."""

import math
import threading

import numpy as np
import pytest
from scipy import stats

import varigrad as vg
from varigrad import randomness
from varigrad.backends.numpy.alea import Alea

N = 20_000

# From `seedrandom.alea(seed)` in Node: the first four numbers, and the 100,004th.
ALEA = {
    "0": [0.5945264333859086, 0.8065849216654897, 0.12979769078083336, 0.6747123580425978, 0.6916495983023196],
    "42": [0.6848634963389486, 0.5463244677521288, 0.8455933185759932, 0.19908552314154804, 0.8252450241707265],
    "-1": [0.7100013103336096, 0.12080448702909052, 0.3322124774567783, 0.43095587426796556, 0.6154009504243731],
    "1.5": [0.49500410072505474, 0.9145998342428356, 0.447690463392064, 0.8825979440007359, 0.8692094937432557],
    "hello": [0.8750656815245748, 0.33650841237977147, 0.6642807484604418, 0.5072691291570663, 0.5140143251046538],
}

# From TensorFlow.js 4.22, N numbers each: the first three and the last two.
TENSORFLOW_JS = {
    "tf.randomUniform([N], 0, 1, 'float32', 42)": (
        lambda: vg.random_uniform([N], 0, 1, "float32", 42),
        [0.6848635077476501, 0.5463244915008545, 0.8455933332443237, 0.003421326633542776, 0.2552548348903656],
    ),
    "tf.randomUniform([N], -3, 2.5, 'float32', 'abc')": (
        lambda: vg.random_uniform([N], -3, 2.5, "float32", "abc"),
        [-0.3623969554901123, -1.208803653717041, 1.637079119682312, 0.9281858205795288, -2.3386993408203125],
    ),
    "tf.randomUniform([N], -3, 5, 'int32', 3)": (
        lambda: vg.random_uniform([N], -3, 5, "int32", 3),
        [0, 0, -2, 1, -1],
    ),
    "tf.randomUniform([N], 0, 2, 'bool', 3)": (
        lambda: vg.random_uniform([N], 0, 2, "bool", 3),
        [0, 0, 0, 1, 0],
    ),
    "tf.randomUniformInt([N], 0, 10, 5)": (lambda: vg.random_uniform_int([N], 0, 10, 5), [2, 2, 9, 4, 1]),
    "tf.randomNormal([N], 0, 1, 'float32', 42)": (
        lambda: vg.random_normal([N], 0, 1, "float32", 42),
        [1.9053093194961548, 0.4774465560913086, 0.4454464018344879, 0.19864675402641296, 0.6969555616378784],
    ),
    "tf.randomNormal([N], 5, 0.3, 'float32', 1.5)": (
        lambda: vg.random_normal([N], 5, 0.3, "float32", 1.5),
        [4.9968719482421875, 5.25959587097168, 4.9586873054504395, 4.7194366455078125, 4.877869129180908],
    ),
    "tf.randomNormal([N], 0, 4, 'int32', 1e-7)": (
        lambda: vg.random_normal([N], 0, 4, "int32", 1e-7),
        [7, 3, -5, 5, -6],
    ),
    "tf.randomStandardNormal([N], 'float32', 77)": (
        lambda: vg.random_standard_normal([N], "float32", 77),
        [1.4514546394348145, -1.0091986656188965, -0.47380533814430237, -0.3091045320034027, 0.6835349798202515],
    ),
    "tf.truncatedNormal([N], -2, 3, 'float32', 9)": (
        lambda: vg.truncated_normal([N], -2, 3, "float32", 9),
        [-4.386007785797119, 0.22185124456882477, 2.9501547813415527, -1.9609956741333008, -4.592075347900391],
    ),
    "tf.truncatedNormal([N], -2, 3, 'int32', 9)": (
        lambda: vg.truncated_normal([N], -2, 3, "int32", 9),
        [-4, 0, 3, -2, -5],
    ),
    "tf.randomGamma([N], 2, 1, 'float32', 42)": (
        lambda: vg.random_gamma([N], 2, 1, "float32", 42),
        [0.7502188682556152, 1.03104567527771, 0.8142439126968384, 1.680126428604126, 1.1470038890838623],
    ),
    "tf.randomGamma([N], 0.5, 1, 'float32', 42)": (
        lambda: vg.random_gamma([N], 0.5, 1, "float32", 42),
        [0.3123703598976135, 0.20682628452777863, 0.0009791351621970534, 0.08067818731069565, 0.0033812085166573524],
    ),
    "tf.randomGamma([N], 5, 1, 'int32', 42)": (lambda: vg.random_gamma([N], 5, 1, "int32", 42), [3, 3, 3, 10, 7]),
    "tf.dropout(tf.ones([N]), 0.3, null, 42)": (
        lambda: vg.dropout(vg.ones([N]), 0.3, None, 42),
        [1.4285714626312256, 1.4285714626312256, 1.4285714626312256, 0, 0],
    ),
    "tf.dropout(tf.ones([100, 200]), 0.75, [100, 1], 7)": (
        lambda: vg.dropout(vg.ones([100, 200]), 0.75, [100, 1], 7),
        [0, 0, 0, 4, 4],
    ),
    "tf.multinomial([0.1, 0.7, 0.2, -1], N, 7)": (
        lambda: vg.multinomial([0.1, 0.7, 0.2, -1], N, 7),
        [1, 0, 0, 1, 1],
    ),
    "tf.multinomial([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]], 5000, 7, true)": (
        lambda: vg.multinomial([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]], 5000, 7, True),
        [1, 0, 1, 2, 0],
    ),
}


@pytest.mark.parametrize("seed", ALEA)
def test_alea_gives_seedrandoms_sequence(seed):
    numbers = Alea(seed).draw(100_004)
    assert [*numbers[:4], numbers[-1]] == ALEA[seed]


@pytest.mark.parametrize("counts", [[1, 2, 3], [300, 7, 1000], [256, 257, 20_000], [0, 5]])
def test_alea_goes_on_where_it_stopped(counts):
    one = Alea("go on")
    np.testing.assert_array_equal(np.concatenate([one.draw(n) for n in counts]), Alea("go on").draw(sum(counts)))


@pytest.mark.parametrize(
    ("number", "text"),  # String(number) in Node
    [
        (42, "42"),
        (1.0, "1"),
        (-0.25, "-0.25"),
        (0, "0"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456789012345680000, "123456789012345680000"),
        (0.1 + 0.2, "0.30000000000000004"),
        (0.00001234, "0.00001234"),
        (1.25e-7, "1.25e-7"),
        (5e-324, "5e-324"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_a_seed_is_written_as_javascript_writes_numbers(number, text):
    assert randomness.number_text(number) == text


@pytest.mark.parametrize("call", TENSORFLOW_JS)
def test_seeded_numbers_are_those_of_tensorflow_js(call):
    draw, expected = TENSORFLOW_JS[call]
    values = draw().data_sync().astype(np.float64)
    assert [*values[:3], *values[-2:]] == expected


def test_whole_and_decimal_seeds_of_one_value_are_one_seed():
    assert vg.random_normal([3], seed=7).tolist() == vg.random_normal([3], seed=7.0).tolist()


# Distributions, by the Kolmogorov-Smirnov distance; its 1e-6 quantile for 20,000 numbers is 0.019.
DISTRIBUTIONS = {
    "random_uniform": (vg.random_uniform, (-2.0, 3.0), stats.uniform(-2, 5)),
    "random_normal": (vg.random_normal, (1.0, 2.0), stats.norm(1, 2)),
    "truncated_normal": (vg.truncated_normal, (1.0, 2.0), stats.truncnorm(-2, 2, 1, 2)),
    "random_gamma": (vg.random_gamma, (3.0, 2.0), stats.gamma(3, scale=1 / 2)),
    "random_gamma below 1": (vg.random_gamma, (0.4, 0.5), stats.gamma(0.4, scale=2)),
}


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_numbers_follow_their_distribution(name, dtype, seed):
    draw, parameters, distribution = DISTRIBUTIONS[name]
    vg.set_random_seed(11)
    values = draw([N], *parameters, dtype, seed)
    assert values.dtype == dtype
    assert stats.kstest(values.numpy(), distribution.cdf).statistic < 0.019


def test_whole_numbers_are_even_over_their_range_below_zero_too():
    vg.set_random_seed(3)
    values = vg.random_uniform_int([N], -3, 4).numpy()
    assert values.dtype == np.int32
    counts = np.bincount(values + 3, minlength=7)
    assert len(counts) == 7
    assert stats.chisquare(counts).pvalue > 1e-6


def test_the_end_of_a_uniform_range_is_never_reached():
    vg.set_random_seed(1)
    # Half of the numbers just below 1 would round up to 2**24 + 2.
    assert vg.random_uniform([200_000], 2.0**24, 2.0**24 + 2).numpy().max() < 2.0**24 + 2


def test_truncated_numbers_stay_within_two_standard_deviations():
    assert np.abs(vg.truncated_normal([100_000]).numpy()).max() <= 2


def test_rounded_normal_numbers_are_whole():
    values = vg.random_normal([1000], 0, 3, "int32")
    assert values.dtype == "int32"
    assert 2 < values.numpy().std() < 4


def test_numbers_without_a_seed_differ_from_call_to_call():
    assert vg.random_normal([5]).tolist() != vg.random_normal([5]).tolist()


def test_set_random_seed_repeats_the_numbers_without_a_seed():
    def draws():
        vg.set_random_seed(123)
        x = vg.ones([50])
        return [
            t.tolist()
            for t in (vg.random_normal([3]), vg.random_uniform([3]), vg.dropout(x, 0.5), vg.multinomial([0.0, 0.0], 9))
        ]

    first = draws()
    assert first == draws()
    vg.set_random_seed(124)
    assert vg.random_normal([3]).tolist() != first[0]


def test_threads_draw_different_numbers_from_the_shared_generator():
    vg.set_random_seed(5)
    drawn = []
    threads = [threading.Thread(target=lambda: drawn.append(vg.random_uniform([5000]).numpy())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(np.unique(np.concatenate(drawn))) > 4 * 5000 * 0.99


def test_dropout_keeps_the_sum_on_average_and_scales_what_stays():
    vg.set_random_seed(1)
    values = vg.dropout(vg.ones([100_000]), 0.25).numpy()
    assert set(values.tolist()) == {0.0, float(np.float32(1) / np.float32(0.75))}
    assert abs(values.mean() - 1) < 0.02


def test_dropout_shares_its_noise_along_axes_of_length_one():
    values = vg.dropout(vg.ones([50, 20]), 0.5, [None, 1]).numpy()
    assert (values == values[:, :1]).all()
    assert 0 < values.mean() < 2


def test_dropout_of_nothing_returns_a_tensor_of_its_own():
    x = vg.ones([3])
    y = vg.dropout(x, 0)
    assert y is not x
    assert y.tolist() == [1, 1, 1]


def test_dropout_runs_two_kernels():
    x = vg.ones([3])
    assert [k.name for k in vg.profile(lambda: vg.dropout(x, 0.5)).kernels] == ["DropoutMask", "Multiply"]


def test_multinomial_draws_by_the_probabilities_in_each_row():
    vg.set_random_seed(2)
    probabilities = np.array([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]])
    drawn = vg.multinomial(np.log(probabilities), N)
    assert drawn.shape == (2, N)
    assert drawn.dtype == "int32"
    for row, expected in zip(drawn.numpy(), probabilities, strict=True):
        assert stats.chisquare(np.bincount(row, minlength=3), expected * N).pvalue > 1e-6


def test_multinomial_of_widely_spread_logits_does_not_overflow():
    assert vg.multinomial([1000.0, -1000.0], 5).tolist() == [0] * 5


def test_rand_calls_its_function_once_for_each_value():
    numbers = iter(range(6))
    assert vg.rand([2, 3], lambda: next(numbers), "int32").tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("shape", [[], [0], [2, 0, 3], [2, 3]])
def test_any_shape_can_be_drawn(shape, seed):
    for draw in (vg.random_uniform, vg.random_normal, vg.truncated_normal):
        assert draw(shape, seed=seed).shape == tuple(shape)
    assert vg.random_gamma(shape, 2.0, seed=seed).shape == tuple(shape)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vg.random_normal([2], dtype="bool"), "random_normal: dtype"),
        (lambda: vg.random_uniform([2], dtype="string"), "random_uniform: dtype"),
        (lambda: vg.random_uniform([-2]), "negative length"),
        (lambda: vg.truncated_normal([2], 0, -1), "std_dev must be finite, and the latter not negative"),
        (lambda: vg.random_gamma([2], 0), "must be positive"),
        (lambda: vg.dropout([1.0], 1), "rate must be at least 0 and less than 1"),
        (lambda: vg.dropout([[1.0, 2.0]], 0.5, [2, 2]), "does not broadcast"),
        (lambda: vg.multinomial([1.0], 3), "two outcomes"),
        (lambda: vg.multinomial([[[1.0, 2.0]]], 3), "two outcomes"),
    ],
)
def test_wrong_arguments_are_explained(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_dropout_of_integers_is_refused():
    with pytest.raises(TypeError, match="must be floating-point"):
        vg.dropout(vg.tensor([1], dtype="int32"), 0.5)

"""Learning-rate schedules against their formulas, and as learning rates."""

import json
import math

import numpy as np
import pytest

import varigrad as vg

STEPS = [0, 1, 2, 5, 9, 10, 11, 20, 35, 99, 100, 101, 1000]

# Each with its formula, written a second time.
SCHEDULES = {
    "constant": (lambda: vg.train.constant(0.3), lambda t: 0.3),
    "piecewise": (
        lambda: vg.train.piecewise_constant([10, 20], [1.0, 0.5, 0.25]),
        lambda t: 1.0 if t <= 10 else 0.5 if t <= 20 else 0.25,
    ),
    "exponential": (lambda: vg.train.exponential_decay(0.2, 10, 0.9), lambda t: 0.2 * math.pow(0.9, t / 10)),
    "staircase": (
        lambda: vg.train.exponential_decay(0.2, 10, 0.9, staircase=True),
        lambda t: 0.2 * math.pow(0.9, t // 10),
    ),
    "inverse time": (lambda: vg.train.inverse_time_decay(0.2, 10, 0.5), lambda t: 0.2 / (1 + 0.05 * t)),
    "polynomial": (
        lambda: vg.train.polynomial_decay(0.2, 100, 0.01, power=2.0),
        lambda t: 0.01 + 0.19 * (1 - min(t, 100) / 100) ** 2,
    ),
    "cosine": (
        lambda: vg.train.cosine_decay(0.2, 100, alpha=0.1),
        lambda t: 0.02 + 0.18 * (1 + math.cos(math.pi * min(t, 100) / 100)) / 2,
    ),
    "cosine with warm-up": (
        lambda: vg.train.cosine_decay(0.0, 90, warmup_target=0.2, warmup_steps=10),
        lambda t: 0.02 * t if t < 10 else 0.1 * (1 + math.cos(math.pi * min(t - 10, 90) / 90)),
    ),
    "warm-up": (lambda: vg.train.linear_warmup(0.5, 10, 0.1), lambda t: min(0.5, 0.1 + 0.04 * t)),
    "warm-up to a schedule": (
        lambda: vg.train.linear_warmup(vg.train.exponential_decay(0.5, 1, 0.9), 10),
        lambda t: 0.05 * t if t < 10 else 0.5 * 0.9 ** (t - 10),
    ),
    "joined": (
        lambda: vg.train.join_schedules([0.1, vg.train.exponential_decay(0.2, 1, 0.5), 0.01], [10, 20]),
        lambda t: 0.1 if t < 10 else 0.2 * 0.5 ** (t - 10) if t < 20 else 0.01,
    ),
}
EACH = pytest.mark.parametrize("name", SCHEDULES)


@EACH
def test_values_equal_the_formula(name):
    make, formula = SCHEDULES[name]
    np.testing.assert_allclose([make()(t) for t in STEPS], [formula(t) for t in STEPS], rtol=1e-12, atol=1e-15)


@EACH
def test_config_goes_through_json_and_back_inside_an_optimizer(name):
    schedule = SCHEDULES[name][0]()
    optimizer = vg.train.momentum(schedule, 0.9)
    again = vg.train.MomentumOptimizer.from_config(json.loads(json.dumps(optimizer.get_config())))
    assert again.learning_rate == schedule
    assert again.learning_rate is not schedule
    assert [again.learning_rate(t) for t in STEPS] == [schedule(t) for t in STEPS]
    assert type(schedule).from_config(schedule.get_config()) == schedule


@EACH
def test_an_optimizer_follows_the_schedule_from_step_0_on(name):
    schedule = SCHEDULES[name][0]()
    w = vg.variable(0.0, name="w", dtype="float64")
    sgd = vg.train.sgd(schedule)
    for step in range(25):
        assert sgd.current_learning_rate == schedule(step)
        sgd.apply_gradients({"w": vg.scalar(1.0)})
    assert w.item() == pytest.approx(-sum(schedule(t) for t in range(25)))


def test_values_of_keras():
    # keras.optimizers.schedules of Keras 3: PiecewiseConstantDecay([100, 200], [1.0, 0.5, 0.1]) at 100 and 101;
    # PolynomialDecay(0.1, 1000, 0.01, power=0.5) at 500; CosineDecay(0.1, 1000, alpha=0.2) at 250.
    piecewise = vg.train.piecewise_constant([100, 200], [1.0, 0.5, 0.1])
    assert (piecewise(100), piecewise(101)) == (1.0, 0.5)
    assert vg.train.polynomial_decay(0.1, 1000, 0.01, power=0.5)(500) == pytest.approx(0.07363961)
    assert vg.train.cosine_decay(0.1, 1000, alpha=0.2)(250) == pytest.approx(0.08828427)


def test_any_function_of_the_step_is_a_schedule_but_only_a_class_can_be_saved():
    w = vg.variable(0.0, name="w")
    sgd = vg.train.sgd(lambda step: 1.0 if step == 0 else 0.5)
    for _ in range(2):
        sgd.apply_gradients({"w": vg.scalar(1.0)})
    assert w.item() == -1.5
    with pytest.raises(TypeError, match=r"SGD: the learning rate .* cannot be saved; use a subclass of"):
        sgd.get_config()


class Halving(vg.train.Schedule):
    arguments = ("start",)

    def __init__(self, start):
        self.start = start

    def __call__(self, step):
        return self.start / 2**step


def test_a_schedule_of_ones_own_is_saved_as_well():
    optimizer = vg.train.adam(vg.train.linear_warmup(Halving(1.0), 2))
    config = json.loads(json.dumps(optimizer.get_config()))
    assert vg.train.AdamOptimizer.from_config(config).learning_rate(4) == 0.25


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: vg.train.piecewise_constant([10, 20], [1.0, 0.5]), "2 boundaries need 3 values, got 2"),
        (lambda: vg.train.piecewise_constant([20, 10], [1.0, 0.5, 0.1]), "boundaries must rise"),
        (lambda: vg.train.exponential_decay(0.1, 0, 0.5), "decay_steps must be positive, got 0"),
        (lambda: vg.train.exponential_decay("0.1", 1, 0.5), "initial_learning_rate must be a finite number"),
        (lambda: vg.train.join_schedules([0.1], [10]), "1 schedules need 0 boundaries, got 1"),
        (lambda: vg.train.adam({"class_name": "Nosuch", "config": {}}), "learning_rate must be a number or a schedule"),
        (lambda: vg.train.AdamOptimizer.from_config({"learning_rate": {"class_name": "Nosuch"}}), "called 'Nosuch'"),
    ],
)
def test_bad_arguments_are_one_clear_error(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()

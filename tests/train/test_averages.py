"""Exponential moving averages of weights."""

import numpy as np
import pytest

import varigrad as vg

VALUES = np.random.default_rng(0).normal(size=(10, 2, 3)).astype("float32")


@pytest.mark.parametrize("zero_debias", [False, True])
def test_averages_follow_the_formula(zero_debias):
    w = vg.variable(VALUES[0], name="w")
    s = vg.variable(1.0, name="s", dtype="float64")
    average = vg.train.exponential_moving_average([w, s], decay=0.8, zero_debias=zero_debias)
    np.testing.assert_array_equal(average.average(w).numpy(), VALUES[0])
    expected = np.zeros((2, 3)) if zero_debias else VALUES[0].astype("float64")
    for step, values in enumerate(VALUES[1:], start=1):
        w.assign(values)
        with vg.tidy():
            average.update()
        expected = 0.8 * expected + 0.2 * values
        correction = 1 - 0.8**step if zero_debias else 1
        np.testing.assert_allclose(average.average(w).numpy(), expected / correction, rtol=1e-5, atol=1e-6)
        assert average.average(s).item() == pytest.approx(1.0, rel=1e-12)
    assert average.updates == 9
    assert {name: t.dtype for name, t in average.averages().items()} == {"w": "float32", "s": "float64"}


def test_variables_hold_their_averages_inside_the_block_only():
    w = vg.variable([0.0], name="w")
    average = vg.train.exponential_moving_average([w], decay=0.5)
    w.assign([1.0])
    average.update()
    seen = []

    def fail_inside():
        with average.swapped():
            seen.append(w.item())
            raise RuntimeError("inside")

    with pytest.raises(RuntimeError, match="inside"):
        fail_inside()
    assert seen == [0.5]
    assert w.tolist() == [1.0]
    average.assign_averages()
    assert w.tolist() == [0.5]
    average.decay = 0.0
    w.assign([3.0])
    average.update()
    assert average.average(w).tolist() == [3.0]


@pytest.mark.parametrize("zero_debias", [False, True])
def test_state_goes_round(zero_debias):
    w = vg.variable(VALUES[0], name="w")
    first = vg.train.exponential_moving_average([w], 0.9, zero_debias)
    for values in VALUES[1:5]:
        w.assign(values)
        first.update()
    second = vg.train.exponential_moving_average([w], 0.9, zero_debias)
    second.set_weights({s.name: s.tensor.numpy() for s in first.get_weights()})
    w.assign(VALUES[6])
    first.update()
    second.update()
    np.testing.assert_array_equal(first.average(w).numpy(), second.average(w).numpy())
    with pytest.raises(ValueError, match=r"missing: \['w/average'\], unknown: \['v/average'\]"):
        second.set_weights([("updates", 1), ("start_weight", 1.0), ("v/average", np.zeros(2))])
    with pytest.raises(ValueError, match=r"'w/average' has shape \[2\] instead of \[2, 3\]"):
        second.set_weights([("updates", 1), ("start_weight", 1.0), ("w/average", np.zeros(2))])


def test_memory_does_not_grow():
    w = vg.variable(VALUES[0], name="w")
    average = vg.train.exponential_moving_average([w])
    before = vg.memory()
    for _ in range(10):
        average.update()
        with average.swapped():
            pass
    assert vg.memory() == before


def test_bad_arguments_are_one_clear_error():
    w, n = vg.variable([1.0], name="w"), vg.variable([1], name="n", dtype="int32")
    with pytest.raises(ValueError, match=r"decay must be between 0 and 1, got 1\.5"):
        vg.train.exponential_moving_average([w], 1.5)
    with pytest.raises(TypeError, match=r"var_list\[1\] must be a floating-point variable"):
        vg.train.exponential_moving_average([w, n])
    average = vg.train.exponential_moving_average([w])
    with pytest.raises(ValueError, match="'n' is not among the averaged variables"):
        average.average(n)

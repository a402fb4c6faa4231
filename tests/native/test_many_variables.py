"""Many variables of one shape, and many steps of a recurrence: what is written for them once, and what they give."""

import numpy as np
import pytest

import varigrad as vg


def stepped(count, make_optimizer=vg.train.adam):
    """A compiled step over many variables, called once, and the variables."""
    values = np.random.default_rng(count).normal(size=(count, 8)).astype(np.float32)
    variables = [vg.variable(x) for x in values]
    optimizer = make_optimizer(0.01)

    @vg.jit(executor="native")
    def step():
        value, grads = vg.variable_grads(lambda: vg.add_n([v.sum().square() for v in variables]))
        optimizer.apply_gradients(grads)
        return value

    step()
    return step, variables


def test_code_does_not_grow_with_their_number():
    small, large = (stepped(count)[0].ir() for count in (200, 400))
    assert len(large) < 1.1 * len(small)


@pytest.mark.parametrize("layer", [vg.layers.lstm, vg.layers.gru, vg.layers.simple_rnn])
def test_code_does_not_grow_with_the_steps_of_a_recurrence(layer):
    def training(length):
        model = vg.sequential([layer(units=16, input_shape=[length, 4]), vg.layers.dense(units=2)])
        optimizer = vg.train.adam(0.01)

        @vg.jit(executor="native")
        def step(x, y):
            value, grads = vg.variable_grads(lambda: vg.losses.mean_squared_error(y, model.apply(x)))
            optimizer.apply_gradients(grads)
            return value

        step(vg.ones([8, length, 4]), vg.ones([8, 2]))
        return step

    short, long = (training(length) for length in (16, 48))
    assert len(long.graph().splitlines()) > 2 * len(short.graph().splitlines())
    assert len(long.ir()) < 1.1 * len(short.ir())


@pytest.mark.parametrize("count", [2, 16, 17, 18, 33, 300])
def test_their_sum_is_added_up_in_order(count):
    values = np.random.default_rng(0).normal(size=(count, 3)).astype(np.float32)
    total = values[0]
    for x in values[1:]:
        total = total + x
    add = vg.jit(lambda *xs: vg.add_n(list(xs)), executor="native")
    for _ in range(2):  # the first call runs eagerly
        result = add(*[vg.tensor(x) for x in values])
    np.testing.assert_array_equal(result.numpy(), total)


def test_a_sum_of_more_than_fits_one_pass_with_its_neighbours():
    values = np.random.default_rng(1).normal(size=(120, 5)).astype(np.float32)
    f = vg.jit(lambda *xs: vg.exp(vg.add_n([x * 2 for x in xs])) + xs[0], executor="native")
    for _ in range(2):
        result = f(*[vg.tensor(x) for x in values])
    np.testing.assert_allclose(result.numpy(), np.exp((values * 2).sum(0, dtype=np.float64)) + values[0], rtol=1e-4)

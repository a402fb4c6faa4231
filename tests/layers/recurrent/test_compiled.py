"""Recurrent layers inside compiled steps."""

import numpy as np
import pytest

import varigrad as vg

X = np.sin(np.arange(24, dtype=np.float32)).reshape(2, 4, 3)
MASK = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], bool)
OPTIONS = {
    "plain": {},
    "sequences": {"return_sequences": True},
    "backwards": {"go_backwards": True},
    "stateful": {"stateful": True},
    "dropout": {"dropout": 0.4, "recurrent_dropout": 0.4, "seed": 5},
}


def trained(layer, compiled, mask):
    optimizer = vg.train.sgd(0.1)

    def step(x):
        return optimizer.minimize(lambda: layer(x, training=True, mask=mask).square().sum(), return_cost=True)

    run = vg.jit(step) if compiled else step
    costs = [run(vg.tensor(X * scale)).item() for scale in (1, 2, 0.5, 1)]
    return costs, [w.numpy() for w in layer.weights]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", ["simple_rnn", "lstm", "gru"])
def test_a_compiled_step_trains_as_an_eager_one(kind, option, masked):
    mask = vg.tensor(MASK) if masked else None
    results, weights = [], None
    for compiled in (False, True):
        layer = getattr(vg.layers, kind)(units=3, **OPTIONS[option], weights=weights)
        layer(X)
        if layer.stateful:
            layer.reset_states()
        weights = weights or layer.get_weights()
        results.append(trained(layer, compiled, mask))
    (costs, after), (compiled_costs, compiled_after) = results
    np.testing.assert_allclose(compiled_costs, costs, rtol=1e-5)
    for one, other in zip(compiled_after, after, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)

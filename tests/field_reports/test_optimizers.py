"""Complaints about optimizers that people have reported of other libraries, made impossible here."""

import numpy as np
import pytest

import varigrad as vg

ALL = {
    "sgd": lambda: vg.train.sgd(0.1),
    "momentum": lambda: vg.train.momentum(0.1, 0.9),
    "adagrad": lambda: vg.train.adagrad(0.1),
    "adadelta": lambda: vg.train.adadelta(0.1),
    "adam": lambda: vg.train.adam(0.1),
    "adamax": lambda: vg.train.adamax(0.1),
    "rmsprop": lambda: vg.train.rmsprop(0.1),
    "centered rmsprop": lambda: vg.train.rmsprop(0.1, centered=True),
}


@pytest.fixture
def a():
    return vg.variable([1.0, 2.0, 3.0], name="a")


@pytest.fixture
def b():
    return vg.variable([1.0, 2.0], name="b")


def ones(*variables):
    return {v.name: vg.ones_like(v) for v in variables}


# Slots belong to positions, not to names (tfjs#4290, #8379)


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_gradients_does_not_matter(name, a, b):
    optimizer, ordered = ALL[name](), ALL[name]()
    c, d = vg.variable(a.numpy(), name="c"), vg.variable(b.numpy(), name="d")
    for step in range(4):
        optimizer.apply_gradients(ones(a, b) if step % 2 else ones(b, a))
        ordered.apply_gradients(ones(c, d))
    np.testing.assert_array_equal(a.numpy(), c.numpy())
    np.testing.assert_array_equal(b.numpy(), d.numpy())


def test_adam_with_reordered_gradients_by_the_numbers(a, b):
    adam = vg.train.adam(0.1)
    adam.apply_gradients(ones(a, b))
    adam.apply_gradients(ones(b, a))
    np.testing.assert_allclose(a.numpy(), [0.8, 1.8, 2.8], atol=1e-6)
    np.testing.assert_allclose(b.numpy(), [0.8, 1.8], atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_a_variable_frozen_for_a_while_goes_on_from_its_own_state(name, a, b):
    optimizer, alone = ALL[name](), ALL[name]()
    c = vg.variable(a.numpy(), name="c")
    optimizer.minimize(lambda: a.square().sum() + b.square().sum())
    alone.minimize(lambda: c.square().sum(), var_list=[c])
    b.trainable = False
    optimizer.minimize(lambda: a.square().sum() + b.square().sum(), var_list=[a])
    alone.minimize(lambda: c.square().sum(), var_list=[c])
    frozen = b.numpy()
    b.trainable = True
    optimizer.minimize(lambda: a.square().sum() + b.square().sum(), var_list=[a, b])
    alone.minimize(lambda: c.square().sum(), var_list=[c])
    np.testing.assert_allclose(a.numpy(), c.numpy(), rtol=1e-6)
    assert not np.array_equal(b.numpy(), frozen)


# The learning rate cannot be changed while training (tensorflow#23314, swift-apis#81)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: vg.train.momentum(0.1, 0.9), -0.119),
        (lambda: vg.train.sgd(0.1), -0.11),
        (lambda: vg.train.adam(0.1), -0.11),
    ],
)
def test_the_learning_rate_changes_between_steps(make, expected):
    w, optimizer = vg.variable(0.0, name="w"), make()
    optimizer.apply_gradients({"w": vg.scalar(1.0)})
    assert w.item() == pytest.approx(-0.1, abs=1e-6)
    optimizer.learning_rate = 0.01
    optimizer.apply_gradients({"w": vg.scalar(1.0)})
    assert w.item() == pytest.approx(expected, abs=1e-6)


def test_the_momentum_changes_between_steps():
    w, optimizer = vg.variable(0.0, name="w"), vg.train.momentum(1.0, 0.5)
    optimizer.apply_gradients({"w": vg.scalar(1.0)})
    optimizer.set_momentum(0.0)
    optimizer.apply_gradients({"w": vg.scalar(1.0)})
    assert w.item() == pytest.approx(-2.0)


# Clipping by norm means different things, and a missing gradient breaks it (tensorflow#36001, #29108)


@pytest.fixture
def grads():
    return {"a": vg.tensor([3.0, 4.0]), "b": vg.tensor([12.0]), "c": None}


@pytest.mark.parametrize(
    ("clip", "a", "b"),
    [
        (lambda g: vg.train.clip_by_norm(g, 1.0), [0.6, 0.8], [1.0]),
        (lambda g: vg.train.clip_by_global_norm(g, 1.0), [0.2307692, 0.3076923], [0.9230769]),
        (lambda g: vg.train.clip_by_value(g, -0.5, 0.5), [0.5, 0.5], [0.5]),
    ],
)
def test_three_ways_of_clipping(grads, clip, a, b):
    clipped = clip(grads)
    np.testing.assert_allclose(clipped["a"].numpy(), a, rtol=1e-6)
    np.testing.assert_allclose(clipped["b"].numpy(), b, rtol=1e-6)
    assert clipped["c"] is None


@pytest.mark.parametrize(
    ("option", "a", "b"),
    [
        ({"clip_norm": 1.0}, [0.6, 0.8], [1.0]),
        ({"global_clip_norm": 1.0}, [0.2307692, 0.3076923], [0.9230769]),
        ({"clip_value": 0.5}, [0.5, 0.5], [0.5]),
    ],
)
def test_three_ways_of_clipping_as_options(grads, option, a, b):
    va, vb, vc = (vg.variable(np.zeros(n), name=name) for name, n in (("a", 2), ("b", 1), ("c", 3)))
    vg.train.sgd(1.0, **option).apply_gradients(grads)
    np.testing.assert_allclose(va.numpy(), np.negative(a), rtol=1e-6)
    np.testing.assert_allclose(vb.numpy(), np.negative(b), rtol=1e-6)
    assert vc.tolist() == [0, 0, 0]


# A gradient for an unknown name produces a puzzling message (tfjs#8379)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"nosuch": vg.ones([3])}, "nosuch"),
        ({"b": vg.ones([5])}, r"'b'.*\[5\].*\[2\]|'b'.*\[2\].*\[5\]"),
        ({"b": vg.ones([2], "int32")}, "'b'.*int32"),
    ],
)
def test_a_bad_gradient_is_named_and_nothing_changes(name, bad, message, a, b):
    optimizer = ALL[name]()
    optimizer.apply_gradients(ones(a, b))
    before = a.numpy(), b.numpy(), [(w.name, w.tensor.numpy()) for w in optimizer.get_weights()]
    with pytest.raises(ValueError, match=message):
        optimizer.apply_gradients({"a": vg.ones([3]), **bad})
    np.testing.assert_array_equal(a.numpy(), before[0])
    np.testing.assert_array_equal(b.numpy(), before[1])
    for weight, (weight_name, values) in zip(optimizer.get_weights(), before[2], strict=True):
        assert weight.name == weight_name
        np.testing.assert_array_equal(weight.tensor.numpy(), values)
    assert optimizer.iterations == 1


# Optimizer state does not come back (tfjs#5138, tensorflow#44670, keras#12449)


@pytest.mark.parametrize("name", ALL)
def test_a_resumed_run_goes_on_bit_for_bit(name, a, b):
    def loss(a, b):
        return (a * a).sum() + (a[:2] * b * b).sum()

    straight = ALL[name]()
    c, d = vg.variable(a.numpy(), name="c"), vg.variable(b.numpy(), name="d")
    for _ in range(10):
        straight.minimize(lambda: loss(c, d), var_list=[c, d])
    first = ALL[name]()
    for _ in range(5):
        first.minimize(lambda: loss(a, b), var_list=[a, b])
    state = [(w.name, w.tensor.numpy()) for w in first.get_weights()]
    second = ALL[name]()
    second.set_weights([{"name": n, "tensor": vg.tensor(v, dtype=str(v.dtype))} for n, v in state])
    for _ in range(5):
        second.minimize(lambda: loss(a, b), var_list=[a, b])
    np.testing.assert_array_equal(a.numpy(), c.numpy())
    np.testing.assert_array_equal(b.numpy(), d.numpy())
    assert second.iterations == 10

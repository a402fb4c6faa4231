"""Decoupled weight decay: the `weight_decay` of every optimizer, against its formula."""

import copy

import numpy as np
import pytest

import varigrad as vg

JIT = pytest.mark.parametrize("wrap", [lambda f: f, vg.jit, vg.jit(executor="numpy")], ids=["eager", "jit", "numpy"])
START = np.array([[1.0, -2.0], [3.0, 0.5]], np.float32)


def adam_w(weights, gradient, steps, rate, decay):
    """The paper's algorithm 2, in float64."""
    w, m, v = weights.astype(np.float64), 0.0, 0.0
    for step in range(1, steps + 1):
        g = gradient(w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        alpha = rate(step - 1)
        w = w - alpha * decay * w
        w = w - alpha * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-7)
    return w


@JIT
def test_adam_with_weight_decay_is_adam_w_with_any_schedule(wrap):
    w = vg.variable(START)
    schedule = vg.train.cosine_decay(0.1, decay_steps=8, alpha=0.25)
    optimizer = vg.train.adam(schedule, weight_decay=0.5)

    @wrap
    def step():
        value, grads = vg.variable_grads(lambda: (w - 1).square().sum(), [w])
        optimizer.apply_gradients(grads)
        return value

    for _ in range(10):
        step()
    expected = adam_w(START, lambda w: 2 * (w - 1), 10, schedule, 0.5)
    np.testing.assert_allclose(w.numpy(), expected, rtol=1e-5)
    assert getattr(step, "compilations", 1) == 1


@pytest.mark.parametrize(
    "make",
    [vg.train.sgd, lambda rate, **options: vg.train.momentum(rate, 0.5, **options), vg.train.adagrad, vg.train.adamax],
)
def test_what_decays_is_what_was_there_before_the_step(make):
    decayed, plain = vg.variable(START), vg.variable(START)
    with_decay, without = make(0.1, weight_decay=0.5), make(0.1)
    expected = START.astype(np.float64)
    for number in range(3):
        gradient = vg.tensor(START * (number + 1))
        before = plain.numpy().astype(np.float64)
        with_decay.apply_gradients({decayed.name: gradient})
        without.apply_gradients({plain.name: gradient})
        expected = expected * (1 - 0.1 * 0.5) + (plain.numpy() - before)
    np.testing.assert_allclose(decayed.numpy(), expected, rtol=1e-5)


@JIT
def test_a_dict_says_by_name_what_decays(wrap):
    kernel, bias = vg.variable([1.0], name="one/kernel"), vg.variable([1.0], name="one/bias")
    scale = vg.variable([1.0], name="norm/gamma")
    optimizer = vg.train.sgd(0.5, weight_decay={"*/bias": 0, "one/*": 0.5})

    @wrap
    def step():
        optimizer.apply_gradients({v.name: vg.tensor([0.0]) for v in (kernel, bias, scale)})

    for _ in range(2):
        step()
    assert [kernel.item(), bias.item(), scale.item()] == [0.5625, 1.0, 1.0]


def test_a_pattern_is_for_the_name_in_files_too():
    first = vg.layers.dense(units=1, input_shape=[1], name="twice", weights=[[[1.0]], [1.0]])
    second = vg.layers.dense(units=1, input_shape=[1], name="twice", weights=[[[1.0]], [1.0]])
    for layer in (first, second):
        layer.build([None, 1])
        vg.train.sgd(1.0, weight_decay={"twice/kernel": 0.5}).apply_gradients(
            [(vg.tensor([[0.0]]), layer.kernel), (vg.tensor([0.0]), layer.bias)]
        )
        assert [layer.kernel.item(), layer.bias.item()] == [0.5, 1.0]


def test_variables_without_a_gradient_or_frozen_do_not_decay():
    moved, missing, frozen = vg.variable([1.0]), vg.variable([1.0]), vg.variable([1.0])
    frozen.trainable = False
    zero = vg.tensor([0.0])
    vg.train.sgd(1.0, weight_decay=0.5).apply_gradients([(zero, moved), (None, missing), (zero, frozen)])
    assert [moved.item(), missing.item(), frozen.item()] == [0.5, 1.0, 1.0]


def test_accumulated_gradients_decay_once_an_update():
    w = vg.variable([1.0])
    optimizer = vg.train.accumulate(vg.train.sgd(1.0, weight_decay=0.5), every=2)
    for _ in range(4):
        optimizer.apply_gradients({w.name: vg.tensor([0.0])})
    assert w.item() == 0.25


def test_a_half_is_rounded_when_it_has_decayed():
    w = vg.variable([8192.0], dtype="float16")  # the numbers beside it are 8 less and 8 more
    vg.train.sgd(0.1, weight_decay=0.01).apply_gradients({w.name: vg.tensor([0.0], dtype="float16")})
    assert w.dtype == "float16"
    assert w.item() == 8184.0  # 8192 - 8.192


def test_the_decay_may_change_between_steps():
    w = vg.variable([1.0])
    optimizer = vg.train.sgd(1.0)

    @vg.jit
    def step():
        optimizer.apply_gradients({w.name: vg.tensor([0.0])})

    for decay, left in [(0.5, 0.5), (None, 0.5), ({"*": 0.25}, 0.375), (0, 0.375)]:
        optimizer.weight_decay = decay
        step()
        assert w.item() == left


@pytest.mark.parametrize("decay", [0.01, {"*/kernel": 0.01}])
def test_the_decay_is_stored_with_the_optimizer(decay, tmp_path):
    optimizer = vg.train.adam(0.1, weight_decay=decay)
    assert copy.deepcopy(optimizer).weight_decay == decay
    assert vg.train.AdamOptimizer.from_config(optimizer.get_config()).weight_decay == decay
    model = vg.sequential(layers=[vg.layers.dense(units=1, input_shape=[1])])
    model.compile(optimizer=optimizer, loss="mean_squared_error")
    model.save(tmp_path / "model", include_optimizer=True)
    assert vg.load_layers_model(tmp_path / "model").optimizer.weight_decay == decay


@pytest.mark.parametrize("bad", ["0.1", -0.1, float("nan"), float("inf"), {"*": "a"}, {1: 0.1}, [0.1]])
def test_a_decay_that_is_none_is_refused(bad):
    with pytest.raises(ValueError, match="Adam: weight_decay must be a number of at least 0, or a dict"):
        vg.train.adam(0.1, weight_decay=bad)
    optimizer = vg.train.adam(0.1)
    with pytest.raises(ValueError, match="Adam: weight_decay must be"):
        optimizer.weight_decay = bad
    assert optimizer.weight_decay is None


def test_a_step_that_fails_leaves_the_variables_as_they_were():
    w = vg.variable([1.0])
    optimizer = vg.train.adam(0.1, weight_decay=0.5)
    optimizer.epsilon = "small"
    with pytest.raises(TypeError):
        optimizer.apply_gradients({w.name: vg.tensor([1.0])})
    assert w.item() == 1.0

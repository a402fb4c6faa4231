"""Whole training steps as machine code: the same losses and the same variables as in eager mode, step after step."""

from itertools import pairwise

import numpy as np
import pytest

import varigrad as vg

OPTIMIZERS = {
    "sgd": lambda: vg.train.sgd(0.05),
    "momentum": lambda: vg.train.momentum(0.05, 0.9),
    "nesterov": lambda: vg.train.momentum(0.05, 0.9, True),
    "adagrad": lambda: vg.train.adagrad(0.05),
    "adadelta": lambda: vg.train.adadelta(0.5),
    "adam": lambda: vg.train.adam(0.01),
    "adamax": lambda: vg.train.adamax(0.01),
    "rmsprop": lambda: vg.train.rmsprop(0.01, momentum=0.5),
    "centered rmsprop": lambda: vg.train.rmsprop(0.01, centered=True),
    "scheduled": lambda: vg.train.sgd(lambda step: 0.1 / (1 + step)),
    "clipped": lambda: vg.train.adam(0.01, global_clip_norm=0.5),
}


class Steps:
    """Training steps of a small network: `step` as it is written, on variables of its own."""

    def __init__(self, optimizer, sizes=(7, 20, 3), activation=vg.tanh):
        random = np.random.default_rng(1)
        self.optimizer = optimizer
        self.weights = [vg.variable(random.normal(size=s, scale=0.5).astype("f")) for s in pairwise(sizes)]
        self.biases = [vg.variable(np.zeros(n, "f")) for n in sizes[1:]]
        self.activation = activation
        self.x = vg.tensor(random.normal(size=(11, sizes[0])).astype("f"))
        self.y = vg.tensor(np.eye(sizes[-1], dtype="f")[random.integers(0, sizes[-1], 11)])

    def loss(self, x, y):
        for weights, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = self.activation(vg.mat_mul(x, weights) + bias)
        return vg.losses.softmax_cross_entropy(y, vg.mat_mul(x, self.weights[-1]) + self.biases[-1])

    def step(self, x, y):
        value, grads = vg.variable_grads(lambda: self.loss(x, y))
        self.optimizer.apply_gradients(grads)
        return value

    def state(self):
        slots = [np.asarray(weight.tensor) for weight in self.optimizer.get_weights()]
        return [np.asarray(v) for v in (*self.weights, *self.biases)] + slots


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers(name, compile_native):
    eager, native = Steps(OPTIMIZERS[name]()), Steps(OPTIMIZERS[name]())
    expected = [np.asarray(eager.step(eager.x, eager.y)) for _ in range(6)]
    native.step(native.x, native.y)
    compiled = compile_native(native.step, native.x, native.y)
    found = [compiled.first, *[compiled(native.x, native.y) for _ in range(4)]]
    np.testing.assert_allclose([loss for (loss,) in found], expected[1:], rtol=1e-5)
    for ours, right in zip(native.state(), eager.state(), strict=True):
        np.testing.assert_allclose(ours, right, rtol=1e-4, atol=1e-6)


def test_what_shares_memory_with_a_variable_keeps_its_values(compile_native):
    w = vg.variable(np.float32([1, 2, 3]))

    def step():
        before = w.reshape([3, 1])
        w.assign(w * 2.0)
        return before, w * 1.0

    compiled = compile_native(step)
    held = w.reshape([1, 3])
    view = np.asarray(w)
    before, after = compiled()
    np.testing.assert_array_equal(before, [[2], [4], [6]])
    np.testing.assert_array_equal(after, [4, 8, 12])
    np.testing.assert_array_equal(held.numpy(), [[2, 4, 6]])
    np.testing.assert_array_equal(view, [2, 4, 6])
    np.testing.assert_array_equal(w.numpy(), [4, 8, 12])


def test_two_variables_swap_their_values(compile_native):
    a, b = vg.variable(np.float32([1, 2])), vg.variable(np.float32([3, 4]))

    def swap():
        x, y = a * 1.0, b * 1.0
        a.assign(y)
        b.assign(x)

    compiled = compile_native(swap)
    compiled()
    np.testing.assert_array_equal(a.numpy(), [1, 2])
    np.testing.assert_array_equal(b.numpy(), [3, 4])
    compiled()
    np.testing.assert_array_equal(a.numpy(), [3, 4])


def test_results_stay_what_they_were(compile_native):
    x = vg.tensor(np.float32([1, 2, 3]))
    compiled = compile_native(lambda x: [x * 2.0, (x * 2.0).reshape([3, 1]), x], x)
    first = compiled(x)
    kept = [array.copy() for array in first]
    compiled(vg.tensor(np.float32([5, 6, 7])))
    for array, right in zip(first, kept, strict=True):
        np.testing.assert_array_equal(array, right)


def test_kernels_without_a_lowering_run_between_native_parts(compile_native):
    x = np.random.default_rng(0).normal(size=(5, 8)).astype("f")

    compiled = compile_native(lambda x: vg.cumsum(vg.cumsum(x * 3.0, 1) + 1.0, 0) * 2.0, vg.tensor(x))
    (found,) = compiled(vg.tensor(x))
    right = np.cumsum(np.cumsum(x.astype("d") * 3, 1) + 1, 0) * 2
    np.testing.assert_allclose(found, right, rtol=1e-5, atol=1e-5)


def test_an_error_of_a_kernel_is_that_of_eager_mode(compile_native):
    x, places = vg.tensor(np.float32([1, 2, 3])), vg.tensor(np.int32([0, 1]))
    compiled = compile_native(lambda x, places: vg.gather(x, places) * 2.0, x, places)
    with pytest.raises(vg.OutOfRangeError, match="gather: index 7"):
        compiled(x, vg.tensor(np.int32([0, 7])))
    (found,) = compiled(x, vg.tensor(np.int32([2, 0])))
    np.testing.assert_array_equal(found, [6, 2])


def test_every_result_has_memory_and_a_shape_of_its_own(compile_native):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)

    def f(x):
        y = x * 2.0
        return [y, y.reshape([6]), y.reshape([3, 2]), y.reshape([6]), y * 1.0, x, x.reshape([6]), vg.cumsum(x, 0)]

    compiled = compile_native(f, vg.tensor(x))
    found = compiled(vg.tensor(x))
    assert [a.shape for a in found] == [a.shape for a in compiled.first]
    for ours, right in zip(found, compiled.first, strict=True):
        np.testing.assert_array_equal(ours, right)
    addresses = [array.__array_interface__["data"][0] for array in found[:3]]
    assert len(set(addresses)) == 3


def test_products_alike_but_for_their_shape(compile_native):
    random = np.random.default_rng(0)
    x, w = (vg.tensor(random.normal(size=s).astype("f")) for s in ((2, 3, 4), (4, 5)))

    def f(x, w):
        return [vg.mat_mul(x, w), vg.mat_mul(x.reshape([6, 4]), w), vg.mat_mul(x.reshape([1, 6, 4]), w)]

    compiled = compile_native(f, x, w)
    for ours, right in zip(compiled(x, w), compiled.first, strict=True):
        assert ours.shape == right.shape
        np.testing.assert_allclose(ours, right, rtol=1e-5)

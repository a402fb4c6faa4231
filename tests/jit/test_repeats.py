"""Ever new arguments or surroundings: from ten compilations on, a function is compiled for what comes again."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.jit import CompiledFunction

pytestmark = pytest.mark.filterwarnings("ignore::varigrad.JitWarning")

X = vg.tensor([1.0, 2.0, 3.0])


def same_step(function):
    """A training step on sequences, of a model with weights of its own, and these."""
    w = vg.variable([[0.5], [-0.25]])
    optimizer = vg.train.adam(0.05)

    def step(xs, factor):
        value, grads = vg.variable_grads(lambda: (vg.tanh(vg.mat_mul(xs, w)).mean() * factor - 1).square())
        optimizer.apply_gradients(grads)
        return value, factor

    return function(step), w


def test_lengths_that_come_again_are_compiled_then():
    as_written, w = same_step(lambda step: step)
    compiled, v = same_step(vg.jit)
    random = np.random.default_rng(0)
    compilations = []
    for _ in range(4):
        for length in random.permutation(np.arange(5, 35)):
            xs = vg.tensor(np.linspace(-1, 1, 2 * length, dtype="f").reshape(length, 2))
            found, right = compiled(xs, 2.0), as_written(xs, 2.0)
            np.testing.assert_allclose(found[0].numpy(), right[0].numpy(), rtol=1e-5)
            assert found[1] == 2.0
        compilations.append(compiled.compilations)
    assert compilations == [10, 30, 30, 30]
    np.testing.assert_allclose(v.numpy(), w.numpy(), rtol=1e-5)
    assert "20 calls ran as written" in compiled.explain()


def test_a_whole_number_that_counts_is_not_compiled_for_ever():
    compiled = vg.jit(lambda x, n: x * n)
    for n in range(40):
        assert compiled(X, n).tolist() == [n, 2 * n, 3 * n]
    assert compiled.compilations == 10
    assert "30 calls ran as written" in compiled.explain()
    assert compiled(X, 20).tolist() == [20, 40, 60]
    assert compiled.compilations == 11
    assert compiled(X, 20).tolist() == [20, 40, 60]
    assert compiled(X, 3).tolist() == [3, 6, 9]
    assert compiled.compilations == 11


def test_the_warning_says_so_at_the_tenth():
    compiled = vg.jit(lambda x, n: x * n)
    for n in range(9):
        compiled(X, n)
    with pytest.warns(
        vg.JitWarning, match="compiled for 10 kinds of arguments, .* others will be when they come again"
    ):
        compiled(X, 9)


def settings_of(kind):
    """Something that a function reads, how it reads it, and how another number gets there."""
    if kind == "a number in a dict":
        table = {"scale": 0.0}
        return lambda: table["scale"], lambda n: table.update(scale=float(n))
    if kind == "an array":
        array = np.zeros(3, np.float32)
        return lambda: vg.tensor(array), lambda n: array.fill(n)
    if kind == "a tensor":
        box = [X]
        return lambda: box[0], lambda n: box.__setitem__(0, vg.fill([3], n))
    numbers = [0.0] * 100
    return lambda: numbers[50], lambda n: numbers.__setitem__(50, float(n))


@pytest.mark.parametrize("kind", ["a number in a dict", "an array", "a tensor", "a long list"])
def test_surroundings_that_are_new_each_time_are_not_compiled_for_ever(kind):
    read, put = settings_of(kind)
    compiled = vg.jit(lambda x: x * read())
    for n in range(30):
        put(n)
        assert compiled(X).tolist() == [n, 2 * n, 3 * n]
    assert compiled.compilations == 10


def test_surroundings_that_come_again_are_compiled_then():
    table = {"scale": 0.0, "training": False}
    compiled = vg.jit(lambda x: x * table["scale"] if table["training"] else x * -table["scale"])

    def call(scale, training):
        table.update(scale=scale, training=training)
        return compiled(X).tolist()[0]

    for n in range(20):
        assert call(float(n), n % 2 == 0) == (n if n % 2 == 0 else -n)
    assert compiled.compilations == 10  # though `training` has come again and again
    assert [call(15.0, False), call(16.0, False), call(15.0, True)] == [-15, -16, 15]
    assert compiled.compilations == 11  # with 15 and False
    assert [call(15.0, False), call(9.0, False), call(15.0, True), call(15.0, True)] == [-15, -9, 15, 15]
    assert compiled.compilations == 12


def test_a_number_whose_value_the_function_looks_at():
    compiled = vg.jit(lambda x, rate: x * rate if rate > 0.5 else x)
    for n in range(30):
        assert compiled(X, n / 10).tolist()[0] == pytest.approx(n / 10 if n / 10 > 0.5 else 1)
    assert compiled.compilations == 10
    for _ in range(3):
        assert compiled(X, 2.5).tolist()[0] == 2.5
    assert compiled.compilations == 11


def test_a_call_that_is_not_compiled_is_one_of_eager_mode_with_tensors_for_arrays():
    def f(x, n, changed):
        if n == 30:
            changed.append(n)
        return x * float(x.sum()) if n == 20 else x.reshape([1, 3]) * n

    compiled = vg.jit(f)
    for n in range(19):
        assert compiled(X.numpy(), n, []).shape == (1, 3)  # an array is a tensor there
    assert compiled(X, 20, []).tolist() == [6, 12, 18]  # as in eager mode
    with pytest.raises(vg.JitError, match="reads the value"):
        compiled(X, 20, [])
    with pytest.raises(vg.JitError, match="changes a list"):
        compiled(X, 30, [])


@pytest.mark.parametrize("check", [False, True])
def test_what_a_call_trains_it_trains_once(check):
    w = vg.variable(0.0)
    ran = vg.variable(0.0)

    def count(n):
        ran.assign(ran + 1)
        return w.assign(w + n)

    compiled = vg.jit(count, check=check)
    for n in range(25):
        compiled(n)
    assert w.item() == sum(range(25))
    assert ran.item() == 25


def test_gradients_through_it_are_those_of_eager_mode():
    compiled = vg.jit(lambda x, n: (x * n).sum())
    for n in range(25):
        assert vg.grad(lambda x, n=n: compiled(x, n))(X).tolist() == [n] * 3
        assert compiled(X, n).item() == 6 * n


def test_a_lenient_one_is_compiled_at_once_for_other_arguments():
    compiled = CompiledFunction(lambda x, n: x * n, lenient=True)
    for n in range(25):
        compiled(X, n)
    assert compiled.compilations == 25

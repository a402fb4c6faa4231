"""What each pass does to a graph, and what it must leave alone."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.jit.passes import PASSES


def kernels(f, *args, after=None):
    """The kernels of a compiled function, by name, in order."""
    compiled = vg.jit(f, executor="numpy")
    compiled(*args)
    nodes = [
        line for line in compiled.graph(after).splitlines() if "(" in line and not line.strip().startswith("return")
    ]
    return [line.split(" = ")[-1].split("(")[0].strip() for line in nodes]


X = vg.tensor(np.random.default_rng(1).normal(size=(2, 3)))

UNCHANGED = {
    "times one": lambda x: x * 1,
    "one times": lambda x: vg.ones([2, 3]) * x,
    "by one": lambda x: x / 1,
    "less zero": lambda x: x - 0,
    "twice negative": lambda x: vg.neg(vg.neg(x)),
    "clone": lambda x: x.clone(),
    "same dtype": lambda x: vg.run_kernel("Cast", (x,), {"dtype": "float32"}),
    "same shape": lambda x: vg.run_kernel("Reshape", (x,), {"shape": (2, 3)}),
    "there and back": lambda x: x.reshape([6]).reshape([2, 3]),
    "transposed twice": lambda x: x.transpose().transpose(),
    "turned round": lambda x: x.reshape([1, 2, 3]).transpose([2, 0, 1]).transpose([1, 2, 0]).reshape([2, 3]),
    "broadcast to itself": lambda x: vg.run_kernel("BroadcastTo", (x,), {"shape": (2, 3)}),
    "weighted by ones": lambda x: vg.run_kernel("MultiplyNoNan", (x, vg.ones([2, 3]))),
    "by ones, no NaN": lambda x: vg.div_no_nan(x, vg.ones([3])),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_what_changes_nothing_is_left_out(name):
    assert kernels(lambda x: vg.exp(UNCHANGED[name](x)), X) == ["Exp"]


KEPT = {
    "plus zero, which makes 0 of -0": (lambda x: x + 0, "Add"),
    "less minus zero, which does so too": (lambda x: x - vg.scalar(-0.0), "Sub"),
    "times zero, which may be NaN": (lambda x: x * 0, "Multiply"),
    "one of more axes": (lambda x: x * vg.ones([4, 2, 3]), "Multiply"),
    "ones of another dtype, which x takes": (lambda x: x * vg.ones([2, 3], "float64"), "Cast"),
    "weighted by zeros": (lambda x: vg.run_kernel("MultiplyNoNan", (x, vg.zeros([2, 3]))), "MultiplyNoNan"),
    "doubled": (lambda x: vg.run_kernel("MultiplyNoNan", (x, vg.ones([2, 3])), {"factor": 2.0}), "MultiplyNoNan"),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_changes_something_is_kept(name):
    f, kernel = KEPT[name]
    assert kernel in kernels(f, X)
    values = vg.tensor([[np.nan, np.inf, -0.0], [0.0, -np.inf, 1.0]])
    compiled = vg.jit(f)
    for _ in range(2):
        found, right = np.asarray(compiled(values)), np.asarray(f(values))
        assert np.array_equal(found, right, equal_nan=True)
        assert np.array_equal(np.signbit(found), np.signbit(right))


def test_what_depends_on_nothing_is_computed_once():
    assert kernels(lambda x: x + vg.exp(vg.linspace(0, 1, 3)).sum(), X) == ["Add"]
    calls = []

    def kernel():
        calls.append(1)
        return np.float32([1, 2, 3])

    vg.register_kernel("NothingTest", "numpy", kernel)
    f = vg.jit(lambda x: x + vg.run_kernel("NothingTest", ()))
    for _ in range(4):
        f(X)
    assert len(calls) == 2  # when it was captured, and when it was folded


def test_large_constants_are_not_made_to_stay():
    assert "Fill" in kernels(lambda x: (vg.zeros([1000, 1000]) + x.sum()).sum(), X)


def test_what_is_computed_twice_is_computed_once():
    assert kernels(lambda x: vg.exp(x) * vg.exp(x) + vg.exp(x * 1), X) == ["Exp", "Multiply", "Add"]
    assert kernels(lambda x: (x + 2) * (x + 2), X) == ["Add", "Multiply"]
    assert kernels(lambda x: x.sum(0).sum() + x.sum(1).sum(), X).count("Sum") == 4
    assert kernels(lambda x: vg.leaky_relu(x, 0.1) + vg.leaky_relu(x, 0.2), X).count("LeakyRelu") == 2


def test_random_numbers_are_never_shared_or_dropped_and_seeded_ones_are():
    fresh = kernels(lambda x: (vg.random_normal([3]), vg.random_normal([3]), vg.random_uniform([2]))[0] + x, X)
    assert fresh == ["RandomNormal", "RandomNormal", "RandomUniform", "Add"]
    assert kernels(lambda x: vg.random_normal([3], seed=1) + vg.random_normal([3], seed=1) + x, X) == ["Add"]


def test_a_value_read_before_and_after_an_update_is_two_values():
    w = vg.variable(1.0)

    def step(x):
        before = w + x
        w.assign(before)
        return before + (w + x)

    f = vg.jit(step)
    assert [f(vg.scalar(1.0)).item() for _ in range(3)] == [5, 7, 9]


def test_what_nobody_reads_is_dropped_but_for_updates():
    w = vg.variable(1.0)

    def step(x):
        vg.exp(x)
        w.assign(x.sum())
        return x * 2

    assert kernels(step, X) == ["Sum", "Assign", "Multiply"]


@pytest.mark.parametrize("turn_a", [False, True])
@pytest.mark.parametrize("turn_b", [False, True])
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_products_read_their_factors_transposed(turn_a, turn_b, flags):
    def factor(rows, columns, turned):
        return vg.tensor(
            np.random.default_rng(rows).normal(size=(4, *((columns, rows) if turned else (rows, columns))))
        )

    a = factor(2, 3, turn_a ^ flags[0])
    b = factor(3, 5, turn_b ^ flags[1])

    def product(a, b):
        a = a.transpose([0, 2, 1]) if turn_a else a
        b = b.transpose([0, 2, 1]) if turn_b else b
        return vg.mat_mul(a, b, *flags)

    assert kernels(product, a, b) == ["BatchMatMul"]
    f = vg.jit(product)
    f(a, b)
    assert np.allclose(f(a, b), product(a, b), rtol=1e-5, atol=1e-6)


def test_other_transposes_stay():
    x = vg.ones([2, 3, 3])
    assert kernels(lambda x: vg.mat_mul(x.transpose([1, 0, 2]), x.transpose([2, 1, 0])), x).count("Transpose") == 2


def test_every_pass_can_be_looked_at():
    f = vg.jit(lambda x: x * 1 + vg.ones([3]))
    f(X)
    texts = [f.graph(name) for name in ("capture", *PASSES)]
    assert all(text.startswith("<lambda>:") for text in texts)
    assert texts[-1] == f.graph()
    assert "Fill" in texts[0]
    assert "Fill" not in texts[-1]

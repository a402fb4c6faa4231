"""Which operations run in one pass over memory, and that a pass gives the same wherever it goes."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native.groups import Group
from varigrad.backends.native.operations import Map, Routine


def random(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype("f")


def groups(program):
    return [step for step in program._steps if isinstance(step, Group)]


def names(group):
    return [op.name if isinstance(op, Map) else op.how for op in group.operations]


def test_what_is_needed_late_is_computed_late(assert_native_as_eager):
    def f(x, a, b):
        h = x.mat_mul(a)
        needed_late = vg.exp(-h.square())
        y = vg.tanh(h).mat_mul(b)
        return (needed_late * y).sum()

    program = assert_native_as_eager(f, random(40, 24), random(24, 32), random(32, 32))
    assert names(groups(program)[-1]) == ["Square", "Neg", "Exp", "Multiply", "sum"]


def test_layer_normalization_and_its_gradient_are_one_pass(assert_native_as_eager):
    def f(x, dy):
        def loss(x):
            mean, variance = vg.moments(x, axis=-1, keep_dims=True)
            return ((x - mean) / vg.sqrt(variance + 1e-3) * dy).sum()

        return vg.grad(loss)(x)

    program = assert_native_as_eager(f, random(48, 96), random(48, 96))
    assert len(groups(program)) == 1


def test_what_is_made_once_a_row_goes_where_the_rows_are_gone_through(assert_native_as_eager):
    def f(x, scale):
        largest = x.max(axis=1, keep_dims=True)
        return ((x - largest) * vg.exp(scale)).sum(axis=1)

    program = assert_native_as_eager(f, random(64, 80), random(64, 1))
    assert len(groups(program)) == 1


def test_a_sum_of_columns_reads_what_a_pass_over_rows_makes(assert_native_as_eager):
    def f(x):
        y = vg.softmax(x) * 3
        return y, y.sum(axis=0)

    program = assert_native_as_eager(f, random(64, 80))
    assert [names(group)[-1] for group in groups(program)] == ["Multiply", "sum"]


def test_a_long_chain_of_maps_takes_few_passes(assert_native_as_eager):
    def f(x):
        for _ in range(100):
            x = vg.sin(x) + x * 0.5
        return x

    program = assert_native_as_eager(f, random(7, 9), tolerance=1e-4)
    assert len(groups(program)) <= 8


def test_maps_that_wait_read_variables_before_these_are_updated():
    v = vg.variable(random(5, 6))

    @vg.jit(executor="native")
    def step(x):
        before = vg.exp(v) * x
        v.assign(v * 2 + x)
        return before + v

    x = vg.tensor(random(5, 6))
    for _ in range(3):
        held = v.numpy().copy()
        expected = np.exp(held) * x.numpy() + (held * 2 + x.numpy())
        np.testing.assert_allclose(step(x).numpy(), expected, rtol=1e-5)


def test_attention_reads_and_writes_heads_where_they_lie(assert_native_as_eager):
    def attention(q, k, v):
        scores = vg.einsum("bqhd,bkhd->bhqk", q, k)
        return vg.einsum("bhqk,bkhd->bqhd", scores, v)

    q, k, v = (random(3, 32, 4, 16) + at for at in range(3))
    program = assert_native_as_eager(attention, q, k, v)
    assert [type(step) for step in program._steps] == [Routine, Routine]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("abc,cde->abde", [(6, 40, 32), (32, 4, 8)]),
        ("abc,cde->deab", [(6, 40, 32), (32, 4, 8)]),
        ("abc,cde->adbe", [(6, 40, 32), (32, 4, 8)]),
        ("abc,cde->eadb", [(6, 40, 32), (32, 4, 8)]),
        ("abc,cde->abd", [(6, 40, 32), (32, 4, 8)]),
        ("abc,acd->abd", [(6, 40, 32), (6, 32, 24)]),
        ("abc,acd->bad", [(6, 40, 32), (6, 32, 24)]),
        ("abc,acd->adb", [(6, 40, 32), (6, 32, 24)]),
        ("abc,acd->dba", [(6, 40, 32), (6, 32, 24)]),
        ("abc,acd->bda", [(6, 40, 32), (6, 32, 24)]),
        ("abc,abd->adc", [(6, 40, 32), (6, 40, 24)]),
        ("abc,ab->cab", [(6, 40, 32), (6, 40)]),
        ("abc,c->ba", [(6, 40, 32), (32,)]),
        ("ab,bc,cd->da", [(40, 32), (32, 24), (24, 16)]),
    ],
)
def test_results_of_einsum_in_any_order(equation, shapes, assert_native_as_eager):
    assert_native_as_eager(lambda *xs: vg.einsum(equation, *xs), *[random(*shape) for shape in shapes])


@pytest.mark.parametrize("shape", [(3, 5000), (5, 20_007), (40, 3, 4111), (2000, 2500), (2, 2**21 + 3)], ids=str)
def test_sums_of_any_number_of_columns(shape, assert_native_as_eager):
    x = np.random.default_rng(1).normal(size=shape).astype("f")
    assert_native_as_eager(lambda x: [(x * 2).sum(0), x.max(0), x.square().mean(0)], x)

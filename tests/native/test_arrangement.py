"""What is done to a graph before it is lowered, and what becomes of it: maps in parts, sums of products, places."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native.groups import Group
from varigrad.backends.native.operations import Routine

random = np.random.default_rng(0)


def numbers(*shape):
    return random.normal(size=shape).astype("f")


def kernels(program):
    return [node.kernel for node in program.graph.nodes]


def passes(program):
    return [step for step in program._steps if isinstance(step, Group)]


def products(program):
    return [step for step in program._steps if isinstance(step, Routine)]


GATED = {
    "all in parts": lambda z, c: (lambda i, f: i * vg.tanh(f + c))(*vg.split(vg.sigmoid(z), 2, 1)),
    "parts of parts": lambda z, c: (lambda i, f: i * f + c)(*vg.split(vg.split(vg.sigmoid(z), [8, 4], 1)[0], 2, 1)),
    "unequal parts": lambda z, c: (lambda i, f: vg.exp(i) + f.sum(1, keep_dims=True))(
        *vg.split(vg.sigmoid(z), [4, 8], 1)
    ),
    "a part that is returned": lambda z, c: (lambda i, f: [i, f * c])(*vg.split(vg.sigmoid(z)[:, :8], 2, 1)),
    "with a bias": lambda z, c: (lambda i, f: i * f)(*vg.split(vg.relu(z + c[0, 0]), 2, 1)),
    "with numbers by column": lambda z, c: (lambda i, f: i * f)(*vg.split(vg.tanh(z * z[0]), 2, 1)),
    "with numbers by row": lambda z, c: (lambda i, f: i * f)(*vg.split(vg.tanh(z * z[:, :1]), 2, 1)),
    "the whole is read too": lambda z, c: (lambda s: (lambda i, f: [i * f, s.sum()])(*vg.split(s, 2, 1)))(
        vg.sigmoid(z)
    ),
}


@pytest.mark.parametrize("gated", GATED)
def test_maps_of_which_parts_are_read(gated, assert_native_as_eager):
    assert_native_as_eager(GATED[gated], numbers(6, 12), numbers(6, 1))


JOINED = {
    "a map": lambda a, b, w: vg.mat_mul(vg.exp(vg.concat([a, b], 1)), w),
    "a map of two": lambda a, b, w: vg.mat_mul(vg.concat([a, b], 1) * vg.concat([b, a], 1), w),
    "a map of the whole of another": lambda a, b, w: vg.mat_mul(vg.concat([a, b], 1) * w[:, :5].transpose(), w),
    "a map with numbers by row": lambda a, b, w: vg.mat_mul(vg.concat([a, b], 1) * a.sum(1, keep_dims=True), w),
    "concatenations of concatenations": lambda a, b, w: vg.concat(
        [vg.exp(vg.concat([a, b], 1)), vg.concat([b, a], 1)], 1
    ),
    "a map that is read twice": lambda a, b, w: (lambda y: [vg.mat_mul(y, w), y.sum()])(
        vg.sigmoid(vg.concat([a, b], 1))
    ),
    "a map with a mask": lambda a, b, w: vg.mat_mul(vg.where(vg.concat([a, b], 1) > 0, vg.concat([b, a], 1), 0.0), w),
}


@pytest.mark.parametrize("joined", JOINED)
def test_maps_of_what_was_joined(joined, assert_native_as_eager):
    assert_native_as_eager(JOINED[joined], numbers(5, 3), numbers(5, 3), numbers(6, 7))


def test_a_map_of_parts_is_computed_where_the_parts_are(assert_native_as_eager):
    program = assert_native_as_eager(
        lambda a, w: vg.mat_mul(vg.sigmoid(vg.concat([vg.exp(a), vg.tanh(a)], 1)), w),
        numbers(6, 4),
        numbers(8, 5),
    )
    assert len(passes(program)) == 1


def test_a_sum_of_products_of_one_kind_is_one_product(assert_native_as_eager):
    def f(w, *xs):
        return vg.grad(lambda w: vg.add_n([vg.square(vg.mat_mul(x, w)).sum() for x in xs]))(w)

    program = assert_native_as_eager(f, numbers(12, 20), *[numbers(8, 12) for _ in range(5)])
    backward = [node for node in program.graph.nodes if node.kernel == "BatchMatMul" and node.attrs["transpose_a"]]
    assert len(backward) == 1


SUMS = {
    "two": lambda a, b, c, d: vg.mat_mul(a, b, True) + vg.mat_mul(c, d, True),
    "of unequal depth": lambda a, b, c, d: vg.mat_mul(a[:3], b[:3], True) + vg.mat_mul(c, d, True),
    "and more": lambda a, b, c, d: vg.mat_mul(a, b, True) + (vg.exp(b[:6]) + vg.mat_mul(c, d, True)),
    "the same factors": lambda a, b, c, d: vg.mat_mul(a, b, True) + vg.mat_mul(c, b, True),
    "one twice": lambda a, b, c, d: (lambda p: [p + vg.mat_mul(c, d, True), p])(vg.mat_mul(a, b, True)),
    "not turned": lambda a, b, c, d: vg.mat_mul(a.transpose(), b) + vg.mat_mul(c, d[:6]),
    "in the order of a stack": lambda a, b, c, d: [
        vg.mat_mul(a, d, True) + vg.mat_mul(c, b, True),
        vg.stack([b, d]),
    ],
}


@pytest.mark.parametrize("terms", SUMS)
def test_sums_of_products(terms, assert_native_as_eager):
    assert_native_as_eager(SUMS[terms], numbers(6, 6), numbers(6, 8), numbers(6, 6), numbers(6, 8))


STACKED = {
    "maps": lambda x, y: vg.stack([vg.exp(x), vg.sin(y), x * y]),
    "one twice": lambda x, y: (lambda e: vg.stack([e, x, e]))(vg.exp(x)),
    "in two stacks": lambda x, y: (lambda e: [vg.stack([e, x]), vg.stack([y, e])])(vg.exp(x)),
    "also returned": lambda x, y: (lambda e: [vg.stack([e, x]), e])(vg.exp(x)),
    "stacks of stacks": lambda x, y: vg.stack([vg.stack([vg.exp(x), y]), vg.stack([y, vg.sin(x)])]),
    "products": lambda x, y: vg.stack([vg.mat_mul(x, y), vg.mat_mul(y, x)]),
    "padded": lambda x, y: vg.pad(vg.exp(x), [(1, 2), (0, 0)]),
    "along the last axis": lambda x, y: vg.concat([vg.exp(x), vg.sin(y)], 1),
    "read before": lambda x, y: (lambda e: vg.stack([e, vg.mat_mul(e, y), vg.sin(e) + y]))(vg.exp(x)),
    "reductions": lambda x, y: vg.stack([x.sum(0), y.max(0), vg.exp(x).sum(1)]),
    "turned": lambda x, y: vg.stack([vg.exp(x).transpose(), y]),
}


@pytest.mark.parametrize("stacked", STACKED)
def test_values_are_made_where_they_are_put_together(stacked, assert_native_as_eager):
    assert_native_as_eager(STACKED[stacked], numbers(8, 8), numbers(8, 8))


def test_nothing_is_copied_to_where_it_can_be_made(assert_native_as_eager):
    program = assert_native_as_eager(
        lambda x, w, v: vg.mat_mul(vg.concat([vg.mat_mul(x, w), vg.mat_mul(x, v)], 0), w),
        numbers(8, 8),
        numbers(8, 8),
        numbers(8, 8),
    )
    assert len(products(program)) == len(program._steps)

"""Jobs of several steps: each part goes through all of them without the others."""

import ctypes

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native import kernels, matmul

random = np.random.default_rng(0)

KERNEL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def numbers(*shape):
    return random.normal(size=shape).astype("f")


@pytest.fixture(autouse=True)
def _small_products_are_packed(monkeypatch):
    monkeypatch.setattr(matmul, "_PACKED", 1)


@pytest.fixture
def run_part_by_part(monkeypatch, compile_native):
    """What a function of tensors gives if the last part of every job has run before the first begins: for `threads`."""

    def run(f, arguments, threads):
        from varigrad.backends.native.state import State

        monkeypatch.setattr(kernels, "worker_count", lambda: threads - 1)
        xs = [vg.tensor(x) for x in arguments]
        compiled = compile_native(f, *xs)
        program = compiled.program
        (segment,) = program._segments
        state = State(program._places, program._segments, 0)
        arrays = program._fetch(xs)
        program._look_up(segment, state, arrays)
        state.arena[:] = 255  # NaN, wherever it is read before it is written
        for kernel, given, parts, _ in np.array(segment.jobs).reshape(-1, 4).tolist():
            for part in reversed(range(parts)):
                KERNEL(kernel)(state.table.ctypes.data, given, part, part + 1)
        return program, compiled.first, [np.array(arrays[place]) for place in program._places.outputs]

    return run


def layers(x, *weights):
    for w in weights:
        x = vg.tanh(vg.mat_mul(x, w) + x)
    return x


def recurrence(cell):
    def f(x, kernel, recurrent, h, c):
        def loss(kernel, recurrent):
            state, total = (h, c), 0.0
            for step in vg.unstack(x):
                state = cell(vg.mat_mul(step, kernel) + vg.mat_mul(state[0], recurrent), *state)
                total = total + state[0].mean()
            return total

        value, grads = vg.value_and_grads(loss)([kernel, recurrent])
        return [value, *grads]

    return f


def lstm(z, h, c):
    i, f, o = vg.split(vg.sigmoid(z[:, :24]), 3, 1)
    c = f * c + i * vg.tanh(z[:, 24:])
    return o * vg.tanh(c), c


def gated(z, h, c):
    i, f = vg.split(vg.sigmoid(z[:, :16]), 2, 1)
    return i * h + f * vg.relu(z[:, 16:24]) * z[:, 24:], c


def attention(x, w):
    scores = vg.mat_mul(x, x, False, True)
    return vg.mat_mul(vg.mat_mul(vg.softmax(scores), x), w)


RECURRENT = numbers(5, 64, 8), numbers(8, 32), numbers(8, 32), numbers(64, 8), numbers(64, 8)
CASES = {
    "layers": (layers, (numbers(96, 32), numbers(32, 32), numbers(32, 32), numbers(32, 32))),
    "one weight for all layers": (lambda x, w: layers(x, w, w, w), (numbers(64, 32), numbers(32, 32))),
    "layers and their gradient": (
        lambda x, w: vg.grads(lambda x, w: layers(x, w, w).square().sum())([x, w]),
        (numbers(64, 32), numbers(32, 32)),
    ),
    "lstm": (recurrence(lstm), RECURRENT),
    "another recurrence": (recurrence(gated), RECURRENT),
    "steps that read all rows of the step before": (
        lambda x: vg.mat_mul(vg.mat_mul(x, x, True), vg.tanh(x), False, True),
        (numbers(64, 32),),
    ),
    "attention": (attention, (numbers(4, 32, 32), numbers(32, 32))),
    "rows shifted by one": (
        lambda x, w: vg.mat_mul(vg.concat([vg.mat_mul(x, w)[1:], x[:1]], 0), w) + x,
        (numbers(64, 32), numbers(32, 32)),
    ),
    "rows in reverse": (
        lambda x, w: vg.mat_mul(vg.reverse(vg.mat_mul(x, w), 0), w),
        (numbers(64, 32), numbers(32, 32)),
    ),
    "rows and columns": (
        lambda x, w: vg.mat_mul(vg.mat_mul(x, w).transpose(), x),
        (numbers(32, 32), numbers(32, 32)),
    ),
    "normalised rows": (
        lambda x, w: layers((x - x.mean(1, keep_dims=True)) / x.square().sum(1, keep_dims=True), w, w),
        (numbers(64, 32), numbers(32, 32)),
    ),
}


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("case", CASES)
def test_parts_need_no_other_part(case, threads, run_part_by_part):
    f, arguments = CASES[case]
    _, expected, found = run_part_by_part(f, arguments, threads)
    for ours, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours.reshape(right.shape), right, rtol=2e-5, atol=2e-5 * np.abs(right).max())


@pytest.mark.parametrize(
    ("case", "length"), [("one weight for all layers", 3), ("lstm", 10), ("another recurrence", 10)]
)
def test_what_goes_through_the_same_rows_is_one_job(case, length, run_part_by_part):
    f, arguments = CASES[case]
    program, _, _ = run_part_by_part(f, arguments, 2)
    assert max(chain.end - chain.first for chain in program._kernels.chains) >= length


def test_a_chain_takes_little_more_memory(run_part_by_part):
    f, arguments = CASES["lstm"]
    alone, _, _ = run_part_by_part(f, arguments, 1)
    shared, _, _ = run_part_by_part(f, arguments, 2)
    assert shared._places.arena.size < 1.2 * alone._places.arena.size

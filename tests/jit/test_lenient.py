"""Compiled functions that run as they are written where they cannot be compiled: once each time, and all of it."""

import time

import numpy as np
import pytest

import varigrad as vg
from varigrad.jit import CompiledFunction, trace

X = vg.tensor([1.0, 2.0])
BOXES = vg.tensor([[0.0, 0.0, 1.0, 1.0], [2.0, 2.0, 3.0, 3.0]])


def reads_a_value(x):
    return x * 2 if x.sum() > 0 else x


def has_a_shape_of_values(x):
    chosen = vg.image.non_max_suppression(BOXES, x, 2)
    return x.gather(chosen).reverse() * 2


def returns_an_object(x):
    return Result(x * 2)


def asks_for_the_time(x):
    return x * 2 + time.perf_counter() * 0


def makes_a_round_trip(x):
    return vg.tensor(np.asarray(x) * 2)


class Result:
    def __init__(self, value):
        self.value = value


CASES = {
    reads_a_value: "reads the value of a tensor",
    has_a_shape_of_values: "a result whose shape depends on values",
    makes_a_round_trip: "reads the value of a tensor",
    returns_an_object: "returned a Result",
    asks_for_the_time: "gives the time",
}


@pytest.mark.parametrize("function", CASES)
def test_what_cannot_be_compiled_runs_as_it_is_written_and_says_why(function):
    compiled = CompiledFunction(function, lenient=True)
    for _ in range(3):
        result = compiled(X)
        assert getattr(result, "value", result).tolist() == [2.0, 4.0]
    assert CASES[function] in compiled.refusal
    assert CASES[function] in compiled.explain()
    assert compiled.compilations == 0


def test_the_call_that_cannot_be_compiled_changes_everything_once():
    w = vg.variable([1.0, 1.0])
    optimizer = vg.train.adam(0.1)
    drawn, calls = [], []

    def step(x):
        calls.append(1)
        w.assign(w + 1)
        optimizer.minimize(lambda: (w * x).sum())
        drawn.append(vg.random_normal([1]).item())
        return float(w.sum())

    vg.set_random_seed(3)
    expected = [vg.random_normal([1]).item() for _ in range(2)]
    vg.set_random_seed(3)
    compiled = CompiledFunction(step, lenient=True)
    results = [compiled(X) for _ in range(2)]
    assert len(calls) == 2
    assert optimizer.iterations == 2
    assert drawn == expected
    np.testing.assert_allclose(results, [2 * 2 - 0.2, 2 * 3 - 0.4], rtol=1e-5)


def test_what_changes_something_else_each_time_is_left_alone_without_a_warning():
    counted = []

    def count(x):
        counted.append(1)
        return x * 2

    compiled = CompiledFunction(count, lenient=True)
    for _ in range(5):
        compiled(X)
    assert len(counted) == 5
    assert "the length of counted" in compiled.refusal


def test_a_failure_of_the_compiler_does_not_lose_the_call(monkeypatch):
    def fail(graph, name):
        raise RuntimeError("no code for this")

    monkeypatch.setattr(trace, "make_executor", fail)
    w = vg.variable(0.0)
    compiled = CompiledFunction(lambda x: w.assign(w + x.sum()), lenient=True)
    compiled(X)
    compiled(X)
    assert w.item() == 6.0
    assert compiled.refusal == "no code for this"


def test_errors_of_the_function_itself_are_raised():
    compiled = CompiledFunction(lambda x: x + vg.ones([3]), lenient=True)
    with pytest.raises(ValueError, match="cannot be broadcast"):
        compiled(X)
    assert compiled.refusal is None

"""Functions that are compiled as soon as that pays."""

import gc
import weakref

import pytest

import varigrad as vg
from varigrad.jit import deferred
from varigrad.jit.deferred import Deferred

X = vg.tensor([1.0, 2.0])


def double(x):
    return x + x


def some(x):
    for _ in range(5):
        x = vg.sin(x)
    return x


def many(x):
    for _ in range(50):
        x = vg.sin(x)
    return x


def make(function, jit=None):
    told = []
    return Deferred(lambda: function, "the function", jit, told.append), told


def calls_until_compiled(function, x, more=0):
    run, _ = make(function)
    for call in range(1, 1000):
        run(x, more=more)
        if run.compilations:
            return call
    return None


def test_a_call_that_has_more_to_save_is_compiled_earlier():
    assert 1 < calls_until_compiled(many, X) < calls_until_compiled(some, X)
    assert 1 < calls_until_compiled(some, vg.zeros([300, 300])) < calls_until_compiled(some, X)


def test_it_is_compiled_at_the_second_call_where_many_more_are_to_come():
    assert calls_until_compiled(double, X, more=100_000) == 2


def test_the_calls_that_pay_are_those_of_which_the_savings_are_half_the_cost():
    scales = deferred._Scales()
    with deferred.observing(scales):
        x = X
        for _ in range(20):
            x = vg.sin(x)
    cost, saved = 0.1 + 20 * 0.0006 + 1 * 0.01, 20 * 15e-6 + 20 * 2 * 1e-9
    assert scales.calls_that_pay() == -(-0.5 * cost // saved)


@pytest.mark.parametrize(("jit", "compilations"), [(True, 1), (False, 0)])
def test_it_is_compiled_at_once_or_never_where_that_is_asked_for(jit, compilations):
    run, told = make(double, jit)
    assert [run(X, more=1_000_000).tolist() for _ in range(3)] == [[2.0, 4.0]] * 3
    assert run.compilations == compilations
    assert not told


def test_each_shape_has_calls_of_its_own():
    run, _ = make(double)
    for length in range(1, 400):
        run(vg.zeros([length]))
    assert run.compilations == 0


def test_what_cannot_be_compiled_is_told_once_after_the_call():
    w = vg.variable(0.0)

    def step(x):
        w.assign(w + x.sum())
        return w.item()

    run, told = make(step, True)
    assert [run(X) for _ in range(3)] == [3.0, 6.0, 9.0]
    (reason,) = told
    assert "reads the value of a tensor" in reason
    assert "while the function is compiled" in reason


def test_nothing_holds_what_a_function_is_made_of_until_it_is_compiled():
    class Thing:
        pass

    thing = Thing()
    held = weakref.ref(thing)

    def make_it():
        found = held()
        return lambda x: x + x if found else x

    run = Deferred(make_it, "the function", None, print)
    run(X)
    gc.disable()
    try:
        del thing
        assert held() is None
    finally:
        gc.enable()

"""Complaints about compiled functions that people have reported of other libraries, made impossible here."""

import os
import sys
import types

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native.threads import worker_count

# jax-ml/jax#1426, #1348, #7332: a number read from outside a compiled function is frozen at its first value and later
# changes are ignored.

FACTOR = 10


def _closure():
    a = 10

    def change():
        nonlocal a
        a = 20

    return (lambda: a), change


def _global():
    def change():
        global FACTOR
        FACTOR = 20

    global FACTOR
    FACTOR = 10
    return (lambda: FACTOR), change


def _attribute():
    holder = types.SimpleNamespace(a=10)
    return (lambda: holder.a), lambda: setattr(holder, "a", 20)


def _element():
    items = [10]
    return (lambda: items[0]), lambda: items.__setitem__(0, 20)


def _dict_value():
    table = {"a": 10}
    return (lambda: table["a"]), lambda: table.update(a=20)


def _array():
    array = np.array(10, np.float32)
    return (lambda: array), lambda: array.fill(20)


@pytest.mark.parametrize("outside", [_closure, _global, _attribute, _element, _dict_value, _array])
def test_a_number_from_outside_counts_with_the_value_that_it_has(outside):
    read, change = outside()
    f = vg.jit(vg.grad(lambda v: read() * (v**2).sum()))
    x = vg.tensor([1.0, 2.0])
    assert [f(x).tolist(), f(x).tolist()] == [[20, 40], [20, 40]]
    change()
    assert [f(x).tolist(), f(x).tolist()] == [[40, 80], [40, 80]]
    assert f.compilations == 2


def test_a_learning_rate_assigned_between_steps_counts_and_does_not_recompile():
    w = vg.variable(0.0)
    optimizer = vg.train.sgd(0.1)
    step = vg.jit(lambda g: optimizer.apply_gradients({w.name: g}))
    step(vg.scalar(1.0))
    optimizer.learning_rate = 0.01
    step(vg.scalar(1.0))
    assert w.item() == pytest.approx(-0.11)
    assert step.compilations == 1


# pytorch/pytorch#3146, #80777: small models run slower with the default threads than with one, and spin all cores while
# idle. How fast they are is measured by `benchmarks/calls.py --parts threads`: default against one thread, two
# processes at once, a loop that sleeps. tensorflow/tfjs#302, #628, fitting a single sample, by `--parts sample`.


@pytest.mark.skipif(sys.platform != "linux", reason="machine code shares its work with other threads on Linux alone")
@pytest.mark.parametrize(
    ("settings", "threads"),
    [
        ({}, 8),
        ({"OMP_NUM_THREADS": "1"}, 1),
        ({"OMP_NUM_THREADS": "3"}, 3),
        ({"VARIGRAD_NUM_THREADS": "1"}, 1),
        ({"VARIGRAD_NUM_THREADS": "2", "OMP_NUM_THREADS": "5"}, 2),
        ({"OMP_NUM_THREADS": "4,2"}, 4),  # OpenMP: the first is for the outermost level
        ({"OMP_NUM_THREADS": " 4 , 2"}, 4),
        ({"OMP_NUM_THREADS": "many"}, 8),
        ({"OMP_NUM_THREADS": "64"}, 8),  # no more than there are cores
    ],
)
def test_settings_of_threads_are_obeyed(settings, threads, monkeypatch):
    for name in ("VARIGRAD_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))
    assert worker_count() + 1 == threads

"""Complaints about memory (tfjs#5980, #200, #1167): a loop written by hand keeps adding tensors."""

import gc
import subprocess
import sys

import numpy as np

import varigrad as vg


def make_step():
    random = np.random.default_rng(0)
    x, y = vg.tensor(random.normal(size=(8, 4))), vg.tensor(random.normal(size=(8, 2)))
    weights = [
        vg.variable(random.normal(size=(4, 16)), name="w1"),
        vg.variable(np.zeros(16), name="b1"),
        vg.variable(random.normal(size=(16, 2)), name="w2"),
        vg.variable(np.zeros(2), name="b2"),
    ]
    w1, b1, w2, b2 = weights
    optimizer = vg.train.adam(0.01)

    def step():
        hidden = lambda: vg.relu(x @ w1 + b1)  # noqa: E731
        value, grads = vg.variable_grads(lambda: (hidden() @ w2 + b2 - y).square().mean(), weights)
        optimizer.apply_gradients(vg.train.clip_by_global_norm(grads, 1.0))
        return value

    return step


def test_a_hundred_steps_without_tidy_leave_no_tensor_behind():
    step = make_step()
    step()
    step()
    gc.collect()
    before = vg.memory()
    for _ in range(100):
        step()
    assert vg.memory() == before


def test_nothing_waits_for_the_garbage_collector():
    step = make_step()
    step()
    step()
    gc.collect()
    gc.disable()
    try:
        before = vg.memory()
        for _ in range(20):
            step()
        assert vg.memory() == before
    finally:
        gc.enable()


def test_the_process_does_not_grow_over_ten_thousand_steps():
    code = """
import resource, sys
sys.path.insert(0, "tests/field_reports")
from test_memory import make_step
step = make_step()
for _ in range(500):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(10_000):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    from pathlib import Path

    root = Path(__file__).parents[2]
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert int(run.stdout) < 2048  # kB

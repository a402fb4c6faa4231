"""What these tests share: a function captured, compiled to machine code and run beside eager mode."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg
from varigrad.jit.capture import Capture
from varigrad.jit.executors import make_executor
from varigrad.jit.passes import optimize
from varigrad.observe import observing

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Where there is no llvmlite, there is no machine code."""
    if importlib.util.find_spec("llvmlite") is None:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason="machine code needs llvmlite"))


class Compiled:
    """A function of tensors as one native program; the first run, which is written down, gives `first`."""

    def __init__(self, f, *arguments):
        capture = Capture("f", arguments, [f"a{at}" for at in range(len(arguments))])
        with observing(capture):
            result = f(*capture.stand_ins)
        graph, self.build = capture.finish(result)
        self.first = flat(result)
        self.program = make_executor(optimize(graph), "native")

    def __call__(self, *arguments):
        return flat(self.build([vg.make_tensor(array) for array in self.program(arguments)], arguments))


def flat(value):
    if isinstance(value, dict):
        value = list(value.values())
    return (
        [array for item in value for array in flat(item)] if isinstance(value, (list, tuple)) else [np.asarray(value)]
    )


@pytest.fixture
def compile_native():
    return Compiled


@pytest.fixture
def assert_native_as_eager():
    """Checks that a function gives the same compiled: within `tolerance`, relative to the largest number."""

    def check(f, *arguments, tolerance=2e-5):
        xs = [vg.tensor(np.asarray(a)) if not isinstance(a, vg.Tensor) else a for a in arguments]
        compiled = Compiled(f, *xs)
        for _ in range(2):
            expected, found = flat(f(*xs)), compiled(*xs)
            assert len(found) == len(expected)
            for ours, right in zip(found, expected, strict=True):
                assert ours.dtype == right.dtype
                scale = np.abs(right[np.isfinite(right)]).max(initial=1.0) if right.dtype.kind in "fc" else 1.0
                np.testing.assert_allclose(ours, right, rtol=tolerance, atol=tolerance * scale)
        return compiled.program

    return check

"""Every test of compiled functions runs with each executor that there is."""

from importlib.util import find_spec

import pytest

from varigrad.jit import trace
from varigrad.jit.executors import make_executor
from varigrad.observe import OBSERVERS

EXECUTORS = ["numpy", "native"] if find_spec("llvmlite") else ["numpy"]


@pytest.fixture(autouse=True, params=EXECUTORS)
def executor(request, monkeypatch):
    """The executor where a test does not choose one; `"numpy"` gives the bits of eager mode."""
    monkeypatch.setattr(trace, "make_executor", lambda graph, name: make_executor(graph, name or request.param))
    return request.param


@pytest.fixture(autouse=True)
def nobody_observes():
    """Compiled functions are called as they are outside of tests: the quick way, which they take unobserved."""
    token = OBSERVERS.set([])
    yield
    OBSERVERS.reset(token)

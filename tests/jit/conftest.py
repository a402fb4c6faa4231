"""Every test of compiled functions runs with each executor that there is."""

from importlib.util import find_spec

import pytest

from varigrad.jit import trace
from varigrad.jit.executors import make_executor

EXECUTORS = ["numpy", "native"] if find_spec("llvmlite") else ["numpy"]


@pytest.fixture(autouse=True, params=EXECUTORS)
def executor(request, monkeypatch):
    """The executor where a test does not choose one; `"numpy"` gives the bits of eager mode."""
    monkeypatch.setattr(trace, "make_executor", lambda graph, name: make_executor(graph, name or request.param))
    return request.param

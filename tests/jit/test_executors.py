"""Which executor runs a graph."""

from importlib.util import find_spec

import numpy as np
import pytest

import varigrad as vg
from varigrad.jit import executors
from varigrad.jit.graph import Graph
from varigrad.jit.straight_line import Program


@pytest.fixture(autouse=True)
def forgetful():
    executors.makes_machine_code.cache_clear()
    yield
    executors.makes_machine_code.cache_clear()


def test_machine_code_is_the_default_where_it_can_be_made():
    program = executors.make_executor(Graph([], []), None)
    assert (type(program).__name__ == "NativeProgram") is bool(find_spec("llvmlite"))


def test_numpy_is_the_default_where_there_is_no_llvm(monkeypatch):
    monkeypatch.setattr(executors, "find_spec", lambda name: None)
    assert isinstance(executors.make_executor(Graph([], []), None), Program)
    with pytest.raises(vg.JitError, match="needs llvmlite"):
        vg.jit(lambda x: x, executor="native")


def test_llvm_that_does_not_work_is_told_of_once_and_not_used(monkeypatch):
    def broken(graph):
        raise RuntimeError("no such processor")

    monkeypatch.setattr(executors, "find_spec", lambda name: True)
    monkeypatch.setitem(executors.EXECUTORS, "native", broken)
    with pytest.warns(vg.JitWarning, match="no such processor") as told:
        assert isinstance(executors.make_executor(Graph([], []), None), Program)
    assert [warning.filename for warning in told] == [__file__]
    assert isinstance(executors.make_executor(Graph([], []), None), Program)


def test_a_name_chooses():
    assert isinstance(executors.make_executor(Graph([], []), "numpy"), Program)


@pytest.mark.parametrize("op", [vg.maximum, vg.minimum, vg.add])
def test_results_go_into_the_arena_without_a_warning(op):
    x = vg.ones([2048])
    f = vg.jit(lambda x: vg.exp(op(vg.exp(x), vg.sin(x))), executor="numpy")
    for _ in range(2):
        np.testing.assert_array_equal(f(x).numpy(), f.function(x).numpy())

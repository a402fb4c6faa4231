"""Some of the random graphs; `random_graphs.py` tries as many as you like."""

import importlib.util
from pathlib import Path

import pytest

from varigrad.jit.passes import PASSES

spec = importlib.util.spec_from_file_location("random_graphs", Path(__file__).with_name("random_graphs.py"))
random_graphs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(random_graphs)


@pytest.mark.parametrize("seed", range(40))
def test_a_random_graph_compiled_as_written(seed, executor, monkeypatch):
    if executor == "numpy":  # to the bits
        monkeypatch.delitem(PASSES, "absorb_transposes")
    random_graphs.compare(seed, executor)

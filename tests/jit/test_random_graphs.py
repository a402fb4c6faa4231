"""Some of the random graphs; `random_graphs.py` tries as many as you like."""

import numpy as np
import pytest

from varigrad.jit.passes import PASSES

from . import random_graphs


@pytest.mark.parametrize("seed", range(60))
def test_a_random_graph_compiled_as_written(seed, executor, monkeypatch):
    if executor == "numpy":  # to the bits
        monkeypatch.delitem(PASSES, "absorb_transposes")
    with np.errstate(all="ignore"):
        random_graphs.compare(seed, executor)


@pytest.mark.parametrize("seed", range(60, 90))
def test_a_random_graph_with_all_its_work_divided(seed, executor, monkeypatch):
    if executor == "native":
        random_graphs.share_everything(monkeypatch.setattr)
    else:
        monkeypatch.delitem(PASSES, "absorb_transposes")
    with np.errstate(all="ignore"):
        random_graphs.compare(seed, executor)

"""What is done for large arrays alone, done for small ones: factors packed and turned around, sums in blocks."""

import numpy as np
import pytest

import varigrad as vg
from varigrad.backends.native import builder, matmul

from ..jit import random_graphs


@pytest.fixture(autouse=True)
def _everything_is_large(monkeypatch):
    monkeypatch.setattr(builder, "_MANY", 16)
    monkeypatch.setattr(matmul, "_PACKED", 1)
    monkeypatch.setattr(matmul, "_REARRANGED", 1)
    monkeypatch.setattr(matmul, "_LONG", 8)


@pytest.mark.parametrize("seed", range(30))
def test_random_graphs(seed):
    with np.errstate(all="ignore"):
        random_graphs.compare(seed, "native")


FUNCTIONS = {
    "a sum beside a copy in strips": lambda x, y: [vg.mat_mul(y, x), x.sum(0), vg.relu(x).sum(0), x * 2.0],
    "sums of several shapes": lambda x, y: [x.sum(0), x.reshape([8, 12, 64]).sum([0, 1]), x.reshape([8, -1]).sum(0)],
    "means and what is left": lambda x, y: [x - x.mean(0), (x - x.mean(0)).square().mean(0), x.max(0)],
    "bias and gradient": lambda x, y: vg.value_and_grads(lambda x, y: vg.tanh(vg.mat_mul(y, x) + x.sum(0)).sum())(
        [x, y]
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_fused_with_others(name, assert_native_as_eager):
    random = np.random.default_rng(0)
    x, y = (random.normal(size=shape).astype("f") for shape in ((96, 64), (48, 96)))
    assert_native_as_eager(FUNCTIONS[name], x, y)

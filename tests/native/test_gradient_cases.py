"""Every case by which gradients are checked, as machine code: values, gradients and gradients of gradients."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg

CASES_OF = Path(__file__).parents[1] / "jit" / "test_gradient_cases.py"
spec = importlib.util.spec_from_file_location("compiled_gradient_cases", CASES_OF)
assert spec is not None
assert spec.loader is not None
shared = importlib.util.module_from_spec(spec)
spec.loader.exec_module(shared)
CASES = [case for case in shared.CASES if not case[0].startswith(tuple(shared.REFUSED))]
NATIVE_FAMILIES = ("arithmetic", "elementwise", "matmul", "reduction", "shaping", "joining", "normalization", "losses")


@pytest.mark.parametrize(("case", "f", "arguments"), CASES, ids=[case for case, _, _ in CASES])
def test_native_as_eager(case, f, arguments, assert_native_as_eager):
    xs = [vg.tensor(np.asarray(a), dtype="float32") for a in arguments]
    assert_native_as_eager(shared.derivatives(f), *xs)


IN_DOUBLE = [case for case in CASES if case[0].startswith(NATIVE_FAMILIES)]


@pytest.mark.parametrize(("case", "f", "arguments"), IN_DOUBLE, ids=[case for case, _, _ in IN_DOUBLE])
def test_native_as_eager_in_double_precision(case, f, arguments, assert_native_as_eager):
    xs = [vg.tensor(np.asarray(a), dtype="float64") for a in arguments]
    assert_native_as_eager(f, *xs, tolerance=1e-12)

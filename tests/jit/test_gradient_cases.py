"""Every case by which gradients are checked, compiled: values, gradients and gradients of gradients, to the bits."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import varigrad as vg


def gradient_cases():
    for path in sorted((Path(__file__).parents[1] / "gradients").glob("test_*.py")):
        spec = importlib.util.spec_from_file_location(f"cases_of_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, (f, *arguments) in getattr(module, "CASES", {}).items():
            arguments = [a for a in arguments if not isinstance(a, dict)]
            yield f"{path.stem[5:]}: {name}", f, arguments


CASES = list(gradient_cases())


# Cases of ops that read values, so that no function with them can be compiled, and how they are called in the error.
REFUSED = {
    "image: NonMaxSuppressionV5": "non_max_suppression_with_score",
    "ragged: RaggedRange": "ragged_range",
    "segment: setdiff1d": "setdiff1d",
    "segment: unique": "unique",
}


def derivatives(f):
    """The value, its gradients, and the gradients of the sum of these."""

    def with_gradients(*xs):
        def first(*ys):
            value, gradients = vg.value_and_grads(f)(list(ys))
            return value, gradients

        def total(*ys):
            terms = [(g * g).sum() for g in first(*ys)[1]]
            return sum(terms[1:], terms[0])

        try:
            second = vg.grads(total)(list(xs))
        except vg.GradientError:  # linear in all arguments
            second = []
        return first(*xs), second

    return with_gradients


def flat(value):
    if isinstance(value, vg.Tensor):
        return [np.asarray(value)]
    return [array for item in value for array in flat(item)]


@pytest.fixture(autouse=True)
def executor():
    """NumPy's here; `tests/native` runs the same cases as machine code."""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("case", "f", "arguments"), CASES, ids=[case for case, _, _ in CASES])
def test_compiled_as_eager(case, f, arguments, dtype):
    xs = [vg.tensor(np.asarray(a), dtype=dtype) for a in arguments]
    compiled = vg.jit(derivatives(f), executor="numpy")
    refused = next((op for start, op in REFUSED.items() if case.startswith(start)), None)
    if refused is not None:
        with pytest.raises(vg.JitError, match=rf"{refused}\(\) at "):
            compiled(*xs)
        return
    expected = flat(derivatives(f)(*xs))
    for _ in range(2):
        found = flat(compiled(*xs))
        assert compiled.compilations == 1, compiled.explain()
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            assert np.array_equal(a, b, equal_nan=True)

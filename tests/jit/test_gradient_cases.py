"""Every case by which gradients are checked, compiled: values, gradients and gradients of gradients."""

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
REFUSED = {"segment: unique": "unique", "segment: setdiff1d": "setdiff1d", "ragged: RaggedRange": "ragged_range"}


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


def close(a, b, scale):
    """Whether machine code computed the same, with sums in another order; terms that cancel are of size `scale`."""
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    tolerance = 1e-6 if a.dtype.itemsize == 4 or a.dtype.kind == "c" else 1e-13
    return np.allclose(a, b, rtol=10 * tolerance, atol=tolerance * scale, equal_nan=True)


def flat(value):
    if isinstance(value, vg.Tensor):
        return [np.asarray(value)]
    return [array for item in value for array in flat(item)]


def test_the_native_bounds():
    assert close(np.float32([1, np.nan, np.inf, -np.inf]), np.float32([1, np.nan, np.inf, -np.inf]), 1)
    assert not close(np.float32([1.0001]), np.float32([1]), 1)
    assert not close(np.float32([np.inf]), np.float32([-np.inf]), 1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("case", "f", "arguments"), CASES, ids=[case for case, _, _ in CASES])
def test_compiled_as_eager(case, f, arguments, dtype, executor):
    xs = [vg.tensor(np.asarray(a), dtype=dtype) for a in arguments]
    compiled = vg.jit(derivatives(f))
    refused = next((op for start, op in REFUSED.items() if case.startswith(start)), None)
    if refused is not None:
        with pytest.raises(vg.JitError, match=rf"{refused}\(\) at "):
            compiled(*xs)
        return
    expected = flat(derivatives(f)(*xs))
    scale = max([np.abs(b[np.isfinite(b)]).max(initial=1) for b in expected if b.dtype.kind in "fc"])
    for _ in range(2):
        found = flat(compiled(*xs))
        assert compiled.compilations == 1, compiled.explain()
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert a.dtype == b.dtype
            assert a.shape == b.shape
            assert np.array_equal(a, b, equal_nan=True) if executor == "numpy" else close(a, b, scale)

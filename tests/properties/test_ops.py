"""Every op at random arguments, against NumPy and SciPy, and against TensorFlow.js.

The cases are the same in every run. `python -m tests.properties.run` tries as many others as you like.
"""

import inspect
import os
from collections.abc import Iterator

import pytest

import varigrad as vg

from .compare import against_numpy, against_tensorflow_js
from .javascript import TensorFlowJS, missing
from .tables import NOT_COMPARED, OPS

SEED = 0
CASES = 20

# Where public names are the same functions again.
_NAMESPACES = ["", "fused", "image", "linalg", "losses", "math", "signal", "sparse", "spectral", "string"]


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.numpy is not None])
def test_agrees_with_numpy_and_scipy(name: str) -> None:
    for number in range(CASES):
        against_numpy(OPS[name], OPS[name].case(SEED, number))


@pytest.fixture(scope="module")
def tensorflow_js() -> Iterator[TensorFlowJS]:
    reason = missing()
    if reason and not os.environ.get("VARIGRAD_REQUIRE_NODE"):
        pytest.skip(reason)
    assert reason is None, reason
    with TensorFlowJS() as process:
        yield process


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if op.javascript is True])
def test_agrees_with_tensorflow_js(name: str, tensorflow_js: TensorFlowJS) -> None:
    compared = [
        against_tensorflow_js(OPS[name], OPS[name].case(SEED, number), tensorflow_js, number % 3 == 0)
        for number in range(CASES)
    ]
    assert any(compared), "no case is left where the two are not meant to differ"


def public_ops() -> dict[str, object]:
    """The public functions of the modules of ops, by their path below `vg`; by one where they have several."""
    found: dict[object, str] = {}
    for namespace in _NAMESPACES:
        module = getattr(vg, namespace) if namespace else vg
        for name in getattr(module, "__all__", dir(module)):
            function = getattr(module, name)
            if inspect.isfunction(function) and function.__module__.startswith("varigrad.ops.") and name[0] != "_":
                found.setdefault(function, f"{namespace}.{name}".lstrip("."))
    return {name: function for function, name in found.items()}


def test_every_public_op_has_a_row_or_a_reason_to_have_none() -> None:
    functions = public_ops()
    compared = {id(_find(name)) for name in OPS}
    lacking = [
        name for name, function in functions.items() if id(function) not in compared and name not in NOT_COMPARED
    ]
    assert lacking == []


def test_no_row_and_no_reason_is_for_what_does_not_exist() -> None:
    for name in (*OPS, *NOT_COMPARED):
        assert callable(_find(name))
    assert not OPS.keys() & NOT_COMPARED.keys()


def _find(name: str) -> object:
    function: object = vg
    for part in name.split("."):
        function = getattr(function, part)
    return function

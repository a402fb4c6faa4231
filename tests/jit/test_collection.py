"""While a graph is compiled, Python's garbage collector does not run by itself; afterwards it is as it was."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import varigrad as vg
from varigrad.jit import compiled
from varigrad.jit.collection import collection_paused


@pytest.fixture(params=[True, False], ids=["on", "off"])
def collecting(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_is_paused_until_the_last_pause_ends(collecting: bool) -> None:
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled() is collecting


def test_is_as_before_after_an_error_inside(collecting: bool) -> None:
    with pytest.raises(KeyError), collection_paused():
        raise KeyError
    assert gc.isenabled() is collecting


def test_compiling_pauses_it(collecting: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    made_trace = compiled.Trace

    def traced(*args: object) -> object:
        seen.append(gc.isenabled())
        return made_trace(*args)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(compiled, "Trace", traced)
    double = vg.jit(lambda x: x + x, executor="numpy")
    assert double(vg.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert seen == [False]
    assert gc.isenabled() is collecting

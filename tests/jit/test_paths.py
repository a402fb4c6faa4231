"""Paths name places as a person would, however deep they lie."""

from __future__ import annotations

import varigrad as vg
from varigrad.jit.paths import Path


class Link:
    def __init__(self, following: Link | None, factor: float) -> None:
        self.following = following
        self.factor = factor


def test_a_method_belongs_to_the_object_in_front_of_it():
    assert str(Path("model").attribute("layers").item("last").attribute("call").owner) == "model.layers['last']"
    assert str(Path("call").owner) == "self"


def test_a_change_at_the_end_of_a_long_chain_is_named():
    length = 3000
    chain = last = Link(None, 2.0)
    for _ in range(length):
        chain = Link(chain, 1.0)

    @vg.jit
    def scaled(x: vg.Tensor) -> vg.Tensor:
        link = chain
        while link.following is not None:
            link = link.following
        return x * link.factor

    assert scaled(vg.tensor([1.0])).tolist() == [2.0]
    last.factor = 3.0
    assert scaled(vg.tensor([1.0])).tolist() == [3.0]
    assert f"chain{'.following' * length}.factor was 2.0 and is 3.0" in scaled.explain()

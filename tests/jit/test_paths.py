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


def test_layers_of_a_model_are_found_where_the_user_finds_them():
    model = vg.sequential([vg.layers.dense(units=2, input_shape=[3]), vg.layers.dropout(rate=0.5)])
    trained = vg.jit(lambda x: model(x, training=True))
    trained(vg.ones([1, 3]))
    model.layers[1].rate = 0.25
    trained(vg.ones([1, 3]))
    assert "model.layers[1].rate was 0.5 and is 0.25" in trained.explain()


def test_private_attributes_of_the_user_keep_their_names():
    class Scale:
        def __init__(self) -> None:
            self._factor = 2.0

        @property
        def factor(self) -> float:
            return 10 * self._factor

    scale = Scale()
    scaled = vg.jit(lambda x: x * scale.factor)
    scaled(vg.tensor([1.0]))
    scale._factor = 3.0
    assert scaled(vg.tensor([1.0])).tolist() == [30.0]
    assert "scale._factor was 2.0 and is 3.0" in scaled.explain()

"""Cells on top of one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack, cast

from varigrad.layers.arguments import Shape
from varigrad.layers.base import LayerOptions
from varigrad.layers.lists import as_list
from varigrad.layers.naming import name_scope
from varigrad.layers.recurrent.cell import RNNCell, first_shape
from varigrad.layers.registry import deserialize
from varigrad.tensor import Tensor

__all__ = ["StackedRNNCells"]


class StackedRNNCells(RNNCell):
    """Cells on top of one another: each takes the output of the one below. A cell itself.

    Mirrors `tf.layers.stackedRNNCells`. Its states are those of its cells in one list, the cell on top first.

    Args:
        cells: The cells, from the bottom up, two or more as a rule.
        options: `name`, `trainable`, `dtype` as for every layer.

    >>> import varigrad as vg
    >>> cells = [vg.layers.lstm_cell(units=3), vg.layers.gru_cell(units=2)]
    >>> stack = vg.layers.stacked_rnn_cells(cells=cells)
    >>> stack.state_size, vg.layers.rnn(cell=stack)(vg.zeros([4, 5, 1])).shape
    ([2, 3, 3], (4, 2))
    """

    def __init__(self, *, cells: Sequence[RNNCell], **options: Unpack[LayerOptions]) -> None:
        super().__init__(**options)
        self.cells = list(cells)
        if not self.cells:
            raise ValueError("stacked_rnn_cells: needs one cell or more")
        for cell in self.cells:
            if not isinstance(cell, RNNCell):
                raise TypeError(f"stacked_rnn_cells: cells must be of vg.layers.RNNCell, got {cell!r}")
        self.state_size = [size for cell in reversed(self.cells) for size in as_list(cell.state_size)]

    def state_shapes(self, input_shape: Shape) -> list[Shape]:
        shapes: list[Shape] = []
        for cell in self.cells:
            own = cell.state_shapes(input_shape)
            shapes = own + shapes
            input_shape = (input_shape[0], *own[0])
        return shapes

    def build(self, input_shape: Any) -> None:
        step = first_shape(input_shape)
        for place, cell in enumerate(self.cells):
            if not cell.built:
                with name_scope(f"RNNCell_{place}"):
                    cell._make_weights(step)
            step = (step[0], *cell.state_shapes(step)[0])

    def states_by_cell(self, states: Sequence[Tensor]) -> list[Sequence[Tensor]]:
        """The states of each cell, from the bottom up."""
        found: list[Sequence[Tensor]] = []
        start = 0
        for cell in reversed(self.cells):
            end = start + len(as_list(cell.state_size))
            found.insert(0, states[start:end])
            start = end
        return found

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        output, *states = inputs
        after: list[Tensor] = []
        for cell, own in zip(self.cells, self.states_by_cell(states)):
            output, *own = cell._run([output, *own], training)
            after = [*own, *after]
        return [output, *after]

    def get_config(self) -> dict[str, Any]:
        cells = [{"class_name": cell.class_name, "config": cell.get_config()} for cell in self.cells]
        return {"cells": cells, **super().get_config()}

    @classmethod
    def _from_config(cls, config: Mapping[str, Any]) -> Self:
        stored = config.get("cells")
        if not isinstance(stored, (list, tuple)):
            raise ValueError(f"{cls.class_name}: its config needs a list of cells, got {stored!r:.100}")
        cells = [deserialize(cell, RNNCell) for cell in cast("Sequence[Any]", stored)]
        arguments: dict[str, Any] = {**config, "cells": cells}
        return cls(**arguments)

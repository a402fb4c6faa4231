"""The loop over time: a cell, step after step."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.layers.recurrent.cell import RNNCell
from varigrad.layers.recurrent.stacked import StackedRNNCells
from varigrad.ops.arguments import reshape_to
from varigrad.ops.comparison import where
from varigrad.ops.creation import zeros_like
from varigrad.ops.joining import stack, unstack
from varigrad.tensor import Tensor

__all__ = ["fitted", "run_over_time"]


def run_over_time(
    cell: RNNCell,
    inputs: Tensor,
    states: Sequence[Tensor],
    mask: Tensor | None,
    training: bool | None,
    every_step: bool,
    zeros_if_masked: bool = False,
) -> tuple[Tensor, Sequence[Tensor]]:
    """The last output of a cell, or all of them `[batch, time, …]`, and the last states.

    A stack is its cells one after the other, each over all of the time: that is the same, and the part of a cell's
    steps that needs no states is computed for all steps at once.

    Args:
        cell: The cell, with weights.
        inputs: `[batch, time, …]`.
        states: The first states.
        mask: Bools `[batch, time]`. Where it is False, the states and the output stay as they are.
        training: Whether the call is a step of training.
        every_step: Whether to return all outputs.
        zeros_if_masked: Whether the outputs are zeros where the mask is False.
    """
    if not isinstance(cell, StackedRNNCells):
        output, states = _run_cell(cell, inputs, states, mask, training, every_step)
        if mask is not None and zeros_if_masked:
            output = where(fitted(mask if every_step else unstack(mask, 1)[-1], output), output, 0.0)
        return output, states
    top = len(cell.cells) - 1
    after: list[Tensor] = []
    for place, (each, own) in enumerate(zip(cell.cells, cell.states_by_cell(states))):
        below = place < top
        inputs, own = run_over_time(
            each, inputs, own, mask, training, every_step or below, zeros_if_masked and not below
        )
        after = [*own, *after]
    return inputs, after


def _run_cell(
    cell: RNNCell,
    inputs: Tensor,
    states: Sequence[Tensor],
    mask: Tensor | None,
    training: bool | None,
    every_step: bool,
) -> tuple[Tensor, Sequence[Tensor]]:
    steps, step = cell.over_time(inputs, training)
    outputs: list[Tensor] = []
    output: Tensor | None = None
    if mask is None:
        for x in steps:
            output, states = step(x, states)
            if every_step:
                outputs.append(output)
    else:
        for x, valid in zip(steps, unstack(mask, 1)):
            new, after = step(x, states)
            output, states = _where_valid(valid, new, after, output, states)
            if every_step:
                outputs.append(output)
    assert output is not None, "there is a step"
    return (stack(outputs, 1) if every_step else output), states


def _where_valid(
    valid: Tensor, new: Tensor, after: Sequence[Tensor], output: Tensor | None, before: Sequence[Tensor]
) -> tuple[Tensor, list[Tensor]]:
    """The output and the states after a step of which only some sequences have part."""
    states = [where(fitted(valid, state), state, old) for state, old in zip(after, before)]
    if new is after[0] and (output is None or output is before[0]):
        return states[0], states  # as in all cells here, the output is the first state
    if output is None:
        output = before[0] if before[0].shape == new.shape else zeros_like(new)
    return where(fitted(valid, new), new, output), states


def fitted(valid: Tensor, x: Tensor) -> Tensor:
    """Bools `[batch]` or `[batch, time]` in a shape that broadcasts with a tensor that begins so."""
    return reshape_to(valid, (*valid.shape, *(1,) * (x.rank - valid.rank)))

"""Cells of recurrent networks, one step at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from varigrad.ops.activations import sigmoid
from varigrad.ops.arguments import TensorLike, accept, convert, of_rank
from varigrad.ops.arithmetic import add, mul
from varigrad.ops.joining import concat, split
from varigrad.ops.matmul import mat_mul
from varigrad.ops.options import items_of
from varigrad.ops.trigonometry import tanh
from varigrad.tensor import Tensor, format_shape

__all__ = ["basic_lstm_cell", "multi_rnn_cell"]

Cell: TypeAlias = Callable[[Tensor, Tensor, Tensor], Sequence[Tensor]]


def basic_lstm_cell(
    forget_bias: TensorLike,
    lstm_kernel: TensorLike,
    lstm_bias: TensorLike,
    data: TensorLike,
    c: TensorLike,
    h: TensorLike,
) -> tuple[Tensor, Tensor]:
    """One step of a long short-term memory (Hochreiter and Schmidhuber, 1997). Mirrors `tf.basicLSTMCell`.

    With `i, j, f, o` the quarters of `[data, h] @ lstm_kernel + lstm_bias`:

    new_c = c * sigmoid(f + forget_bias) + sigmoid(i) * tanh(j), and new_h = tanh(new_c) * sigmoid(o).

    Args:
        forget_bias: A scalar; 1 makes a new cell remember.
        lstm_kernel: `[inputs + units, 4 * units]`.
        lstm_bias: `[4 * units]`.
        data: `[batch, inputs]`.
        c: The state `[batch, units]`.
        h: The last output `[batch, units]`.

    Returns:
        `(new_c, new_h)`, both `[batch, units]`.

    Raises:
        ValueError: Shapes that don't fit together.

    >>> import varigrad as vg
    >>> c, h = vg.basic_lstm_cell(1.0, vg.zeros([3, 4]), vg.zeros([4]), [[1, 2]], [[0.5]], [[0]])
    >>> print(f"{c.item():.4f} {h.item():.4f}")
    0.3655 0.1750
    """
    op = "basic_lstm_cell"
    kernel = of_rank(op, 2, accept(lstm_kernel, op, "lstm_kernel", "f"), "lstm_kernel")
    x = of_rank(op, 2, accept(data, op, "data", "f"), "data")
    state = of_rank(op, 2, accept(c, op, "c", "f"), "c")
    output = of_rank(op, 2, accept(h, op, "h", "f"), "h")
    bias = accept(lstm_bias, op, "lstm_bias", "f")
    forget_bias = of_rank(op, 0, accept(forget_bias, op, "forget_bias", "f"), "forget_bias")
    units = state.shape[1]
    if (
        not x.shape[0] == state.shape[0] == output.shape[0]
        or output.shape[1] != units
        or kernel.shape != (x.shape[1] + units, 4 * units)
    ):
        raise ValueError(
            f"{op}: data must be [batch, inputs], c and h [batch, units] and lstm_kernel [inputs + units, 4 * units] "
            f"(data: {format_shape(x.shape)}, c: {format_shape(state.shape)}, h: {format_shape(output.shape)}, "
            f"lstm_kernel: {format_shape(kernel.shape)})"
        )
    if bias.shape != (4 * units,):
        raise ValueError(f"{op}: lstm_bias must have shape [{4 * units}], got {format_shape(bias.shape)}")
    gates = add(mat_mul(concat([x, output], 1), kernel), bias)
    i, j, f, o = split(gates, 4, 1)
    new_c = add(mul(state, sigmoid(add(f, forget_bias))), mul(sigmoid(i), tanh(j)))
    return new_c, mul(tanh(new_c), sigmoid(o))


def multi_rnn_cell(
    lstm_cells: Sequence[Cell], data: TensorLike, c: Sequence[TensorLike], h: Sequence[TensorLike]
) -> tuple[list[Tensor], list[Tensor]]:
    """One step of cells stacked on one another: each takes the output of the one below. Mirrors `tf.multiRNNCell`.

    Args:
        lstm_cells: Functions `(data, c, h) -> (new_c, new_h)`, such as `vg.basic_lstm_cell` with its weights.
        data: What the first cell takes, `[batch, inputs]`.
        c: The state of each cell.
        h: The last output of each cell.

    Returns:
        `(new_c, new_h)`, a list each.

    Raises:
        ValueError: Not one state and one output for each cell.

    >>> import varigrad as vg
    >>> cell = lambda x, c, h: (c + x, h - x)
    >>> c, h = vg.multi_rnn_cell([cell, cell], [[1]], [[[0]], [[0]]], [[[5]], [[5]]])
    >>> [t.item() for t in c], [t.item() for t in h]
    ([1.0, 4.0], [4.0, 1.0])
    """
    op = "multi_rnn_cell"
    x = convert(data, op, "data")
    cells = items_of(op, "lstm_cells", lstm_cells)
    states = [convert(each, op, f"c[{place}]") for place, each in enumerate(items_of(op, "c", c))]
    outputs = [convert(each, op, f"h[{place}]") for place, each in enumerate(items_of(op, "h", h))]
    if not len(cells) == len(states) == len(outputs):
        raise ValueError(
            f"{op}: {len(cells)} cells need as many states and outputs, got {len(states)} in c and {len(outputs)} in h"
        )
    new_c: list[Tensor] = []
    new_h: list[Tensor] = []
    for place, (cell, state, output) in enumerate(zip(cells, states, outputs, strict=True)):
        if not callable(cell):
            raise TypeError(f"{op}: lstm_cells[{place}] must be a function, got {cell!r:.80}")
        made = items_of(op, f"what lstm_cells[{place}] returns", cell(x, state, output))
        if len(made) != 2:
            raise ValueError(f"{op}: lstm_cells[{place}] must return (new_c, new_h), but returns {len(made)} items")
        state, x = made
        new_c.append(state)
        new_h.append(x)
    return new_c, new_h

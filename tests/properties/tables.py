"""All the tables, and what is in none."""

from __future__ import annotations

from . import elementwise, layers, others, products, reductions, shapes, slices
from .operation import Op

OPS: dict[str, Op] = {
    op.name: op for table in (elementwise, reductions, shapes, slices, products, layers, others) for op in table.TABLE
}

# Functions in the modules of ops that no row is for, each with the reason.
_DRAWS = "draws random numbers; for a seed they are compared with TensorFlow.js's in tests/ops/test_random.py"
NOT_COMPARED = {
    "buffer": "makes a buffer, not a tensor",
    "dropout": _DRAWS,
    "multi_rnn_cell": "calls functions that it is given; the cell itself, basic_lstm_cell, has a row",
    "multinomial": _DRAWS,
    "print": "prints",
    "rand": "calls the function that it is given",
    "random_gamma": _DRAWS,
    "random_normal": _DRAWS,
    "random_standard_normal": _DRAWS,
    "random_uniform": _DRAWS,
    "random_uniform_int": _DRAWS,
    "set_random_seed": "returns nothing",
    "enclosing_power_of_two": "returns a Python number",
    "truncated_normal": _DRAWS,
    "variable": "makes a variable of its argument",
}

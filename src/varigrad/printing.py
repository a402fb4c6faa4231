"""Tensors as text in TensorFlow.js's layout, and shapes as they stand in messages."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from varigrad.dtypes import Array

__all__ = ["format_shape", "tensor_text"]

_SHOWN_WHOLE = 20  # an axis longer than this shows its first and last few entries only
_SHOWN_ENDS = 3


def tensor_text(values: Array, dtype: str, verbose: bool = False) -> str:
    """The values in nested brackets, in aligned columns, below the word `Tensor`; dtype, rank and shape too if
    `verbose`.

    Numbers have 7 decimals, and small ones 7 digits.

    >>> import numpy as np
    >>> print(tensor_text(np.array([[1, 2.5], [10, 0]], np.float32), "float32"))
    Tensor
        [[1 , 2.5],
         [10, 0  ]]
    """
    lines = ["Tensor"]
    if verbose:
        shape = ",".join(map(str, values.shape))
        lines += [f"  dtype: {dtype}", f"  rank: {values.ndim}", f"  shape: [{shape}]", "  values:"]
    if values.ndim:
        elided = [length > _SHOWN_WHOLE for length in values.shape]
        ends = [0, 1, 2, -_SHOWN_ENDS, 1 - _SHOWN_ENDS, 2 - _SHOWN_ENDS]
        for axis, cut in enumerate(elided):
            values = values.take(ends, axis) if cut else values
        cells = np.array([_cell(value) for value in values.ravel().tolist()], dtype=object).reshape(values.shape)
        if values.ndim > 1 and values.size:
            cells = _aligned(cells)
        text = _nested(cells, elided)
    else:
        value = values.item()
        text = value if isinstance(value, str) else _cell(value)
    return "\n".join([*lines, _indented("    " + text, "    ")])


def _cell(value: bool | int | float | complex | str | bytes) -> str:
    if isinstance(value, (str, bytes)):
        return repr(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, complex):
        return f"{_number(value.real)} + {_number(value.imag)}j"
    return str(value) if isinstance(value, int) else _number(value)


def _number(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    rounded = round(number, 7) if abs(number) >= 1e-4 else float(f"{number:.7g}")
    return repr(rounded + 0.0).removesuffix(".0")  # adding 0 makes 0 of -0


def _aligned(cells: Array) -> Array:
    rows = cells.reshape(-1, cells.shape[-1])
    widths = [max(map(len, column)) for column in rows.T]
    padded = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    return np.array(padded, dtype=object).reshape(cells.shape)


def _nested(cells: Array, elided: list[bool]) -> str:
    """The cells in brackets, one line a row, and blank lines between matrices."""
    rank = cells.ndim
    parts: list[str] = list(cells) if rank == 1 else [_nested(part, elided[1:]) for part in cells]
    if elided[0]:
        parts.insert(_SHOWN_ENDS, "...")
    if rank == 1:
        return f"[{', '.join(parts)}]"
    return "[" + _indented(("," + "\n" * (rank - 1)).join(parts), " ") + "]"


def _indented(text: str, by: str) -> str:
    """Every line but the first, and but blank ones, set in."""
    first, *rest = text.split("\n")
    return "\n".join([first, *[by + line if line else line for line in rest]])


def format_shape(shape: Sequence[int | None]) -> str:
    """A shape as it is written in messages: `[8, 28, 28, 3]`, with `null` axes as `?`."""
    return "[" + ", ".join("?" if n is None else str(n) for n in shape) + "]"

"""The table that `model.summary` prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from varigrad.layers.base import Layer

__all__ = ["print_summary"]

_HEADINGS = ("Layer (type)", "Input Shape", "Output shape", "Param #")


def print_summary(
    model: Layer,
    layers: Sequence[Layer],
    line_length: int | None,
    positions: Sequence[float] | None,
    print_fn: Callable[[str], Any],
) -> None:
    """Prints a row for each layer, then how many parameters there are.

    Args:
        model: The model.
        layers: Its layers.
        line_length: The width in characters, 90 by default.
        positions: Where each column ends, in characters or, if the last is at most 1, as parts of the width.
        print_fn: Gets each line.
    """
    width = line_length or 90
    ends = list(positions or (0.32, 0.61, 0.89, 1))
    if ends[-1] <= 1:
        ends = [int(width * end) for end in ends]
    print_fn("_" * width)
    print_fn(_row(_HEADINGS, ends))
    print_fn("=" * width)
    for layer in layers:
        fields = (
            f"{layer.name} ({layer.class_name})",
            f"[{_json(layer.input_shape)}]",
            _json(layer.output_shape),
            str(layer.count_params()),
        )
        print_fn(_row(fields, ends))
        print_fn(("=" if layer is layers[-1] else "_") * width)
    trainable = sum(w.size for w in model.trainable_weights)
    frozen = sum(w.size for w in model.non_trainable_weights)
    print_fn(f"Total params: {trainable + frozen}")
    print_fn(f"Trainable params: {trainable}")
    print_fn(f"Non-trainable params: {frozen}")
    print_fn("_" * width)


def _row(fields: Sequence[str], ends: Sequence[float]) -> str:
    """The fields, each cut at the end of its column but for a space."""
    line = ""
    for field, end in zip(fields, ends):
        line = f"{line[:-1]} {field}" if line else field
        line = line[: int(end)].ljust(int(end))
    return line


def _json(shape: Sequence[int | None] | None) -> str:
    return json.dumps(shape, separators=(",", ":"))

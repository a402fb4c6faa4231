"""The table that `model.summary` prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from varigrad.layers.base import Layer
from varigrad.layers.symbolic import Node

__all__ = ["print_summary"]

_HEADINGS = ("Layer (type)", "Input Shape", "Output shape", "Param #", "Receives inputs")
_CHAIN = (90, (0.32, 0.61, 0.89, 1))
_GRAPH = (115, (0.24, 0.48, 0.70, 0.80, 1))


def print_summary(
    model: Layer,
    layers: Sequence[Layer],
    calls: Sequence[Node],
    line_length: int | None,
    positions: Sequence[float] | None,
    print_fn: Callable[[str], Any],
) -> None:
    """Prints a row for each layer, then how many parameters there are.

    Args:
        model: The model.
        layers: Its layers.
        calls: The calls of its layers; none if each feeds the next. If they branch, a column says what feeds what.
        line_length: The width in characters, 90 by default, or 115 with that column.
        positions: Where each column ends, in characters or, if the last is at most 1, as parts of the width.
        print_fn: Gets each line.
    """
    branches = not _is_chain(calls)
    default_width, default_ends = _GRAPH if branches else _CHAIN
    width = line_length or default_width
    ends = list(positions or default_ends)
    if ends[-1] <= 1:
        ends = [int(width * end) for end in ends]
    print_fn("_" * width)
    print_fn(_row(_HEADINGS if branches else _HEADINGS[:4], ends))
    print_fn("=" * width)
    for layer in layers:
        fields = (
            f"{layer.name} ({layer.class_name})",
            ",".join(_json([x.shape for x in node.inputs or node.outputs]) for node in layer.inbound_nodes),
            _output_shape(layer),
            str(layer.count_params()),
        )
        sources = _sources(layer, calls) if branches else []
        print_fn(_row((*fields, *sources[:1]), ends))
        for source in sources[1:]:
            print_fn(_row(("", "", "", "", source), ends))
        print_fn(("=" if layer is layers[-1] else "_") * width)
    trainable = sum(w.size for w in model.trainable_weights)
    frozen = sum(w.size for w in model.non_trainable_weights)
    print_fn(f"Total params: {trainable + frozen}")
    print_fn(f"Trainable params: {trainable}")
    print_fn(f"Non-trainable params: {frozen}")
    print_fn("_" * width)


def _is_chain(calls: Sequence[Node]) -> bool:
    """Whether each layer is called once, on what the one before gave."""
    sources = [source for node in calls for source in node.sources]
    called_once = len({id(node.layer) for node in calls}) == len(calls)
    return called_once and len(sources) == len(set(sources)) and all(len(node.sources) <= 1 for node in calls)


def _sources(layer: Layer, calls: Sequence[Node]) -> list[str]:
    """What each call of a layer was made on: the layer, which of its calls, which result."""
    found: list[str] = []
    for node in calls:
        if node.layer is layer:
            found.extend(f"{x.source_layer.name}[{x.node_index}][{x.tensor_index}]" for x in node.sources)
    return found


def _output_shape(layer: Layer) -> str:
    shapes = {_json([x.shape for x in node.outputs]): node for node in layer.inbound_nodes}
    return _json(layer.output_shape) if len(shapes) <= 1 else "multiple"


def _row(fields: Sequence[str], ends: Sequence[float]) -> str:
    """The fields, each cut at the end of its column but for a space."""
    line = ""
    for place, (field, end) in enumerate(zip(fields, ends)):
        line = f"{line[:-1]} {field}" if place else field
        line = line[: int(end)].ljust(int(end))
    return line


def _json(shape: Any) -> str:
    return json.dumps(shape, separators=(",", ":"))

"""Maps in parts: where the parts of an array come from different places, or go to different ones, each is a map's own.

A map of an array that was put together would have to wait for all the parts, and one of which only parts are read
would have to be written to memory first. Part by part, each is computed in the pass that makes it, or that reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from varigrad.backends.native.elementwise import LOWERINGS
from varigrad.jit.graph import Graph, Node, Value
from varigrad.jit.passes import drop_dead_code, share_subexpressions

__all__ = ["map_after_splitting", "map_before_joining"]

_MOST_PARTS = 8  # more are rather gone through as one
_PRODUCTS = frozenset(["BatchMatMul", "_FusedMatMul"])
# Kernels that read an array from memory, even if a map has just made it.
_FROM_MEMORY = _PRODUCTS | {"Concat", "Pack", "Sum"}


def map_before_joining(graph: Graph) -> None:
    """Has maps of a concatenation go through its parts, which are joined then, if what reads it is not a map."""
    readers = _readers(graph)
    replacements: dict[Value, Value] = {}
    nodes: list[Node] = []
    for node in graph.nodes:
        node.inputs = [replacements.get(value, value) for value in node.inputs]
        if node.kernel == "Concat":
            _flatten(node, readers)
        joined = _joined_input(node, readers)
        if joined is None:
            nodes.append(node)
            continue
        axis: int = joined.attrs["axis"]
        maps = _in_parts(node, [value.shape[axis] for value in joined.inputs], axis, nodes)
        whole = Node("Concat", [part.outputs[0] for part in maps], {"axis": axis}, node.site)
        (old,) = node.outputs
        new = replacements[old] = whole.add_output(old.shape, old.dtype, old.depends)
        readers[new] = readers[old]
        nodes.append(whole)
    graph.nodes = nodes
    graph.substitute(replacements)
    if replacements:  # parts of one array are split off once, and what is joined no more is not read either
        drop_dead_code(graph)
        share_subexpressions(graph)


def _flatten(node: Node, readers: dict[Value, list[Node]]) -> None:
    """Joins the parts of parts at once."""
    inputs: list[Value] = []
    for value in node.inputs:
        inner = value.node
        same = inner is not None and inner.kernel == "Concat" and inner.attrs["axis"] == node.attrs["axis"]
        inputs += inner.inputs if inner is not None and same and len(readers[value]) == 1 else [value]
    node.inputs = inputs


def _joined_input(node: Node, readers: dict[Value, list[Node]]) -> Node | None:
    """The concatenation that a node had better be part of, if it is a map that nobody reads number by number."""
    if not _is_map(node) or any(reader.kernel not in _FROM_MEMORY for reader in readers[node.outputs[0]]):
        return None
    for value in node.inputs:
        joined = value.node
        if joined is None or joined.kernel != "Concat" or len(joined.inputs) > _MOST_PARTS:
            continue
        if value.shape == node.outputs[0].shape and len(readers[value]) == 1:
            return joined
    return None


def map_after_splitting(graph: Graph) -> None:
    """Has maps of which only parts are read, by other maps, go through these parts of what they read."""
    readers = _readers(graph)
    replacements: dict[Value, Value] = {}
    nodes: list[Node] = []  # from the last
    replaced: set[Node] = set()
    for node in reversed(graph.nodes):
        split = _split_output(node, readers)
        if split is None:
            nodes.append(node)
            continue
        made: list[Node] = []
        maps = _in_parts(node, split.attrs["sizes"], split.attrs["axis"], made)
        replacements.update(zip(split.outputs, [part.outputs[0] for part in maps], strict=True))
        for new in made:
            for value in new.inputs:
                readers[value].append(new)
        for value in node.inputs:
            readers[value] = [reader for reader in readers[value] if reader is not node]
        replaced.add(split)
        nodes += made[::-1]
    graph.nodes = [node for node in reversed(nodes) if node not in replaced]
    graph.substitute(replacements)


def _split_output(node: Node, readers: dict[Value, list[Node]]) -> Node | None:
    """The only reader of a map, if it splits what it reads for maps; but what finishes a product stays whole."""
    if not _is_map(node):
        return None
    (output,) = node.outputs
    found = readers[output]
    if len(found) != 1 or found[0].kernel != "SplitV" or len(found[0].outputs) > _MOST_PARTS:
        return None
    finishes = any(
        value.node is not None and value.node.kernel in _PRODUCTS and value.shape == output.shape
        for value in node.inputs
        if len(readers[value]) == 1
    )
    by_maps = any(_is_map(reader) for part in found[0].outputs for reader in readers[part])
    return found[0] if by_maps and not finishes else None


def _in_parts(node: Node, sizes: Sequence[int], axis: int, nodes: list[Node]) -> list[Node]:
    """A map as one for each part along an axis of its output; what they need is written down with them."""
    (output,) = node.outputs
    inputs = [_parts(value, output, sizes, axis, node.site, nodes) for value in node.inputs]
    maps: list[Node] = []
    for at, size in enumerate(sizes):
        part = Node(node.kernel, [parts[at] for parts in inputs], node.attrs, node.site)
        part.add_output((*output.shape[:axis], size, *output.shape[axis + 1 :]), output.dtype, output.depends)
        maps.append(part)
    nodes += maps
    return maps


def _parts(
    value: Value, output: Value, sizes: Sequence[int], axis: int, site: str, nodes: list[Node]
) -> Sequence[Value]:
    """What the maps of the parts read of an input: parts of it too, or all of it where it is repeated."""
    own = axis - len(output.shape) + len(value.shape)
    if own < 0 or value.shape[own] != output.shape[axis]:
        return [value] * len(sizes)
    joined = value.node
    is_joined = joined is not None and joined.kernel == "Concat" and joined.attrs["axis"] == own
    if joined is not None and is_joined and [part.shape[own] for part in joined.inputs] == list(sizes):
        return joined.inputs
    split = Node("SplitV", [value], {"sizes": tuple(sizes), "axis": own}, site)
    for size in sizes:
        split.add_output((*value.shape[:own], size, *value.shape[own + 1 :]), value.dtype, value.depends)
    nodes.append(split)
    return split.outputs


def _is_map(node: Node) -> bool:
    return node.kernel in LOWERINGS and len(node.outputs) == 1 and not node.has_effect


def _readers(graph: Graph) -> dict[Value, list[Node]]:
    """Who reads each value; what the graph returns is read by a node of its own."""
    readers: defaultdict[Value, list[Node]] = defaultdict(list)
    for node in (*graph.nodes, Node("Return", graph.outputs, {})):
        for value in node.inputs:
            readers[value].append(node)
    return readers

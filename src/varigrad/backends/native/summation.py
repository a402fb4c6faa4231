"""Sums of products of matrices: one product, of all the first factors and all the second ones put together.

What a weight that is used many times adds up for its gradient, as in every step of a recurrence: each product would go
through the whole sum in memory once more, and be too short for its tiles to pay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from varigrad.jit.graph import Graph, Node, Value

__all__ = ["sum_in_products"]


def sum_in_products(graph: Graph) -> None:
    """Makes one product of those that are only added up, where their factors can lie one after another in memory."""
    reads = Counter(graph.reads())
    packs = {frozenset(node.inputs): node.inputs for node in graph.nodes if _packs_first_axis(node)}
    within: set[Node] = set()  # additions that are part of a larger sum
    found: dict[Node, list[Value]] = {}
    for node in reversed(graph.nodes):
        if node.kernel == "Add" and node not in within:
            terms = _terms(node, reads, within)
            if sum([_is_long(value, reads) for value in terms]) > 1:
                found[node] = terms
    if not found:
        return
    nodes: list[Node] = []
    replacements: dict[Value, Value] = {}
    for node in graph.nodes:
        if node not in found:
            nodes.append(node)
            continue
        terms = found[node]
        factors = [value.node.inputs for value in terms if value.node is not None and _is_long(value, reads)]
        total = _product(factors, packs, node, nodes)
        for value in terms:
            if not _is_long(value, reads):
                total = _made(Node("Add", [value, total], {}, node.site), total.shape, total, nodes)
        replacements[node.outputs[0]] = total
    graph.nodes = nodes
    graph.substitute(replacements)


def _terms(node: Node, reads: Counter[Value], within: set[Node]) -> list[Value]:
    """What a tree of additions adds up."""
    terms: list[Value] = []
    waiting = list(node.inputs)
    shape = node.outputs[0].shape
    while waiting:
        value = waiting.pop()
        inner = value.node
        if inner is not None and inner.kernel == "Add" and reads[value] == 1 and value.shape == shape:
            within.add(inner)
            waiting += inner.inputs
        else:
            terms.append(value)
    return terms


def _is_long(value: Value, reads: Counter[Value]) -> bool:
    """Whether it is a product whose sums run down the first axis of both factors."""
    node = value.node
    if node is None or node.kernel != "BatchMatMul" or reads[value] != 1 or value.dtype.kind != "f":
        return False
    flags = node.attrs["transpose_a"], node.attrs["transpose_b"]
    return flags == (True, False) and all(len(factor.shape) == 2 for factor in node.inputs)


def _packs_first_axis(node: Node) -> bool:
    return node.kernel == "Pack" and node.attrs["axis"] == 0 and len(set(node.inputs)) == len(node.inputs)


def _product(
    factors: Sequence[Sequence[Value]], packs: dict[frozenset[Value], list[Value]], node: Node, nodes: list[Node]
) -> Value:
    """One product for several, in the order in which some factors are put together anyway."""
    for side in (1, 0):
        order = packs.get(frozenset([pair[side] for pair in factors]))
        if order is not None and len(order) == len(factors):
            place = {value: at for at, value in enumerate(order)}
            factors = sorted(factors, key=lambda pair: place[pair[side]])
            break
    first, second = (_joined([pair[side] for pair in factors], node, nodes) for side in (0, 1))
    attrs = {"transpose_a": True, "transpose_b": False}
    return _made(Node("BatchMatMul", [first, second], attrs, node.site), node.outputs[0].shape, first, nodes)


def _joined(parts: Sequence[Value], node: Node, nodes: list[Node]) -> Value:
    """Matrices one below the other."""
    rows, columns = sum([part.shape[0] for part in parts]), parts[0].shape[1]
    if len({part.shape for part in parts}) > 1:
        return _made(Node("Concat", parts, {"axis": 0}, node.site), (rows, columns), parts[0], nodes)
    shape = len(parts), *parts[0].shape
    pack = _made(Node("Pack", parts, {"axis": 0}, node.site), shape, parts[0], nodes)
    return _made(Node("Reshape", [pack], {"shape": (rows, columns)}, node.site), (rows, columns), pack, nodes)


def _made(node: Node, shape: tuple[int, ...], like: Value, nodes: list[Node]) -> Value:
    """The output of a node, which is written down."""
    nodes.append(node)
    return node.add_output(shape, like.dtype)

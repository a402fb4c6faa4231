"""What is done to a graph before it is run: each pass is a function that changes the graph in place, in one table.

They keep results as they were to the last bit, with NaN, infinities and the sign of 0; but `absorb_transposes` may have
BLAS add up a product in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

import numpy as np

from varigrad.dtypes import Array, numpy_dtype
from varigrad.engine import SEVERAL, active_kernels, run_quietly
from varigrad.jit.graph import Graph, Node, Source, Value, frozen

__all__ = ["PASSES", "optimize"]

_FOLDED = 2**20  # bytes of constants that a fold may make


def drop_dead_code(graph: Graph) -> None:
    """Drops nodes whose values nobody reads."""
    live = set(graph.outputs)
    kept: list[Node] = []
    for node in reversed(graph.nodes):
        if node.has_effect or not live.isdisjoint(node.outputs):
            live.update(node.inputs)
            kept.append(node)
    graph.nodes = kept[::-1]


def fold_constants(graph: Graph) -> None:
    """Computes what does not depend on anything, once."""
    kernels, _ = active_kernels()
    for node in graph.nodes:
        if node.has_effect or any(value.constant is None for value in node.inputs):
            continue
        if sum([_bytes(value) for value in node.outputs]) > _FOLDED:
            continue
        results = run_quietly(kernels[node.kernel], *[value.constant for value in node.inputs], **node.attrs)
        results = cast("Iterable[Any]", results if node.kernel in SEVERAL else (results,))
        for value, result in zip(node.outputs, results, strict=True):
            value.source = Source("constant", np.asarray(result), "")
            value.node = None
    graph.nodes = [node for node in graph.nodes if not node.outputs or node.outputs[0].node is not None]


def share_subexpressions(graph: Graph) -> None:
    """Computes once what is computed several times from the same values."""
    seen: dict[Any, Node] = {}
    replacements: dict[Value, Value] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        node.inputs = [replacements.get(value, value) for value in node.inputs]
        first = None if node.has_effect else _first(seen, node)
        if first is None:
            kept.append(node)
        else:
            replacements.update(zip(node.outputs, first.outputs, strict=True))
    graph.nodes = kept
    graph.substitute(replacements)


def _first(seen: dict[Any, Node], node: Node) -> Node | None:
    """The node that computes the same, if there was one before."""
    try:
        inputs = tuple([_identity(value) for value in node.inputs])
        key = node.kernel, inputs, frozen(dict(node.attrs))
        first = seen.setdefault(key, node)
    except TypeError:  # an attribute that cannot be hashed
        return None
    return None if first is node else first


def _identity(value: Value) -> Any:
    """Equal for values that are the same, small constants by what they hold."""
    array = value.constant
    if array is None or array.nbytes > 64 or array.dtype.kind == "O":
        return value.number
    return array.shape, array.dtype.str, array.tobytes()


def simplify(graph: Graph) -> None:
    """Leaves out what changes nothing: casts to the same dtype, `x * 1`, a transpose of a transpose."""
    replacements: dict[Value, Value] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        node.inputs = [replacements.get(value, value) for value in node.inputs]
        rule = _RULES.get(node.kernel)
        same = None if rule is None else rule(node)
        if same is None or same.shape != node.outputs[0].shape or same.dtype != node.outputs[0].dtype:
            kept.append(node)
        else:
            replacements[node.outputs[0]] = same
    graph.nodes = kept
    graph.substitute(replacements)


def _input(node: Node) -> Value | None:
    return node.inputs[0]


def _reshape(node: Node) -> Value | None:
    inner = node.inputs[0].node
    if inner is not None and inner.kernel == "Reshape":
        node.inputs = list(inner.inputs)
    return node.inputs[0]


def _cast(node: Node) -> Value | None:
    return node.inputs[0] if node.inputs[0].dtype == numpy_dtype(node.attrs["dtype"]) else None


def _transpose(node: Node) -> Value | None:
    inner = node.inputs[0].node
    perm = tuple(node.attrs["perm"])
    if inner is not None and inner.kernel == "Transpose":
        perm = tuple([inner.attrs["perm"][axis] for axis in perm])
        node.inputs, node.attrs = list(inner.inputs), {"perm": perm}
    return node.inputs[0] if perm == tuple(range(len(perm))) else None


def _negative(node: Node) -> Value | None:
    inner = node.inputs[0].node
    return inner.inputs[0] if inner is not None and inner.kernel == "Neg" else None


def _scale(node: Node) -> Value | None:
    return node.inputs[0] if node.attrs["factor"] == 1 else None


def _multiply(node: Node) -> Value | None:
    a, b = node.inputs
    return a if _is_all(b, 1) else b if _is_all(a, 1) else None


def _divide(node: Node) -> Value | None:
    return node.inputs[0] if _is_all(node.inputs[1], 1) else None


def _subtract(node: Node) -> Value | None:
    b = node.inputs[1].constant
    return node.inputs[0] if b is not None and _is_all(node.inputs[1], 0) and not _has_negative_zero(b) else None


def _multiply_no_nan(node: Node) -> Value | None:
    weight = node.inputs[1].constant
    if weight is None or not weight.all() or node.attrs.get("factor", 1) != 1:
        return None
    node.kernel, node.attrs = "Multiply", {}
    return _multiply(node)


def _div_no_nan(node: Node) -> Value | None:
    divisor = node.inputs[1].constant
    if divisor is None or not divisor.all():
        return None
    node.kernel, node.attrs = "RealDiv", {}
    return _divide(node)


_RULES: dict[str, Callable[[Node], Value | None]] = {
    "BroadcastTo": _input,
    "Cast": _cast,
    "DivNoNan": _div_no_nan,
    "Identity": _input,
    "Multiply": _multiply,
    "MultiplyNoNan": _multiply_no_nan,
    "Neg": _negative,
    "RealDiv": _divide,
    "Reshape": _reshape,
    "Scale": _scale,
    "Sub": _subtract,
    "Transpose": _transpose,
}


def _has_negative_zero(zeros: Array) -> bool:
    return zeros.dtype.kind == "f" and bool(np.signbit(zeros).any())


def _is_all(value: Value, number: float) -> bool:
    array = value.constant
    return array is not None and array.dtype.kind in "fic" and bool((array == number).all())


def absorb_transposes(graph: Graph) -> None:
    """Has matrix products read their factors transposed instead of transposing them first."""
    for node in graph.nodes:
        if node.kernel != "BatchMatMul":
            continue
        for place, flag in enumerate(("transpose_a", "transpose_b")):
            inner = node.inputs[place].node
            if inner is not None and inner.kernel == "Transpose" and _swaps_last_two(inner.attrs):
                node.inputs[place] = inner.inputs[0]
                node.attrs = {**node.attrs, flag: not node.attrs[flag]}


def _swaps_last_two(attrs: Mapping[str, Any]) -> bool:
    perm = tuple(attrs["perm"])
    rank = len(perm)
    return rank >= 2 and perm == (*range(rank - 2), rank - 1, rank - 2)


def _bytes(value: Value) -> int:
    return int(np.prod(value.shape, dtype=np.int64)) * value.dtype.itemsize


PASSES: dict[str, Callable[[Graph], None]] = {
    "simplify": simplify,
    "fold_constants": fold_constants,
    "simplify_again": simplify,
    "share_subexpressions": share_subexpressions,
    "absorb_transposes": absorb_transposes,
    "drop_dead_code": drop_dead_code,
}


def optimize(graph: Graph, last: str | None = None) -> Graph:
    """The graph after all passes, or after those up to the one named; the graph given stays as it is."""
    result = graph.copy()
    for name, run in PASSES.items():
        run(result)
        if name == last:
            break
    return result

"""Collecting the arrays of a call: a function written for each program, for this is most of what a call costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from varigrad.backends.native.lowering import Lowered
from varigrad.backends.native.places import Places
from varigrad.backends.native.state import DTYPES
from varigrad.engine import own
from varigrad.errors import DisposedError
from varigrad.jit.graph import Value

__all__ = ["fetcher"]


def fetcher(places: Places, lowered: Lowered) -> Callable[[Sequence[Any]], list[Any] | None]:
    """A function that collects the arrays of a call, in the order of their places."""
    written = {val.root for op in lowered.operations for val in op.outputs if val.home is not None}
    updated = {
        value.source.what.id
        for value, val in zip(lowered.sources, lowered.source_vals, strict=True)
        if val in written and value.source is not None and value.source.kind == "variable"
    }
    names: dict[str, Any] = {"array": np.array, "empty": np.empty, "own": own, "Gone": DisposedError}
    owned: list[str] = []
    items = ["None"]
    hosts = [(first, node.compute) for first, node in lowered.hosts]
    for at, value in enumerate(lowered.sources):
        if value.source is not None:
            items.append(_fetched(at, value, names, owned, updated))
        items += _asked(at, hosts, names)
    items += _asked(len(lowered.sources), hosts, names)
    for view in places.made:
        names[f"d_{view.kind.llvm}"] = DTYPES[view.kind.char]
        items.append(f"empty({view.shape!r}, d_{view.kind.llvm})")
    items += ["None"] * (places.count - places.first_hosted)
    lines = ["def fetch(leaves):", " try:"]
    if owned:
        lines.append(f"  {', '.join([f'o{name}' for name in owned])}, = own(({', '.join(owned)},))")
    lines += [f"  return [{', '.join(items)}]", " except Gone:", "  return None"]
    exec("\n".join(lines), names)
    return names["fetch"]


def _asked(at: int, hosts: list[tuple[int, Any]], names: dict[str, Any]) -> list[str]:
    """The calls of the host whose numbers come at this place or, if they give none, after those before it."""
    calls: list[str] = []
    while hosts and hosts[0][0] <= at:
        name = f"h{len(names)}"
        names[name] = hosts.pop(0)[1]
        calls.append(f"*{name}()")
    return calls


def _fetched(at: int, value: Value, names: dict[str, Any], owned: list[str], updated: set[int]) -> str:
    source = value.source
    assert source is not None
    if source.kind == "argument":
        return f"leaves[{source.what}].storage"
    name = f"s{at}"
    names[name] = source.what
    if source.kind == "constant":
        names[name] = np.ascontiguousarray(source.what).reshape(value.shape)
        return name
    if source.kind == "number":
        names[f"t{at}"] = value.dtype
        return f"array({name}(leaves), t{at})"
    if source.kind == "variable" and source.what.id in updated:
        owned.append(name)
        return f"o{name}"
    return f"{name}.storage"

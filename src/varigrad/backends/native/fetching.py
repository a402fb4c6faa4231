"""Collecting the arrays of a call: a function written for each program, for this is most of what a call costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from varigrad.backends.native.lowering import Lowered
from varigrad.backends.native.places import Places
from varigrad.backends.native.state import DTYPES
from varigrad.errors import DisposedError
from varigrad.jit.graph import Value

__all__ = ["fetcher"]


def fetcher(places: Places, lowered: Lowered) -> Callable[[Sequence[Any]], list[Any] | None]:
    """A function that collects the arrays of a call, in the order of their places."""
    names: dict[str, Any] = {"array": np.array, "empty": np.empty, "Gone": DisposedError}
    items = ["None"]
    hosts = [(first, node.compute) for first, node in lowered.hosts]
    for at, (value, val) in enumerate(zip(lowered.sources, lowered.source_vals, strict=True)):
        if value.source is not None and places.slot[val] < places.first_written:
            items.append(_fetched(at, value, names))
        items += _asked(at, hosts, names)
    items += _asked(len(lowered.sources), hosts, names)
    for view in places.made:
        names[f"d_{view.kind.llvm}"] = DTYPES[view.kind.char]
        items.append(f"empty({view.shape!r}, d_{view.kind.llvm})")
    for at, variable in enumerate(places.variables):
        names[f"w{at}"] = variable
        items.append(f"w{at}.storage")
    items += ["None"] * (places.count - places.first_hosted)
    lines = ["def fetch(leaves):", " try:", f"  return [{', '.join(items)}]", " except Gone:", "  return None"]
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


def _fetched(at: int, value: Value, names: dict[str, Any]) -> str:
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
    return f"{name}.storage"

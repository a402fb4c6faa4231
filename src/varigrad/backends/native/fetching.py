"""Collecting the arrays of a call: a function written for each program, for this is most of what a call costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from varigrad.backends.native.lowering import Lowered
from varigrad.backends.native.places import Places
from varigrad.backends.native.state import DTYPES
from varigrad.errors import DisposedError
from varigrad.jit.graph import Node, Value

__all__ = ["fetcher"]


def fetcher(
    places: Places, lowered: Lowered, alone: bool, remember: Callable[[], Any] | None
) -> Callable[[Sequence[Any]], list[Any] | None]:
    """A function that collects the arrays of a call, in the order of their places; None where a tensor was disposed of.

    Where one call at a time runs, `alone`, the numbers of the host are written into the same arrays each time.
    After the arrays come the leaves and what `remember` gave before the host was asked, if that is to be called.
    """
    names: dict[str, Any] = {"array": np.array, "empty": np.empty, "Gone": DisposedError, "remember": remember}
    items = ["None"]
    late: list[str] = []  # what is done once all tensors are known to be there
    hosts = list(lowered.hosts)
    for at, (value, val) in enumerate(zip(lowered.sources, lowered.source_vals, strict=True)):
        if value.source is not None and places.slot[val] < places.first_written:
            items.append(_fetched(at, value, names))
        _ask(at, hosts, names, items, late, alone)
    _ask(len(lowered.sources), hosts, names, items, late, alone)
    for view in places.made:
        names[f"d_{view.kind.llvm}"] = DTYPES[view.kind.char]
        items.append(f"empty({view.shape!r}, d_{view.kind.llvm})")
    for at, variable in enumerate(places.variables):
        names[f"w{at}"] = variable
        items.append(f"w{at}.storage")
    items += ["None"] * (places.count - places.first_hosted)
    if remember is not None:
        items += ["leaves", "remember()"]
    lines = ["def fetch(leaves):", " try:", f"  arrays = [{', '.join(items)}]", " except Gone:", "  return None"]
    exec("\n".join([*lines, *late, " return arrays"]), names)
    return names.pop("fetch")  # whose globals they are: it would keep itself


def _ask(
    at: int, hosts: list[tuple[int, Node]], names: dict[str, Any], items: list[str], late: list[str], alone: bool
) -> None:
    """Adds the calls of the host whose numbers come at this place or, if they give none, after those before it."""
    while hosts and hosts[0][0] <= at:
        _, node = hosts.pop(0)
        name, count = f"h{len(names)}", len(node.outputs)
        into: Any = getattr(node.compute, "into", None)
        if into is not None and alone:
            arrays = [np.empty(value.shape, value.dtype) for value in node.outputs]
            names[name] = into(arrays)
            names |= {f"{name}_{number}": array for number, array in enumerate(arrays)}
            items += [f"{name}_{number}" for number in range(count)]
            late.append(f" {name}()")
        else:
            names[name] = node.compute
            late.append(f" arrays[{len(items)}:{len(items) + count}] = {name}()")
            items += ["None"] * count


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

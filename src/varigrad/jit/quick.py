"""The quick way through a compiled function: a function written for one trace, which does no more than that one needs.

It checks the arguments one by one, in place of making a key of them. Where they are not those that the trace was made
for, or anything else has changed, it gives `MISS`; nothing has happened then, and the usual way finds out what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from varigrad.jit.guards import GONE
from varigrad.jit.signature import PLAIN, attributes_of, fields_of, is_array
from varigrad.jit.straight_line import Stale
from varigrad.ops.values import tensor
from varigrad.tensor import Tensor, Variable

if TYPE_CHECKING:
    from varigrad.jit.trace import Trace

__all__ = ["MISS", "QuickCall", "never", "quick_call"]

# Takes positional and named arguments, and gives the result or `MISS`.
QuickCall: TypeAlias = Callable[[tuple[Any, ...], Mapping[str, Any]], Any]

MISS: Any = object()
_FEW = 16  # results that are written out one by one
_LONG = 1000  # lines of checks from which on Python takes longer to compile them than is won


def never(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """The quick call of a function that has none."""
    return MISS


def quick_call(trace: Trace, args: tuple[Any, ...], kwargs: Mapping[str, Any], leaves: Sequence[Any]) -> QuickCall:
    """The quick call of a trace, for arguments like these; their leaves are given too."""
    checks = _Checks()
    if trace.known or not checks.of_call(args, kwargs) or len(checks.lines) > _LONG:
        return never
    names: dict[str, Any] = {**checks.names, "MISS": MISS, "GONE": GONE, "Stale": Stale, "same": trace.guards.same}
    given = f"({''.join([f'{leaf}, ' for leaf in checks.leaves])})"
    run, result = _run(trace, leaves, given, names)
    if trace.updates:
        names |= {"acquire": trace.lock.acquire, "release": trace.lock.release}
        run = ["acquire()", "try:", *[f" {line}" for line in run], "finally:", " release()"]
    same = ["try:", " if not same():", "  return MISS", "except GONE:", " return MISS"]
    text = "\n ".join(["def quick(args, kwargs):", *checks.lines, *same, *run, f"return {result}"])
    exec(compile(text, f"<quick call of {trace.captured.name}>", "exec"), names)
    return names.pop("quick")  # whose globals they are: it would keep itself


def _run(trace: Trace, leaves: Sequence[Any], given: str, names: dict[str, Any]) -> tuple[list[str], str]:
    """The lines that run the program for the leaves that are `given`, and the expression of the result."""
    program = trace.program
    names |= {"program": program, "build": trace.build, "Tensor": Tensor}
    count = len(program.graph.outputs)
    direct: Any = getattr(program, "direct", lambda: None)()
    if direct is None:
        lines = ["try:", f" made = program({given})", "except Stale:", " return MISS"]
        made = [f"made[{place}]" for place in range(count)]
        every = "made"
    else:
        names |= {"pop": direct.entries.pop, "push": direct.entries.append, "outputs": direct.outputs}
        names |= {"fetch": direct.fetch, "resume": direct.resume}
        lines = [
            *("try:", " entry = pop()", "except IndexError:", " return MISS", f"arrays = fetch({given})"),
            *("if arrays is None:", " return MISS", "if entry.enter(arrays):", " resume(entry, arrays)", "push(entry)"),
        ]
        made = [f"arrays[{place}]" for place in direct.outputs]
        every = "[arrays[place] for place in outputs]"
    probes = cast("list[Any]", [object() for _ in range(count)])
    if count == 1 and trace.build(probes, leaves) is probes[0]:
        return lines, f"Tensor({made[0]})"
    tensors = ", ".join([f"Tensor({array})" for array in made]) if count <= _FEW else f"*map(Tensor, {every})"
    return lines, f"build([{tensors}], {given})"


class _Checks:
    """The lines that check arguments, and the names of the leaves among them."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.names: dict[str, Any] = {"tensor": tensor}

    def of_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Adds those for all arguments; False where there are none for one of them."""
        number = f"len(args) != {len(args)}" if args else "args"
        names = f"list(kwargs) != {list(kwargs)!r}" if kwargs else "kwargs"
        self.lines += [f"if {number} or {names}:", " return MISS"]
        positional = [self.of(value, f"args[{position}]") for position, value in enumerate(args)]
        named = [self.of(value, f"kwargs[{name!r}]") for name, value in kwargs.items()]
        return all(positional) and all(named)

    def of(self, value: Any, place: str) -> bool:
        """Adds those for a value, which will be found at a place; False where there are none for one of its kind."""
        kind = cast("Any", type(value))
        name = f"a{len(self.lines)}"
        if kind is float:
            self._check(name, place, kind)
            self.leaves.append(name)
        elif kind in (Tensor, np.ndarray):
            self._tensor(value, name, place, kind)
        elif kind in PLAIN and kind is not complex:
            self._check(name, place, kind, f"{name} != {self._named(value, 'v', name)}")
        elif isinstance(value, (list, tuple, dict)) and attributes_of(value):
            return False
        elif isinstance(value, (list, tuple)):
            items = cast("Sequence[Any]", value)
            self._check(name, place, kind, f"len({name}) != {len(items)}", *_attributes(value, name))
            return all(self.of(item, f"{name}[{position}]") for position, item in enumerate(items))
        elif isinstance(value, dict):
            items = cast("dict[Any, Any]", value)
            keys = list(items)
            if not all(type(key) is str for key in keys):
                return False
            self._check(name, place, kind, f"list({name}) != {keys!r}", *_attributes(value, name))
            return all(self.of(item, f"{name}[{key!r}]") for key, item in items.items())
        elif (fields := fields_of(value)) is not None:
            self._check(name, place, kind, *[f"len({name}.__dict__) != {len(fields)}"] * hasattr(value, "__dict__"))
            return all(self.of(item, f"{name}.{field}") for field, item in fields.items())
        elif isinstance(value, Variable) or not (kind is slice or kind is complex or is_array(value)):
            self.lines += [f"if {place} is not {self._named(value, 'o', name)}:", " return MISS"]
        else:
            return False
        return True

    def _tensor(self, value: Any, name: str, place: str, kind: type) -> None:
        """An array is taken for the tensor that it reaches the function as."""
        self._check(name, place, kind)
        storage = value.storage if kind is Tensor else tensor(value).storage
        if kind is not Tensor:
            self.lines.append(f"{name} = tensor({name})")
        dtype = self._named(storage.dtype, "d", name)
        self.lines += [
            *(f"s = {name}.storage", f"if s.shape != {storage.shape!r} or s.dtype is not {dtype}:", " return MISS"),
        ]
        self.leaves.append(name)

    def _check(self, name: str, place: str, kind: type, *unfit: str) -> None:
        conditions = " or ".join([f"{name}.__class__ is not {self._named(kind, 'k', name)}", *unfit])
        self.lines += [f"{name} = {place}", f"if {conditions}:", " return MISS"]

    def _named(self, value: Any, letter: str, name: str) -> str:
        self.names[f"{letter}_{name}"] = value
        return f"{letter}_{name}"


def _attributes(container: Any, name: str) -> list[str]:
    """How to see that a container, which has a name and no attributes, has some now."""
    if not hasattr(container, "__dict__") or container.__dict__ is container:
        return []
    return [f"{name}.__dict__"]

"""`NativeProgram`: a graph as machine code with, between its parts, the NumPy kernels that have no lowering."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from varigrad.backends.llvm.code import Code
from varigrad.backends.llvm.fusion import Group, Step, fuse
from varigrad.backends.llvm.loops import write_pass
from varigrad.backends.llvm.lowering import Lowered, lower
from varigrad.backends.llvm.machine import Library, assembly, build, vector_lanes
from varigrad.backends.llvm.operations import HostCall, Routine, Val, View
from varigrad.backends.llvm.passes import Pass
from varigrad.backends.llvm.runtime import ENTER, RUNTIME, arrays_can_be_read
from varigrad.dtypes import Array
from varigrad.engine import active_kernels, own, run_quietly
from varigrad.errors import DisposedError, VariGradError
from varigrad.jit.graph import HOST, Graph, Node, Value
from varigrad.jit.memory import Interval, plan
from varigrad.jit.straight_line import Stale
from varigrad.tensor import format_shape

__all__ = ["NativeProgram"]

_DTYPES = {"f": np.dtype(np.float32), "d": np.dtype(np.float64), "i": np.dtype(np.int32), "?": np.dtype(np.bool_)}


class NativeProgram:
    """A graph made ready to run. Calls may come from several threads at once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._lowered: Lowered = lower(graph)
        self._steps: list[Step] = fuse(self._lowered.operations, self._lowered.outputs)
        self._places = _Places(self._lowered, self._steps)
        self._kernels = _Kernels(self._steps, self._places)
        self._library: Library = build(self._kernels.text)
        self._segments = self._kernels.segments(self._library)
        enter = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
        self._enter: Any = enter(self._library.address(ENTER))
        self._fetch = _fetcher(self._places, self._lowered)
        self._states: list[_State] = []  # those that no call is using
        self._hosted = any(isinstance(step, HostCall) for step in self._steps)
        self._readable = arrays_can_be_read()

    def __call__(self, leaves: Sequence[Any]) -> list[Array]:
        """The arrays that the graph returns, for these leaves of the arguments.

        Raises:
            Stale: A tensor that the graph reads was disposed of; nothing has run yet.
        """
        try:
            state = self._states.pop()
        except IndexError:
            state = _State(self._places, self._segments)
        arrays = self._fetch(leaves)
        if arrays is None:
            raise Stale
        if self._hosted or not self._readable:
            run_quietly(self._run, state, arrays)
        else:
            self._enter(state.segments[0], id(arrays))
        self._states.append(state)
        return [arrays[place] for place in self._places.outputs]

    def _run(self, state: _State, arrays: list[Any]) -> None:
        """All segments, and the NumPy kernels between them."""
        for segment, pointer in zip(self._segments, state.segments, strict=True):
            if segment.host is not None:
                self._run_host(segment.host, state, arrays)
            if self._readable:
                self._enter(pointer, id(arrays))
            else:
                for place in range(segment.first, segment.last):
                    state.table[place] = arrays[place].ctypes.data
                self._enter(pointer, None)

    def _run_host(self, step: HostCall, state: _State, arrays: list[Any]) -> None:
        node = step.node
        if node.kernel == HOST:
            assert node.compute is not None
            results: Any = node.compute()
        else:
            inputs = [state.array(view, arrays) for view in step.inputs]
            try:
                results = _call(node, inputs)
            except Exception as error:
                raise _explained(node, error) from error
        if node.is_update:
            return
        results = results if isinstance(results, (tuple, list)) else (results,)
        for val, result in zip(step.outputs, cast("Sequence[Any]", results), strict=True):
            arrays[self._places.slot[val]] = np.asarray(result)

    # Seeing inside

    def ir(self) -> str:
        """The LLVM text of all kernels."""
        return self._kernels.text

    def asm(self) -> str:
        """The assembly of all kernels."""
        return assembly(self._kernels.text)


def _call(node: Node, inputs: list[Array]) -> Any:
    kernels, updates = active_kernels()
    if not node.is_update:
        return kernels[node.kernel](*inputs, **node.drawn_attrs())
    count, slots = len(node.targets), len(inputs) - len(node.state)
    return updates[node.kernel](inputs[:count], inputs[count:slots], inputs[slots:], **node.attrs)


def _explained(node: Node, error: Exception) -> Exception:
    """The error that eager mode would have raised."""
    if isinstance(error, VariGradError):
        return error
    kind = TypeError if isinstance(error, TypeError) else ValueError
    given = ", ".join([f"{format_shape(value.shape)} {value.dtype}" for value in node.inputs])
    return kind(f"{node.kernel}: {error} (inputs: {given}; called at {node.site})")


class _Places:
    """Where every value lies: in which array of a call, or where in the arena. Array 0 is the arena."""

    def __init__(self, lowered: Lowered, steps: Sequence[Step]) -> None:
        self.slot: dict[Val, int] = {val: at + 1 for at, val in enumerate(lowered.source_vals)}
        self.outputs: list[int] = []
        self.made: list[View] = []  # what is returned, in memory that the call takes
        self.count = 1 + len(lowered.source_vals)
        hosted = [val for step in steps if isinstance(step, HostCall) for val in step.outputs if val.home is None]
        for view in lowered.outputs:
            if view.val.root not in self.slot and view.val not in hosted:
                self.slot[view.val.root] = self.count
                self.made.append(view)
                self.count += 1
        self.first_hosted = self.count
        for val in hosted:
            self.slot[val] = self.count
            self.count += 1
        self.outputs = [self.slot[view.val.root] for view in lowered.outputs]
        self._plan_arena(steps)

    def _plan_arena(self, steps: Sequence[Step]) -> None:
        lives: dict[Val, list[int]] = {}
        for at, step in enumerate(steps):
            for val in _touched(step):
                if val.root not in self.slot and val.literal is None:
                    lives.setdefault(val.root, []).append(at)
        order = sorted(lives, key=lambda val: lives[val][0])
        self.arena = plan([Interval(lives[v][0], lives[v][-1], v.size * v.kind.size) for v in order])
        self.offsets = dict(zip(order, self.arena.offsets, strict=True))

    def of(self, val: Val, elements: int) -> tuple[int, int]:
        """The place in the table and the offset in bytes of an element of a value's root."""
        slot = self.slot.get(val)
        return (
            (slot, elements * val.kind.size) if slot is not None else (0, self.offsets[val] + elements * val.kind.size)
        )


def _touched(step: Step) -> list[Val]:
    """The values that a step reads from memory or writes there."""
    if not isinstance(step, Group):
        return [*[view.val for view in step.inputs], *step.outputs]
    read = [view.val for op in step.operations for view in op.inputs if view.val not in step.made]
    return [*read, *step.made]


class _Segment:
    """Kernels that run without Python: the NumPy kernel before them, and which arrays have come new by then."""

    def __init__(self, host: HostCall | None, first: int, last: int) -> None:
        self.host = host
        self.first = first
        self.last = last
        self.steps: list[int] = []


class _Kernels:
    """The text of each distinct kernel, and how each step calls its own."""

    def __init__(self, steps: Sequence[Step], places: _Places) -> None:
        self.steps = steps
        self.places = places
        self.names: dict[Any, str] = {}
        self.calls: list[tuple[str, list[int], int] | None] = []
        declarations: set[str] = set()
        texts: list[str] = []
        read_by = _readers(steps)
        for at, step in enumerate(steps):
            if isinstance(step, HostCall):
                self.calls.append(None)
                continue
            code, addresses = self._prepared(step, at, read_by)
            name = self.names.get(code.key)
            if name is None:
                name = self.names[code.key] = f"kernel_{len(self.names)}"
                writer = Code(vector_lanes())
                pointers = [_pointer(writer, at) for at in range(len(addresses))]
                if isinstance(code, Pass):
                    write_pass(code, writer, pointers, "%begin", "%end")
                else:
                    code.write(writer, pointers, "%begin", "%end")
                texts.append(writer.function(name, "ptr %table, ptr %arguments, i64 %begin, i64 %end"))
                declarations |= writer.declarations
            arguments = [number for address in addresses for number in address]
            arguments += list(getattr(code, "numbers", ()))
            self.calls.append((name, arguments, step.parts if isinstance(step, Routine) else code.parts))
        self.text = "\n".join([*sorted(declarations), RUNTIME, *texts])

    def _prepared(
        self, step: Group | Routine, at: int, read_by: Mapping[Val, int]
    ) -> tuple[Any, list[tuple[int, int]]]:
        if isinstance(step, Routine):
            views = step.inputs
            addresses = [self.places.of(view.val.root, view.offset + view.val.start) for view in views]
            return step.code, addresses + [self.places.of(val.root, val.start) for val in step.outputs]
        slots = self.places.slot
        code = Pass(step, lambda val: read_by.get(val, -1) > at or val in slots, vector_lanes())
        return code, [self.places.of(val, elements) for val, elements in code.pointers]

    def segments(self, library: Library) -> list[_Segment]:
        """The segments, with tables of the steps: the kernel's address, that of its arguments, and the parts."""
        places = self.places
        found = [_Segment(None, 1, places.first_hosted)]
        self.memory: list[Array] = []  # the arguments: the tables hold their addresses
        addresses = {name: library.address(name) for name in self.names.values()}
        following = places.first_hosted
        for step, call in zip(self.steps, self.calls, strict=True):
            if isinstance(step, HostCall):
                native = len([val for val in step.outputs if val.home is None])
                found.append(_Segment(step, following, following + native))
                following += native
                continue
            assert call is not None
            name, arguments, parts = call
            memory = np.array(arguments, np.int64)
            self.memory.append(memory)
            found[-1].steps += [addresses[name], memory.ctypes.data, parts]
        return found


def _readers(steps: Sequence[Step]) -> dict[Val, int]:
    """The last step that reads each value from memory."""
    last: dict[Val, int] = {}
    for at, step in enumerate(steps):
        if isinstance(step, Group):
            for op in step.operations:
                for view in op.inputs:
                    if view.val not in step.made:
                        last[view.val] = at
        else:
            last.update(dict.fromkeys([view.val for view in step.inputs], at))
    return last


def _pointer(code: Code, at: int) -> str:
    """The address that the arguments give in this place."""
    place = code.fresh(f"getelementptr i64, ptr %arguments, i64 {2 * at}")
    slot = code.fresh(f"load i64, ptr {place}")
    following = code.fresh(f"getelementptr i64, ptr %arguments, i64 {2 * at + 1}")
    offset = code.fresh(f"load i64, ptr {following}")
    entry = code.fresh(f"getelementptr ptr, ptr %table, i64 {slot}")
    base = code.fresh(f"load ptr, ptr {entry}")
    return code.fresh(f"getelementptr i8, ptr {base}, i64 {offset}")


class _State:
    """The memory of one call at a time: the arena and the table of addresses."""

    def __init__(self, places: _Places, segments: Sequence[_Segment]) -> None:
        self._places = places
        raw = np.empty(places.arena.size + 64, np.uint8)
        start = -raw.ctypes.data % 64
        self.arena = raw[start : start + places.arena.size]
        self.table = np.zeros(places.count, np.int64)
        self.table[0] = raw.ctypes.data + start
        self._memory: list[Array] = []
        self.segments: list[int] = []
        for segment in segments:
            steps = np.array(segment.steps, np.int64)
            head = [self.table.ctypes.data, segment.first, segment.last, steps.ctypes.data, len(steps) // 3]
            entry = np.array(head, np.int64)
            self._memory += [steps, entry]
            self.segments.append(entry.ctypes.data)

    def array(self, view: View, arrays: Sequence[Any]) -> Array:
        """A value that is whole, as NumPy sees it."""
        val = view.val
        slot = self._places.slot.get(val.root)
        if slot is not None:
            return arrays[slot].reshape(view.shape)
        _, offset = self._places.of(val.root, val.start)
        return np.ndarray(view.shape, _DTYPES[val.kind.char], self.arena, offset)


def _fetcher(places: _Places, lowered: Lowered) -> Callable[[Sequence[Any]], list[Any] | None]:
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
    for at, value in enumerate(lowered.sources):
        items.append(_fetched(at, value, names, owned, updated))
    for view in places.made:
        names[f"d_{view.kind.llvm}"] = _DTYPES[view.kind.char]
        items.append(f"empty({view.shape!r}, d_{view.kind.llvm})")
    items += ["None"] * (places.count - places.first_hosted)
    lines = ["def fetch(leaves):", " try:"]
    if owned:
        lines.append(f"  {', '.join([f'o{name}' for name in owned])}, = own(({', '.join(owned)},))")
    lines += [f"  return [{', '.join(items)}]", " except Gone:", "  return None"]
    exec("\n".join(lines), names)
    return names["fetch"]


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

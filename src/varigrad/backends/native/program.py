"""`NativeProgram`: a graph as machine code with, between its parts, the NumPy kernels that have no lowering."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.backends.native.checking import IndexCheck
from varigrad.backends.native.entry import Enter, Entry, make_builtin
from varigrad.backends.native.fetching import fetcher
from varigrad.backends.native.finishing import finish
from varigrad.backends.native.fusion import Step, fuse, results_of
from varigrad.backends.native.groups import Group
from varigrad.backends.native.kernels import Kernels, Segment
from varigrad.backends.native.listing import list_places, list_steps
from varigrad.backends.native.lowering import Lowered, lower
from varigrad.backends.native.machine import Library, assembly, build
from varigrad.backends.native.operations import HostCall, Origin, Routine, Val
from varigrad.backends.native.places import Places
from varigrad.backends.native.runtime import ENTER, arrays_can_be_read
from varigrad.backends.native.state import State
from varigrad.backends.native.threads import pool_address
from varigrad.backends.native.tuning import Choice
from varigrad.dtypes import Array
from varigrad.engine import active_kernels, own, run_quietly
from varigrad.errors import VariGradError
from varigrad.jit.effects import Effects
from varigrad.jit.graph import Graph, Node
from varigrad.jit.straight_line import Program, Stale
from varigrad.tensor import format_shape

__all__ = ["NativeProgram"]

_SMALL = 1 << 16  # elements computed, some tens of microseconds, up to which no other thread gets its turn meanwhile


class Direct(NamedTuple):
    """The parts of a call, for whoever calls often: take an entry off the list or make a call in the usual way; fetch
    the arrays; enter, and resume where that gives other than 0; put the entry back. Results are at `outputs`."""

    entries: list[Entry]
    fetch: Callable[[Sequence[Any]], list[Any] | None]
    resume: Callable[[Entry, list[Any]], None]
    outputs: list[int]


class NativeProgram:
    """A graph made ready to run. Calls may come from several threads at once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._lowered: Lowered = lower(graph)
        self._steps: list[Step] = finish(fuse(self._lowered.operations, self._lowered.outputs), self._lowered.outputs)
        self._places = Places(self._lowered, self._steps)
        self._kernels = Kernels(self._steps, self._places)
        self._library: Library = build(self._kernels.text)
        self._segments = self._kernels.segments(self._library)
        enter = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        self._enter: Any = enter(self._library.address(ENTER))
        alone = any(node.is_update for node in graph.nodes)  # for these the caller sees to it
        self._effects = _effects(graph, self._lowered, self._steps)
        self._fetch = fetcher(self._places, self._lowered, alone, self._effects and self._effects.read)
        large = any(segment.is_large for segment in self._segments)
        self._pool = pool_address(self._library) if large else 0
        self._choice = Choice() if self._pool else None
        self._readable = arrays_can_be_read()
        self._is_plain = self._readable and len(self._segments) == 1
        self._is_small = self._is_plain and self._choice is None and self._kernels.work <= _SMALL
        self._entries: list[Entry] = []  # those that no call is using

    def __call__(self, leaves: Sequence[Any]) -> list[Array]:
        """The arrays that the graph returns, for these leaves of the arguments.

        Raises:
            Stale: A tensor that the graph reads was disposed of; nothing has run yet.
        """
        try:
            entry = self._entries.pop()
        except IndexError:
            entry = self._new_entry()
        arrays = self._fetch(leaves)
        if arrays is None:
            raise Stale
        choice = self._choice
        if choice is None:
            self._run(entry, arrays, False)
        else:
            second = choice.second
            started = perf_counter_ns()
            self._run(entry, arrays, second)
            choice.note(second, perf_counter_ns() - started)
        self._entries.append(entry)
        return [arrays[place] for place in self._places.outputs]

    def direct(self) -> Direct | None:
        """The parts of a call, where it is no more than these."""
        if not self._is_small:
            return None
        return Direct(self._entries, self._fetch, self._resume_entry, self._places.outputs)

    def _new_entry(self) -> Entry:
        state = State(self._places, self._segments, self._pool)
        if self._is_small:
            return Entry(state, make_builtin(self._library, state.alone[0]))
        return Entry(state, self._entering(state.alone[0]), self._entering(state.shared[0]))

    def _entering(self, address: int) -> Enter:
        """What enters the first segment from Python, through ctypes."""
        enter = self._enter
        return lambda arrays: enter(address, id(arrays))

    def _resume_entry(self, entry: Entry, arrays: list[Any]) -> None:
        self._resume(entry.state.alone[0], entry.state, arrays)

    def _resume(self, entry: int, state: State, arrays: list[Any]) -> None:
        """Goes on where native code has stopped: gives variables memory of their own, or raises what a check found."""
        if not state.failed[0]:
            self._own_variables(arrays)
            self._enter(entry, id(arrays))
        self._raise_if_failed(state, arrays)

    def _raise_if_failed(self, state: State, arrays: list[Any]) -> None:
        """Raises the error of the kernel whose indices a check has found to be wrong."""
        if state.failed[0]:
            self._start_again(arrays)
            node = self._lowered.checks[int(state.failed[0]) - 1].node
            raise VariGradError(f"{node.kernel}: its indices are wrong (called at {node.site})")

    def _start_again(self, arrays: list[Any]) -> None:
        """Has NumPy do the call from the start, kernel by kernel as in eager mode, after one that met an error: that
        is raised here, and all that came before it is done."""
        assert self._effects is not None
        leaves, held = arrays[self._places.count :]
        self._effects.write(held)
        Program(self.graph)(leaves)

    def _own_variables(self, arrays: list[Any]) -> None:
        """Gives the variables that are written to memory of their own where something else holds it too."""
        place, variables = self._places.first_written, self._places.variables
        arrays[place : place + len(variables)] = [None] * len(variables)
        arrays[place : place + len(variables)] = own(variables)

    def _run(self, entry: Entry, arrays: list[Any], shared: bool) -> None:
        """All segments, and the NumPy kernels between them, on one thread or several."""
        if self._is_plain:
            if (entry.enter_shared if shared else entry.enter)(arrays):
                self._resume_entry(entry, arrays)
        else:
            state = entry.state
            run_quietly(self._run_segments, state.shared if shared else state.alone, state, arrays)

    def _run_segments(self, entries: Sequence[int], state: State, arrays: list[Any]) -> None:
        for segment, entry in zip(self._segments, entries, strict=True):
            if segment.host is not None:
                self._run_host(segment.host, state, arrays)
            if not self._readable:
                self._look_up(segment, state, arrays)
                self._enter(entry, None)
                self._raise_if_failed(state, arrays)
            elif self._enter(entry, id(arrays)):
                self._resume(entry, state, arrays)

    def _look_up(self, segment: Segment, state: State, arrays: list[Any]) -> None:
        """What native code does for itself where it can: finds where the arrays lie."""
        if segment.host is None:
            self._own_variables(arrays)
        for place in range(segment.first, segment.last):
            state.table[place] = arrays[place].ctypes.data

    def _run_host(self, step: HostCall, state: State, arrays: list[Any]) -> None:
        node = step.node
        inputs = [state.array(view, arrays) for view in step.inputs]
        try:
            results = _call(node, inputs)
        except Exception as error:
            self._start_again(arrays)
            raise _explained(node, error) from error
        if node.is_update:
            return
        several = cast("Sequence[Any]", results if isinstance(results, (tuple, list)) else (results,))
        for val, result in zip(step.outputs, several, strict=True):
            arrays[self._places.slot[val]] = np.asarray(result)

    # Seeing inside

    def timeline(self, leaves: Sequence[Any]) -> tuple[list[Array], list[tuple[Origin, float]]]:
        """The same as a call, and how many seconds each step took, on one thread: each step with what it comes from."""
        state = State(self._places, self._segments, 0)
        arrays = self._fetch(leaves)
        if arrays is None:
            raise Stale
        times: list[tuple[Origin, float]] = []
        run_quietly(self._time_segments, state, arrays, times)
        return [arrays[place] for place in self._places.outputs], times

    def _time_segments(self, state: State, arrays: list[Any], times: list[tuple[Origin, float]]) -> None:
        native = iter([step for step in self._steps if not isinstance(step, HostCall)])
        for segment in self._segments:
            if segment.host is not None:
                started = perf_counter_ns()
                self._run_host(segment.host, state, arrays)
                times.append((segment.host.origin, (perf_counter_ns() - started) / 1e9))
            self._look_up(segment, state, arrays)
            for entry in state.single_steps(segment):
                started = perf_counter_ns()
                self._enter(entry, None)
                times.append((_origin(next(native)), (perf_counter_ns() - started) / 1e9))
                self._raise_if_failed(state, arrays)

    def fusion(self) -> str:
        """The steps that kernels were fused into."""
        return list_steps(self.graph.name, self._lowered, self._steps, self._places)

    def memory_plan(self) -> str:
        """Where values lie in the arena, and while which steps."""
        return list_places(self._lowered, self._steps, self._places)

    def ir(self) -> str:
        """The LLVM text of all kernels."""
        return self._kernels.text

    def asm(self) -> str:
        """The assembly of all kernels."""
        return assembly(self._kernels.text)


def _effects(graph: Graph, lowered: Lowered, steps: Sequence[Step]) -> Effects | None:
    """What has to be put back after an error: among variables and slots, only those that are written to before a step
    that may fail. None where no step may."""
    may_fail = False
    written: dict[Val, None] = {}
    early: dict[Val, None] = {}
    for step in steps:
        if isinstance(step, HostCall):
            fails = not (step.node.is_random and not step.inputs)
        else:
            fails = isinstance(step, Routine) and isinstance(step.code, IndexCheck)
        if fails:
            may_fail = True
            early |= written
        written |= {val.root: None for val in results_of(step) if val.home is not None and val.root.source is not None}
    sources = [lowered.sources[val.source].source for val in early if val.source is not None]
    return Effects(graph, [source.what for source in sources if source is not None]) if may_fail else None


def _origin(step: Group | Routine) -> Origin:
    """What a step comes from: several kernels, if they run in one pass."""
    if isinstance(step, Routine):
        return step.origin
    origins = [op.origin for op in step.operations]
    kernels = ", ".join(dict.fromkeys([origin.kernel for origin in origins]))
    return Origin(kernels, next((origin.site for origin in origins if origin.site), ""))


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

"""The NumPy executor: a graph as straight-line Python, one line a kernel.

The function that is written calls the same kernels as eager mode, in the same order, and nothing else: no checks, no
tensors, no tape. Intermediates lie in one arena where the kernel can write into memory that it is given, and the rest
goes as soon as nobody needs it. `program.source` is the text.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from varigrad.dtypes import HALVES, Array, dtype_name
from varigrad.engine import SEVERAL, active_kernels, own, run_quietly
from varigrad.errors import DisposedError, OutOfMemoryError, VariGradError
from varigrad.jit.graph import HOST, Graph, Node, Value
from varigrad.jit.memory import Interval, Plan, plan
from varigrad.randomness import NextSeed
from varigrad.tensor import Tensor, format_shape

__all__ = ["Program", "Stale"]

_IN_ARENA = 4096  # bytes from which memory of one's own is worth its bookkeeping
_VIEWS = frozenset(["Reshape", "Identity"])  # kernels that may return memory of their input


class Stale(Exception):
    """A tensor that the graph reads was disposed of; nothing has run yet."""


class Program:
    """A graph made ready to run. Calls may come from several threads at once."""

    def __init__(self, graph: Graph) -> None:
        writer = _Writer(graph)
        self.graph = graph
        self.source = writer.source()
        self.plan = writer.plan
        self._placed = writer.placed
        self._nodes = writer.nodes_by_line
        self._views = writer.views
        self._file = f"<{graph.name} as compiled>"
        self._namespace: dict[str, Any] = {**writer.namespace, "__name__": "varigrad.jit.compiled_step"}
        self._run = self._compiled(self.source)
        self._arenas: list[list[Array]] = []  # those that no call is using

    def __call__(self, leaves: Sequence[Any]) -> Sequence[Array]:
        """The arrays that the graph returns, for these leaves of the arguments.

        Raises:
            Stale: A tensor that the graph reads is disposed of.
        """
        return self._call(self._run, leaves)

    def timeline(self, leaves: Sequence[Any]) -> tuple[Sequence[Array], list[tuple[Node, float]]]:
        """The same, and how many seconds each node took, in order."""
        lines = self.source.splitlines()
        nodes = [self._nodes[number] for number in sorted(self._nodes)]
        timed = [line + "; mark(clock())" if number in self._nodes else line for number, line in enumerate(lines, 1)]
        start = lines.index("        return None") + 1
        marks: list[float] = []
        self._namespace |= {"clock": perf_counter, "mark": marks.append}
        step = self._compiled("\n".join([*timed[:start], "    mark(clock())", *timed[start:]]))
        outputs = self._call(step, leaves)
        return outputs, [(node, after - before) for node, (before, after) in zip(nodes, pairwise(marks), strict=True)]

    def memory_plan(self) -> str:
        """Which intermediate value lies where in the arena, and while which nodes run, as text."""
        names = self.graph.names()
        lines = [f"arena of {self.plan.size:,} bytes for {sum([life.size for _, life in self._placed]):,}"]
        for (value, life), offset in zip(self._placed, self.plan.offsets, strict=True):
            what = f"{dtype_name(value.dtype)} {format_shape(value.shape)}"
            lines.append(f"  {offset:>10}  {names[value]}: {what}, nodes {life.start} to {life.end}")
        return "\n".join(lines)

    def _compiled(self, source: str) -> Callable[..., Any]:
        exec(compile(source, self._file, "exec"), self._namespace)
        return self._namespace.pop("step")  # whose globals they are: it would keep itself

    def _call(self, run: Callable[..., Any], leaves: Sequence[Any]) -> Sequence[Array]:
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = self._new_arena()
        try:
            outputs = run_quietly(run, leaves, arena)
        except VariGradError:
            raise
        except Exception as error:
            node = self._node_of(error)
            if node is None or node.kernel == HOST:
                raise
            raise _explained(node, error) from error
        self._arenas.append(arena)
        if outputs is None:
            raise Stale
        return outputs

    def _new_arena(self) -> list[Array]:
        memory = np.empty(self.plan.size, np.uint8)
        return [np.ndarray(shape, dtype, memory, offset) for shape, dtype, offset in self._views]

    def _node_of(self, error: Exception) -> Node | None:
        """The node at which an error came up."""
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == self._file]
        return self._nodes.get(lines[0] or 0) if lines else None


def _explained(node: Node, error: Exception) -> Exception:
    """The error that eager mode would have raised, with the line that it would have come from."""
    if isinstance(error, MemoryError):
        return OutOfMemoryError(f"{node.kernel}: {error} (called at {node.site})")
    kind = TypeError if isinstance(error, TypeError) else ValueError
    given = ", ".join([f"{format_shape(value.shape)} {value.dtype}" for value in node.inputs])
    return kind(f"{node.kernel}: {error} (inputs: {given}; called at {node.site})")


class _Writer:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.namespace: dict[str, Any] = {
            "Gone": DisposedError,
            "array": np.array,
            "asarray": np.asarray,
            "own": own,
        }
        self.nodes_by_line: dict[int, Node] = {}
        self.views: list[tuple[tuple[int, ...], np.dtype[Any], int]] = []
        self._kernels, self._updates = active_kernels()
        self._lines: list[str] = []
        self._last_use = _last_uses(graph)
        self._roots = _roots(graph)
        self._position = {node: position for position, node in enumerate(graph.nodes)}
        # Values whose memory others get hold of.
        self._leaving = {self._roots[value] for value in graph.outputs}
        self._leaving |= {self._roots[v] for node in graph.nodes if node.kernel == "Assign" for v in node.inputs}
        # Values that a kernel made, in memory that no other value is a view of.
        shared = {root for value, root in self._roots.items() if value is not root}
        self._own_memory = {
            value for node in graph.nodes if not node.is_update for value in node.outputs if value not in shared
        } - {value for value, root in self._roots.items() if value is not root or value in self._leaving}
        self._places = self._plan_memory()

    # Memory

    def _plan_memory(self) -> dict[Value, int]:
        """Which view of the arena each value lies in that has its place there."""
        ends: dict[Value, int] = {}
        for value, last in self._last_use.items():
            root = self._roots[value]
            ends[root] = max(ends.get(root, -1), last)
        values: list[Value] = []
        intervals: list[Interval] = []
        for position, node in enumerate(self.graph.nodes):
            value = node.outputs[0] if len(node.outputs) == 1 else None
            if value is None or value in self._leaving or not self._takes_memory(node):
                continue
            size = int(np.prod(value.shape, dtype=np.int64)) * value.dtype.itemsize
            if size >= _IN_ARENA:
                values.append(value)
                intervals.append(Interval(position, ends.get(value, position), size))
        self.plan: Plan = plan(intervals)
        self.placed = list(zip(values, intervals, strict=True))
        for value, offset in zip(values, self.plan.offsets, strict=True):
            self.views.append((value.shape, value.dtype, offset))
        return {value: index for index, value in enumerate(values)}

    def _takes_memory(self, node: Node) -> bool:
        """Whether the kernel can write its result where it is told."""
        kernel = self._kernels.get(node.kernel)
        return (isinstance(kernel, np.ufunc) and kernel.nout == 1 and not node.attrs) or _is_plain_product(node)

    # Text

    def source(self) -> str:
        """The text of the function."""
        self._write("def step(leaves, arena):")
        self._write("    try:")
        self._write("        pass")
        for value in self.graph.sources():
            self._source(value)
        self._write("    except Gone:")
        self._write("        return None")
        for position, node in enumerate(self.graph.nodes):
            dying = self._dying(position, node)
            if node.targets:
                # What still has a name is copied before a variable is written to.
                count = len(node.targets)
                dead, read = set(dying), set(node.inputs[count:])
                held = [v for v in node.inputs[:count] if v in dead and v not in read]
                self._delete(held)
                gone = set(held)
                dying = [value for value in dying if value not in gone]
            self._write(f"    {self._statement(node)}")
            self.nodes_by_line[len(self._lines)] = node
            self._delete(dying)
        self._write(f"    return [{', '.join([self._name(value) for value in self.graph.outputs])}]")
        return "\n".join(self._lines) + "\n"

    def _write(self, line: str) -> None:
        self._lines.append(line)

    def _delete(self, values: Iterable[Value]) -> None:
        names = [self._name(value) for value in values]
        if names:
            self._write(f"    del {', '.join(names)}")

    def _dying(self, position: int, node: Node) -> list[Value]:
        """The values that nobody needs after a node; its own results that nobody needs at all are among them."""
        values = dict.fromkeys([*node.inputs, *node.outputs])
        return [v for v in values if self._last_use.get(v, position) == position and v.constant is None]

    def _source(self, value: Value) -> None:
        source, name = value.source, self._name(value)
        assert source is not None
        if source.kind == "constant":
            self.namespace[name] = source.what
        elif source.kind == "argument":
            self._write(f"        {name} = leaves[{source.what}].storage")
        elif source.kind == "number":
            self.namespace[f"f{value.number}"] = source.what
            self.namespace[f"d{value.number}"] = value.dtype
            self._write(f"        {name} = array(f{value.number}(leaves), d{value.number})")
        else:
            self._write(f"        {name} = {self._tensor(source.what)}.storage")

    def _tensor(self, tensor: Tensor) -> str:
        name = f"T{tensor.id}"
        self.namespace[name] = tensor
        return name

    def _name(self, value: Value) -> str:
        return f"v{value.number}" if value.constant is None else f"c{value.number}"

    def _statement(self, node: Node) -> str:
        if node.kernel == "Assign":
            # As in eager mode, the variable and the value hold the same memory until one of them is written to.
            return f"{self._tensor(node.targets[0])}.storage = {self._name(node.inputs[-1])}"
        if node.is_update:
            return self._update(node)
        if node.kernel == HOST:
            return f"{self._results(node)} = {self._bind('compute', node.compute)}()"
        return f"{self._results(node)} = {self._expression(node)}"

    def _results(self, node: Node) -> str:
        names = [self._name(value) for value in node.outputs]
        return f"[{', '.join(names)}]" if node.kernel == HOST or node.kernel in SEVERAL else names[0]

    def _update(self, node: Node) -> str:
        count = len(node.targets)
        inputs = node.inputs[count : len(node.inputs) - len(node.state)]
        state = node.inputs[len(node.inputs) - len(node.state) :]
        update = self._bind("update", self._updates[node.kernel])
        targets = "[]"
        made = ""
        if node.targets:
            names = ", ".join([self._name(value) for value in node.outputs[:count]])
            owned = "".join([f"{self._tensor(target)}, " for target in node.targets])
            made, targets = f"[{names}] = own(({owned})); ", f"[{names}]"
        states = ", ".join([self._name(value) for value in state])
        call = f"{update}({targets}, [{', '.join([self._name(v) for v in inputs])}], [{states}]{self._attrs(node)})"
        # The state is the same memory, which now holds other values.
        renamed = [
            f"{self._name(after)} = {self._name(before)}"
            for before, after in zip(state, node.outputs[count:], strict=True)
        ]
        return "; ".join([made + call, *renamed])

    def _expression(self, node: Node) -> str:
        arguments = [self._name(value) for value in node.inputs]
        place = self._places.get(node.outputs[0])
        if place is not None:
            into = f"arena[{place}]"
        else:
            into = self._dying_input(node)
        kernel = self._kernels[node.kernel]
        if _is_plain_product(node):
            a = f"{arguments[0]}.T" if node.attrs["transpose_a"] else arguments[0]
            b = f"{arguments[1]}.T" if node.attrs["transpose_b"] else arguments[1]
            return f"{a}.dot({b}, {into})" if place is not None else f"{a}.dot({b})"
        if node.kernel == "Reshape":
            return f"{arguments[0]}.reshape({tuple(node.attrs['shape'])!r})"
        if into is not None and self._takes_memory(node):
            arguments.append(f"out={into}")
        call = f"{self._bind('k', kernel)}({', '.join(arguments)}{self._attrs(node)})"
        # A ufunc gives a scalar where every input has rank 0, and a kernel may.
        if all(value.shape for value in node.outputs):
            return call
        return f"map(asarray, {call})" if node.kernel in SEVERAL else f"asarray({call})"

    def _dying_input(self, node: Node) -> str | None:
        """An input whose memory the result may take, if there is one: nobody reads it or a view of it later."""
        if not self._takes_memory(node) or _is_plain_product(node):
            return None
        output = node.outputs[0]
        position = self._position[node]
        for value in node.inputs:
            alike = value.shape == output.shape and value.dtype == output.dtype and value.shape
            if alike and value in self._own_memory and self._last_use[value] == position and value not in self._places:
                return self._name(value)
        return None

    def _attrs(self, node: Node) -> str:
        if not node.attrs:
            return ""
        parts = [""] if node.inputs or node.is_update else []
        for key, value in node.attrs.items():
            plain = isinstance(value, (int, str, type(None))) or (
                isinstance(value, tuple) and all(isinstance(item, (int, str)) for item in value)  # pyright: ignore
            )
            if isinstance(value, NextSeed):
                parts.append(f"{key}={self._bind('draw', value.draw)}()")
            else:
                parts.append(f"{key}={value!r}" if plain else f"{key}={self._bind('attr', value)}")
        return ", ".join(parts)

    def _bind(self, prefix: str, value: Any) -> str:
        """A name under which the function finds a value."""
        name = f"{prefix}_{id(value)}"
        self.namespace[name] = value
        return name


def _is_plain_product(node: Node) -> bool:
    """Whether it is the product of two matrices, both larger than a number, in a dtype of BLAS."""
    return (
        node.kernel == "BatchMatMul"
        and all(len(value.shape) == 2 and value.shape != (1, 1) for value in node.inputs)
        and node.outputs[0].dtype.char not in HALVES
    )


def _last_uses(graph: Graph) -> dict[Value, int]:
    """The position of the last node that reads each value; for what is returned, one past the end."""
    last: dict[Value, int] = {}
    for position, node in enumerate(graph.nodes):
        for value in node.inputs:
            last[value] = position
    for value in graph.outputs:
        last[value] = len(graph.nodes)
    return last


def _roots(graph: Graph) -> dict[Value, Value]:
    """For each value, the one whose memory it may share."""
    roots: dict[Value, Value] = {value: value for value in graph.sources()}
    for node in graph.nodes:
        for value in node.outputs:
            roots[value] = roots[node.inputs[0]] if node.kernel in _VIEWS else value
    return roots

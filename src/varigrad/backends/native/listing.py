"""What became of a graph, as text: the steps that it runs in, and where values lie in the arena."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.backends.native.code import Kind
from varigrad.backends.native.finishing import Finished
from varigrad.backends.native.fusion import Step, results_of
from varigrad.backends.native.groups import Group
from varigrad.backends.native.lowering import Lowered
from varigrad.backends.native.operations import HostCall, Map, Operation, Reduce, Shape, Val, View
from varigrad.backends.native.places import Places
from varigrad.tensor import format_shape

__all__ = ["list_places", "list_steps"]

_NAMES = {"f": "float32", "d": "float64", "i": "int32", "l": "int64", "?": "bool"}


class _Names:
    """What values are called: by what they are outside, numbers as they are, and others `%0`, `%1` … as they come."""

    def __init__(self, lowered: Lowered, steps: Sequence[Step]) -> None:
        self._count = 0
        self._names: dict[Val, str] = {}
        for value, val in zip(lowered.sources, lowered.source_vals, strict=True):
            source = value.source
            self._names[val] = "numbers of the host" if source is None else f"{source.kind} {source.label}".strip()
        for val in [val for step in steps for val in results_of(step)]:
            self.of(val.root)
            self._add(val)

    def _add(self, val: Val) -> str:
        name = f"%{self._count}"
        self._count += val not in self._names
        return self._names.setdefault(val, name)

    def of(self, val: Val) -> str:
        """The name of a value; what is joined of parts is called by the memory that they were written to."""
        if val.literal is not None:
            return repr(val.literal)
        if val.home is not None and val.home.is_whole and val not in self._names:
            return self.of(val.root)
        return self._add(val)

    def of_view(self, view: View) -> str:
        """The same for a view of one: which elements it shows, or in what shape and by what strides."""
        name, start = self.of(view.val), view.offset
        if view.val.literal is not None or view.is_whole:
            return name
        if not any(view.strides):
            return f"{name}[{start}]"
        if view.is_dense:
            return f"{name}[{start}:{start + view.size}]"
        return f"{name}{f' from {start}' if start else ''} as {list(view.shape)} by {list(view.strides)}"


def list_steps(name: str, lowered: Lowered, steps: Sequence[Step], places: Places) -> str:
    """The steps in the order in which they run, and the operations that each does in one pass.

    A result has its dtype and shape where it goes to memory, and none where it stays in registers. A part of a value is
    written as the elements of its memory, or as its shape by its strides.
    """
    names = _Names(lowered, steps)
    lines = [f"{name}:"]
    for number, step in enumerate(steps):
        lines.append(f"  {number:>3}  {_kind(step)}")
        lines += [f"       {line}" for line in _operations(step, names, places)]
    returned = ", ".join([names.of_view(view) for view in lowered.outputs])
    return "\n".join([*lines, f"  return {returned or 'nothing'}"])


def list_places(lowered: Lowered, steps: Sequence[Step], places: Places) -> str:
    """Where in the arena the values lie that are in no array, and while which steps, by the names of `list_steps`."""
    names = _Names(lowered, steps)
    placed = places.lives.items()
    lines = [f"arena of {places.arena.size:,} bytes for {sum([life.size for _, life in placed]):,}"]
    for val, life in placed:
        what = f"{names.of(val)}: {_type(val.kind, val.shape)}"
        lines.append(f"  {places.offsets[val]:>10}  {what}, steps {life.start} to {life.end}")
    return "\n".join(lines)


def _kind(step: Step) -> str:
    """What kind of step it is."""
    if isinstance(step, HostCall):
        return "NumPy"
    if not isinstance(step, Group):
        finished = ", finished tile by tile" * isinstance(step.code, Finished)
        return f"routine{finished}"
    rows = f", in rows of {step.cols:,}" if step.cols and not step.by_columns else ""
    columns = f", down {step.cols:,} columns" if step.cols and step.by_columns else ""
    return f"one pass over {step.size:,} elements{rows}{columns}"


def _operations(step: Step, names: _Names, places: Places) -> list[str]:
    """A line for each operation of a step."""
    if isinstance(step, Group):
        return [_line(op, op.name if isinstance(op, Map) else op.how, names, places) for op in step.operations]
    if isinstance(step, HostCall):
        return [_line(step, step.node.kernel, names, places)]
    if not isinstance(step.code, Finished):
        return [_line(step, step.origin.kernel, names, places)]
    product, *others = step.code.plan.group.operations
    lines = [_line(product, product.origin.kernel, names, places, step.inputs[:2])]
    return lines + [_line(op, op.name if isinstance(op, Map) else op.how, names, places) for op in others]


def _line(op: Operation, what: str, names: _Names, places: Places, inputs: Sequence[View] | None = None) -> str:
    given = [names.of_view(view) for view in (op.inputs if inputs is None else inputs)]
    if isinstance(op, Reduce):
        given.append("of rows" if op.rows else "of columns")
    made: list[str] = []
    for val in op.outputs:
        home = "" if val.home is None else f" in {names.of_view(val.home)}"
        in_memory = val.root in places.slot or val.root in places.offsets
        made.append(f"{names.of(val)}{f': {_type(val.kind, val.shape)}' if in_memory else ''}{home}")
    results = f"{', '.join(made)} = " if made else ""
    site = f"    # {op.origin.site}" if op.origin.site else ""
    kernel = f" of {op.origin.kernel}" if op.origin.kernel != what else ""
    return f"{results}{what}({', '.join(given)}){kernel}{site}"


def _type(kind: Kind, shape: Shape) -> str:
    return f"{_NAMES.get(kind.char, 'object')} {format_shape(shape)}"

"""Capture: an observer that writes down, as a graph, what a step does while it runs eagerly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from varigrad.callers import call_site_in_layers
from varigrad.dtypes import Array
from varigrad.jit.errors import JitError
from varigrad.jit.graph import FIRST_NUMBER, HOST, INPUT, RANDOM, Graph, Node, Source, Value
from varigrad.jit.numbers import Number, NumberLog
from varigrad.jit.signature import Build, template_of
from varigrad.observe import Observer
from varigrad.tensor import Tensor, Variable, call_site, format_shape

__all__ = ["Capture"]

# Kernels whose result has a shape that only the values of their inputs tell, of those that hold integers or of all.
# Nothing after them could be compiled.
_SHAPED_BY_INTEGERS = frozenset(
    ["RaggedGather", "RaggedTensorToTensor", "SparseFillEmptyRows", "SparseSegmentMean", "SparseSegmentSum"]
)
_SHAPED_BY_ALL = frozenset(
    ["NonMaxSuppressionV3", "NonMaxSuppressionV4", "NonMaxSuppressionV5", "RaggedRange", "StringNGrams", "StringSplit"]
)


def _shape_depends(node: Node) -> bool:
    """Whether the shape of what a kernel gives may differ from call to call."""
    if node.kernel in _SHAPED_BY_INTEGERS:
        return any(value.depends for value in node.inputs if value.dtype.kind == "i")
    if node.attrs.get("pad_to_max_output_size"):
        return False
    return node.kernel in _SHAPED_BY_ALL and any(value.depends for value in node.inputs)


class Capture(Observer):
    """Records kernel calls. `unfit` lists what keeps this run of the step from standing for later ones.

    What can never be compiled is an error, and the `refusal` of the capture, for the function may catch the error; a
    step of a `lenient` capture runs on. A step that `asks_types` gets the floats themselves, not what stands for them.
    """

    def __init__(
        self, name: str, leaves: Sequence[Any], labels: Sequence[str], lenient: bool = False, asks_types: bool = False
    ) -> None:
        self.name = name
        self.refusal: str | None = None
        self._lenient = lenient
        self.nodes: list[Node] = []
        self.unfit: list[str] = []
        self.numbers = NumberLog()
        self.variables: dict[int, Variable] = {}
        self.stand_ins: list[Any] = []  # what the step gets in place of each leaf
        self.disposed: list[int] = []  # leaves of which the stand-in was disposed of
        self._values: dict[int, Value] = {}  # of tensors that are no variables, by the tensor's id
        self._current: dict[int, Value] = {}  # of variables, by id
        self._earlier: dict[tuple[int, int], Value] = {}  # of variables before an update, by id and array
        self._leaf_of: dict[int, int] = {}
        self.output_tensors: list[Tensor] = []
        self._kept: list[Any] = []  # the arrays of variables that were updated, for their ids to stay theirs
        for position, (leaf, label) in enumerate(zip(leaves, labels, strict=True)):
            self.stand_ins.append(self._stand_in(leaf, position, label, asks_types))
        self._first_id = Tensor(_NOTHING).id

    def _stand_in(self, leaf: Any, position: int, label: str, asks_types: bool) -> Any:
        if not isinstance(leaf, Tensor):
            depends = FIRST_NUMBER << position
            if asks_types:
                self.numbers.look_at(depends)
                return leaf
            return Number(leaf, lambda leaves: leaves[position], depends, label, self.numbers)
        tensor = Tensor(leaf.storage)  # the same tensor given twice is two inputs
        self._leaf_of[tensor.id] = position
        source = Source("argument", position, label)
        self._values[tensor.id] = Value(tensor.shape, tensor.storage.dtype, source=source, depends=INPUT)
        return tensor

    # What the engine tells

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        self._check_allowed()
        if kernel == "Constant":
            self._values[outputs[0].id] = self._constant(outputs[0].storage)
            return
        node = Node(kernel, [self._value(x) for x in inputs], dict(attrs), call_site_in_layers())
        extra = RANDOM if node.is_random else 0
        for output in outputs:
            value = node.add_output(output.storage.shape, output.storage.dtype)
            value.depends |= extra
            self._values[output.id] = value
        if _shape_depends(node):
            self._refuse(
                f"jit: {_operation()} at {call_site()} gives a result whose shape depends on values, which a compiled "
                "function cannot; compute it outside and pass it as an argument"
            )
        self.nodes.append(node)

    def updating(
        self,
        kernel: str,
        targets: tuple[Variable, ...],
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        state: tuple[Tensor, ...],
    ) -> None:
        self._check_allowed()
        for tensor in state:
            if tensor.id not in self._values:
                self._outside(tensor, depends=INPUT)
        read = [self._value(x) for x in (*targets, *inputs, *state)]
        node = Node(kernel, read, dict(attrs), call_site_in_layers(), targets, state)
        self.nodes.append(node)
        for target in targets:
            array = target.storage
            self._earlier[target.id, id(array)] = self._current[target.id]
            self._kept.append(array)
            if kernel == "Assign":
                self._current[target.id] = node.inputs[len(targets)]
            else:
                self._current[target.id] = node.add_output(array.shape, array.dtype)
        for tensor in state:
            self._values[tensor.id] = node.add_output(tensor.storage.shape, tensor.storage.dtype)

    def computing(self, compute: Callable[[], Sequence[Array]], outputs: tuple[Tensor, ...]) -> None:
        self._check_allowed()
        node = Node(HOST, [], {}, call_site(), compute=compute)
        self.nodes.append(node)
        for output in outputs:
            self._values[output.id] = node.add_output(output.storage.shape, output.storage.dtype, depends=INPUT)

    def disposing(self, tensors: tuple[Tensor, ...]) -> None:
        for tensor in tensors:
            if isinstance(tensor, Variable):
                self.unfit.append(f"it disposes of the variable {tensor.name!r}")
            elif tensor.id in self._leaf_of:
                self.unfit.append("it disposes of an argument")
                self.disposed.append(self._leaf_of[tensor.id])
            elif tensor.id < self._first_id:
                self.unfit.append("it disposes of a tensor made outside")

    def reading(self, tensor: Tensor) -> None:
        depends = self._value(tensor).depends
        if depends & INPUT:
            self._refuse(
                f"jit: {_operation()} at {call_site()} reads the value of a tensor of shape "
                f"{format_shape(tensor.shape)} that changes from call to call, while {self.name} is compiled for all "
                "calls; return the tensor and read it outside, or decide with vg.where"
            )
        if depends & RANDOM:
            self.unfit.append(f"it reads a random number at {call_site()}")
        self.numbers.look_at(depends)

    def _refuse(self, why: str) -> None:
        self.refusal = self.refusal or why
        if not self._lenient:
            raise JitError(why)

    def _check_allowed(self) -> None:
        """Raises the error again if somebody has caught it: nothing that follows from that is to be done."""
        if self.refusal is not None and not self._lenient:
            raise JitError(self.refusal)

    # From tensors to values

    def _constant(self, array: Array) -> Value:
        number = self.numbers.claim(array)
        if number is None:
            return Value(array.shape, array.dtype, source=Source("constant", array, ""))
        source = Source("number", number.formula, number.text)
        return Value(array.shape, array.dtype, source=source, depends=number.depends)

    def _value(self, tensor: Tensor) -> Value:
        if tensor.__class__ is Variable:
            return self._variable(tensor)  # pyright: ignore[reportArgumentType]
        value = self._values.get(tensor.id)
        if value is None:
            array = tensor.storage
            value = self._earlier.get((tensor.id, id(array))) or self._current.get(tensor.id)
            if value is None:
                value = self._outside(tensor)
        if value.dtype != tensor.storage.dtype:
            # A tape takes integers that it differentiates by for the floats they are, in a tensor of the same id.
            node = Node("Cast", [value], {"dtype": tensor.dtype}, call_site())
            self.nodes.append(node)
            value = node.add_output(tensor.storage.shape, tensor.storage.dtype)
        return value

    def _outside(self, tensor: Tensor, depends: int = 0) -> Value:
        """The value of a tensor that was there before; `depends` says whether it stays what it is."""
        array = tensor.storage
        if not depends and tensor.id > self._first_id:
            self._refuse(
                f"jit: a tensor of shape {format_shape(tensor.shape)}, used at {call_site()}, was made past the engine "
                "(by copy.copy?), so that nobody knows what it follows from; use x.clone() or vg.make_tensor"
            )
        value = Value(array.shape, array.dtype, source=Source("tensor", tensor, f"{tensor.id}"), depends=depends)
        self._values[tensor.id] = value
        return value

    def _variable(self, variable: Variable) -> Value:
        value = self._current.get(variable.id)
        if value is None:
            array = variable.storage
            source = Source("variable", variable, repr(variable.name))
            value = Value(array.shape, array.dtype, source=source, depends=INPUT)
            self._current[variable.id] = value
            self.variables[variable.id] = variable
            if variable.id >= self._first_id:
                self.unfit.append(f"it makes the variable {variable.name!r}")
        return value

    # The end

    def finish(self, result: Any) -> tuple[Graph, Build]:
        """The graph, and how to make a result like this one from what it computes."""
        outputs: list[Value] = []
        places: dict[Value, int] = {}
        self.output_tensors = []

        def leaf_of(item: Any) -> Build | None:
            if isinstance(item, Variable):
                return lambda made, leaves: item
            if type(item) is Number:
                formula = item.formula
                return lambda made, leaves: formula(leaves)
            if not isinstance(item, Tensor):
                return None
            position = self._leaf_of.get(item.id)
            if position is not None:
                return lambda made, leaves: leaves[position]
            value = self._value(item)
            if value.source is not None and value.source.kind == "tensor":
                return lambda made, leaves: item
            place = places.setdefault(value, len(outputs))
            if place == len(outputs):
                outputs.append(value)
                self.output_tensors.append(item)
            return lambda made, leaves: made[place]

        build = template_of(result, leaf_of)
        self.numbers.close()
        return Graph(self.nodes, outputs, self.name), build


def _operation() -> str:
    """What the nearest caller outside VariGrad called."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names: list[str] = []
    while frame is not None and frame.f_globals.get("__name__", "").startswith("varigrad."):
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    name = next((n for n in reversed(names) if not n.startswith("<")), "a call")
    conversion = {"__bool__": "bool", "__float__": "float", "__int__": "int", "__array__": "np.asarray"}.get(name)
    return f"{conversion}(x)" if conversion else f"{name}()"


_NOTHING = np.zeros(())

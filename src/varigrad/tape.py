"""The gradient tape: what it records, and the walk back.

A tape watches some tensors. Every kernel that runs while it is an observer, and has a watched tensor or something
computed from one among its inputs, becomes a node: the rule that differentiates it and what the rule asked to have
saved. Nodes refer to other tensors by id only, so an intermediate that no rule needs is free to go. The walk back
takes the nodes off the end, so that what a node saved goes as soon as it has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from varigrad.dtypes import DIFFERENTIABLE
from varigrad.engine import make_tensor, run_kernel
from varigrad.errors import GradientError
from varigrad.observe import Observer
from varigrad.tensor import Tensor, Variable

__all__ = [
    "Gradient",
    "Rule",
    "Saver",
    "Tape",
    "get_gradient",
    "gradient_names",
    "input_dtypes",
    "input_shapes",
    "inputs",
    "inputs_and_outputs",
    "nothing",
    "outputs",
    "register_gradient",
    "unregister_gradient",
]

# What to keep from a kernel call until its gradient is wanted: (inputs, outputs) -> values.
Saver = Callable[[tuple[Tensor, ...], tuple[Tensor, ...]], Sequence[Any]]
# (dy, *saved, **attrs) -> one gradient an input: a tensor, None, or a function that makes it if it is needed.
# A kernel of one input may return its gradient bare. dy is a tuple for a kernel of several outputs.
Rule = Callable[..., Any]


class Gradient(NamedTuple):
    """How a kernel is differentiated.

    >>> import varigrad as vg
    >>> vg.tape.Gradient(rule=lambda dy, x: dy * 2 * x, save=vg.tape.inputs).rule(3.0, 5.0)
    30.0
    """

    rule: Rule | None
    save: Saver


_gradients: dict[str, Gradient] = {}


def inputs(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """Saves every input.

    >>> import varigrad as vg
    >>> x, y = vg.scalar(1.0), vg.scalar(2.0)
    >>> [t.item() for t in vg.tape.inputs((x,), (y,))]
    [1.0]
    """
    return inputs


def outputs(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """Saves every output.

    >>> import varigrad as vg
    >>> x, y = vg.scalar(1.0), vg.scalar(2.0)
    >>> [t.item() for t in vg.tape.outputs((x,), (y,))]
    [2.0]
    """
    return outputs


def inputs_and_outputs(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """Saves every input, then every output.

    >>> import varigrad as vg
    >>> x, y = vg.scalar(1.0), vg.scalar(2.0)
    >>> [t.item() for t in vg.tape.inputs_and_outputs((x,), (y,))]
    [1.0, 2.0]
    """
    return inputs + outputs


def input_shapes(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """Saves the shape of each input and none of the values.

    >>> import varigrad as vg
    >>> vg.tape.input_shapes((vg.zeros([2, 3]),), ())
    [(2, 3)]
    """
    return [t.storage.shape for t in inputs]


def input_dtypes(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """Saves the dtype name of each input and none of the values.

    >>> import varigrad as vg
    >>> vg.tape.input_dtypes((vg.zeros([2], "int32"),), ())
    ['int32']
    """
    return [t.dtype for t in inputs]


def nothing(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> Sequence[Any]:
    """Saves nothing.

    >>> import varigrad as vg
    >>> vg.tape.nothing((vg.scalar(1.0),), ())
    ()
    """
    return ()


_NO_GRADIENT = Gradient(None, nothing)


def register_gradient(name: str, rule: Rule, save: Saver = inputs_and_outputs) -> None:
    """Registers how the kernel `name` is differentiated, replacing what was there.

    `rule(dy, *saved, **attrs)` returns one gradient for each input: a tensor, None where there is none, or a function
    of no arguments that is called only if that gradient is needed. Written with ops, it can be differentiated again.

    >>> import varigrad as vg
    >>> vg.register_kernel("CubeExample", "numpy", lambda x: x * x * x)
    >>> vg.register_gradient("CubeExample", lambda dy, x: dy * 3 * x * x, save=vg.tape.inputs)
    >>> vg.grad(lambda x: vg.run_kernel("CubeExample", (x,)))(vg.scalar(2.0)).item()
    12.0
    """
    _gradients[name] = Gradient(rule, save)


def get_gradient(name: str) -> Gradient | None:
    """How the kernel `name` is differentiated, or None if that is not registered. Mirrors `tf.getGradient`.

    >>> import varigrad as vg
    >>> vg.get_gradient("Square").rule(vg.scalar(1.0), vg.scalar(3.0)).item()
    6.0
    """
    return _gradients.get(name)


def unregister_gradient(name: str) -> None:
    """Forgets how the kernel `name` is differentiated. Mirrors `tf.unregisterGradient`.

    Raises:
        GradientError: No gradient is registered for it.

    >>> import varigrad as vg
    >>> vg.register_gradient("FourthExample", lambda dy, x: dy * 4 * x**3, save=vg.tape.inputs)
    >>> vg.unregister_gradient("FourthExample")
    >>> vg.get_gradient("FourthExample") is None
    True
    """
    if _gradients.pop(name, None) is None:
        raise GradientError(f"unregister_gradient: no gradient is registered for the kernel {name!r}")


def gradient_names() -> list[str]:
    """The names of the kernels that have a gradient, sorted.

    >>> import varigrad as vg
    >>> "BatchMatMul" in vg.tape.gradient_names()
    True
    """
    return sorted(_gradients)


# One recorded kernel call: kernel, rule, saved values, attributes, ids of the inputs, id of the (first) output, and
# where there are several outputs the id, shape and NumPy dtype of each. Tensors not saved are known by id only. It is
# a plain tuple because one is made for every kernel of every step.
_Outputs: TypeAlias = list[tuple[int, tuple[int, ...], Any]]
_Node: TypeAlias = tuple[str, "Rule | None", Sequence[Any], Mapping[str, Any], list[int], int, "_Outputs | None"]


class Tape(Observer):
    """Records what depends on the watched tensors, and differentiates it once.

    With `watch_variables`, every trainable variable that a kernel reads is watched from then on.

    >>> import varigrad as vg
    >>> from varigrad.observe import observing
    >>> x = vg.scalar(3.0)
    >>> tape = vg.tape.Tape([x])
    >>> with observing(tape):
    ...     y = x * x
    >>> tape.gradients(y, vg.scalar(1.0), [x])[0].item()
    6.0
    """

    __slots__ = ("__weakref__", "_nodes", "_tracked", "broken_by", "variables", "watched", "watches_variables")

    def __init__(self, watched: Iterable[Tensor] = (), watch_variables: bool = False) -> None:
        self.watched = tuple(watched)
        self.watches_variables = watch_variables
        self._tracked = {t.id for t in self.watched}
        self._nodes: list[_Node] = []
        self.variables: dict[int, Variable] = {}
        self.broken_by: dict[str, list[int]] = {}  # kernels without a derivative, and what went into them

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
        gradient: Gradient | None = None,
    ) -> None:
        """Adds a node, if any input is watched; with a gradient of its own if the kernel's does not count."""
        tracked = self._tracked
        ids: list[int] = []
        for t in inputs:
            ids.append(t.id)
            if (
                t.__class__ is Variable
                and self.watches_variables
                and t.id not in tracked
                and t.trainable  # pyright: ignore
                and t.storage.dtype.kind not in "biO"  # integers cannot change little by little
            ):
                tracked.add(t.id)
                self.variables[t.id] = t  # pyright: ignore[reportArgumentType]
        if tracked.isdisjoint(ids):
            return
        first, several = outputs[0].id, None
        if len(outputs) > 1:
            several = [(t.id, t.storage.shape, t.storage.dtype) for t in outputs]
        differentiable = False
        for t in outputs:
            if t.storage.dtype.char in DIFFERENTIABLE:
                tracked.add(t.id)
                differentiable = True
        rule, save = gradient or _gradients.get(kernel, _NO_GRADIENT)
        if not differentiable and (rule is None or self._watches_floats(inputs)):
            self.broken_by.setdefault(kernel, []).extend(ids)
            return
        saved = save(inputs, outputs)
        if not differentiable:
            # Integers made of watched integers, which an argument of vg.grad may be, count as the numbers they are.
            tracked.update([t.id for t in outputs])
            saved = [_as_floats(v) if isinstance(v, Tensor) and v.id in tracked else v for v in saved]
        self._nodes.append((kernel, rule, saved, attrs, ids, first, several))

    def _watches_floats(self, inputs: tuple[Tensor, ...]) -> bool:
        return any(t.id in self._tracked and t.storage.dtype.char in DIFFERENTIABLE for t in inputs)

    def updating(
        self,
        kernel: str,
        targets: tuple[Variable, ...],
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        state: tuple[Tensor, ...],
    ) -> None:
        self.disposing(targets)

    def disposing(self, tensors: tuple[Tensor, ...]) -> None:
        """Keeps for the walk back the values that these tensors have now."""
        # By the object: what stands in for an earlier value of the same variable has its `Tensor.id`, and stays.
        leaving = {id(tensor): tensor for tensor in tensors}
        stand_ins: dict[int, Tensor] = {}
        for position, (kernel, rule, saved, attrs, ids, first, several) in enumerate(self._nodes):
            if leaving.keys().isdisjoint(map(id, saved)):
                continue
            for value in saved:
                if id(value) in leaving and id(value) not in stand_ins:
                    stand_ins[id(value)] = _stand_in(value)
            kept = [stand_ins.get(id(v), v) for v in saved]
            self._nodes[position] = (kernel, rule, kept, attrs, ids, first, several)

    def tracks(self, tensor: Tensor) -> bool:
        """Whether this tensor is watched, or was computed from one that is."""
        return tensor.id in self._tracked

    def watches(self, tensors: Iterable[Tensor], variables: Iterable[Variable]) -> bool:
        """Whether what is computed from these would be recorded."""
        return not self._tracked.isdisjoint([t.id for t in (*tensors, *variables)]) or (
            self.watches_variables and any(v.trainable for v in variables)
        )

    def taken(self) -> set[int]:
        """The ids of the tensors that kernels took, recorded ones and those without a derivative."""
        recorded = [ids for _, _, _, _, ids, _, _ in self._nodes]
        return {identifier for ids in (*recorded, *self.broken_by.values()) for identifier in ids}

    def gradients(self, y: Tensor, dy: Tensor, sources: Sequence[Tensor]) -> list[Tensor | None]:
        """The gradient of `y`, weighted by `dy`, with respect to each source; None where no path leads to it.

        Uses the tape up.
        """
        flowing: dict[int, Tensor] = {y.id: dy}
        tracked = self._tracked
        nodes, self._nodes = self._nodes, []
        while nodes:
            kernel, rule, saved, attrs, inputs, output, outputs = nodes.pop()
            dys = flowing.pop(output, None) if outputs is None else _take(flowing, outputs)
            if dys is None:
                continue
            if rule is None:
                raise GradientError(f"the kernel {kernel!r} has no gradient; register one with vg.register_gradient")
            results = rule(dys, *saved, **attrs)
            if results.__class__ is not tuple:
                results = (results,)
            for source, result in zip(inputs, results):
                if result is None or source not in tracked:
                    continue
                if result.__class__ is not Tensor:
                    result = result()
                prior = flowing.get(source)
                flowing[source] = result if prior is None else run_kernel("Add", (prior, result))
        return [flowing.get(source.id) for source in sources]


def _take(flowing: dict[int, Tensor], outputs: list[tuple[int, tuple[int, ...], Any]]) -> Any:
    """The gradients that have arrived at a kernel of several outputs, with zeros at those that nothing flowed back to;
    None if nothing has arrived at all."""
    dys = [flowing.pop(identifier, None) for identifier, _, _ in outputs]
    if all(dy is None for dy in dys):
        return None
    return tuple(
        make_tensor(np.zeros(shape, np.float32 if dtype.kind in "bi" else dtype)) if dy is None else dy
        for dy, (_, shape, dtype) in zip(dys, outputs, strict=True)
    )


def _as_floats(tensor: Tensor) -> Tensor:
    """The same values as float32, in the same place in the graph."""
    copy = Tensor(tensor.storage.astype(np.float32))
    copy.id = tensor.id
    return copy


def _stand_in(tensor: Tensor) -> Tensor:
    """A tensor with the same values and the same place in the graph."""
    copy = Tensor(tensor.storage)
    copy.id = tensor.id
    return copy

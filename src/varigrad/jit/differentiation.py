"""Gradients through compiled functions: `vg.grad(vg.jit(f))`, and compiled functions inside `vg.variable_grads`.

A function that gives one floating-point scalar is a single kernel to the tape: a second compiled function gives the
scalar together with its gradients, which the tape weights. Wherever that does not fit, the function runs as it is
written and the tape sees every kernel: the first time, with other results, for gradients of gradients, in a function
that changes variables or draws random numbers, and where something is taken for the number that it is (an integer, a
comparison).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from varigrad.engine import NO_ATTRS, make_tensor
from varigrad.gradients.rules import chain
from varigrad.jit.graph import RANDOM_KERNELS
from varigrad.jit.quick import MISS
from varigrad.jit.signature import replaced
from varigrad.observe import Observer, observing
from varigrad.tape import Gradient, Tape
from varigrad.tensor import Tensor, Variable

__all__ = ["Compiled", "Together"]

_KEPT = 256  # kinds of arguments for which the functions are kept


class Compiled(Protocol):
    """What is needed of a compiled function."""

    @property
    def compilations(self) -> int: ...

    def outside(self) -> Sequence[Tensor]:
        """The tensors that it has read besides its arguments."""
        ...

    def __call__(self, *args: Any) -> Any: ...


class Together:
    """The functions that give the value of one function together with its gradients, by the key of its arguments."""

    def __init__(
        self, function: Callable[..., Any], compile_function: Callable[[Callable[..., Any]], Compiled]
    ) -> None:
        self._function = function
        self._compile = compile_function
        self._found: dict[Any, Compiled | None] = {}  # None where they do not fit

    def call(
        self, observers: Sequence[Observer], args: Any, kwargs: Mapping[str, Any], key: Any, leaves: Sequence[Any]
    ) -> Any:
        """The function's value where a tape watches, recorded by it; `MISS` where that is for the usual way."""
        tape = _sole_tape(observers, leaves)
        if tape is None:
            return MISS
        if key not in self._found:
            return self._first_call(tape, args, kwargs, key, len(leaves))
        compiled = self._found[key]
        if compiled is None:
            return MISS
        try:
            return _record(tape, compiled, leaves)
        except _Unfit:
            self._found[key] = None
            return MISS

    def _first_call(self, tape: Tape, args: Any, kwargs: Mapping[str, Any], key: Any, count: int) -> Any:
        """Runs the function as it is written, and sees whether it fits."""
        effects = _Effects()
        with observing(effects):
            result = self._function(*args, **kwargs)
        if len(self._found) >= _KEPT:
            self._found.clear()
        may_fit = _fits(result) and not effects.found and not tape.broken_by
        self._found[key] = self._compile(_with_gradients(self._function, args, kwargs, count)) if may_fit else None
        return result

    def kinds(self) -> list[Any]:
        """The keys for which there is one."""
        return [key for key, compiled in self._found.items() if compiled is not None and compiled.compilations]


class _Unfit(Exception):
    """The gradients of a function cannot be had in one; nothing but tensors has been made."""


class _Effects(Observer):
    """Notes whether a function does something besides computing."""

    sees_inside = True

    def __init__(self) -> None:
        self.found = False

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        self.found |= kernel in RANDOM_KERNELS

    def updating(
        self,
        kernel: str,
        targets: tuple[Variable, ...],
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        state: tuple[Tensor, ...],
    ) -> None:
        self.found = True

    def computing(self, compute: Callable[[], Sequence[Any]], outputs: tuple[Tensor, ...]) -> None:
        self.found = True

    def disposing(self, tensors: tuple[Tensor, ...]) -> None:
        self.found = True


def _sole_tape(observers: Sequence[Observer], leaves: Sequence[Any]) -> Tape | None:
    """The tape that may watch what a function computes, where it is the only one and watches what can be weighted."""
    tapes = [observer for observer in observers if isinstance(observer, Tape)]
    if len(tapes) != 1:
        return None
    tape = tapes[0]
    watched = [leaf for leaf in leaves if isinstance(leaf, Tensor) and tape.tracks(leaf)]
    if not all(_is_real(tensor) for tensor in (*watched, *tape.watched)):
        return None
    return tape if watched or tape.watches_variables or _variables_of(tape) else None


def _fits(result: Any) -> bool:
    """Whether a function's result is one whose gradients can be computed before they are asked for."""
    return type(result) is Tensor and result.rank == 0 and _is_real(result)


def _with_gradients(
    function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any], count: int
) -> Callable[..., Any]:
    """A function of `count` leaves, of arguments like these, that gives what `function` does together with gradients.

    It takes besides whether each tensor among the leaves is wanted, which variables are, and whether all are that the
    function reads; it gives the value, a gradient or None for each tensor and variable wanted, and these variables.
    """
    like, named = replaced(args, kwargs, [0.0] * count)  # for their structure alone

    def value_and_gradients(
        leaves: Sequence[Any], wanted: Sequence[bool], variables: tuple[Variable, ...], every: bool
    ) -> tuple[Tensor, list[Tensor | None], tuple[Variable, ...]]:
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        sources = [tensor for tensor, is_wanted in zip(tensors, wanted, strict=True) if is_wanted]
        tape = Tape([*sources, *variables], watch_variables=every)
        given, given_named = replaced(like, named, leaves)
        with observing(tape):
            value = function(*given, **given_named)
        if not _fits(value) or tape.broken_by or any(value is tensor for tensor in tensors):
            raise _Unfit
        found = (*variables, *sorted(tape.variables.values(), key=lambda variable: variable.id))
        one = make_tensor(np.ones((), value.storage.dtype))
        gradients = tape.gradients(value, one, [*sources, *found])
        if any(gradient is not None and gradient.dtype != value.dtype for gradient in gradients):
            raise _Unfit
        return value, gradients, found

    value_and_gradients.__name__ = f"{getattr(function, '__name__', 'a function')} with gradients"
    return value_and_gradients


def _record(tape: Tape, compiled: Compiled, leaves: Sequence[Any]) -> Tensor:
    """Runs a function made by `_with_gradients`, and has the tape record it as one kernel; the function's value.

    Raises:
        _Unfit: It does not fit.
    """
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    wanted = tuple([tape.tracks(tensor) for tensor in tensors])
    variables = tuple(_variables_of(tape))
    with observing(instead_of=Tape):
        value, gradients, found = compiled(list(leaves), wanted, variables, tape.watches_variables)
    if any(tape.tracks(tensor) for tensor in compiled.outside()):
        raise _Unfit
    sources = [*[tensor for tensor, is_wanted in zip(tensors, wanted, strict=True) if is_wanted], *found]
    pairs = [(source, gradient) for source, gradient in zip(sources, gradients, strict=True) if gradient is not None]
    if pairs:
        inputs, saved = cast("tuple[tuple[Tensor, ...], tuple[Tensor, ...]]", tuple(zip(*pairs, strict=True)))

        def save(inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            return saved

        tape.ran("CompiledFunction", inputs, NO_ATTRS, (value,), 0, Gradient(_weighted, save))
    return value


def _weighted(dy: Tensor, *gradients: Tensor) -> tuple[Tensor, ...]:
    return tuple([chain(gradient, dy) for gradient in gradients])


def _variables_of(tape: Tape) -> list[Variable]:
    return [source for source in tape.watched if isinstance(source, Variable)]


def _is_real(tensor: Tensor) -> bool:
    return tensor.storage.dtype.char in "fd"

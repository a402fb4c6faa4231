"""Functions that are compiled as soon as that pays: the steps of `fit`, `evaluate` and `predict`.

A function written for compiling is worth it from its second call on. Of a step of training one cannot say that: five
batches are done before the machine code is there. So the first call is weighed: it runs as it is written, while its
kernels are counted. What is counted says how many calls pay for a compilation. It is not the clock that decides, so
that the same program always gives the same numbers.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

from varigrad.jit.compiled import CompiledFunction
from varigrad.jit.signature import flatten
from varigrad.observe import Observer, observing
from varigrad.tensor import Tensor, Variable

__all__ = ["Deferred"]

# Seconds, on an ordinary machine: only how they compare matters.
_COMPILING = 0.1  # whatever it is
_COMPILING_A_KERNEL = 0.0006
_COMPILING_ANOTHER_KERNEL = 0.01  # or one of other shapes: there is code to be made for it
_CALLING_A_KERNEL = 15e-6  # which compiled code need not
_A_NUMBER = 1e-9  # less to be written and read, where kernels run in one pass
# Of the calls that pay for a compilation so many are enough: often the machine code is on disk already. In the worst
# case, that nothing is and that no further call comes, all takes twice as long as it would have.
_ENOUGH = 0.5

_MOST_COMPILED = 16  # signatures
_MOST_KNOWN = 256
_MOST_WASTED = 2  # compilations that did not pay, after which it takes longer until there is another


class _Scales(Observer):
    """Weighs a call: how many calls like it pay for compiling it."""

    def __init__(self) -> None:
        self._kernels = 0
        self._numbers = 0
        self._different: set[tuple[Any, ...]] = set()

    def ran(
        self,
        kernel: str,
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Tensor, ...],
        nanoseconds: int,
    ) -> None:
        if kernel != "Constant":
            self._count(kernel, inputs, outputs)

    def updating(
        self,
        kernel: str,
        targets: tuple[Variable, ...],
        inputs: tuple[Tensor, ...],
        attrs: Mapping[str, Any],
        state: tuple[Tensor, ...],
    ) -> None:
        self._count(kernel, inputs, (*targets, *state))

    def _count(self, kernel: str, inputs: tuple[Tensor, ...], written: tuple[Tensor, ...]) -> None:
        self._kernels += 1
        self._numbers += sum([x.storage.size for x in written])
        self._different.add((kernel, *[x.storage.shape for x in inputs]))

    def calls_that_pay(self) -> int:
        cost = _COMPILING + _COMPILING_A_KERNEL * self._kernels + _COMPILING_ANOTHER_KERNEL * len(self._different)
        saved = _CALLING_A_KERNEL * self._kernels + _A_NUMBER * self._numbers
        return math.ceil(_ENOUGH * cost / saved) if saved else 0


class _Signature:
    """What is known of the calls with arguments of the same shapes."""

    __slots__ = ("calls", "compiled", "pays_after", "wasted")

    def __init__(self) -> None:
        self.calls = 0  # since it was compiled, or since the start
        self.compiled = False
        self.pays_after: int | None = None  # calls; None until one has been weighed
        self.wasted = 0


class Deferred:
    """A function that runs as it is written until compiling it pays, and for good if it cannot be compiled.

    Args:
        make: Makes the function, of tensors, which changes what it likes. It is made for each call until it is
            compiled, so that nothing holds meanwhile what it is made of.
        name: What it is called in messages.
        jit: None to compile it when that pays; True to compile it at its first call, as `vg.jit` does, whatever that
            costs; False to leave it as it is.
        refused: Is given the reason why it cannot be compiled, once, after the call that finds out; that call has done
            its work.
    """

    def __init__(
        self, make: Callable[[], Callable[..., Any]], name: str, jit: bool | None, refused: Callable[[str], None]
    ) -> None:
        self._make = make
        self._name = name
        self._function: CompiledFunction[..., Any] | None = None
        self._lock = threading.Lock()
        self._refused = refused
        self._at_once = jit is True
        self._as_written = jit is False
        self._signatures: dict[Any, _Signature] = {}

    @property
    def compilations(self) -> int:
        """How often the function was compiled."""
        return 0 if self._function is None else self._function.compilations

    def __call__(self, *args: Any, more: int = 0) -> Any:
        """Calls the function. `more` calls like this one are to be expected, as far as the caller knows."""
        if self._as_written:
            return self._make()(*args)
        signature = self._signature(args)
        signature.calls += 1
        if not signature.compiled and not self._at_once:
            if signature.pays_after is None:
                return self._weighed(signature, args)
            expected = signature.calls if signature.wasted >= _MOST_WASTED else signature.calls + more
            if expected < signature.pays_after or self._is_full():
                return self._make()(*args)
            signature.compiled, signature.calls = True, 0
        function = self._compiled()
        before = function.compilations
        result = function(*args)
        if function.compilations != before:
            self._count_compilation(signature)
        elif function.refusal is not None and not self._as_written:
            self._as_written, self._function = True, None
            self._refused(function.refusal)
        return result

    def _compiled(self) -> CompiledFunction[..., Any]:
        with self._lock:
            if self._function is None:
                function = self._make()
                function.__name__ = self._name
                self._function = CompiledFunction(function, lenient=True)
            return self._function

    def _signature(self, args: tuple[Any, ...]) -> _Signature:
        key = flatten(args, {}, [], [])
        signature = self._signatures.get(key)
        if signature is None:
            if len(self._signatures) >= _MOST_KNOWN:
                self._signatures = {key: known for key, known in self._signatures.items() if known.compiled}
            signature = self._signatures[key] = _Signature()
        return signature

    def _weighed(self, signature: _Signature, args: tuple[Any, ...]) -> Any:
        scales = _Scales()
        with observing(scales):
            result = self._make()(*args)
        signature.pays_after = scales.calls_that_pay()
        return result

    def _is_full(self) -> bool:
        return sum([known.compiled for known in self._signatures.values()]) >= _MOST_COMPILED

    def _count_compilation(self, signature: _Signature) -> None:
        """Something that the function depends on has changed, if this is not the first compilation: a number in a
        layer, for instance. Where that happens all the time, compiling does not pay."""
        needed = signature.pays_after
        if needed is not None and 0 < signature.calls < needed:
            signature.wasted += 1
            if signature.wasted >= _MOST_WASTED:
                signature.compiled, signature.pays_after = False, 2 * needed
        signature.calls = 0

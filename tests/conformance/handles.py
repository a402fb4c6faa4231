"""The Python objects that JavaScript holds.

JavaScript cannot say when it has let go of an object, so each lives until the spec that met it has ended. Two things
let tensors go earlier: `dispose`, and the end of a callback. A tensor that JavaScript made inside a function given to
`tf.grad`, `tf.tidy`, `optimizer.minimize` and the like is a local of that function: when the function has returned, it
lives on only where Python holds it (as the function's result, or saved for a gradient), just as the locals of a Python
function do. `tf.keep` and variables are exempt, as they are in TensorFlow.js.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from varigrad import Tensor, Variable
from varigrad.errors import DisposedError


@dataclass
class _Handle:
    strong: Any
    weak: weakref.ref[Any] | None
    kept: bool = False

    def target(self) -> Any:
        return self.strong if self.strong is not None or self.weak is None else self.weak()


class Handles:
    """Numbers for objects: the same number for the same object as long as it lives."""

    def __init__(self) -> None:
        self._handles: dict[int, _Handle] = {}
        self._numbers: dict[int, int] = {}  # by the object's id()
        self._held: list[int] = []  # numbers in the order in which they became strong
        self._next = 1

    def number(self, target: Any) -> int:
        """The number under which JavaScript knows an object, which it holds from now on."""
        number = self._numbers.get(id(target))
        handle = self._handles.get(number) if number is not None else None
        if number is None or handle is None or handle.target() is not target:
            number, self._next = self._next, self._next + 1
            weak = weakref.ref(target) if isinstance(target, Tensor) else None
            self._handles[number] = handle = _Handle(None, weak)
            self._numbers[id(target)] = number
        if handle.strong is None:
            handle.strong = target
            self._held.append(number)
        return number

    def __getitem__(self, number: int) -> Any:
        handle = self._handles.get(number)
        target = handle.target() if handle else None
        if target is None:
            raise DisposedError("the tensor was disposed when the function that made it returned")
        return target

    def is_alive(self, number: int) -> bool:
        """Whether the object is still there."""
        handle = self._handles.get(number)
        return handle is not None and handle.target() is not None

    def keep(self, target: Any) -> None:
        """Exempts a tensor from being let go at the end of a callback."""
        self._handles[self.number(target)].kept = True

    def mark(self) -> int:
        """The present moment, for `let_go` and `forget`."""
        return len(self._held)

    def let_go(self, mark: int) -> None:
        """Leaves the tensors met since `mark` to whoever else holds them."""
        staying: list[int] = []
        for number in self._held[mark:]:
            handle = self._handles[number]
            if handle.kept or handle.weak is None or isinstance(handle.strong, Variable):
                staying.append(number)
            else:
                handle.strong = None
        self._held[mark:] = staying

    def forget(self, mark: int = 0) -> None:
        """Drops everything met since `mark`."""
        for number in self._held[mark:]:
            self._handles[number].strong = None
        del self._held[mark:]
        self._handles = {n: h for n, h in self._handles.items() if h.target() is not None}
        self._numbers = {id(h.target()): n for n, h in self._handles.items()}

"""Lowering of running sums and products: one axis is walked along in order, as NumPy does, in as many lanes as lie
beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import BOOL, Code, Index, Kind, Operand
from varigrad.backends.native.machine import lanes_of
from varigrad.backends.native.operations import View

__all__ = ["RULES"]


class Scan(NamedTuple):
    """`how` of [outer, length, inner] along its second axis: each result is held while the next is made of it."""

    how: str
    outer: int
    length: int
    inner: int
    exclusive: bool
    reverse: bool
    kind: Kind
    lanes: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("scan", *self)

    @property
    def numbers(self) -> Sequence[int]:
        """None."""
        return ()

    @property
    def parts(self) -> int:
        """Into how many parts the work may be divided: arrays, or vectors of columns of the only one."""
        return self.outer if self.outer > 1 else -(-self.inner // self.lanes)

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        return self.outer * self.length * self.inner * 2

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the loops, for the part of the work from `begin` to `end`."""
        if self.outer == 1:
            self._columns(code, pointers, 0, begin, end)
            return
        with code.loop(begin, end) as array:
            start = code.times(array, self.length * self.inner)
            self._columns(code, pointers, start, 0, -(-self.inner // self.lanes))

    def _columns(self, code: Code, pointers: Sequence[str], start: Index, begin: Index, end: Index) -> None:
        """Vectors of columns from one to another; the last may be a short one."""
        count, rest = divmod(self.inner, self.lanes)
        if count:
            with code.loop(begin, code.least(end, count) if rest else end) as index:
                self._walk(code, pointers, code.plus(start, code.times(index, self.lanes)), self.lanes)
        if rest and isinstance(end, int):
            self._walk(code, pointers, code.plus(start, count * self.lanes), rest)
        elif rest:
            with code.when(code.pure(f"icmp sgt i64 {end}, {count}")):
                self._walk(code, pointers, code.plus(start, count * self.lanes), rest)

    def _walk(self, code: Code, pointers: Sequence[str], start: Index, active: int) -> None:
        """Along the axis, from one end to the other."""
        *sources, target = pointers
        held = code.allocate(self.kind, 1, self.lanes)
        code.store(code.constant(1 if self.how == "product" else 0, self.kind, self.lanes), held, 0)
        first = code.plus(start, (self.length - 1) * self.inner) if self.reverse else start
        with code.loop(0, self.length) as step:
            place = code.plus(first, code.times(step, -self.inner if self.reverse else self.inner))
            before = code.load(held, 0, self.kind, self.lanes)
            taken = [code.load(source, place, self.kind, self.lanes, active) for source in sources]
            after = self._combined(code, before, taken)
            code.store(after, held, 0)
            code.store(before if self.exclusive else after, target, place, active)

    def _combined(self, code: Code, held: Operand, taken: Sequence[Operand]) -> Operand:
        if self.how == "recurrence":
            factor, term = taken
            return code.add(code.mul(factor, held), term)
        return code.mul(held, taken[0]) if self.how == "product" else code.add(held, taken[0])


def _scan(b: Builder, how: str, inputs: Sequence[View], axis: int, exclusive: bool, reverse: bool) -> View | None:
    shape, kind = inputs[0].shape, inputs[0].kind
    if kind is BOOL or any(x.kind is not kind or x.shape != shape for x in inputs):
        return None
    inner = prod(shape[axis + 1 :])
    lanes = min(lanes_of(kind.size), 1 << (inner - 1).bit_length())
    code = Scan(how, prod(shape[:axis]), shape[axis], inner, exclusive, reverse, kind, lanes)
    return b.routine(code, [b.whole(x) for x in inputs], shape, kind, code.parts)


def _running(how: str) -> Callable[[Builder, View, int, bool, bool], View | None]:
    return lambda b, x, axis, exclusive, reverse: _scan(b, how, [x], axis, exclusive, reverse)


def _exclusive_recurrence(b: Builder, a: View, term: View, axis: int, reverse: bool) -> View | None:
    return _scan(b, "recurrence", [a, term], axis, True, reverse)


RULES: dict[str, Callable[..., Any]] = {
    "Cumprod": _running("product"),
    "Cumsum": _running("sum"),
    "ExclusiveRecurrence": _exclusive_recurrence,
}

"""Lowering of where the largest numbers are, and of confusion matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.checking import checked
from varigrad.backends.native.code import BOOL, I32, Code, Kind, Operand
from varigrad.backends.native.operations import View
from varigrad.backends.native.rows import Layout, put_rows, take_rows

__all__ = ["RULES"]

_MOST = 16  # of the largest: they are kept in registers, in order


class Largest(NamedTuple):
    """The k largest of each row and where they are: NaN counts as the largest; of equal ones, the first comes first."""

    rows: int
    length: int
    k: int
    kind: Kind

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("largest", *self)

    @property
    def numbers(self) -> Sequence[int]:
        """None."""
        return ()

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        return self.rows * self.length * 2

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the loops, for the part of the work from `begin` to `end`."""
        x, values, places = pointers
        held = [(code.allocate(self.kind, 1), code.allocate(I32, 1)) for _ in range(self.k)]
        with code.loop(begin, end) as row:
            for value, place in held:
                code.store(code.constant(0, self.kind), value, 0)
                code.store(code.constant(-1, I32), place, 0)  # none yet
            start = code.times(row, self.length)
            with code.loop(0, self.length) as at:
                new = code.load(x, code.plus(start, at), self.kind)
                with code.when(self._comes_first(code, new, held[-1]).name):
                    self._insert(code, new, Operand(code.pure(f"trunc i64 {at} to i32"), I32, 1), held)
            target = code.times(row, self.k)
            for number, (value, place) in enumerate(held):
                code.store(code.load(value, 0, self.kind), values, code.plus(target, number))
                code.store(code.load(place, 0, I32), places, code.plus(target, number))

    def _comes_first(self, code: Code, new: Operand, slot: tuple[str, str]) -> Operand:
        """Whether a number comes before what is held, which may be nothing."""
        held, place = code.load(slot[0], 0, self.kind), code.load(slot[1], 0, I32)
        empty = code.compare("slt", place, code.like(place, 0))
        if not self.kind.is_float:
            return code.bits("or", empty, code.compare("sgt", new, held))
        larger = code.bits("and", code.compare("ugt", new, held), code.compare("ord", held, held))
        return code.bits("or", empty, larger)

    def _insert(self, code: Code, new: Operand, place: Operand, held: Sequence[tuple[str, str]]) -> None:
        """Puts a number into its place, and what was there into the next."""
        first: Operand | None = None
        for slot in held:
            before = self._comes_first(code, new, slot)
            first = before if first is None else code.bits("or", first, before)  # what is pushed back pushes the next
            old, old_place = code.load(slot[0], 0, self.kind), code.load(slot[1], 0, I32)
            code.store(code.select(first, new, old), slot[0], 0)
            code.store(code.select(first, place, old_place), slot[1], 0)
            new, place = code.select(first, old, new), code.select(first, old_place, place)


def _top_k(b: Builder, x: View, k: int, sorted: bool) -> list[View] | None:
    *outer, length = x.shape
    if k > _MOST or x.kind is BOOL:
        return None
    code = Largest(prod(outer), length, k, x.kind)
    shape = (*outer, k)
    values, indices = b.routines(code, [b.whole(x)], [(shape, x.kind), (shape, I32)], code.rows)
    b.note_bounds(indices, 0, [length], b.number(0, I32))
    return [values, indices]


def _in_top_k(b: Builder, predictions: View, targets: View, k: int) -> View | None:
    found = _top_k(b, predictions, k, True)
    if found is None:
        return None
    here = b.compare("Equal", found[1], b.reshape(targets, (*targets.shape, 1)))
    return b.reduce("or", here, [len(targets.shape)])


def _of_rows(x: View, k: int, length: int) -> Layout:
    return Layout(prod(x.shape[:-1]), 1, length, k, 1)


def _top_k_take(b: Builder, x: View, indices: View) -> View | None:
    if indices.kind is not I32:
        return None
    found = checked(b, indices, 1, [x.shape[-1]])
    taken = take_rows(b, x, indices, _of_rows(x, indices.shape[-1], x.shape[-1]), found)
    return b.reshape(taken, indices.shape)


def _top_k_grad(b: Builder, dy: View, indices: View, length: int) -> View | None:
    if indices.kind is not I32 or dy.kind is BOOL:
        return None
    found = checked(b, indices, 1, [length])
    return b.reshape(put_rows(b, dy, indices, _of_rows(dy, dy.shape[-1], length), found), (*dy.shape[:-1], length))


def _confusion_matrix(b: Builder, labels: View, predictions: View, num_classes: int) -> View | None:
    """One is added for each pair of a label and a prediction that are both classes."""
    if labels.kind is not I32 or predictions.kind is not I32:
        return None
    inside: View | None = None
    for x in (labels, predictions):
        known = b.map("LogicalAnd", b.compare("GreaterEqual", x, 0), b.compare("Less", x, num_classes))
        inside = known if inside is None else b.map("LogicalAnd", inside, known)
    assert inside is not None
    place = b.map("Add", b.map("Multiply", labels, num_classes), predictions)
    place = b.map("Select", inside, place, b.number(-1, I32), kind=I32)
    layout = Layout(1, 1, num_classes * num_classes, labels.size, 1)
    counts = put_rows(b, b.full(labels.shape, 1, I32), place, layout, b.number(0, I32))
    return b.reshape(counts, (num_classes, num_classes))


def _arg(how: str) -> Callable[[Builder, View, int], View]:
    """Where along an axis the first of the largest, or smallest, numbers is; NaN does not count."""
    worst = -math.inf if how == "max" else math.inf

    def rule(b: Builder, x: View, axis: int) -> View:
        if x.kind is BOOL:
            x = b.cast(x, I32)
        if x.kind.is_float:
            x = b.map("Select", b.compare("IsNan", x), b.number(worst, x.kind), x, kind=x.kind)
        best = b.reduce(how, x, [axis], True)
        after = len(x.shape) - axis - 1
        places = b.constant(np.arange(x.shape[axis], dtype=np.int32).reshape(-1, *[1] * after))
        candidates = b.map("Select", b.compare("Equal", x, best), places, b.number(x.shape[axis], I32), kind=I32)
        found = b.reduce("min", candidates, [axis])
        b.note_bounds(found, 0, [x.shape[axis]], b.number(0, I32))
        return found

    return rule


RULES: dict[str, Callable[..., Any]] = {
    "ArgMax": _arg("max"),
    "ArgMin": _arg("min"),
    "ConfusionMatrix": _confusion_matrix,
    "InTopK": _in_top_k,
    "TopK": _top_k,
    "TopKGrad": _top_k_grad,
    "TopKTake": _top_k_take,
}

"""How reductions are written: what they start from, how a vector is taken in, and what is made of the lanes."""

from __future__ import annotations

import math
from collections.abc import Callable

from varigrad.backends.native.code import BOOL, F32, F64, Code, Index, Kind, Operand
from varigrad.backends.native.vector_math import maximum, minimum

__all__ = ["Accumulator", "kind_held"]

# float32 sums of more numbers than this are kept in float64 meanwhile.
_LONGEST_FLOAT_SUM = 1024


def _largest(code: Code, held: Operand, x: Operand) -> Operand:
    """The larger, but never NaN, for where NaN comes out anyway: one instruction instead of four."""
    return code.select(code.compare("ogt", x, held), x, held)


_COMBINE: dict[str, Callable[[Code, Operand, Operand], Operand]] = {
    "dot": lambda code, a, b: code.add(a, b),
    "sum": lambda code, a, b: code.add(a, b),
    "product": lambda code, a, b: code.mul(a, b),
    "largest": _largest,
    "max": maximum,
    "min": minimum,
    "and": lambda code, a, b: code.bits("and", a, b),
    "or": lambda code, a, b: code.bits("or", a, b),
}


def _neutral(how: str, kind: Kind) -> float:
    """What changes nothing."""
    if how in ("sum", "dot", "or"):
        return 0
    if how in ("product", "and"):
        return 1
    if kind is BOOL:
        return how == "min"
    if kind.is_float:
        return -math.inf if how in ("max", "largest") else math.inf
    return -(2**31) if how == "max" else 2**31 - 1


def kind_held(how: str, kind: Kind, count: int) -> Kind:
    """The kind of number in which a reduction of so many is taken."""
    return F64 if how == "sum" and kind is F32 and count > _LONGEST_FLOAT_SUM else kind


class Accumulator:
    """What a reduction of `count` numbers holds while it runs, in so many lanes: in registers, or where in `memory`."""

    def __init__(
        self, code: Code, how: str, kind: Kind, lanes: int, count: int, memory: str | None = None, place: Index = 0
    ) -> None:
        self.code = code
        self.how = how
        self.given = kind
        self.kind = kind_held(how, kind, count)
        self.lanes = lanes
        self.memory = memory or code.allocate(self.kind, 1, lanes)
        self.place = place

    def start(self) -> None:
        """Sets it to what changes nothing."""
        self.code.store(self._neutral(self.kind), self.memory, self.place)

    def _neutral(self, kind: Kind) -> Operand:
        return self.code.constant(_neutral(self.how, kind), kind, self.lanes)

    def take(self, x: Operand, active: int | None = None) -> None:
        """Takes a vector in; with `active`, only its first so many lanes."""
        code = self.code
        if active is not None and active != self.lanes:
            flags = ", ".join([f"i1 {int(lane < active)}" for lane in range(self.lanes)])
            x = code.select(Operand(f"<{flags}>", BOOL, self.lanes), x, self._neutral(self.given))
        if self.kind is not self.given:
            x = code.convert("fpext", x, self.kind)
        held = code.load(self.memory, self.place, self.kind, self.lanes)
        code.store(_COMBINE[self.how](code, held, x), self.memory, self.place)

    def take_product(self, a: Operand, b: Operand) -> None:
        """Adds a * b."""
        code = self.code
        held = code.load(self.memory, self.place, self.kind, self.lanes)
        total = code.fma(a, b, held) if a.kind.is_float else code.add(code.mul(a, b), held)
        code.store(total, self.memory, self.place)

    def vector(self) -> Operand:
        """The result in each lane."""
        return self._given(self.code.load(self.memory, self.place, self.kind, self.lanes))

    def scalar(self) -> Operand:
        """The result of all lanes together."""
        code = self.code
        x = code.load(self.memory, self.place, self.kind, self.lanes)
        while x.lanes > 1:
            half = x.lanes // 2
            low, high = (code.shuffle(x, x, range(start, start + half)) for start in (0, half))
            if half == 1:
                low, high = (Operand(self._only(v), x.kind, 1) for v in (low, high))
            x = _COMBINE[self.how](code, low, high)
        return self._given(x)

    def _only(self, x: Operand) -> str:
        return self.code.pure(f"extractelement <1 x {x.kind.llvm}> {x.name}, i64 0")

    def _given(self, x: Operand) -> Operand:
        return x if self.kind is self.given else self.code.convert("fptrunc", x, self.given)

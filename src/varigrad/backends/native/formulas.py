"""Formulas: several results of the same numbers, each of which is one operation of a program however long it is.

A rule is written with `Term`s as one would write it for numbers. Its results are maps that share what they have in
common, if they run in one pass: `Code` computes nothing twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from varigrad.backends.native.code import Code, Operand
from varigrad.backends.native.vector_math import maximum

__all__ = ["Formula", "Term", "formulas"]


def _absolute(code: Code, x: Operand) -> Operand:
    return code.intrinsic("fabs", x)


def _square_root(code: Code, x: Operand) -> Operand:
    return code.intrinsic("sqrt", x)


_WRITERS: dict[str, Callable[..., Operand]] = {
    "abs": _absolute,
    "add": Code.add,
    "divide": Code.div,
    "maximum": maximum,
    "multiply": Code.mul,
    "sqrt": _square_root,
    "subtract": Code.sub,
}


class Term:
    """A number of a formula: one that is given, by its place, or what a function in the table makes of others."""

    __slots__ = ("inputs", "name", "place")

    def __init__(self, name: str, inputs: Sequence[Term | float] = (), place: int | None = None) -> None:
        self.name = name
        self.inputs = inputs
        self.place = place

    def __add__(self, other: Term) -> Term:
        return Term("add", (self, other))

    def __sub__(self, other: Term) -> Term:
        return Term("subtract", (self, other))

    def __mul__(self, other: Term) -> Term:
        return Term("multiply", (self, other))

    def __truediv__(self, other: Term) -> Term:
        return Term("divide", (self, other))

    def __abs__(self) -> Term:
        return Term("abs", (self,))

    def sqrt(self) -> Term:
        """The square root."""
        return Term("sqrt", (self,))

    def at_least(self, least: Term | float) -> Term:
        """The larger of both; NaN if one is NaN."""
        return Term("maximum", (self, least))


Rule: TypeAlias = Callable[[Sequence[Term]], Sequence[Term]]


class Formula:
    """One result of a rule. `reads` are the places of what it depends on, `steps` how many functions it takes."""

    def __init__(self, name: str, term: Term) -> None:
        self.name = name
        self.term = term
        found = _terms(term)
        self.reads = sorted([t.place for t in found if t.place is not None])
        self.steps = len([t for t in found if t.place is None])

    def write(self, code: Code, operands: Sequence[Operand]) -> Operand:
        """Writes it, of the numbers that it reads."""
        known = dict(zip(self.reads, operands, strict=True))
        made: dict[Term, Operand] = {}

        def written(term: Term | float) -> Operand:
            if not isinstance(term, Term):
                return code.like(operands[0], term)
            if term.place is not None:
                return known[term.place]
            if term not in made:
                made[term] = _WRITERS[term.name](code, *[written(x) for x in term.inputs])
            return made[term]

        return written(self.term)

    def __repr__(self) -> str:
        return self.name


def _terms(term: Term) -> set[Term]:
    """A term and those that it is made of."""
    found: set[Term] = set()
    pending: list[Term | float] = [term]
    while pending:
        item = pending.pop()
        if isinstance(item, Term) and item not in found:
            found.add(item)
            pending.extend(item.inputs)
    return found


def formulas(name: str, rule: Rule, count: int) -> list[Formula]:
    """The results of a rule of `count` numbers, in order."""
    given = [Term("given", place=place) for place in range(count)]
    return [Formula(f"{name}[{at}]", term) for at, term in enumerate(rule(given))]

"""Sums of products as register-tiled loops: what matrix products and convolutions have in common.

c[rows, n] = sum over inner of a[rows, inner] * b[batch, inner, n], where each axis has a stride in each of the arrays,
and n lies side by side in b and c. A tile of rows times a strip of n stays in registers while the sum runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from varigrad.backends.native.code import Code
from varigrad.backends.native.contraction_plan import Plan
from varigrad.backends.native.tiling import TileFinish, TileWriter

__all__ = ["Contraction"]


class Contraction(Plan):
    """One such sum of products, as a routine of a program."""

    __slots__ = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("contraction", *self)

    @property
    def numbers(self) -> Sequence[int]:
        """None."""
        return ()

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        summed = prod([axis.size for axis in self.inner]) + self.rest
        return prod([axis.size for axis in self.rows]) * summed * self.n // 4

    def write(
        self, code: Code, pointers: Sequence[str], begin: str, end: str, finish: TileFinish | None = None
    ) -> None:
        """Writes the loops, for the part of the work from `begin` to `end`; tiles go to memory, or to what finishes
        them."""
        TileWriter(self, code, pointers, finish).run(begin, end)

"""The plan of a sum of products: its axes, and how the work is divided into groups, strips and tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from varigrad.backends.native.code import Kind

__all__ = ["MOST_PACKED", "Inner", "Plan", "Row"]

MOST_PACKED = 1 << 17  # bytes of strips that are packed together: half of the smallest second caches in use
_GROUPS = 8  # of strips, at least, where there are so many strips: for several threads


class Row(NamedTuple):
    """An axis of the result: its length and its strides in a, b and c."""

    size: int
    a: int
    b: int
    c: int


class Inner(NamedTuple):
    """An axis that is summed over: its length and its strides in a and b."""

    size: int
    a: int
    b: int


class Plan(NamedTuple):
    """A sum of products c = a b, as `contraction.py` has it. The last axis of rows is that which tiles are cut from.

    The first `repeats` axes that are summed over go around everything else: what they bring is added to the result in
    memory. That is for long sums whose factors only fit the cache a part at a time, and `rest` is how long the last of
    these parts is, where it is shorter and not counted among the others.

    b may be packed: `strip` is then how far apart its strips lie, each as wide as a tile. Or it is packed here, one
    strip at a time, into memory that stays in the cache: `across` is then the stride of n in it. Of a, whose rows lie
    side by side then, each group of rows is brought into such memory, if they are `gathered`: lines that are far apart
    push each other out of the cache.
    """

    rows: tuple[Row, ...]
    inner: tuple[Inner, ...]
    n: int
    kind: Kind
    lanes: int
    repeats: int = 0
    rest: int = 0
    strip: int = 0
    across: int = 0
    gathered: bool = False

    @classmethod
    def of(
        cls,
        rows: Sequence[Row],
        inner: Sequence[Inner],
        n: int,
        kind: Kind,
        lanes: int,
        repeats: int = 0,
        rest: int = 0,
        strip: int = 0,
        across: int = 0,
        gathered: bool = False,
    ) -> Self:
        """The same with fewer axes, where two are gone through as one."""
        merged = [*inner[:repeats], *_merged(inner[repeats:])]
        fewer = [*rows[:1], *_merged(rows[1:])] if len(rows) > 1 else list(rows)
        if fewer[-1].b:
            fewer.append(rows[-1])  # one row: a tile's rows share what they are multiplied by, those of a batch do not
        return cls(tuple(fewer), tuple(merged), n, kind, lanes, repeats, rest, strip, across, gathered)

    @property
    def parts(self) -> int:
        """Into how many parts the work may be divided."""
        if len(self.rows) > 1:
            return self.rows[0].size
        return self.groups

    @property
    def groups(self) -> int:
        """How many groups of strips there are: those that are packed together, or single ones."""
        return -(-self.n // (self.lanes * self.tile[1] * self.group))

    @property
    def group(self) -> int:
        """How many strips are packed together: the second cache has room for them, and the rows they lie in are read
        a longer way at once. There are enough groups for several threads."""
        if not self.across:
            return 1
        strips = -(-self.n // (self.lanes * self.tile[1]))
        bytes_of_one = self.inner[-1].size * self.lanes * self.tile[1] * self.kind.size
        return max(1, min(MOST_PACKED // bytes_of_one, strips // _GROUPS))

    @property
    def tile(self) -> tuple[int, int]:
        """The most rows of a tile, and the vectors of a strip: together what the registers hold."""
        registers = 24 if self.lanes == 16 else 12  # of 32 and 16 that there are: the others hold what is multiplied
        vectors = -(-self.n // self.lanes)
        rows = self.rows[-1].size
        strip = min(vectors, max(2, registers // rows) if rows < 6 and not self.strip and not self.across else 2)
        return max(1, min(rows, registers // strip)), strip


def _merged(axes: Sequence[Any]) -> list[Any]:
    """Axes with those made one that lie in each other's order in every array, those of length 1 left out."""
    result: list[Any] = []
    for axis in axes:
        if axis.size == 1 and len(axes) > 1:
            continue
        size, *strides = axis
        if result:
            before, *wider = result[-1]
            if all(w == s * size for w, s in zip(wider, strides, strict=True)):
                result[-1] = type(axis)(before * size, *strides)
                continue
        result.append(axis)
    return result or list(axes[-1:])

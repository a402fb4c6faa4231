"""The second factor of a product, laid out as strips [n / width, k, width], each side by side in memory.

Where each strip is gone down once, a product packs it itself, into memory of its own that stays in the cache; where the
strips are wanted again and again, all are packed beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import Code, Index, Kind, Operand
from varigrad.backends.native.operations import Shape, View, dense

__all__ = ["Factor", "pack_strip", "packed", "second_factor"]

_LINE = 64  # bytes that a cache takes in together


class Factor(NamedTuple):
    """Where a product finds its second factor [..., k, n]: the strides of what comes before, that of k, and that of its
    strips, 0 if n lies side by side as a whole."""

    view: View
    outer: Shape
    down: int
    strip: int


def second_factor(b: Builder, y: View, lanes: int, often: bool) -> Factor:
    """y [..., k, n] as a product reads it best; `often` says whether it is gone through often enough to be packed."""
    k, n = y.shape[-2:]
    width = 2 * lanes
    if n % width == 0 and (y.strides[-1] != 1 or (n > width and often)):
        y = packed(b, y, width, lanes)
        return Factor(y, y.strides[:-3], width, k * width)
    if y.strides[-1] != 1:
        y = b.copy(y)
    return Factor(y, y.strides[:-2], y.strides[-2], 0)


def packed(b: Builder, y: View, width: int, lanes: int) -> View:
    """y [..., k, n], where the width divides n, as [..., n / width, k, width]."""
    *batch, k, n = y.shape
    shape = (*batch, n // width, k, width)
    *outer, down, across = y.strides
    if across != 1 and down == 1 and width % lanes == 0 and k >= lanes:
        code = Transposition(tuple(batch), tuple(outer), k, n, across, width, y.kind, lanes)
        return b.routine(code, [y], shape, parts=code.parts)
    strips = View(y.val, shape, (*outer, across * width, down, across), y.offset)
    return strips if n == width and across == 1 else b.copy(strips)


class Transposition(NamedTuple):
    """Packs a matrix whose columns lie side by side, a square of so many lanes at a time."""

    batch: Shape
    steps: Shape
    k: int
    n: int
    across: int
    width: int
    kind: Kind
    lanes: int

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("transposition", *self)

    @property
    def numbers(self) -> Sequence[int]:
        """None."""
        return ()

    @property
    def parts(self) -> int:
        """Into how many parts the work may be divided."""
        return self.batch[0] if self.batch else self.n // self.width

    @property
    def work(self) -> int:
        """How much there is to do, in elements computed."""
        return prod(self.batch) * self.k * self.n * 2

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the loops, for the part of the work from `begin` to `end`."""
        self._over(code, pointers, 0, (0, 0), (begin, end))

    def _over(
        self, code: Code, pointers: Sequence[str], axis: int, places: tuple[Index, Index], bounds: tuple[Index, Index]
    ) -> None:
        source, target = places
        strip = self.k * self.width
        if axis < len(self.batch):
            following = dense((*self.batch, self.n // self.width * strip))[axis]
            with code.loop(*bounds) as index:
                at = (
                    code.plus(source, code.times(index, self.steps[axis])),
                    code.plus(target, code.times(index, following)),
                )
                after = self.batch[axis + 1] if axis + 1 < len(self.batch) else self.n // self.width
                self._over(code, pointers, axis + 1, at, (0, after))
            return
        with code.loop(*bounds) as index:
            source = code.plus(source, code.times(index, self.width * self.across))
            target = code.plus(target, code.times(index, strip))
            _turn(
                code, pointers, (source, target), (self.k, self.width), (self.across, self.width), self.kind, self.lanes
            )


def pack_strip(
    code: Code,
    pointers: Sequence[str],
    places: tuple[Index, Index],
    size: tuple[int, int],
    steps: tuple[int, int],
    pitch: int,
    kind: Kind,
    lanes: int,
) -> None:
    """Copies [k, width] numbers, `steps` apart, to rows of whole vectors, a pitch apart; pointers are from and to."""
    (k, width), (down, across) = size, steps
    if across != 1 and down == 1 and k >= lanes:
        _turn(code, pointers, places, size, (across, pitch), kind, lanes)
        return
    with code.loop(0, k) as row:
        line = code.plus(places[0], code.times(row, down))
        for first in range(0, width, lanes):
            active = min(lanes, width - first)
            if across == 1:
                x = code.load(pointers[0], code.plus(line, first), kind, lanes, active)
            else:
                x = code.gather(pointers[0], code.plus(line, first * across), across, kind, lanes, active)
            code.store(x, pointers[1], code.plus(code.plus(places[1], code.times(row, pitch)), first))


def _turn(
    code: Code,
    pointers: Sequence[str],
    places: tuple[Index, Index],
    size: tuple[int, int],
    steps: tuple[int, int],
    kind: Kind,
    lanes: int,
) -> None:
    """Copies [k, width] numbers whose columns lie side by side, a step apart, to rows that do, another step apart.

    Whole lines of the cache are read and written at a time: rows whose distance is a power of two push each other out.
    """
    (k, width), (across, pitch) = size, steps
    line = max(lanes, _LINE // kind.size)

    def squares(row: Index, down: int, column: Index, along: int) -> None:
        active = min(lanes, along)
        for first in range(0, down, lanes):
            for side in range(0, along, lanes):
                source = code.plus(code.plus(places[0], row), first)
                lines = [
                    code.load(
                        pointers[0], code.plus(source, code.times(code.plus(column, side + lane), across)), kind, lanes
                    )
                    for lane in range(active)
                ]
                lines += lines[:1] * (lanes - active)
                target = code.plus(code.plus(places[1], column), side)
                for lane, x in enumerate(_transposed(code, lines)):
                    code.store(x, pointers[1], code.plus(target, code.times(code.plus(row, first + lane), pitch)))

    for first, last, down in _cuts(k, lanes, line):
        if down < lanes:
            continue
        with code.loop(first, last, down) as row:
            for begin, end, along in _cuts(width, lanes, line):
                with code.loop(begin, end, along) as column:
                    squares(row, down, column, along)
    for row in range(k - k % lanes, k):
        for begin, end, along in _cuts(width, lanes, lanes):
            with code.loop(begin, end, along) as column:
                source = code.plus(code.plus(places[0], row), code.times(column, across))
                x = code.gather(pointers[0], source, across, kind, lanes, along)
                code.store(x, pointers[1], code.plus(code.plus(places[1], column), row * pitch))


def _cuts(size: int, lanes: int, line: int) -> list[tuple[int, int, int]]:
    """From where to where one goes in whole lines, in whole vectors, and in what is left, and the steps."""
    whole, vectors = size - size % line, size - size % lanes
    cuts = [(0, whole, line), (whole, vectors, lanes), (vectors, size, size - vectors)]
    return [cut for cut in cuts if cut[0] < cut[1]]


def _transposed(code: Code, lines: list[Operand]) -> list[Operand]:
    """As many vectors as they have lanes, with rows for columns: interleaved by halves until all is in place."""
    lanes = len(lines)
    half = lanes // 2
    low = [place for pair in range(half) for place in (pair, lanes + pair)]
    high = [place + half for place in low]
    for _ in range(lanes.bit_length() - 1):
        pairs = [(lines[at], lines[at + half]) for at in range(half)]
        lines = [code.shuffle(a, b, order) for a, b in pairs for order in (low, high)]
    return lines

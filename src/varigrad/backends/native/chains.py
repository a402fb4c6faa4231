"""Jobs of several steps: where each part of a step reads only what the same part of the steps before has written.

Steps that go through the same rows, such as those of a recurrence, the layers of a network or what a pass does between
two products, need not wait for each other's last row: a thread takes its rows through all of them. Between two jobs all
threads meet; within one they do not.

An array's elements are counted in blocks: what a part of a step reads or writes of it lies within one block, and each
part's is the one after. Steps fit together where all go through what one of them writes in equal blocks, so that the
same part has the same block.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import gcd
from typing import Any, NamedTuple, TypeAlias

from varigrad.backends.native.contraction import Contraction
from varigrad.backends.native.finishing import Finished
from varigrad.backends.native.fusion import Step
from varigrad.backends.native.operations import Routine, Val
from varigrad.backends.native.passes import Access, Pass

__all__ = ["CHAIN", "Chain", "chain_text", "find_chains", "pooled"]

CHAIN = "varigrad_chain"

# A step's code, and the places that it is called with: a value that is a root, and an offset in elements.
Prepared: TypeAlias = "tuple[Any, list[tuple[Val, int]]]"


class Region(NamedTuple):
    """What the parts of a step touch of an array: the first from `start` on, as many elements as `extent` says, each
    following one `step` elements further on."""

    root: Val
    start: int
    step: int
    extent: int
    is_written: bool


class Chain(NamedTuple):
    """The steps from `first` to the one before `end`, which run as one job of so many parts. `blocks` are the arrays
    that all of them go through in equal blocks of that many elements."""

    first: int
    end: int
    parts: int
    blocks: dict[Val, int]


def chain_text() -> str:
    """The text of the kernel that runs other kernels: its arguments are how many there are, and for each its address,
    that of its arguments, and how many of its parts make one of the job's."""
    return f"""
define void @{CHAIN}(ptr %table, ptr %links, i64 %begin, i64 %end) {{
entry:
  %count = load i64, ptr %links
  br label %link
link:
  %at = phi i64 [0, %entry], [%following, %link]
  %three = mul i64 %at, 3
  %place = getelementptr i64, ptr %links, i64 %three
  %kp = getelementptr i64, ptr %place, i64 1
  %ap = getelementptr i64, ptr %place, i64 2
  %fp = getelementptr i64, ptr %place, i64 3
  %kernel = load ptr, ptr %kp
  %arguments = load ptr, ptr %ap
  %factor = load i64, ptr %fp
  %first = mul i64 %begin, %factor
  %last = mul i64 %end, %factor
  call void %kernel(ptr %table, ptr %arguments, i64 %first, i64 %last)
  %following = add i64 %at, 1
  %more = icmp slt i64 %following, %count
  br i1 %more, label %link, label %out
out:
  ret void
}}
"""


def find_chains(steps: Sequence[Step], prepared: Sequence[Prepared | None], threads: int) -> list[Chain]:
    """The chains of a program, in order, for so many threads."""
    chains: list[Chain] = []
    for first, end, parts in _runs(steps, prepared, threads):
        chain = _Chain(first, parts)
        for at in range(first, end):
            ready = prepared[at]
            assert ready is not None, "only steps of machine code are chained"
            code, places = ready
            regions = list(_regions(code, places, _parts(steps[at], code) // parts))
            if not chain.take(regions):
                chains += chain.ended(at)
                chain = _Chain(at, parts)
                chain.take(regions)
        chains += chain.ended(end)
    return chains


def _runs(steps: Sequence[Step], prepared: Sequence[Prepared | None], threads: int) -> Iterator[tuple[int, int, int]]:
    """Steps in a row that can be divided into equally many parts: the first, the one after the last, the parts."""
    first, parts = 0, 0
    for at, (step, ready) in enumerate(zip(steps, prepared, strict=True)):
        own = _parts(step, ready[0]) if ready is not None and _is_divided_evenly(ready[0]) else 1
        common = gcd(parts, own)
        if parts and common < threads:
            yield first, at, parts
            parts = 0
        if not parts:
            first, common = at, own
        parts = common if common >= threads else 0
    if parts:
        yield first, len(steps), parts


def _parts(step: Step, code: Any) -> int:
    return step.parts if isinstance(step, Routine) else code.parts


def _is_divided_evenly(code: Any) -> bool:
    """Whether each part of the work is as large as the next, and a stretch of one axis."""
    if isinstance(code, Finished):
        code = code.contraction
    if isinstance(code, Contraction):
        return len(code.rows) > 1
    if not isinstance(code, Pass) or code.group.by_columns or any(s < 0 for a in code.accesses() for s in a.strides):
        return False
    return code.inner % code.lanes == 0 if code.is_flat else bool(code.rows)


def _regions(code: Any, places: Sequence[tuple[Val, int]], count: int) -> Iterator[Region]:
    """What a job's part, which is so many of a step's parts, touches."""
    if isinstance(code, Pass):
        yield from _regions_of_pass(code, places, count)
        return
    contraction = code.contraction if isinstance(code, Finished) else code
    head, *rows = contraction.rows
    summed = list(contraction.inner)
    if contraction.rest:  # one part more, at most as long as the others
        summed[0] = summed[0]._replace(size=summed[0].size + 1)
    a = sum([(axis.size - 1) * axis.a for axis in (*rows, *summed)])
    b = sum([(axis.size - 1) * axis.b for axis in (*rows, *summed)])
    columns = contraction.n - 1
    if contraction.strip:
        width = 2 * contraction.lanes
        b += columns // width * contraction.strip + width - 1
    else:
        b += columns * (contraction.across or 1)
    yield _region(places[0], head.a, a, count, False)
    yield _region(places[1], head.b, b, count, False)
    if isinstance(code, Finished):
        yield from _regions_of_tiles(code, places[2:], count)
    else:
        c = sum([(row.size - 1) * row.c for row in rows]) + columns
        yield _region(places[2], head.c, c, count, True)


def _regions_of_pass(code: Pass, places: Sequence[tuple[Val, int]], count: int) -> Iterator[Region]:
    d = code.cols[-1] if code.is_flat else code.rows[0]
    stored = set(map(id, code.stored.values()))
    for access in code.accesses():
        step, rest = access.strides[d], sum(_lengths(code, access, but=d))
        if code.is_flat:
            step, rest = step * code.lanes, rest + (code.lanes - 1) * step
        yield _region(places[access.pointer], step, rest, count, id(access) in stored)


def _lengths(code: Pass, access: Access, but: int) -> Iterator[int]:
    """How far an access goes along each axis but one."""
    for d, (size, stride) in enumerate(zip(code.sizes, access.strides, strict=True)):
        if d != but:
            yield (size - 1) * stride


def _regions_of_tiles(code: Finished, places: Sequence[tuple[Val, int]], count: int) -> Iterator[Region]:
    head, *rows = code.contraction.rows
    axes = [(row.size, code.plan.strides(row.c)) for row in rows if row.size > 1]
    axes.append((code.contraction.n, code.plan.strides(1)))
    steps = code.plan.strides(head.c)
    stored = set(map(id, code.plan.stored.values()))
    for at, access in enumerate(code.plan.accesses()):
        rest = sum([(size - 1) * strides[at] for size, strides in axes])
        yield _region(places[access.pointer], steps[at], rest, count, id(access) in stored)


def _region(place: tuple[Val, int], step: int, rest: int, count: int, is_written: bool) -> Region:
    root, start = place
    return Region(root, start, step * count, rest + (count - 1) * step + 1, is_written)


class _Uses:
    """What a chain does to an array: which blocks of each size the first part touches, and whether it writes to them;
    and from where to where the parts together do. Size 0 is for what is in no blocks."""

    def __init__(self) -> None:
        self.blocks: dict[int, dict[int, bool]] = {}
        self.spans: dict[int, tuple[int, int, bool]] = {}


class _Chain:
    """A chain that takes one step after the other, as long as they fit."""

    def __init__(self, first: int, parts: int) -> None:
        self.first = first
        self.parts = parts
        self.uses: defaultdict[Val, _Uses] = defaultdict(_Uses)

    def take(self, regions: Sequence[Region]) -> bool:
        """Takes a step that touches these regions, if each of its parts can go without the other parts of the steps
        before, and the other way round."""
        if not all(self.fits(region) for region in regions):
            return False
        for root, start, step, extent, is_written in regions:
            uses = self.uses[root]
            block = _block(start, step, extent)
            size, number = (0, 0) if block is None else (step, block)
            blocks = uses.blocks.setdefault(size, {})
            blocks[number] = blocks.get(number, False) or is_written
            low, high, written = uses.spans.get(size, (start, start, False))
            end = start + step * (self.parts - 1) + extent
            uses.spans[size] = min(low, start), max(high, end), written or is_written
        return True

    def fits(self, region: Region) -> bool:
        """Whether no two parts of a step and of those before, if they are not the same, write to what the other
        touches."""
        root, start, step, extent, is_written = region
        uses = self.uses.get(root)
        if uses is None:
            return True
        end = start + step * (self.parts - 1) + extent
        block = _block(start, step, extent)
        for size, (low, high, written) in uses.spans.items():
            if low >= end or start >= high or not (written or is_written):
                continue
            if block is None or size != step:
                return False
            near = uses.blocks[size]
            for other in range(block - self.parts + 1, block + self.parts):
                if other != block and other in near and (near[other] or is_written):
                    return False
        return True

    def ended(self, end: int) -> list[Chain]:
        """The chain, if it is one: of two steps or more."""
        if end - self.first < 2:
            return []
        blocks = {
            root: next(iter(uses.blocks))
            for root, uses in self.uses.items()
            if len(uses.blocks) == 1 and next(iter(uses.blocks)) * self.parts == root.size
        }
        return [Chain(self.first, end, self.parts, blocks)]


def _block(start: int, step: int, extent: int) -> int | None:
    """Which block of `step` elements the first part touches; None if there is no single one."""
    return start // step if step and start % step + extent <= step else None


def pooled(lives: dict[Val, tuple[int, int]], chains: Sequence[Chain]) -> dict[Val, Val]:
    """Which values can have the memory of another that is not read any more: within a chain only those do that all
    parts go through alike, so that each part has its own block to itself.

    Args:
        lives: The first and the last step that use each value.
        chains: The chains of the program.
    """
    shared: dict[Val, Val] = {}
    for chain in chains:
        free: defaultdict[tuple[int, int], list[tuple[int, Val]]] = defaultdict(list)  # by size in bytes and of blocks
        inside = [val for val in chain.blocks if val in lives]
        for val in sorted(inside, key=lambda val: lives[val][0]):
            start, end = lives[val]
            if start < chain.first or end >= chain.end:
                continue
            slots = free[val.size * val.kind.size, chain.blocks[val] * val.kind.size]
            at = next((at for at, (last, _) in enumerate(slots) if last < start), None)
            owner = val if at is None else slots.pop(at)[1]
            shared[val] = owner
            slots.append((end, owner))
    return shared

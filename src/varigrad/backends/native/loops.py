"""How a pass is written: loops over rows and columns, vector by vector."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from varigrad.backends.native.accumulation import Accumulator, kind_held
from varigrad.backends.native.code import Code, Index, Operand
from varigrad.backends.native.elementwise import LOWERINGS
from varigrad.backends.native.operations import Map, Reduce, Val, View
from varigrad.backends.native.passes import Access, Pass

__all__ = ["PassWriter", "write_pass"]

_SUMS = 1 << 14  # bytes of sums that are held together: half of the smallest first caches in use


def write_pass(plan: Pass, code: Code, pointers: Sequence[str], begin: Index, end: Index) -> None:
    """Writes a pass, for the part of the work from `begin` to `end`."""
    writer = PassWriter(plan, code, pointers)
    if plan.group.by_columns:
        writer.columns(begin, end)
    elif plan.is_flat:
        writer.flat(begin, end)
    else:
        writer.over(plan.rows, writer.start, writer.row, (begin, end) if plan.rows else None)


class PassWriter:
    """Writes one pass. `places` are, for each access, where in memory it is, in elements from its pointer."""

    def __init__(self, plan: Pass, code: Code, pointers: Sequence[str]) -> None:
        self.plan = plan
        self.group = plan.group
        self.code = code
        self.pointers = list(pointers)
        self.accesses = plan.accesses()
        self.spilled: dict[Val, Access] = {}
        self._spill()
        self.number = {id(access): at for at, access in enumerate(self.accesses)}
        self.start: list[Index] = [0] * len(self.accesses)
        self.scalars: dict[Val, Operand] = {}  # what there is one of in a row
        self.vectors: dict[Val, Operand] = {}  # what has been computed for this vector
        self.loaded: dict[int, Operand] = {}

    def _spill(self) -> None:
        """Makes room for what one turn over a row computes and a later one reads."""
        plan, group = self.plan, self.group
        for op in group.operations:
            stage = group.stage(op)
            for view in op.inputs:
                val = view.val
                late = val in group.made and val not in group.per_row and group.stages[val] < stage
                if not late or val in plan.stored or val in self.spilled:
                    continue
                assert group.cols is not None
                self.pointers.append(self.code.allocate(val.kind, group.cols))
                strides = [0] * len(plan.sizes)
                step = 1
                for d in reversed(plan.cols):
                    strides[d] = step
                    step *= plan.sizes[d]
                self.spilled[val] = Access(len(self.pointers) - 1, val.kind, strides)
                self.accesses.append(self.spilled[val])

    def over(
        self,
        dims: Sequence[int],
        places: list[Index],
        body: Callable[[list[Index]], None],
        bounds: tuple[Index, Index] | None = None,
    ) -> None:
        """Loops over axes of the pass."""
        if not dims:
            body(places)
            return
        d = dims[0]
        begin, end = bounds or (0, self.plan.sizes[d])
        with self.code.loop(begin, end) as index:
            self.over(dims[1:], self.moved(places, d, index), body)

    def moved(self, places: list[Index], d: int, index: Index) -> list[Index]:
        """The places after so many steps along an axis."""
        code = self.code
        return [code.plus(p, code.times(index, a.strides[d])) for p, a in zip(places, self.accesses, strict=True)]

    # The three orders

    def flat(self, begin: Index, end: Index) -> None:
        """All elements side by side; the work is counted in vectors."""
        plan, code = self.plan, self.code
        count, rest = divmod(plan.inner, plan.lanes)
        ops, d = self.group.operations, plan.cols[-1]
        if count:
            with code.loop(begin, code.least(end, count) if rest else end) as index:
                self.vector(ops, self.moved(self.start, d, code.times(index, plan.lanes)), None, {})
        if rest:
            with code.when(code.pure(f"icmp sgt i64 {end}, {count}")):
                self.vector(ops, self.moved(self.start, d, count * plan.lanes), rest, {})

    def row(self, places: list[Index]) -> None:
        """One row, in as many turns as its reductions ask for."""
        group = self.group
        self.scalars = {}
        turns = max([group.stage(op) for op in group.operations], default=0)
        for turn in range(turns + 1):
            ops = [op for op in group.operations if group.stage(op) == turn]
            self.loaded = {}
            for op in ops:
                if isinstance(op, Map) and op.output in group.per_row:
                    self.scalars[op.output] = self.computed(op, [self.scalar(view, places) for view in op.inputs])
                    self.keep(op.output, self.scalars[op.output], places, None)
            full = [op for op in ops if isinstance(op, Reduce) or op.output not in group.per_row]
            reductions = [op for op in full if isinstance(op, Reduce)]
            held = self.accumulators(reductions, group.cols or 1)
            if full:
                self.over(self.plan.cols[:-1], places, lambda at, full=full, held=held: self.along(full, at, held))
            for op in reductions:
                self.scalars[op.output] = held[op.output].scalar()
                self.keep(op.output, self.scalars[op.output], places, None)

    def along(self, ops: Sequence[Map | Reduce], places: list[Index], held: dict[Val, Accumulator]) -> None:
        """The innermost axis, vector by vector."""
        plan, code = self.plan, self.code
        if not plan.cols:
            self.vector(ops, places, None, held)
            return
        d = plan.cols[-1]
        rest = plan.inner % plan.lanes
        if plan.inner >= plan.lanes:
            with code.loop(0, plan.inner - rest, plan.lanes) as index:
                self.vector(ops, self.moved(places, d, index), None, held)
        if rest:
            self.vector(ops, self.moved(places, d, plan.inner - rest), rest, held)

    def columns(self, begin: Index, end: Index) -> None:
        """Down the columns: those of a strip in registers, or row by row if that is shorter than a row."""
        plan = self.plan
        outer = [*plan.blocks, *plan.cols[:-1]]
        walk = self.down if plan.inner <= plan.lanes * plan.strip else self.row_by_row
        strips = -(-plan.inner // (plan.lanes * plan.strip))
        if outer:
            self.over(outer, self.start, lambda at: walk(at, 0, strips), (begin, end))
        else:
            walk(self.start, begin, end)

    def strips(
        self, places: list[Index], begin: Index, end: Index, body: Callable[[list[Index], Index, int], None]
    ) -> None:
        """What is to be done for strips of columns from one to another: where, at which column, how many."""
        plan, code = self.plan, self.code
        d = plan.cols[-1]
        width = plan.lanes * plan.strip
        count, rest = divmod(plan.inner, width)
        if count:
            with code.loop(begin, code.least(end, count) if rest else end) as index:
                column = code.times(index, width)
                body(self.moved(places, d, column), column, width)
        if rest and isinstance(end, int):
            body(self.moved(places, d, count * width), count * width, rest)
        elif rest:
            with code.when(code.pure(f"icmp sgt i64 {end}, {count}")):
                body(self.moved(places, d, count * width), count * width, rest)

    def down(self, places: list[Index], begin: Index, end: Index) -> None:
        """All rows of one strip after the other."""
        plan = self.plan

        def strip(places: list[Index], column: Index, width: int) -> None:
            held = self.strip_of_accumulators(width)
            for accumulators in held:
                self.begin(accumulators)
            self.over(plan.rows[len(plan.blocks) :], places, lambda at: self.take_strip(at, width, held))
            self.keep_strip(places, width, held)

        self.strips(places, begin, end, strip)

    def row_by_row(self, places: list[Index], begin: Index, end: Index) -> None:
        """Many strips of one row after the other, as they lie in memory; so many that the sums of all of them stay in
        the first cache."""
        plan, code = self.plan, self.code
        width = plan.lanes * plan.strip
        kinds = {op.output: kind_held(op.how, op.output.kind, self.height) for op in self.reductions}
        count = -(-plan.inner // width)
        together = min(count, max(1, _SUMS // (width * sum([kind.size for kind in kinds.values()]))))
        memory = {val: code.allocate(kind, together * width) for val, kind in kinds.items()}
        if together == count:
            self.rows_of_strips(places, begin, end, memory, 0)
            return
        with code.loop(begin, end, together) as first:
            following = code.least(code.plus(first, together), end)
            self.rows_of_strips(places, first, following, memory, code.times(first, width))

    def rows_of_strips(
        self, places: list[Index], begin: Index, end: Index, memory: Mapping[Val, str], first_column: Index
    ) -> None:
        """All strips of one row after the other; what they hold is in memory, that of the first column first."""

        def held(column: Index, width: int) -> list[dict[Val, Accumulator]]:
            place = self.code.plus(column, self.code.times(first_column, -1))
            return self.strip_of_accumulators(width, memory, place)

        def start(places: list[Index], column: Index, width: int) -> None:
            for accumulators in held(column, width):
                self.begin(accumulators)

        def take(places: list[Index], column: Index, width: int) -> None:
            self.take_strip(places, width, held(column, width))

        def finish(places: list[Index], column: Index, width: int) -> None:
            self.keep_strip(places, width, held(column, width))

        plan = self.plan
        self.strips(places, begin, end, start)
        self.over(plan.rows[len(plan.blocks) :], places, lambda at: self.strips(at, begin, end, take))
        self.strips(places, begin, end, finish)

    @property
    def reductions(self) -> list[Reduce]:
        """What a walk down columns reduces."""
        return [op for op in self.group.operations if isinstance(op, Reduce)]

    @property
    def height(self) -> int:
        """How many numbers each reduction of a column takes."""
        return self.group.size // (self.group.cols or 1) // self.group.blocks

    def strip_of_accumulators(
        self, width: int, memory: Mapping[Val, str] | None = None, place: Index = 0
    ) -> list[dict[Val, Accumulator]]:
        """What the vectors of a strip hold: in registers, or in memory from a place on."""
        code, lanes = self.code, self.plan.lanes
        return [
            {
                op.output: Accumulator(
                    code,
                    op.how,
                    op.output.kind,
                    lanes,
                    self.height,
                    memory[op.output] if memory else None,
                    code.plus(place, first) if memory else 0,
                )
                for op in self.reductions
            }
            for first in range(0, width, lanes)
        ]

    @staticmethod
    def begin(accumulators: Mapping[Val, Accumulator]) -> None:
        """Sets accumulators to what changes nothing."""
        for accumulator in accumulators.values():
            accumulator.start()

    def take_strip(self, places: list[Index], width: int, held: Sequence[dict[Val, Accumulator]]) -> None:
        """One row of a strip."""
        plan = self.plan
        for first, accumulators in zip(range(0, width, plan.lanes), held, strict=True):
            at = self.moved(places, plan.cols[-1], first)
            self.vector(self.group.operations, at, min(plan.lanes, width - first), accumulators)

    def keep_strip(self, places: list[Index], width: int, held: Sequence[dict[Val, Accumulator]]) -> None:
        """The results of a strip."""
        plan = self.plan
        for first, accumulators in zip(range(0, width, plan.lanes), held, strict=True):
            at = self.moved(places, plan.cols[-1], first)
            for val, accumulator in accumulators.items():
                self.keep(val, accumulator.vector(), at, min(plan.lanes, width - first))

    def accumulators(self, reductions: Sequence[Reduce], count: int) -> dict[Val, Accumulator]:
        """What reductions of so many numbers hold, at their start."""
        held = {op.output: Accumulator(self.code, op.how, op.output.kind, self.plan.lanes, count) for op in reductions}
        self.begin(held)
        return held

    # One vector

    def vector(
        self, ops: Sequence[Map | Reduce], places: list[Index], active: int | None, held: dict[Val, Accumulator]
    ) -> None:
        """Everything there is to do for one vector, of which the first `active` lanes count."""
        self.vectors = {}
        self.loaded = {}
        for op in ops:
            operands = [self.operand(view, places, active) for view in op.inputs]
            if isinstance(op, Reduce):
                held[op.output].take(operands[0], active)
                continue
            result = self.vectors[op.output] = self.computed(op, operands)
            self.keep(op.output, result, places, active)

    def computed(self, op: Map, operands: Sequence[Operand]) -> Operand:
        """The result of a map."""
        return LOWERINGS[op.name].write(self.code, *operands, **op.attrs)

    def operand(self, view: View, places: list[Index], active: int | None) -> Operand:
        """What an operation reads, in every lane."""
        val, lanes = view.val, self.plan.lanes
        if val.literal is not None:
            return self.code.constant(val.literal, val.kind, lanes)
        if val not in self.group.made:
            return self.read(self.plan.access_of(view), places, lanes, active)
        if val in self.group.per_row:
            return self.code.splat(self.scalars[val], lanes)
        if val in self.vectors:
            return self.vectors[val]
        return self.read(self.spilled.get(val) or self.plan.stored[val], places, lanes, active)

    def scalar(self, view: View, places: list[Index]) -> Operand:
        """What an operation on one number a row reads."""
        if view.val.literal is not None:
            return self.code.constant(view.val.literal, view.kind)
        if view.val in self.group.made:
            return self.scalars[view.val]
        return self.read(self.plan.access_of(view), places, 1, None)

    def step(self, access: Access) -> int:
        """How far apart adjacent lanes lie."""
        return access.strides[self.plan.cols[-1]] if self.plan.cols else 0

    def read(self, access: Access, places: list[Index], lanes: int, active: int | None) -> Operand:
        """A vector from memory."""
        at = self.number[id(access)]
        known = self.loaded.get(at)
        if known is not None:
            return known
        code, pointer, place, step = self.code, self.pointers[access.pointer], places[at], self.step(access)
        if lanes == 1 or step == 0:
            x = code.splat(code.load(pointer, place, access.kind), lanes)
        elif step == 1:
            x = code.load(pointer, place, access.kind, lanes, active)
        else:
            x = code.gather(pointer, place, step, access.kind, lanes, active or lanes)
        self.loaded[at] = x
        return x

    def keep(self, val: Val, x: Operand, places: list[Index], active: int | None) -> None:
        """Writes a result to memory if anybody reads it from there."""
        for access in (self.plan.stored.get(val), self.spilled.get(val)):
            if access is None:
                continue
            pointer, place, step = self.pointers[access.pointer], places[self.number[id(access)]], self.step(access)
            if x.lanes == 1 or step == 1:
                self.code.store(x, pointer, place, active)
            else:
                self.code.scatter(x, pointer, place, step, active or x.lanes)

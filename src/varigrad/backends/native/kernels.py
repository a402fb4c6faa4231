"""The kernels of a program: the text of each distinct one, and the calls of them, in segments between host calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from varigrad.backends.native.chains import CHAIN, Chain, Prepared, chain_text, find_chains
from varigrad.backends.native.code import Code
from varigrad.backends.native.entry import entry_text
from varigrad.backends.native.finishing import Finished
from varigrad.backends.native.fusion import Step, last_reads
from varigrad.backends.native.loops import write_pass
from varigrad.backends.native.machine import Library, vector_lanes
from varigrad.backends.native.operations import HostCall, Routine, Val
from varigrad.backends.native.passes import Pass
from varigrad.backends.native.places import Places
from varigrad.backends.native.runtime import runtime_text
from varigrad.backends.native.threads import worker_count
from varigrad.dtypes import Array

__all__ = ["Kernels", "Segment"]

_SHARED = 1 << 15  # elements computed from which on a step is shared with other threads
_AT_ONCE = 2  # registers that a pass fills together: the one computes while the other waits for its last result
_CHUNKS = 16  # for each thread, so that one that comes late leaves no gap
_LEAST = 1 << 13  # elements computed in a chunk: fewer do not pay for the asking


class Segment:
    """Kernels that run without Python: the NumPy kernel before them, and which arrays have come new by then."""

    def __init__(self, host: HostCall | None, first: int, last: int) -> None:
        self.host = host
        self.first = first
        self.last = last
        self.steps: list[int] = []  # as one thread takes them
        self.jobs: list[int] = []  # as several do
        self.is_large = False


class _Call(NamedTuple):
    """How a step calls its kernel: by name, with these arguments; its parts, how many a thread takes at a time (0: it
    is not shared), and how much there is to do."""

    name: str
    arguments: Array
    parts: int
    chunk: int
    work: int


class Kernels:
    """The text of each distinct kernel, and how each step calls its own."""

    def __init__(self, steps: Sequence[Step], places: Places) -> None:
        self.steps = steps
        self.places = places
        self.names: dict[Any, str] = {}
        self.calls: list[_Call | None] = []
        self.work = 0  # elements computed, in all
        declarations: set[str] = set()
        texts: list[str] = []
        threads = self.threads = worker_count() + 1
        self.memory: list[Array] = []  # the links of chains: the tables hold their addresses
        prepared = self._prepared()
        self.chains = find_chains(steps, prepared, threads) if threads > 1 else []
        places.plan_arena(steps, self.chains)
        for step, ready in zip(steps, prepared, strict=True):
            if ready is None:
                self.calls.append(None)
                continue
            code, values = ready
            addresses = [places.of(val, elements) for val, elements in values]
            key = code.key, len(addresses)  # some routines read one array more or less, such as what a check leaves
            name = self.names.get(key)
            if name is None:
                name = self.names[key] = f"kernel_{len(self.names)}"
                writer = Code(vector_lanes())
                pointers = [_pointer(writer, at) for at in range(len(addresses))]
                if isinstance(code, Pass):
                    write_pass(code, writer, pointers, "%begin", "%end")
                else:
                    code.write(writer, pointers, "%begin", "%end")
                texts.append(writer.function(name, "ptr %table, ptr %arguments, i64 %begin, i64 %end"))
                declarations |= writer.declarations
            arguments = [number for address in addresses for number in address]
            arguments += list(getattr(code, "numbers", ()))
            parts = step.parts if isinstance(step, Routine) else code.parts
            chunk = _chunk(parts, code.work, threads)
            self.calls.append(_Call(name, np.array(arguments, np.int64), parts, chunk, code.work))
            self.work += code.work
        chain = [chain_text()] if self.chains else []
        self.text = "\n".join([*sorted(declarations), runtime_text(), entry_text(), *chain, *texts])

    def _prepared(self) -> list[Prepared | None]:
        """The code of each step, and what it is called with."""
        slots = self.places.slot
        last_read = last_reads(self.steps)
        prepared: list[Prepared | None] = []
        for at, step in enumerate(self.steps):
            if isinstance(step, HostCall):
                prepared.append(None)
            elif isinstance(step, Routine):
                values = [(view.val.root, view.offset + view.val.start) for view in step.inputs]
                if isinstance(step.code, Finished):
                    prepared.append((step.code, values[:2] + step.code.pointers))
                else:
                    prepared.append((step.code, values + [(val.root, val.start) for val in step.outputs]))
            else:

                def read_outside(val: Val, at: int = at) -> bool:
                    return last_read.get(val, -1) > at or val in slots

                code = Pass(step, read_outside, _AT_ONCE * vector_lanes())
                prepared.append((code, code.pointers))
        return prepared

    def segments(self, library: Library) -> list[Segment]:
        """The segments, with tables of the steps: the kernel's address, that of its arguments, and the parts."""
        places = self.places
        found = [Segment(None, 1, places.first_hosted)]
        addresses = {name: library.address(name) for name in self.names.values()}
        chains = {chain.first: chain for chain in self.chains}
        following, chained = places.first_hosted, 0
        for at, (step, call) in enumerate(zip(self.steps, self.calls, strict=True)):
            if isinstance(step, HostCall):
                native = len([val for val in step.outputs if val.home is None])
                found.append(Segment(step, following, following + native))
                following += native
                continue
            assert call is not None
            row = [addresses[call.name], call.arguments.ctypes.data, call.parts, call.chunk]
            found[-1].steps += row
            if at in chains:
                row = self._job(chains[at], addresses, library.address(CHAIN))
                chained = chains[at].end
            elif at < chained:
                continue
            found[-1].jobs += row
            found[-1].is_large |= row[-1] > 0
        return found

    def _job(self, chain: Chain, addresses: Mapping[str, int], address: int) -> list[int]:
        """A chain as one row of the table."""
        calls = [call for call in self.calls[chain.first : chain.end] if call is not None]
        links = [len(calls)]
        for call in calls:
            links += [addresses[call.name], call.arguments.ctypes.data, call.parts // chain.parts]
        self.memory.append(np.array(links, np.int64))
        chunk = _chunk(chain.parts, sum([call.work for call in calls]), self.threads)
        return [address, self.memory[-1].ctypes.data, chain.parts, chunk]


def _chunk(parts: int, work: int, threads: int) -> int:
    """How many parts of a step a thread takes at a time; 0 if the step is not worth sharing."""
    if threads == 1 or parts < 2 or work < _SHARED:
        return 0
    return min(-(-parts // threads), max(1, parts // (threads * _CHUNKS), parts * _LEAST // work))


def _pointer(code: Code, at: int) -> str:
    """The address that the arguments give in this place."""
    place = code.fresh(f"getelementptr i64, ptr %arguments, i64 {2 * at}")
    slot = code.fresh(f"load i64, ptr {place}")
    following = code.fresh(f"getelementptr i64, ptr %arguments, i64 {2 * at + 1}")
    offset = code.fresh(f"load i64, ptr {following}")
    entry = code.fresh(f"getelementptr ptr, ptr %table, i64 {slot}")
    base = code.fresh(f"load ptr, ptr {entry}")
    return code.fresh(f"getelementptr i8, ptr {base}, i64 {offset}")

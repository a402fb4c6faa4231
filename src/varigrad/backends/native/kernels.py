"""The kernels of a program: the text of each distinct one, and the calls of them, in segments between host calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from varigrad.backends.native.code import Code
from varigrad.backends.native.entry import entry_text
from varigrad.backends.native.finishing import Finished
from varigrad.backends.native.fusion import Step, last_reads
from varigrad.backends.native.groups import Group
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
        self.steps: list[int] = []
        self.is_large = False


class Kernels:
    """The text of each distinct kernel, and how each step calls its own."""

    def __init__(self, steps: Sequence[Step], places: Places) -> None:
        self.steps = steps
        self.places = places
        self.names: dict[Any, str] = {}
        self.calls: list[tuple[str, list[int], int, int] | None] = []
        self.work = 0  # elements computed, in all
        declarations: set[str] = set()
        texts: list[str] = []
        last_read = last_reads(steps)
        threads = worker_count() + 1
        for at, step in enumerate(steps):
            if isinstance(step, HostCall):
                self.calls.append(None)
                continue
            code, addresses = self._prepared(step, at, last_read)
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
            self.calls.append((name, arguments, parts, _chunk(parts, code.work, threads)))
            self.work += code.work
        self.text = "\n".join([*sorted(declarations), runtime_text(), entry_text(), *texts])

    def _prepared(
        self, step: Group | Routine, at: int, last_read: Mapping[Val, int]
    ) -> tuple[Any, list[tuple[int, int]]]:
        if isinstance(step, Routine):
            views = step.inputs
            addresses = [self.places.of(view.val.root, view.offset + view.val.start) for view in views]
            if isinstance(step.code, Finished):
                return step.code, addresses[:2] + [self.places.of(val, at) for val, at in step.code.pointers]
            return step.code, addresses + [self.places.of(val.root, val.start) for val in step.outputs]
        slots = self.places.slot
        code = Pass(step, lambda val: last_read.get(val, -1) > at or val in slots, _AT_ONCE * vector_lanes())
        return code, [self.places.of(val, elements) for val, elements in code.pointers]

    def segments(self, library: Library) -> list[Segment]:
        """The segments, with tables of the steps: the kernel's address, that of its arguments, and the parts."""
        places = self.places
        found = [Segment(None, 1, places.first_hosted)]
        self.memory: list[Array] = []  # the arguments: the tables hold their addresses
        addresses = {name: library.address(name) for name in self.names.values()}
        following = places.first_hosted
        for step, call in zip(self.steps, self.calls, strict=True):
            if isinstance(step, HostCall):
                native = len([val for val in step.outputs if val.home is None])
                found.append(Segment(step, following, following + native))
                following += native
                continue
            assert call is not None
            name, arguments, parts, chunk = call
            memory = np.array(arguments, np.int64)
            self.memory.append(memory)
            found[-1].steps += [addresses[name], memory.ctypes.data, parts, chunk]
            found[-1].is_large |= chunk > 0
        return found


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

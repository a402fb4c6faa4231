"""Large matrix products where programs have no threads of their own: calls of the BLAS that SciPy ships, which has."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from varigrad.backends.native.code import F64, Code, Kind

__all__ = ["Product"]


@cache
def _function(name: str) -> int:
    """The address of a function of BLAS."""
    module: Any = import_module("scipy.linalg.cython_blas")  # SciPy loads when it is first needed
    api: Any = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    capsule = module.__pyx_capi__[name]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))


class Product(NamedTuple):
    """c[m, n] = a[m, k] b[k, n], `repeats` times; strides are in elements, a factor may lie transposed."""

    kind: Kind
    transpose_a: bool
    transpose_b: bool
    m: int
    n: int
    k: int
    lda: int
    ldb: int
    repeats: int = 1
    step_a: int = 0
    step_b: int = 0

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for routines whose code is the same."""
        return ("blas", self.kind)

    @property
    def numbers(self) -> Sequence[int]:
        """What the code finds after its pointers."""
        steps = [step * self.kind.size for step in (self.step_a, self.step_b, self.m * self.n)]
        flags = [ord("T" if flag else "N") for flag in (self.transpose_b, self.transpose_a)]
        name = "dgemm" if self.kind is F64 else "sgemm"
        return [_function(name), *flags, self.n, self.m, self.k, self.ldb, self.lda, self.n, *steps]

    @property
    def parts(self) -> int:
        """Into how many parts the work may be divided."""
        return self.repeats

    @property
    def work(self) -> int:
        """Not shared: BLAS has threads of its own."""
        return 0

    def write(self, code: Code, pointers: Sequence[str], begin: str, end: str) -> None:
        """Writes the calls. BLAS counts columns first: to it, this is the product of b and a, all transposed."""
        a, b, c = pointers
        number = [code.argument(2 * len(pointers) + at) for at in range(12)]
        memory = {at: _kept(code, "i8" if at < 3 else "i32", number[at]) for at in range(1, 9)}
        one, zero = (_constant(code, self.kind, value) for value in (1.0, 0.0))
        function = code.fresh(f"inttoptr i64 {number[0]} to ptr")
        with code.loop(begin, end) as index:
            at = [code.fresh(f"mul i64 {index}, {step}") for step in number[9:]]
            x, y, z = (code.fresh(f"getelementptr i8, ptr {p}, i64 {o}") for p, o in zip((a, b, c), at, strict=True))
            order = [memory[1], memory[2], memory[3], memory[4], memory[5], one, y, memory[6], x, memory[7], zero, z]
            code.run(f"call void {function}({', '.join([f'ptr {p}' for p in (*order, memory[8])])})")


def _kept(code: Code, type: str, value: str) -> str:
    """The address of a number of the function's own: BLAS takes everything by address."""
    memory = code.allocate_plain(type)
    code.run(f"store {type} {code.fresh(f'trunc i64 {value} to {type}')}, ptr {memory}")
    return memory


def _constant(code: Code, kind: Kind, value: float) -> str:
    memory = code.allocate(kind, 1)
    code.store(code.constant(value, kind), memory, 0)
    return memory

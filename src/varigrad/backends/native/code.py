"""The text of LLVM functions, written instruction by instruction.

Values are `Operand`s: a name or a literal, the kind of number and how many lanes. An instruction that computes
something already computed in the same block, or in one around it, gives that result again.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np

__all__ = ["BOOL", "F32", "F64", "I32", "I64", "KINDS", "Code", "Index", "Kind", "Operand", "kind_of"]

# A place or a count: known when the code is written, or the name of a 64-bit integer.
Index: TypeAlias = int | str


class Kind(NamedTuple):
    """A kind of number: LLVM's names for it in registers and in memory, and its size there in bytes."""

    char: str
    llvm: str
    memory: str
    size: int

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.char in "fd"


F32 = Kind("f", "float", "float", 4)
F64 = Kind("d", "double", "double", 8)
I32 = Kind("i", "i32", "i32", 4)
I64 = Kind("l", "i64", "i64", 8)  # bits of float64: no tensor holds it here
BOOL = Kind("?", "i1", "i8", 1)
KINDS = {"float32": F32, "float64": F64, "int32": I32, "bool": BOOL}
_OF_DTYPES: dict[np.dtype[Any], Kind] = {np.dtype(name): kind for name, kind in KINDS.items()}


def kind_of(dtype: np.dtype[Any]) -> Kind | None:
    """The kind of number that a dtype holds, or None where native code does not handle it."""
    return _OF_DTYPES.get(dtype)


class Operand(NamedTuple):
    """A value of so many lanes; one lane is a plain number."""

    name: str
    kind: Kind
    lanes: int

    @property
    def type(self) -> str:
        """LLVM's name of its type."""
        return vector_type(self.kind.llvm, self.lanes)


def vector_type(element: str, lanes: int) -> str:
    """LLVM's name of a vector, or of its element if there is one lane."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


class Code:
    """A function being written. `lanes` is how many floats a vector register holds."""

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.lines: list[str] = []
        self.allocations: list[str] = []
        self.declarations: set[str] = set()
        self._count = 0
        self._block = "entry"
        self._known: list[dict[str, str]] = [{}]

    # Instructions

    def run(self, text: str) -> None:
        """An instruction without a result."""
        self.lines.append(f"  {text}")

    def fresh(self, text: str) -> str:
        """The name of the result of an instruction that depends on memory."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def pure(self, text: str) -> str:
        """The name of the result of an instruction that depends on its operands alone."""
        for known in self._known:
            if text in known:
                return known[text]
        name = self._known[-1][text] = self.fresh(text)
        return name

    def call(self, intrinsic: str, result: str, arguments: Sequence[tuple[str, str]]) -> str:
        """A call of a pure function: its name, the type it returns, and types and names of arguments."""
        self.declare(intrinsic, result, [kind for kind, _ in arguments])
        return self.pure(f"call {result} @{intrinsic}({', '.join([f'{kind} {name}' for kind, name in arguments])})")

    def declare(self, name: str, result: str, arguments: Sequence[str]) -> None:
        """Notes that a function from outside is used."""
        self.declarations.add(f"declare {result} @{name}({', '.join(arguments)})")

    # Numbers

    def constant(self, value: float, kind: Kind, lanes: int = 1) -> Operand:
        """A number in every lane."""
        text = literal(value, kind)
        return Operand(text if lanes == 1 else f"splat ({kind.llvm} {text})", kind, lanes)

    def like(self, x: Operand, value: float) -> Operand:
        """A number in every lane, of the kind that x is."""
        return self.constant(value, x.kind, x.lanes)

    def _binary(self, instruction: str, a: Operand, b: Operand) -> Operand:
        return Operand(self.pure(f"{instruction} {a.type} {a.name}, {b.name}"), a.kind, a.lanes)

    def _arithmetic(self, instruction: str, a: Operand, b: Operand) -> Operand:
        return self._binary(f"f{instruction}" if a.kind.is_float else instruction, a, b)

    def add(self, a: Operand, b: Operand) -> Operand:
        """a + b."""
        return self._arithmetic("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Operand:
        """a - b."""
        return self._arithmetic("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Operand:
        """a * b."""
        return self._arithmetic("mul", a, b)

    def div(self, a: Operand, b: Operand) -> Operand:
        """a / b, of floats."""
        return self._binary("fdiv", a, b)

    def neg(self, x: Operand) -> Operand:
        """-x."""
        if x.kind.is_float:
            return Operand(self.pure(f"fneg {x.type} {x.name}"), x.kind, x.lanes)
        return self.sub(self.like(x, 0), x)

    def bits(self, instruction: str, a: Operand, b: Operand) -> Operand:
        """`and`, `or`, `xor`, `shl`, `ashr` … of integers or truth values."""
        return self._binary(instruction, a, b)

    def invert(self, mask: Operand) -> Operand:
        """Not."""
        return self.bits("xor", mask, self.constant(1 if mask.kind is BOOL else -1, mask.kind, mask.lanes))

    def intrinsic(self, name: str, *operands: Operand) -> Operand:
        """A function of LLVM on all lanes: `fma`, `sqrt`, `fabs`, `floor` …"""
        first = operands[0]
        suffix = {"f": "f32", "d": "f64", "i": "i32", "l": "i64", "?": "i1"}[first.kind.char]
        full = f"llvm.{name}.{suffix}" if first.lanes == 1 else f"llvm.{name}.v{first.lanes}{suffix}"
        return Operand(self.call(full, first.type, [(x.type, x.name) for x in operands]), first.kind, first.lanes)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Operand:
        """a * b + c, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def polynomial(self, x: Operand, coefficients: Sequence[float]) -> Operand:
        """The sum of coefficients[k] * x ** k."""
        total = self.like(x, coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.like(x, coefficient))
        return total

    def compare(self, predicate: str, a: Operand, b: Operand) -> Operand:
        """A comparison, of floats as LLVM names it (`olt`, `une` …), of integers by `eq`, `ne`, `slt` …"""
        word = "fcmp" if a.kind.is_float else "icmp"
        return Operand(self.pure(f"{word} {predicate} {a.type} {a.name}, {b.name}"), BOOL, a.lanes)

    def select(self, mask: Operand, a: Operand, b: Operand) -> Operand:
        """a where the mask is true, else b."""
        return Operand(
            self.pure(f"select {mask.type} {mask.name}, {a.type} {a.name}, {b.type} {b.name}"), a.kind, a.lanes
        )

    def any(self, mask: Operand) -> str:
        """Whether it is true in any lane: the name of one truth value."""
        if mask.lanes == 1:
            return mask.name
        bits = self.pure(f"bitcast {mask.type} {mask.name} to i{mask.lanes}")
        return self.pure(f"icmp ne i{mask.lanes} {bits}, 0")

    def convert(self, instruction: str, x: Operand, kind: Kind) -> Operand:
        """`bitcast`, `sitofp`, `zext`, `fpext` …"""
        target = vector_type(kind.llvm, x.lanes)
        return Operand(self.pure(f"{instruction} {x.type} {x.name} to {target}"), kind, x.lanes)

    def splat(self, x: Operand, lanes: int) -> Operand:
        """A number in every lane."""
        if x.lanes == lanes:
            return x
        target = vector_type(x.kind.llvm, lanes)
        if not x.name.startswith("%"):
            return Operand(f"splat ({x.kind.llvm} {x.name})", x.kind, lanes)
        one = self.pure(f"insertelement {target} poison, {x.type} {x.name}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return Operand(self.pure(f"shufflevector {target} {one}, {target} poison, {zeros}"), x.kind, lanes)

    def lane(self, x: Operand, index: int) -> Operand:
        """One lane as a plain number."""
        return Operand(self.pure(f"extractelement {x.type} {x.name}, i64 {index}"), x.kind, 1)

    def shuffle(self, a: Operand, b: Operand, order: Sequence[int]) -> Operand:
        """Lanes of a and, counted on from there, of b."""
        places = ", ".join([f"i32 {index}" for index in order])
        text = f"shufflevector {a.type} {a.name}, {b.type} {b.name}, <{len(order)} x i32> <{places}>"
        return Operand(self.pure(text), a.kind, len(order))

    # Places

    def plus(self, a: Index, b: Index) -> Index:
        """a + b."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.pure(f"add i64 {a}, {b}")

    def times(self, a: Index, factor: int) -> Index:
        """a * factor."""
        if isinstance(a, int):
            return a * factor
        return 0 if factor == 0 else a if factor == 1 else self.pure(f"mul i64 {a}, {factor}")

    def least(self, a: Index, b: Index) -> Index:
        """The smaller."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        smaller = self.pure(f"icmp slt i64 {a}, {b}")
        return self.pure(f"select i1 {smaller}, i64 {a}, i64 {b}")

    def at(self, pointer: str, place: Index, kind: Kind) -> str:
        """The address of an element."""
        return pointer if place == 0 else self.pure(f"getelementptr {kind.memory}, ptr {pointer}, i64 {place}")

    # Memory

    def load(self, pointer: str, place: Index, kind: Kind, lanes: int = 1, active: int | None = None) -> Operand:
        """`lanes` adjacent elements; with `active`, only the first so many, and zeros."""
        address = self.at(pointer, place, kind)
        memory = vector_type(kind.memory, lanes)
        if active is None or active == lanes:
            name = self.fresh(f"load {memory}, ptr {address}, align {kind.size}")
        else:
            name = self._masked("load", address, memory, kind, lanes, active)
        return self.from_memory(name, kind, lanes)

    def from_memory(self, name: str, kind: Kind, lanes: int) -> Operand:
        """A value as it is computed with, from one as it lies in memory."""
        if kind is BOOL:
            memory = vector_type(kind.memory, lanes)
            zero = "0" if lanes == 1 else "zeroinitializer"
            name = self.pure(f"icmp ne {memory} {name}, {zero}")
        return Operand(name, kind, lanes)

    def store(self, x: Operand, pointer: str, place: Index, active: int | None = None) -> None:
        """Writes x; with `active`, only its first so many lanes."""
        address = self.at(pointer, place, x.kind)
        memory = vector_type(x.kind.memory, x.lanes)
        name = self.pure(f"zext {x.type} {x.name} to {memory}") if x.kind is BOOL else x.name
        if active is None or active == x.lanes:
            self.run(f"store {memory} {name}, ptr {address}, align {x.kind.size}")
        else:
            self._masked("store", address, memory, x.kind, x.lanes, active, name)

    def _masked(self, what: str, address: str, memory: str, kind: Kind, lanes: int, active: int, name: str = "") -> str:
        mask = ", ".join([f"i1 {int(lane < active)}" for lane in range(lanes)])
        suffix = f"v{lanes}{ {'float': 'f32', 'double': 'f64'}.get(kind.memory, kind.memory) }.p0".replace(" ", "")
        flags = f"<{lanes} x i1>"
        if what == "load":
            self.declare(f"llvm.masked.load.{suffix}", memory, ["ptr", "i32", flags, memory])
            return self.fresh(
                f"call {memory} @llvm.masked.load.{suffix}(ptr {address}, i32 {kind.size}, {flags} <{mask}>, "
                f"{memory} zeroinitializer)"
            )
        self.declare(f"llvm.masked.store.{suffix}", "void", [memory, "ptr", "i32", flags])
        self.run(
            f"call void @llvm.masked.store.{suffix}({memory} {name}, ptr {address}, i32 {kind.size}, {flags} <{mask}>)"
        )
        return ""

    def prefetch(self, pointer: str, place: Index, kind: Kind) -> None:
        """Has the processor fetch an element that is soon wanted; beyond the end of an array nothing happens."""
        self.declarations.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.run(f"call void @llvm.prefetch.p0(ptr {self.at(pointer, place, kind)}, i32 0, i32 3, i32 1)")

    def gather(self, pointer: str, place: Index, step: int, kind: Kind, lanes: int, active: int) -> Operand:
        """Elements a step apart; zeros in the lanes after the first `active`."""
        vector = f"<{lanes} x {kind.llvm}>"
        name = "zeroinitializer"
        for lane in range(active):
            one = self.load(pointer, self.plus(place, lane * step), kind)
            name = self.pure(f"insertelement {vector} {name}, {kind.llvm} {one.name}, i64 {lane}")
        return Operand(name, kind, lanes)

    def scatter(self, x: Operand, pointer: str, place: Index, step: int, active: int) -> None:
        """Writes the first `active` lanes, a step apart."""
        for lane in range(active):
            self.store(self.lane(x, lane), pointer, self.plus(place, lane * step))

    def allocate(self, kind: Kind, count: int, lanes: int = 1) -> str:
        """Memory of the function's own, aligned to a vector; LLVM keeps single values in registers."""
        self._count += 1
        name = f"%m{self._count}"
        self.allocations.append(f"  {name} = alloca {vector_type(kind.memory, lanes)}, i64 {count}, align 64")
        return name

    def argument(self, at: int) -> str:
        """An integer that the function is called with, behind the addresses of its pointers."""
        place = self.fresh(f"getelementptr i64, ptr %arguments, i64 {at}")
        return self.fresh(f"load i64, ptr {place}")

    def allocate_plain(self, type: str) -> str:
        """Memory of the function's own for one number of any type of LLVM's."""
        self._count += 1
        name = f"%m{self._count}"
        self.allocations.append(f"  {name} = alloca {type}")
        return name

    # Control

    @contextmanager
    def loop(self, start: Index, stop: Index, step: int = 1) -> Generator[Index]:
        """Runs what is written inside for start, start + step … below stop."""
        fixed = isinstance(start, int) and isinstance(stop, int)
        if fixed and start + step >= stop > start:  # pyright: ignore[reportOperatorIssue]
            yield start
            return
        self._count += 1
        label = self._count
        before = self._block
        if fixed and start < stop:  # pyright: ignore[reportOperatorIssue]
            self.run(f"br label %body{label}")
        else:
            first = self.pure(f"icmp slt i64 {start}, {stop}")
            self.run(f"br i1 {first}, label %body{label}, label %end{label}")
        self._open(f"body{label}")
        index = f"%i{label}"
        place = len(self.lines)
        self.lines.append("")
        self._known.append({})
        yield index
        self._known.pop()
        following = self.fresh(f"add nsw i64 {index}, {step}")
        again = self.fresh(f"icmp slt i64 {following}, {stop}")
        self.run(f"br i1 {again}, label %body{label}, label %end{label}")
        self.lines[place] = f"  {index} = phi i64 [{start}, %{before}], [{following}, %{self._block}]"
        self._open(f"end{label}")

    @contextmanager
    def when(self, condition: str) -> Generator[None]:
        """Runs what is written inside if a truth value is true."""
        self._count += 1
        label = self._count
        self.run(f"br i1 {condition}, label %then{label}, label %end{label}")
        self._open(f"then{label}")
        self._known.append({})
        yield
        self._known.pop()
        self.run(f"br label %end{label}")
        self._open(f"end{label}")

    def _open(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self._block = label

    def function(self, name: str, parameters: str) -> str:
        """The text of the whole function."""
        body = "\n".join([*self.allocations, *self.lines])
        return f"define void @{name}({parameters}) {{\nentry:\n{body}\n  ret void\n}}\n"


def literal(value: float, kind: Kind) -> str:
    """A number as LLVM reads it, exactly."""
    if kind is BOOL:
        return "true" if value else "false"
    if not kind.is_float:
        return str(int(value))
    rounded = float(np.float32(value)) if kind is F32 else float(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"

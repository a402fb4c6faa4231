"""How ops take their arguments: conversion to tensors, dtype agreement, axes, broadcasting, and the errors for each."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from varigrad.dtypes import MAX_RANK, DType, as_numpy, dtype_name, kind_of, numpy_dtype, promote, to_array
from varigrad.engine import NO_ATTRS, Attrs, make_tensor, run_kernel
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "MOST_VALUES",
    "NUMERIC",
    "REAL",
    "TensorLike",
    "accept",
    "accept_floats",
    "binary",
    "broadcast_shapes",
    "cast_to",
    "common_shape",
    "convert",
    "convert_each",
    "convert_floating",
    "convert_integers",
    "floating_unary",
    "holds_tensors",
    "normalize_axes",
    "normalize_axis",
    "normalize_shape",
    "of_rank",
    "operands",
    "require_floating",
    "reshape_to",
    "unary",
]

# Anything that an op takes where it says tensor: a tensor, a number, nested sequences, a NumPy array, a pandas object.
TensorLike: TypeAlias = Any


# More than this, of 16 bytes each, cannot be addressed.
MOST_VALUES = sys.maxsize // 16


def convert(value: TensorLike, op: str, argument: str, dtype: str | None = None) -> Tensor:
    """The tensor behind an argument; of dtype `dtype` where that is given. Tensors in a list are stacked."""
    if isinstance(value, Tensor):
        if dtype is None or value.dtype == dtype:
            return value
        if "string" in (value.dtype, dtype) or value.dtype == "complex64":
            raise TypeError(f"{op}: {argument} is {value.dtype}, which cannot become {dtype}")
        return cast_to(value, dtype)
    if holds_tensors(value):
        return convert(_stack(value, op, argument), op, argument, dtype)
    if value is None:
        raise TypeError(f"{op}: {argument} must be a tensor or an array, got None")
    return make_tensor(to_array(value, dtype, op, argument))


# The NumPy kinds that an argument may have, for `accept`.
NUMERIC = "fic"
REAL = "fi"
ORDERED = "fib"
_WANTED = {
    NUMERIC: "numeric",
    "fc": "numeric",
    "i": "integer",
    "b": "bool (compare numbers first, as in x != 0)",
}


def accept(value: TensorLike, op: str, argument: str, kinds: str) -> Tensor:
    """The tensor behind an argument, of one of the NumPy kinds given.

    Bools become int32, and integers float32, where the kinds hold these but not their own. Where only bools are wanted,
    numbers that are no tensor yet are taken for them, all but 0 as True; a tensor must be bool.

    Raises:
        TypeError: strings where numbers are wanted, complex numbers where real ones are.
    """
    x = convert(value, op, argument, "bool" if kinds == "b" and not isinstance(value, Tensor) else None)
    kind = kind_of(x.storage.dtype)
    if kind in kinds:
        return x
    if kind == "b" and "i" in kinds:
        return cast_to(x, "int32")
    if kind in "bi" and "f" in kinds:
        return cast_to(x, "float32")
    raise TypeError(f"{op}: {argument} must be {_WANTED.get(kinds, 'real')}, got {x.dtype}")


def holds_tensors(value: TensorLike, depth: int = MAX_RANK) -> bool:
    """Whether tensors are among the items of nested lists or tuples, which are not looked for deeper than `depth`."""
    if not isinstance(value, (list, tuple)) or not depth:
        return False
    items = cast("Sequence[Any]", value)
    kinds: set[type] = set(map(type, items))
    if any(issubclass(kind, Tensor) for kind in kinds):
        return True
    nested = any(issubclass(kind, (list, tuple)) for kind in kinds)
    return nested and any(holds_tensors(item, depth - 1) for item in items)


def _stack(items: Sequence[TensorLike], op: str, argument: str) -> Tensor:
    """Nested lists with tensors in them as one tensor, through which gradients flow."""
    parts = convert_each(items, op, argument)
    dtype = parts[0].dtype
    for place, part in enumerate(parts):
        dtype = promote(dtype, part.dtype, op)
        if part.shape != parts[0].shape:
            raise ValueError(
                f"{op}: {argument} is ragged: item 0 has shape {format_shape(parts[0].shape)}, "
                f"item {place} has {format_shape(part.shape)}"
            )
    if parts[0].rank == MAX_RANK:
        raise ValueError(f"{op}: {argument} is nested too deep; tensors have {MAX_RANK} axes at most")
    return run_kernel("Pack", tuple([convert(part, op, argument, dtype) for part in parts]), {"axis": 0})


def convert_each(items: Iterable[TensorLike], op: str, argument: str) -> list[Tensor]:
    """The tensors behind the items of a list; numbers beside a tensor take its dtype."""
    items = list(items)
    first = next((item for item in items if isinstance(item, Tensor)), None)
    return [
        convert(item, op, f"{argument}[{place}]") if first is None else _beside(first, item, op, f"{argument}[{place}]")
        for place, item in enumerate(items)
    ]


def convert_floating(value: TensorLike, op: str, argument: str) -> Tensor:
    """The tensor behind an argument, as float32 where it holds integers or bools."""
    return accept(value, op, argument, "fc")


def require_floating(value: TensorLike, op: str, argument: str) -> Tensor:
    """The tensor behind an argument that must hold real floating-point numbers already.

    Raises:
        TypeError: it holds others; integers, such as pixels, are for the caller to cast and to scale.
    """
    x = convert(value, op, argument)
    if kind_of(x.storage.dtype) != "f":
        raise TypeError(f"{op}: {argument} must be floating, got {x.dtype}; cast it with .cast('float32')")
    return x


def accept_floats(value: TensorLike, op: str, argument: str, kinds: str = "f") -> Tensor:
    """`accept` for an op that TensorFlow.js keeps from integer and bool tensors; what is no tensor yet becomes float32.

    Raises:
        TypeError: a tensor of integers or bools, which is for the caller to cast.
    """
    if isinstance(value, Tensor) and value.storage.dtype.kind in "bi":
        raise TypeError(f"{op}: {argument} must be floating, got {value.dtype}; cast it with .cast('float32')")
    return accept(value, op, argument, kinds)


def convert_integers(value: TensorLike, op: str, argument: str) -> Tensor:
    """The tensor behind an argument that holds integers, such as indices: int32 or int64; bools become int32.

    Raises:
        TypeError: the values are neither; a float tensor is never rounded in silence.
    """
    if isinstance(value, Tensor):
        kind = value.storage.dtype.kind
        if kind == "i":
            return value
        if kind == "b":
            return cast_to(value, "int32")
        found = f"{value.dtype} tensor; cast it with .cast('int32')"
    elif value is None:
        found = "None"
    elif holds_tensors(value):
        return convert_integers(_stack(value, op, argument), op, argument)
    else:
        array = as_numpy(value, op, argument)
        if array.dtype.kind in "iub" or not array.size:
            return make_tensor(to_array(array, "int32", op, argument))
        found = f"{array.dtype} values"
    raise TypeError(f"{op}: {argument} must hold integers, got {found}")


def of_rank(op: str, rank: int, x: TensorLike, argument: str = "x") -> Tensor:
    """The tensor behind an argument that must have a certain rank."""
    x = convert(x, op, argument)
    if x.rank != rank:
        raise ValueError(f"{op}: {argument} must have rank {rank}, got shape {format_shape(x.shape)}")
    return x


def cast_to(x: Tensor, dtype: str) -> Tensor:
    """`x` in another dtype."""
    return run_kernel("Cast", (x,), {"dtype": dtype})


def reshape_to(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`x` with its values in another shape, which they fill."""
    return run_kernel("Reshape", (x,), {"shape": shape})


def operands(op: str, a: TensorLike, b: TensorLike) -> tuple[Tensor, Tensor]:
    """Two arguments as tensors of one dtype.

    A Python number adopts the other's dtype where that can hold its kind (a float beside an int32 tensor makes both
    float32); otherwise the wider dtype wins.
    """
    if isinstance(a, Tensor):
        b = _beside(a, b, op, "b")
    elif isinstance(b, Tensor):
        a = _beside(b, a, op, "a")
    else:
        a, b = convert(a, op, "a"), convert(b, op, "b")
    if a.storage.dtype == b.storage.dtype:
        return a, b
    dtype = promote(a.dtype, b.dtype, op)
    return convert(a, op, "a", dtype), convert(b, op, "b", dtype)


def _beside(tensor: Tensor, value: TensorLike, op: str, argument: str) -> Tensor:
    """An argument as a tensor, its dtype chosen by the tensor it meets if it is a Python number."""
    if isinstance(value, Tensor):
        return value
    dtype = tensor.storage.dtype
    adopted_by = "fc" if isinstance(value, float) else "fci" if isinstance(value, int) else ""
    if kind_of(dtype) not in adopted_by or isinstance(value, bool):
        return convert(value, op, argument)
    try:
        return make_tensor(np.array(value, dtype))
    except (OverflowError, RuntimeWarning):
        pass  # too large for the dtype: becomes infinite, or an error that says so
    return convert(value, op, argument, dtype_name(dtype))


def binary(kernel: str, op: str, a: TensorLike, b: TensorLike, kinds: str = NUMERIC) -> Tensor:
    """Runs a kernel of two broadcast operands of one dtype, whose NumPy kind is one of `kinds` (see `accept`)."""
    if not (
        isinstance(a, Tensor)
        and isinstance(b, Tensor)
        and a.storage.dtype is b.storage.dtype
        and a.storage.dtype.kind in kinds
    ):
        if kinds != "b":
            a, b = operands(op, a, b)
        if kinds == "b" or kind_of(a.storage.dtype) not in kinds:
            a, b = accept(a, op, "a", kinds), accept(b, op, "b", kinds)
    try:
        return run_kernel(kernel, (a, b))
    except ValueError:
        broadcast_shapes(op, a.shape, b.shape)
        raise


def unary(kernel: str, op: str, x: TensorLike, attrs: Attrs = NO_ATTRS, kinds: str = "fc") -> Tensor:
    """Runs an elementwise kernel of numbers whose NumPy kind is one of `kinds` (see `accept`)."""
    if not (isinstance(x, Tensor) and x.storage.dtype.kind in kinds):
        x = accept(x, op, "x", kinds)
    return run_kernel(kernel, (x,), attrs)


def floating_unary(kernel: str, op: str, x: TensorLike, attrs: Attrs = NO_ATTRS, kinds: str = "fc") -> Tensor:
    """`unary` for an op that TensorFlow.js keeps from integer and bool tensors (see `accept_floats`)."""
    if not (isinstance(x, Tensor) and x.storage.dtype.kind in kinds):
        x = accept_floats(x, op, "x", kinds)
    return run_kernel(kernel, (x,), attrs)


def broadcast_shapes(op: str, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which tensors of shapes `a` and `b` broadcast."""
    shape = common_shape(a, b)
    if shape is None:
        raise ValueError(f"{op}: a and b cannot be broadcast together (a: {format_shape(a)}, b: {format_shape(b)})")
    return shape


def common_shape(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape to which tensors of these shapes broadcast together; None if they don't."""
    try:
        return np.broadcast_shapes(*shapes)
    except (ValueError, RuntimeError):  # the latter for too many axes
        return None


def normalize_axis(op: str, axis: Any, rank: int, argument: str = "axis") -> int:
    """An axis counted from the front; negative ones count from the back."""
    try:
        position = operator.index(axis)
    except TypeError:
        raise TypeError(f"{op}: {argument} must be an integer, got {axis!r:.80}") from None
    if not -rank <= position < rank:
        raise ValueError(f"{op}: {argument} {position} is out of range for a tensor of rank {rank}")
    return position % rank


def normalize_shape(op: str, shape: Any, argument: str = "shape") -> tuple[int, ...]:
    """A shape as a tuple of ints, none of them negative."""
    try:
        lengths = tuple([operator.index(n) for n in shape])
    except TypeError:
        raise TypeError(f"{op}: {argument} must be a list of integers, got {shape!r:.80}") from None
    if lengths and (min(lengths) < 0 or max(lengths) > MOST_VALUES or math.prod(lengths) > MOST_VALUES):
        wrong = "has a negative length" if min(lengths) < 0 else "is more than any memory can hold"
        raise ValueError(f"{op}: {argument} {format_shape(lengths)} {wrong}")
    if len(lengths) > MAX_RANK:
        raise ValueError(f"{op}: {argument} has {len(lengths)} lengths; tensors have {MAX_RANK} axes at most")
    return lengths


def normalize_axes(op: str, axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order; None means all of them."""
    if axis is None:
        return tuple(range(rank))
    if isinstance(axis, int):
        return (axis % rank if -rank <= axis < rank else normalize_axis(op, axis, rank),)
    given = axis if isinstance(axis, (list, tuple)) else (axis,)
    axes = tuple(sorted(normalize_axis(op, a, rank) for a in given))
    if len(set(axes)) != len(axes):
        raise ValueError(f"{op}: axis {list(given)} names an axis twice")
    return axes


def check_dtype(op: str, dtype: str) -> DType:
    """A dtype name, checked."""
    return dtype_name(numpy_dtype(dtype, op))

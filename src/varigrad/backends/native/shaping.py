"""Lowering of what only moves numbers: other views where possible, copies where not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

from varigrad.backends.native.builder import Builder
from varigrad.backends.native.code import KINDS
from varigrad.backends.native.operations import Shape, Val, View, whole

__all__ = ["RULES"]


def _identity(b: Builder, x: View) -> View:
    return x


def _reshape(b: Builder, x: View, shape: Shape) -> View:
    return b.reshape(x, tuple(shape))


def _transpose(b: Builder, x: View, perm: Sequence[int]) -> View:
    return x.permuted(perm)


def _broadcast_to(b: Builder, x: View, shape: Shape) -> View:
    return x.broadcast(tuple(shape))


def _reverse(b: Builder, x: View, dims: Sequence[int]) -> View:
    begin = [x.shape[axis] - 1 if axis in dims else 0 for axis in range(len(x.shape))]
    return x.part(begin, x.shape, [-1 if axis in dims else 1 for axis in range(len(x.shape))])


def _tile(b: Builder, x: View, reps: Sequence[int]) -> View:
    once = b.reshape(x, tuple(n for length in x.shape for n in (1, length)))
    repeated = once.broadcast(tuple(n for pair in zip(reps, x.shape) for n in pair))
    return b.reshape(repeated, tuple(r * n for r, n in zip(reps, x.shape)))


def _slice(b: Builder, x: View, begin: Sequence[int], size: Shape) -> View:
    return x.part(begin, tuple(size))


def _strided_slice(
    b: Builder, x: View, begin: Sequence[int], size: Shape, strides: Sequence[int], shape: Shape
) -> View:
    return b.reshape(x.part(begin, tuple(size), strides), tuple(shape))


def _strided_slice_put(
    b: Builder, dy: View, begin: Sequence[int], size: Shape, strides: Sequence[int], shape: Shape
) -> View:
    return b.padded(b.reshape(dy, tuple(size)), begin, tuple(shape), 0, strides)


def _pad(b: Builder, x: View, paddings: Sequence[tuple[int, int]], constant_value: float) -> View:
    shape = tuple(before + n + after for n, (before, after) in zip(x.shape, paddings))
    return b.padded(x, [before for before, _ in paddings], shape, constant_value, [1] * len(shape))


def _concat(b: Builder, *parts: View, axis: int) -> View:
    first = parts[0].shape
    ends = list(accumulate([part.shape[axis] for part in parts]))
    shape = (*first[:axis], ends[-1], *first[axis + 1 :])
    root = Val(shape, parts[0].kind)
    pairs: list[tuple[View, View]] = []
    for part, end in zip(parts, ends):
        begin = [0] * len(shape)
        begin[axis] = end - part.shape[axis]
        pairs.append((part, whole(root).part(begin, part.shape)))
    return b.assemble(pairs, root)


def _pack(b: Builder, *parts: View, axis: int) -> View:
    shape = (*parts[0].shape[:axis], 1, *parts[0].shape[axis:])
    return _concat(b, *[b.reshape(part, shape) for part in parts], axis=axis)


def _split(b: Builder, x: View, sizes: Sequence[int], axis: int) -> list[View]:
    parts: list[View] = []
    for size, end in zip(sizes, accumulate(sizes)):
        begin = [0] * len(x.shape)
        begin[axis] = end - size
        parts.append(x.part(begin, (*x.shape[:axis], size, *x.shape[axis + 1 :])))
    return parts


def _unpack(b: Builder, x: View, axis: int) -> list[View]:
    rest = (*x.shape[:axis], *x.shape[axis + 1 :])
    return [b.reshape(part, rest) for part in _split(b, x, [1] * x.shape[axis], axis)]


def _cast(b: Builder, x: View, dtype: str) -> View | None:
    kind = KINDS.get(dtype)
    return None if kind is None else b.cast(x, kind)


def _filled(value: float) -> Callable[[Builder, View], View]:
    return lambda b, x: b.number(value, x.kind).broadcast(x.shape)


def _fill(b: Builder, shape: Shape, value: Any, dtype: str) -> View | None:
    kind = KINDS.get(dtype)
    return None if kind is None else b.number(value, kind).broadcast(tuple(shape))


RULES: dict[str, Callable[..., Any]] = {
    "BroadcastTo": _broadcast_to,
    "Cast": _cast,
    "Concat": _concat,
    "Fill": _fill,
    "Identity": _identity,
    "OnesLike": _filled(1),
    "Pack": _pack,
    "PadV2": _pad,
    "Reshape": _reshape,
    "Reverse": _reverse,
    "Slice": _slice,
    "SplitV": _split,
    "StridedSlice": _strided_slice,
    "StridedSlicePut": _strided_slice_put,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unpack": _unpack,
    "ZerosLike": _filled(0),
}

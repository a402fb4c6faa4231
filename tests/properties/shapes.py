"""Making tensors, and changing their shape and layout: all exact."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .draw import Draw
from .operation import Case, Op, differs, empty, has

_ANY = "fibcs"


def _any(low: int = 0, high: int = 4, kinds: str = _ANY) -> Callable[[Draw], tuple[Any, ...]]:
    return lambda d: (d.array(d.shape(low, high), kinds),)


# Making


def _zeros(shape: Any, dtype: str) -> Any:
    return np.zeros(shape, dtype)


def _filled(d: Draw) -> tuple[Any, ...]:
    return list(d.shape()), *d.one_of((d.number(-3, 3), "float32"), (d.integer(-3, 3), "int32"), (d.chance(), "bool"))


def _one_hot(indices: Any, depth: int, on: float, off: float, dtype: str) -> Any:
    return np.where(indices[..., None] == np.arange(depth), on, off).astype({"float32": np.float64}.get(dtype, dtype))


def _ranged(d: Draw) -> tuple[Any, ...]:
    dtype = d.one_of("float32", "int32")
    step = d.one_of(1, 2, -1, -2, 0.5 if dtype == "float32" else 3)
    return d.integer(-6, 6), d.integer(-6, 6), step, dtype


def _range(start: Any, stop: Any, step: Any, dtype: str) -> Any:
    step = -1 if step == 1 and stop < start else step
    return np.arange(start, stop, step, np.float64).astype(np.float64 if dtype == "float32" else np.int32)


def _diag(x: Any) -> Any:
    return np.diag(x.ravel()).reshape(x.shape * 2)


def _of_rank(rank: int) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        shape = d.shape(rank, rank, 1)
        values = d.array(shape, "fib")
        dtype = {"f": "float32", "i": "int32", "b": "bool"}[values.dtype.kind]
        if rank == 1:
            return values.tolist(), dtype
        return values.ravel().tolist(), list(shape), dtype

    return draw


def _given(values: Any, *rest: Any) -> Any:
    *shape, dtype = rest
    return np.array(values, {"float32": np.float64}.get(dtype, dtype)).reshape(*shape or [-1])


# Shapes


def _reshaped(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(), _ANY)
    shape = d.random.permutation(x.shape).astype(int).tolist()
    if len(shape) > 1 and d.chance():
        shape = [shape[0] * shape[1], *shape[2:]]
    if x.size and d.chance(0.4):
        place = d.integer(0, len(shape))
        shape = [*shape[:place], -1, *shape[place + 1 :]]
    return x, shape


def _squeezed(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(), _ANY)
    ones = [axis for axis, n in enumerate(x.shape) if n == 1]
    if not ones or d.chance(0.4):
        return x, None
    return x, [ones[place] - (x.ndim if d.chance(0.3) else 0) for place in d.some_of(len(ones), 1)]


def _broadcast(d: Draw) -> tuple[Any, ...]:
    shape = d.shape()
    return d.array(d.broadcasting(shape), "fib"), list(shape)


def _two_shapes(d: Draw) -> tuple[Any, ...]:
    shape = d.shape()
    return tuple(np.array(s, np.int32) for s in (shape, d.broadcasting(shape)))


def _reversed(rank: int | None) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        x = d.array(d.shape() if rank is None else d.shape(rank, rank), _ANY)
        axes = d.axes(x.ndim)
        return x, d.one_of(axes, None)

    return draw


def _reverse(x: Any, axis: Any = None) -> Any:
    return np.flip(x, tuple(axis) if isinstance(axis, list) else axis)


def _cast(x: Any, dtype: str) -> Any:
    return (x.real if x.dtype.kind == "c" and dtype != "complex64" else x).astype(_WIDE[dtype])


_WIDE: dict[str, Any] = {"float32": np.float64, "int32": np.int32, "bool": bool, "complex64": np.complex128}


# Margins


def _padded(rank: int | None) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        x = d.array(d.shape(1) if rank is None else d.shape(rank, rank), "fi")
        pairs = [[d.integer(0, 2), d.integer(0, 2)] for _ in x.shape]
        return x, pairs[0] if rank == 1 else pairs, d.integer(-2, 2)

    return draw


def _pad(x: Any, pairs: Any, value: Any) -> Any:
    return np.pad(x, pairs, constant_values=value)


def _mirrored(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1, 4, 1), "fi")
    mode = d.one_of("reflect", "symmetric")
    most = [n - (mode == "reflect") for n in x.shape]
    return x, [[d.integer(0, min(n, 2)), d.integer(0, min(n, 2))] for n in most], mode


def _blocks(d: Draw) -> tuple[tuple[int, ...], list[int], list[list[int]], tuple[int, ...]]:
    """The shape of images cut into blocks, the blocks, and margins that make them whole."""
    count = d.integer(1, 2)
    blocks = [d.integer(1, 3) for _ in range(count)]
    lengths = [d.length(1) for _ in blocks]
    pairs = []
    for n, block in zip(lengths, blocks):
        before = d.integer(0, 2)
        pairs.append([before, -(n + before) % block])
    return (d.length(1), *lengths, *d.shape(0, 2, 1)), blocks, pairs, tuple(lengths)


def _to_batch(d: Draw) -> tuple[Any, ...]:
    shape, blocks, pairs, _ = _blocks(d)
    return d.array(shape, "fi"), blocks, pairs


def _space_to_batch(x: Any, blocks: Any, pairs: Any) -> Any:
    x = np.pad(x, [(0, 0), *pairs, *[(0, 0)] * (x.ndim - 1 - len(blocks))])
    cells = np.ndindex(*blocks)
    return np.concatenate([x[(slice(None), *(slice(c, None, b) for c, b in zip(cell, blocks)))] for cell in cells])


def _from_batch(d: Draw) -> tuple[Any, ...]:
    shape, blocks, pairs, _ = _blocks(d)
    x = _space_to_batch(d.array(shape, "fi"), blocks, pairs)
    return x, blocks, pairs


def _batch_to_space(x: Any, blocks: Any, crops: Any) -> Any:
    batch = len(x) // math.prod(blocks)
    lengths = [n * b for n, b in zip(x.shape[1:], blocks)]
    result = np.zeros((batch, *lengths, *x.shape[1 + len(blocks) :]), x.dtype)
    for number, cell in enumerate(np.ndindex(*blocks)):
        place = (slice(None), *(slice(c, None, b) for c, b in zip(cell, blocks)))
        result[place] = x[number * batch : (number + 1) * batch]
    return result[(slice(None), *(slice(before, n - after) for (before, after), n in zip(crops, lengths)))]


def _deep(d: Draw) -> tuple[Any, ...]:
    block, data_format = d.integer(2, 3), d.one_of("NHWC", "NCHW")
    batch, height, width, depth = (d.length(1) for _ in range(4))
    channels = block * block * depth
    shape = (batch, height, width, channels) if data_format == "NHWC" else (batch, channels, height, width)
    return d.floats(shape), block, data_format


def _depth_to_space(x: Any, block: int, data_format: str) -> Any:
    x = x if data_format == "NHWC" else np.moveaxis(x, 1, 3)
    batch, height, width, channels = x.shape
    result = np.zeros((batch, height * block, width * block, channels // block**2))
    for cell in range(block * block):
        part = x[..., cell * result.shape[3] : (cell + 1) * result.shape[3]]
        result[:, cell // block :: block, cell % block :: block] = part
    return result if data_format == "NHWC" else np.moveaxis(result, 3, 1)


def _banded(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(2, 4), "fib")
    return x, d.integer(-1, x.shape[-2]), d.integer(-1, x.shape[-1])


def _band(x: Any, lower: int, upper: int) -> Any:
    row, column = np.indices(x.shape[-2:])
    inside = ((lower < 0) | (row - column <= lower)) & ((upper < 0) | (column - row <= upper))
    return np.where(inside, x, np.zeros((), x.dtype))


def _mesh(d: Draw) -> Case:
    vectors = [d.array((d.length(1),), "fi") for _ in range(2)]
    return Case(tuple(vectors), {"indexing": d.one_of("xy", "ij")})


_DTYPES = ("float32", "int32", "bool")
_NUMBERS_ONLY = differs("TensorFlow.js takes neither strings nor complex numbers", has("Oc"))
_NO_REALS = differs("TensorFlow.js takes complex numbers only", has("f"))

TABLE = [
    Op("zeros", lambda d: (list(d.shape()), d.one_of(*_DTYPES)), _zeros),
    Op("ones", lambda d: (list(d.shape()), d.one_of(*_DTYPES)), lambda shape, dtype: np.ones(shape, dtype)),
    Op("fill", _filled, lambda shape, value, dtype: np.full(shape, value, dtype)),
    Op("zeros_like", _any(kinds="fib"), np.zeros_like),
    Op("ones_like", _any(kinds="fib"), np.ones_like),
    Op(
        "one_hot",
        lambda d: (
            d.integers(d.shape(0, 3)),
            d.integer(1, 6),
            d.integer(-2, 2),
            d.integer(-2, 2),
            d.one_of("float32", "int32"),
        ),
        _one_hot,
        differs=differs("TensorFlow.js takes a depth of 2 or more", lambda case: case.args[1] < 2),
    ),
    Op(
        "linspace",
        lambda d: (d.number(-3, 3), d.number(-3, 3), d.integer(1, 9)),
        np.linspace,
        ulps=8,
        size=lambda start, stop, num: abs(start) + abs(stop),
    ),
    Op(
        "range",
        _ranged,
        _range,
        differs=differs(
            "steps that lead away from the end give nothing; TensorFlow.js goes on",
            lambda case: (case.args[1] - case.args[0]) * case.args[2] < 0,
        ),
    ),
    Op(
        "eye",
        lambda d: (d.integer(0, 4), d.integer(0, 4), list(d.shape(0, 2)), d.one_of(*_DTYPES)),
        lambda n, m, batch, dtype: np.broadcast_to(np.eye(n, m, dtype=dtype), (*batch, n, m)),
        differs=differs("TensorFlow.js takes one or two batch axes", lambda case: not 1 <= len(case.args[2]) <= 2),
    ),
    Op("diag", lambda d: (d.array(d.shape(1, 3), "fib"),), _diag),
    Op("meshgrid", _mesh, lambda *vectors, indexing: tuple(np.meshgrid(*vectors, indexing=indexing))),
    Op("complex", lambda d: tuple(d.floats(shape) for shape in [d.shape()] * 2), lambda a, b: a + 1j * b),
    Op("real", _any(kinds="fc"), np.real, differs=_NO_REALS),
    Op("imag", _any(kinds="fc"), np.imag, differs=_NO_REALS),
    Op(
        "scalar",
        lambda d: d.one_of((d.number(-3, 3), "float32"), (d.integer(-9, 9), "int32"), (d.chance(), "bool")),
        lambda value, dtype: np.array(value, dtype),
    ),
    *[Op(f"tensor{rank}d", _of_rank(rank), _given) for rank in range(1, 7)],
    Op("tensor", _of_rank(3), _given),
    Op("cast", lambda d: (d.array(d.shape(), "fibc"), d.one_of(*_DTYPES, "complex64")), _cast),
    Op("clone", _any(), np.copy, gradients=(0,)),
    Op("reshape", _reshaped, np.reshape, gradients=(0,)),
    Op(
        "expand_dims", lambda d: (x := d.array(d.shape(0, 3), _ANY), d.axis(x.ndim + 1)), np.expand_dims, gradients=(0,)
    ),
    Op("squeeze", _squeezed, lambda x, axis: np.squeeze(x, tuple(axis) if axis else None), gradients=(0,)),
    Op(
        "ensure_shape",
        lambda d: (x := d.array(d.shape(), _ANY), [d.one_of(n, None) for n in x.shape]),
        lambda x, shape: x,
    ),
    Op(
        "transpose",
        lambda d: (x := d.array(d.shape(), _ANY), d.one_of(None, d.random.permutation(x.ndim).tolist())),
        np.transpose,
        gradients=(0,),
        differs=_NUMBERS_ONLY,
    ),
    Op(
        "broadcast_to",
        _broadcast,
        np.broadcast_to,
        gradients=(0,),
        differs=differs("TensorFlow.js does not broadcast to what is empty", lambda case: 0 in case.args[1]),
    ),
    Op("broadcast_args", _two_shapes, lambda a, b: np.array(np.broadcast_shapes(a, b), np.int32)),
    Op("reverse", _reversed(None), _reverse, gradients=(0,), differs=_NUMBERS_ONLY),
    Op("reverse1d", lambda d: (d.array(d.shape(1, 1), _ANY),), _reverse, differs=_NUMBERS_ONLY),
    *[Op(f"reverse{rank}d", _reversed(rank), _reverse, differs=_NUMBERS_ONLY) for rank in (2, 3, 4)],
    Op(
        "tile",
        lambda d: (x := d.array(d.shape(), _ANY), [d.integer(0, 3) for _ in x.shape]),
        np.tile,
        gradients=(0,),
        differs=_NUMBERS_ONLY,
        gradient_differs=differs("TensorFlow.js has none of scalars", lambda case: not case.args[0].ndim),
    ),
    Op("pad", _padded(None), _pad, gradients=(0,)),
    *[Op(f"pad{rank}d", _padded(rank), _pad) for rank in (1, 2, 3, 4)],
    Op("mirror_pad", _mirrored, lambda x, pairs, mode: np.pad(x, pairs, mode)),
    Op("space_to_batch_nd", _to_batch, _space_to_batch, gradients=(0,)),
    Op("batch_to_space_nd", _from_batch, _batch_to_space, gradients=(0,)),
    Op(
        "depth_to_space",
        _deep,
        _depth_to_space,
        differs=differs("TensorFlow.js has it for channels last only", lambda case: case.args[2] == "NCHW"),
    ),
    Op("linalg.band_part", _banded, _band, differs=differs("TensorFlow.js fails", empty)),
]

"""Taking parts of tensors, and joining them: all exact."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .draw import Draw
from .operation import Case, Op, differs, empty, has

_ANY = "fibcs"

# Blocks


def _block(rank: int | None) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        x = d.array(d.shape(1) if rank is None else d.shape(rank, rank), _ANY)
        begin = [d.integer(0, n) for n in x.shape]
        size = [d.one_of(-1, d.integer(0, n - b)) for b, n in zip(begin, x.shape)]
        return (x, begin[0], size[0]) if rank == 1 else (x, begin, size)

    return draw


def _slice(x: Any, begin: Any, size: Any) -> Any:
    pairs = zip(np.atleast_1d(begin), np.atleast_1d(size))
    return x[tuple(slice(b, None if n == -1 else b + n) for b, n in pairs)]


def _strided(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1, 4, 1), "fib")
    places = d.integer(1, x.ndim)
    lengths = x.shape[:places]
    begin = [d.integer(-n, n - 1) for n in lengths]
    end = [d.integer(-n, n) for n in lengths]
    strides = [d.one_of(1, 1, 2, -1, -2) for _ in lengths]
    masks = [d.integer(0, 2**places - 1) if d.chance(0.4) else 0 for _ in range(2)]
    shrink = d.integer(0, 2**places - 1) if d.chance(0.3) else 0
    new_axes = d.integer(0, 2**places - 1) if d.chance(0.2) and not shrink else 0
    strides = [1 if shrink >> i & 1 else step for i, step in enumerate(strides)]
    return x, begin, end, strides, *masks, 0, new_axes, shrink


def _strided_slice(
    x: Any, begin: Any, end: Any, strides: Any, begin_mask: int, end_mask: int, _: int, new: int, shrink: int
) -> Any:
    key: list[Any] = []
    for place, (first, last, step) in enumerate(zip(begin, end, strides)):
        bit = 1 << place
        part = slice(None if begin_mask & bit else first, None if end_mask & bit else last, step)
        key.append(None if new & bit else first if shrink & bit else part)
    return x[tuple(key)]


def _steps_meet_masks(case: Case) -> bool:
    """Whether there are steps other than 1 beside single indices, or backwards beside masks; or the result is empty."""
    _, _, _, strides, begin_mask, end_mask, _, _, shrink = case.args
    stepping = shrink and any(step != 1 for step in strides)
    backwards = (begin_mask or end_mask) and min(strides) < 0
    return bool(stepping or backwards or not _strided_slice(*case.args).size)


# By index


def _gathered(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1, 4, 1), _ANY)
    axis = d.axis(x.ndim)
    batch = d.integer(0, min(axis % x.ndim, 2)) if d.chance(0.4) else 0
    shape = (*x.shape[:batch], *d.shape(0, 2))
    return x, d.integers(shape, 0, x.shape[axis] - 1), axis, batch


def _gather(x: Any, indices: Any, axis: int, batch: int) -> Any:
    axis %= x.ndim
    if not batch:
        return np.take(x, indices, axis)
    parts = [_gather(each, i, axis - 1, batch - 1) for each, i in zip(x, indices)]
    return np.array(parts, x.dtype)


def _tuples(d: Draw, shape: tuple[int, ...], repeated: bool) -> Any:
    """Index tuples into a shape, all different where not `repeated`."""
    depth = d.integer(1, len(shape))
    count = math.prod(shape[:depth])
    rows = d.length()
    flat = d.random.integers(0, count, rows) if repeated else d.random.permutation(count)[:rows]
    return np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(np.int32).reshape(-1, depth)


def _tupled(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1, 4, 1), _ANY)
    return x, _tuples(d, x.shape, True)


def _scattered(d: Draw) -> tuple[Any, ...]:
    shape = d.shape(1, 4, 1)
    indices = _tuples(d, shape, True)
    return indices, d.array((len(indices), *shape[indices.shape[1] :]), "fi"), list(shape)


def _scatter(indices: Any, updates: Any, shape: Any) -> Any:
    result = np.zeros(shape, updates.dtype)
    np.add.at(result, tuple(indices.T), updates)
    return result


def _updated(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1, 4, 1), "fib")
    indices = _tuples(d, x.shape, False)
    return x, indices, d.array((len(indices), *x.shape[indices.shape[1] :]), x.dtype.kind)


def _update(x: Any, indices: Any, updates: Any) -> Any:
    result = x.copy()
    result[tuple(indices.T)] = updates
    return result


def _masked(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1), _ANY)
    axis = d.integer(0, x.ndim - 1)
    return x, d.bools(x.shape[axis : axis + d.integer(1, x.ndim - axis)]), axis


def _mask(x: Any, mask: Any, axis: int) -> Any:
    return x[(slice(None),) * axis + (mask,)]


# Joining


def _joined(rank: int | None) -> Callable[[Draw], tuple[Any, ...]]:
    def draw(d: Draw) -> tuple[Any, ...]:
        shape = d.shape(1) if rank is None else d.shape(rank, rank)
        axis = d.axis(len(shape))
        kinds = d.one_of("f", "i", "b", "s", "c", "fib")
        place = axis % len(shape)
        parts = [d.array((*shape[:place], d.length(), *shape[place + 1 :]), kinds) for _ in range(d.integer(1, 4))]
        return (parts,) if rank == 1 else (parts, axis)

    return draw


def _stacked(d: Draw) -> tuple[Any, ...]:
    shape, kind = d.shape(0, 3), d.one_of(*_ANY)
    return [d.array(shape, kind) for _ in range(d.integer(1, 4))], d.axis(len(shape) + 1)


def _split(d: Draw) -> tuple[Any, ...]:
    x = d.array(d.shape(1), _ANY)
    axis = d.axis(x.ndim)
    length = x.shape[axis]
    if d.chance() and length:
        return x, d.one_of(*[n for n in range(1, length + 1) if length % n == 0]), axis
    cuts = sorted(d.integer(0, length) for _ in range(d.integer(0, 3)))
    sizes = np.diff([0, *cuts, length]).tolist()
    if d.chance(0.3):
        sizes[d.integer(0, len(sizes) - 1)] = -1
    return x, sizes, axis


def _unstacked(x: Any, axis: int) -> Any:
    return tuple(np.moveaxis(x, axis, 0))


def _parts(x: Any, sizes: Any, axis: int) -> Any:
    if isinstance(sizes, int):
        return tuple(np.split(x, sizes, axis))
    known = [n for n in sizes if n != -1]
    sizes = [x.shape[axis] - sum(known) if n == -1 else n for n in sizes]
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis))


_NUMBERS_ONLY = differs("TensorFlow.js takes neither strings nor complex numbers", has("Oc"))
_ONE_DTYPE = differs(
    "the result has the widest dtype, in TensorFlow.js the first",
    lambda case: len({array.dtype for array in case.arrays()}) > 1,
)
_NOTHING_LEFT = differs(
    "TensorFlow.js takes no -1 where nothing is left",
    lambda case: empty(case) or (np.ndim(case.args[1]) and -1 in case.args[1]),
)

TABLE = [
    Op("slice", _block(None), _slice, gradients=(0,), differs=_NUMBERS_ONLY),
    *[Op(f"slice{rank}d", _block(rank), _slice, differs=_NUMBERS_ONLY) for rank in (1, 2, 3, 4)],
    Op(
        "strided_slice",
        _strided,
        _strided_slice,
        differs=differs("TensorFlow.js begins or ends elsewhere, or fails", _steps_meet_masks),
    ),
    Op(
        "gather",
        _gathered,
        _gather,
        gradients=(0,),
        differs=_NUMBERS_ONLY,
        gradient_differs=differs(
            "TensorFlow.js has it for batches wrongly or not at all", lambda case: case.args[3] > 0
        ),
    ),
    Op("gather_nd", _tupled, lambda x, indices: x[tuple(indices.T)], differs=_NUMBERS_ONLY),
    Op("scatter_nd", _scattered, _scatter, ulps=16, size="terms"),
    Op("tensor_scatter_update", _updated, _update),
    Op("boolean_mask", _masked, _mask, javascript="only as a promise"),
    Op("boolean_mask_async", _masked, _mask, differs=_NUMBERS_ONLY),
    Op("where_async", lambda d: (d.bools(d.shape()),), lambda x: np.argwhere(x).astype(np.int32)),
    Op("concat", _joined(None), lambda parts, axis: np.concatenate(parts, axis), differs=_NUMBERS_ONLY + _ONE_DTYPE),
    Op("concat1d", _joined(1), np.concatenate, differs=_ONE_DTYPE),
    *[
        Op(
            f"concat{rank}d",
            _joined(rank),
            lambda parts, axis: np.concatenate(parts, axis),
            differs=_NUMBERS_ONLY + _ONE_DTYPE,
        )
        for rank in (2, 3, 4)
    ],
    Op("stack", _stacked, lambda parts, axis: np.stack(parts, axis), differs=_NUMBERS_ONLY),
    Op(
        "split",
        _split,
        _parts,
        gradients=(0,),
        differs=_NUMBERS_ONLY + _NOTHING_LEFT,
        gradient_differs=differs(
            "TensorFlow.js fails at a single part",
            lambda case: case.args[1] == 1 or len(np.atleast_1d(case.args[1])) == 1 != case.args[1],
        ),
    ),
    Op(
        "unstack",
        lambda d: (x := d.array(d.shape(1, 4, 1), _ANY), d.axis(x.ndim)),
        _unstacked,
        gradients=(0,),
        differs=_NUMBERS_ONLY,
        gradient_differs=differs(
            "TensorFlow.js fails at a single part", lambda case: case.args[0].shape[case.args[1]] == 1
        ),
    ),
]

"""Taking parts of tensors by name, and putting them back; `x[key]` is in `indexing`."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import (
    TensorLike,
    accept,
    convert,
    convert_integers,
    normalize_axis,
    normalize_shape,
    of_rank,
    reshape_to,
)
from varigrad.ops.indexing import get_item
from varigrad.ops.options import integer, integers
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "boolean_mask",
    "boolean_mask_async",
    "gather",
    "gather_nd",
    "scatter_nd",
    "slice",
    "slice1d",
    "slice2d",
    "slice3d",
    "slice4d",
    "strided_slice",
    "tensor_scatter_update",
    "where_async",
]


# Blocks.


def slice(x: TensorLike, begin: int | Sequence[int], size: int | Sequence[int] | None = None) -> Tensor:
    """A block of the values. Mirrors `tf.slice`; `x[1:3]` is the Python way.

    Args:
        x: Any shape of rank 1 or more, any dtype.
        begin: Where the block begins on each axis; 0 on axes that are not given.
        size: How long it is on each axis; -1, and axes that are not given, mean up to the end.

    Raises:
        ValueError: The block is not inside `x`.

    >>> import varigrad as vg
    >>> vg.slice([[1, 2, 3], [4, 5, 6]], [0, 1], [2, -1]).tolist()
    [[2.0, 3.0], [5.0, 6.0]]
    """
    x = convert(x, "slice", "x")
    if not x.rank:
        raise ValueError("slice: x is a scalar, which has no axis to slice along")
    return _slice("slice", x, begin, size)


def _slice(op: str, x: Tensor, begin: int | Sequence[int], size: int | Sequence[int] | None) -> Tensor:
    start, sizes = block_of(op, x.shape, begin, size)
    return run_kernel("Slice", (x,), {"begin": start, "size": sizes})


def block_of(
    op: str, shape: tuple[int, ...], begin: int | Sequence[int], size: int | Sequence[int] | None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where a block begins and how long it is on each axis, checked to lie inside a tensor of that shape."""
    start = _for_each_axis(op, "begin", begin, shape, 0)
    length = _for_each_axis(op, "size", -1 if size is None else size, shape, -1)
    sizes = tuple([n - b if count == -1 else count for n, b, count in zip(shape, start, length, strict=True)])
    for axis, (n, b, count) in enumerate(zip(shape, start, sizes, strict=True)):
        if not (0 <= b <= n and 0 <= count <= n - b):
            raise ValueError(
                f"{op}: begin {b} and size {length[axis]} on axis {axis} reach outside x, which is {n} long there "
                f"(x: {format_shape(shape)})"
            )
    return start, sizes


def _for_each_axis(
    op: str, argument: str, given: int | Sequence[int], shape: tuple[int, ...], default: int
) -> tuple[int, ...]:
    try:
        values = [operator.index(v) for v in ([given] if isinstance(given, int) else given)]
    except TypeError:
        raise TypeError(f"{op}: {argument} must be an integer or a list of integers, got {given!r:.80}") from None
    if len(values) > len(shape):
        raise ValueError(f"{op}: {argument} has {len(values)} numbers but x has {len(shape)} axes")
    return (*values, *[default] * (len(shape) - len(values)))


def slice1d(x: TensorLike, begin: int, size: int | None = None) -> Tensor:
    """`vg.slice` of a vector. Mirrors `tf.slice1d`.

    >>> import varigrad as vg
    >>> vg.slice1d([1, 2, 3, 4], 1, 2).tolist()
    [2.0, 3.0]
    """
    return _slice("slice1d", of_rank("slice1d", 1, x), begin, size)


def slice2d(x: TensorLike, begin: int | Sequence[int], size: int | Sequence[int] | None = None) -> Tensor:
    """`vg.slice` of a tensor of rank 2. Mirrors `tf.slice2d`.

    >>> import varigrad as vg
    >>> vg.slice2d([[1, 2], [3, 4]], [0, 1], [2, 1]).tolist()
    [[2.0], [4.0]]
    """
    return _slice("slice2d", of_rank("slice2d", 2, x), begin, size)


def slice3d(x: TensorLike, begin: int | Sequence[int], size: int | Sequence[int] | None = None) -> Tensor:
    """`vg.slice` of a tensor of rank 3. Mirrors `tf.slice3d`.

    >>> import varigrad as vg
    >>> vg.slice3d([[[1, 2], [3, 4]]], [0, 1, 0], [1, 1, 2]).tolist()
    [[[3.0, 4.0]]]
    """
    return _slice("slice3d", of_rank("slice3d", 3, x), begin, size)


def slice4d(x: TensorLike, begin: int | Sequence[int], size: int | Sequence[int] | None = None) -> Tensor:
    """`vg.slice` of a tensor of rank 4. Mirrors `tf.slice4d`.

    >>> import varigrad as vg
    >>> vg.slice4d([[[[1, 2, 3]]]], [0, 0, 0, 1], [1, 1, 1, 2]).tolist()
    [[[[2.0, 3.0]]]]
    """
    return _slice("slice4d", of_rank("slice4d", 4, x), begin, size)


def strided_slice(
    x: TensorLike,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int] | None = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> Tensor:
    """What `x[begin:end:stride, ...]` gives, written with lists and bit masks. Mirrors `tf.stridedSlice`.

    Args:
        x: Any shape and dtype.
        begin: Where to begin, one number for each place of the index; negative ones count from the back.
        end: Where to stop, of the same length.
        strides: The steps, of the same length; by default 1.
        begin_mask: Bit i set: `begin[i]` is left out, as in `x[:end]`.
        end_mask: Bit i set: `end[i]` is left out, as in `x[begin:]`.
        ellipsis_mask: Bit i set: place i is an ellipsis, `...`.
        new_axis_mask: Bit i set: place i is a new axis of length 1.
        shrink_axis_mask: Bit i set: place i is the single index `begin[i]`, and its axis goes.

    Raises:
        ValueError: A stride of 0, several ellipses, or more places than axes.

    >>> import varigrad as vg
    >>> vg.strided_slice([[1, 2, 3], [4, 5, 6]], [0, 2], [2, 0], [1, -1]).tolist()
    [[3.0, 2.0], [6.0, 5.0]]
    """
    op = "strided_slice"
    begins, ends = integers(op, "begin", begin, None), integers(op, "end", end, None)
    steps = (1,) * len(begins) if strides is None else integers(op, "strides", strides, None)
    if not len(begins) == len(ends) == len(steps):
        raise ValueError(
            f"{op}: begin, end and strides must be of one length, got {len(begins)}, {len(ends)} and {len(steps)}"
        )
    begin_mask, end_mask = integer(op, "begin_mask", begin_mask), integer(op, "end_mask", end_mask)
    ellipsis_mask = integer(op, "ellipsis_mask", ellipsis_mask)
    new_axis_mask = integer(op, "new_axis_mask", new_axis_mask)
    shrink_axis_mask = integer(op, "shrink_axis_mask", shrink_axis_mask)
    key: list[Any] = []
    for place, (first, last, step) in enumerate(zip(begins, ends, steps, strict=True)):
        bit = 1 << place
        if ellipsis_mask & bit:
            key.append(...)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(first)
        else:
            key.append(builtins.slice(None if begin_mask & bit else first, None if end_mask & bit else last, step))
    return get_item(convert(x, op, "x"), tuple(key), op)


# By index.


def gather(x: TensorLike, indices: TensorLike, axis: int = 0, batch_dims: int = 0) -> Tensor:
    """The slices of `x` along an axis that `indices` name, in their order. Mirrors `tf.gather`.

    Args:
        x: Rank 1 or more, any dtype.
        indices: Integers from 0 to `x.shape[axis] - 1`, any shape.
        axis: The axis to take from.
        batch_dims: How many leading axes `x` and `indices` share; each batch takes by its own indices. A negative
            number counts from the rank of `indices`.

    Returns:
        Shape `[*x.shape[:axis], *indices.shape[batch_dims:], *x.shape[axis + 1:]]`.

    Raises:
        OutOfRangeError: An index is outside the axis. Negative ones are; `x[indices]` takes them.
        TypeError: The indices are not integers.
        ValueError: The batch axes differ.

    >>> import varigrad as vg
    >>> vg.gather([[1, 2], [3, 4], [5, 6]], [2, 0]).tolist()
    [[5.0, 6.0], [1.0, 2.0]]
    >>> vg.gather([[1, 2, 3], [4, 5, 6]], [[0, 1], [2, 0]], axis=1, batch_dims=1).tolist()
    [[1.0, 2.0], [6.0, 4.0]]
    """
    x = convert(x, "gather", "x")
    indices = convert_integers(indices, "gather", "indices")
    if not x.rank:
        raise ValueError("gather: x is a scalar, which has no axis to take from")
    axis = normalize_axis("gather", axis, x.rank)
    if batch_dims.__class__ is not int or batch_dims:
        batch_dims = integer("gather", "batch_dims", batch_dims, least=-indices.rank)
        if batch_dims < 0:
            batch_dims += indices.rank
        batch_dims = normalize_axis("gather", batch_dims, indices.rank + 1, "batch_dims")
        if batch_dims > axis:
            raise ValueError(f"gather: batch_dims {batch_dims} must not exceed axis {axis}")
        if x.shape[:batch_dims] != indices.shape[:batch_dims]:
            raise ValueError(
                f"gather: the first {batch_dims} axes of x and indices differ "
                f"(x: {format_shape(x.shape)}, indices: {format_shape(indices.shape)})"
            )
    return run_kernel("GatherV2", (x, indices), {"axis": axis, "batch_dims": batch_dims})


def gather_nd(x: TensorLike, indices: TensorLike) -> Tensor:
    """The elements or slices of `x` at index tuples. Mirrors `tf.gatherND`.

    Args:
        x: Any shape and dtype.
        indices: Integers `[..., depth]`; each row indexes the first `depth` axes of `x`.

    Returns:
        Shape `[*indices.shape[:-1], *x.shape[depth:]]`.

    Raises:
        OutOfRangeError: An index is outside its axis.
        ValueError: The rows are longer than x's rank.

    >>> import varigrad as vg
    >>> vg.gather_nd([[1, 2], [3, 4]], [[0, 0], [1, 1]]).tolist()
    [1.0, 4.0]
    """
    x = convert(x, "gather_nd", "x")
    indices = convert_integers(indices, "gather_nd", "indices")
    _check_depth("gather_nd", "x", x.shape, indices)
    return run_kernel("GatherNd", (x, indices))


def scatter_nd(indices: TensorLike, updates: TensorLike, shape: Sequence[int]) -> Tensor:
    """Zeros in a shape, with each update added at its index tuple; those for one place add up. Mirrors `tf.scatterND`.

    Args:
        indices: Integers `[..., depth]`; each row indexes the first `depth` axes of the result. A vector is so many
            rows of one number.
        updates: Shape `[*indices.shape[:-1], *shape[depth:]]`.
        shape: The shape of the result.

    Raises:
        OutOfRangeError: An index is outside its axis.
        ValueError: The updates are of another shape.

    >>> import varigrad as vg
    >>> vg.scatter_nd([[1], [3], [1]], [5, 6, 7], [4]).tolist()
    [0.0, 12.0, 0.0, 6.0]
    """
    indices = _rows(convert_integers(indices, "scatter_nd", "indices"))
    updates = convert(updates, "scatter_nd", "updates")
    target = normalize_shape("scatter_nd", shape)
    _check_updates("scatter_nd", "shape", target, indices, updates)
    return run_kernel("ScatterNd", (indices, updates), {"shape": target})


def tensor_scatter_update(x: TensorLike, indices: TensorLike, updates: TensorLike) -> Tensor:
    """The values with those at index tuples replaced; the last of several for one place stays.

    Mirrors `tf.tensorScatterUpdate`.

    Args:
        x: Any shape.
        indices: Integers `[..., depth]`; each row indexes the first `depth` axes of `x`. A vector is so many rows of
            one number.
        updates: Of x's dtype and shape `[*indices.shape[:-1], *x.shape[depth:]]`.

    Raises:
        OutOfRangeError: An index is outside its axis.
        ValueError: The updates are of another shape or dtype.

    >>> import varigrad as vg
    >>> vg.tensor_scatter_update([1, 2, 3, 4], [[1], [3]], [10, 20]).tolist()
    [1.0, 10.0, 3.0, 20.0]
    """
    x = convert(x, "tensor_scatter_update", "x")
    indices = _rows(convert_integers(indices, "tensor_scatter_update", "indices"))
    updates = convert(updates, "tensor_scatter_update", "updates")
    if updates.dtype != x.dtype:
        raise TypeError(f"tensor_scatter_update: x is {x.dtype} but updates are {updates.dtype}; cast one of them")
    _check_updates("tensor_scatter_update", "x", x.shape, indices, updates)
    return run_kernel("TensorScatterUpdate", (x, indices, updates))


def _rows(indices: Tensor) -> Tensor:
    """The index tuples to scatter by; numbers in a vector are tuples of one."""
    return reshape_to(indices, (indices.size, 1)) if indices.rank == 1 else indices


def _check_depth(op: str, indexed: str, shape: tuple[int, ...], indices: Tensor) -> int:
    if not indices.rank:
        raise ValueError(f"{op}: indices must be index tuples [..., depth], got one number")
    depth = indices.shape[-1]
    if depth > len(shape):
        raise ValueError(
            f"{op}: the index tuples are {depth} long but {indexed} has {len(shape)} axes "
            f"({indexed}: {format_shape(shape)}, indices: {format_shape(indices.shape)})"
        )
    return depth


def _check_updates(op: str, indexed: str, shape: tuple[int, ...], indices: Tensor, updates: Tensor) -> None:
    depth = _check_depth(op, indexed, shape, indices)
    expected = indices.shape[:-1] + shape[depth:]
    if updates.shape != expected:
        raise ValueError(
            f"{op}: updates must have shape {format_shape(expected)}, got {format_shape(updates.shape)} "
            f"({indexed}: {format_shape(shape)}, indices: {format_shape(indices.shape)})"
        )


def boolean_mask(x: TensorLike, mask: TensorLike, axis: int = 0) -> Tensor:
    """The parts of `x` where a mask is true; `x[mask]` is the Python way. Mirrors `tf.booleanMaskAsync`.

    Args:
        x: Any shape and dtype.
        mask: Bools, rank 1 or more, of the shape that `x` has from `axis` on.
        axis: The first axis that the mask covers.

    Returns:
        A tensor in which one axis, as long as the mask has true places, stands for the axes covered.

    Raises:
        ValueError: The mask is a scalar or of another shape.

    >>> import varigrad as vg
    >>> vg.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True]).tolist()
    [[1.0, 2.0], [5.0, 6.0]]
    """
    x = convert(x, "boolean_mask", "x")
    mask = convert(mask, "boolean_mask", "mask", "bool")
    axis = normalize_axis("boolean_mask", axis, x.rank) if x.rank else 0
    if not mask.rank or x.shape[axis : axis + mask.rank] != mask.shape:
        raise ValueError(
            f"boolean_mask: the mask must have the shape that x has from axis {axis} on "
            f"(x: {format_shape(x.shape)}, mask: {format_shape(mask.shape)})"
        )
    return get_item(x, (builtins.slice(None),) * axis + (mask,))


async def boolean_mask_async(x: TensorLike, mask: TensorLike, axis: int = 0) -> Tensor:
    """`boolean_mask` as a coroutine, for code that mirrors TensorFlow.js.

    >>> import asyncio
    >>> import varigrad as vg
    >>> asyncio.run(vg.boolean_mask_async([1, 2, 3], [True, False, True])).tolist()
    [1.0, 3.0]
    """
    return boolean_mask(x, mask, axis)


async def where_async(condition: TensorLike) -> Tensor:
    """The index tuples of the true places, in row-major order. Mirrors `tf.whereAsync`.

    Args:
        condition: Bools, any shape.

    Returns:
        int32 `[places, rank]`.

    Raises:
        TypeError: A tensor that is not bool.

    >>> import asyncio
    >>> import varigrad as vg
    >>> asyncio.run(vg.where_async([[True, False], [False, True]])).tolist()
    [[0, 0], [1, 1]]
    """
    places = np.argwhere(np.asarray(accept(condition, "where_async", "condition", "b")))
    return make_tensor(places.astype(np.int32, order="C"))

"""Taking parts of tensors, and putting them back."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import as_numpy
from varigrad.engine import make_tensor, run_kernel
from varigrad.errors import OutOfRangeError
from varigrad.ops.arguments import (
    TensorLike,
    convert,
    convert_integers,
    normalize_axis,
    normalize_shape,
    of_rank,
    reshape_to,
)
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

_Slice = builtins.slice
_range = builtins.range
_ALL = _Slice(None)


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
    shape = x.shape
    if not shape:
        raise ValueError("slice: x is a scalar, which has no axis to slice along")
    start = _for_each_axis("begin", begin, shape, 0)
    length = _for_each_axis("size", -1 if size is None else size, shape, -1)
    sizes = tuple([n - b if count == -1 else count for n, b, count in zip(shape, start, length, strict=True)])
    for axis, (n, b, count) in enumerate(zip(shape, start, sizes, strict=True)):
        if not (0 <= b <= n and 0 <= count <= n - b):
            raise ValueError(
                f"slice: begin {b} and size {length[axis]} on axis {axis} reach outside x, which is {n} long there "
                f"(x: {format_shape(shape)})"
            )
    return run_kernel("Slice", (x,), {"begin": start, "size": sizes})


def _for_each_axis(argument: str, given: int | Sequence[int], shape: tuple[int, ...], default: int) -> tuple[int, ...]:
    try:
        values = [operator.index(v) for v in ([given] if isinstance(given, int) else given)]
    except TypeError:
        raise TypeError(f"slice: {argument} must be an integer or a list of integers, got {given!r}") from None
    if len(values) > len(shape):
        raise ValueError(f"slice: {argument} has {len(values)} numbers but x has {len(shape)} axes")
    return (*values, *[default] * (len(shape) - len(values)))


def slice1d(x: TensorLike, begin: int, size: int | None = None) -> Tensor:
    """`vg.slice` of a vector. Mirrors `tf.slice1d`."""
    return slice(of_rank("slice1d", 1, x), begin, size)


def slice2d(x: TensorLike, begin: int | Sequence[int], size: int | Sequence[int] | None = None) -> Tensor:
    """`vg.slice` of a tensor of rank 2. Mirrors `tf.slice2d`."""
    return slice(of_rank("slice2d", 2, x), begin, size)


def slice3d(x: TensorLike, begin: int | Sequence[int], size: int | Sequence[int] | None = None) -> Tensor:
    """`vg.slice` of a tensor of rank 3. Mirrors `tf.slice3d`."""
    return slice(of_rank("slice3d", 3, x), begin, size)


def slice4d(x: TensorLike, begin: int | Sequence[int], size: int | Sequence[int] | None = None) -> Tensor:
    """`vg.slice` of a tensor of rank 4. Mirrors `tf.slice4d`."""
    return slice(of_rank("slice4d", 4, x), begin, size)


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
    steps = [1] * len(begin) if strides is None else strides
    if not len(begin) == len(end) == len(steps):
        raise ValueError(
            f"strided_slice: begin, end and strides must be of one length, got {len(begin)}, {len(end)} and "
            f"{len(steps)}"
        )
    key: list[Any] = []
    for place, (first, last, step) in enumerate(zip(begin, end, steps, strict=True)):
        bit = 1 << place
        if ellipsis_mask & bit:
            key.append(...)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(first)
        else:
            key.append(_Slice(None if begin_mask & bit else first, None if end_mask & bit else last, step))
    return get_item(convert(x, "strided_slice", "x"), tuple(key))


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
    if batch_dims:
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
    return get_item(x, (_ALL,) * axis + (mask,))


async def boolean_mask_async(x: TensorLike, mask: TensorLike, axis: int = 0) -> Tensor:
    """`boolean_mask` as a coroutine, for code that mirrors TensorFlow.js."""
    return boolean_mask(x, mask, axis)


async def where_async(condition: TensorLike) -> Tensor:
    """The index tuples of the true places, in row-major order. Mirrors `tf.whereAsync`.

    Args:
        condition: Bools, any shape.

    Returns:
        int32 `[places, rank]`.

    >>> import asyncio
    >>> import varigrad as vg
    >>> asyncio.run(vg.where_async([[True, False], [False, True]])).tolist()
    [[0, 0], [1, 1]]
    """
    places = np.argwhere(np.asarray(convert(condition, "where_async", "condition", "bool")))
    return make_tensor(places.astype(np.int32, order="C"))


# `x[key]`.


def get_item(x: Tensor, key: Any) -> Tensor:
    """`x[key]` as NumPy means it: ints, slices, `...`, `None`, and integer or boolean arrays, in any combination.

    Integer arrays broadcast together; a boolean array stands for the indices of its true places. A list is an array.
    All of it can be differentiated.

    Raises:
        OutOfRangeError: An index is outside its axis (an `IndexError` too).
        ValueError: Too many indices, arrays that don't broadcast, a mask of the wrong shape.
        TypeError: A key that is none of these.
    """
    if key.__class__ is int and x.storage.ndim:
        return _row(x, key)
    index = _Index(x, cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,))
    taken = index.take_block(x)
    return index.take_points(taken) if index.points else taken


def _row(x: Tensor, row: int) -> Tensor:
    """`x[row]`: much the most frequent key, so spared the general way."""
    shape = x.storage.shape
    begin = _position(x, row, 0)
    others = len(shape) - 1
    attrs = {
        "begin": (begin,) + (0,) * others,
        "size": (1, *shape[1:]),
        "strides": (1,) * (others + 1),
        "shape": shape[1:],
    }
    return run_kernel("StridedSlice", (x,), attrs)


def _position(x: Tensor, index: int, axis: int) -> int:
    """An index on an axis, counted from the front."""
    length = x.storage.shape[axis]
    if not -length <= index < length:
        raise OutOfRangeError(
            f"x[...]: index {index} is outside axis {axis}, which is {length} long (x: {format_shape(x.shape)})"
        )
    return index % length


class _Point(NamedTuple):
    """An integer array in a key."""

    axis: int  # of the block that the key's other parts take
    indices: Tensor


class _Index:
    """A key, taken apart: first a block is taken (ints, slices, new axes), then points in it (arrays)."""

    def __init__(self, x: Tensor, key: tuple[Any, ...]) -> None:
        self.x = x
        self.begin: list[int] = []
        self.size: list[int] = []
        self.strides: list[int] = []
        self.shape: list[int] = []  # of the block
        self.points: list[_Point] = []
        # Where ints and arrays stand in the key, and how many axes of the block come before the first of them.
        self._advanced: list[int] = []
        self._before_advanced = 0
        for place, entry in enumerate(_with_all_axes(x, [_plain(entry) for entry in key])):
            self._add(place, entry)

    def _add(self, place: int, entry: Any) -> None:
        if entry is None:
            self.shape.append(1)
        elif entry is ...:
            return
        elif isinstance(entry, _Slice):
            self._add_slice(cast("Any", entry))
        else:
            if not self._advanced:
                self._before_advanced = len(self.shape)
            self._advanced.append(place)
            if isinstance(entry, int):
                self._add_int(entry)
            elif entry.storage.dtype.kind == "b":
                self._add_mask(entry)
            else:
                axis = self._next_axis()
                attrs = {"length": self.x.shape[axis], "axis": axis}
                self._add_points(run_kernel("WrapIndices", (entry,), attrs), self.x.shape[axis])
                self._take_all(axis)

    def _next_axis(self) -> int:
        return len(self.begin)

    def _take_all(self, axis: int) -> None:
        self._take(0, self.x.shape[axis], 1)

    def _take(self, begin: int, size: int, stride: int) -> None:
        self.begin.append(begin)
        self.size.append(size)
        self.strides.append(stride)

    def _add_int(self, index: int) -> None:
        self._take(_position(self.x, index, self._next_axis()), 1, 1)

    def _add_slice(self, entry: builtins.slice) -> None:
        try:
            steps = _range(*entry.indices(self.x.shape[self._next_axis()]))
        except ValueError:
            raise ValueError("x[...]: a slice cannot have step 0") from None
        except TypeError:
            raise TypeError(f"x[...]: slices take integers, got {entry}") from None
        size = len(steps)
        self._take(steps.start if size else 0, size, steps.step if size > 1 else 1)
        self.shape.append(size)

    def _add_mask(self, mask: Tensor) -> None:
        if not mask.rank:
            # A single bool is an axis of its own, of length 1 or 0.
            self._add_points(make_tensor(np.zeros(int(bool(mask)), np.int32)), 1)
            return
        axis = self._next_axis()
        covered = self.x.shape[axis : axis + mask.rank]
        if covered != mask.shape:
            raise ValueError(
                f"x[...]: a mask of shape {format_shape(mask.shape)} does not fit axes {axis} to "
                f"{axis + mask.rank - 1} (x: {format_shape(self.x.shape)})"
            )
        for offset, places in enumerate(np.nonzero(np.asarray(mask))):
            self._add_points(make_tensor(places.astype(np.int32)), covered[offset])
            self._take_all(axis + offset)

    def _add_points(self, indices: Tensor, length: int) -> None:
        self.points.append(_Point(len(self.shape), indices))
        self.shape.append(length)

    def take_block(self, x: Tensor) -> Tensor:
        """What the ints, slices and new axes take."""
        shape, size = tuple(self.shape), tuple(self.size)
        if size == x.shape and all(stride == 1 for stride in self.strides):
            if shape != size:
                return run_kernel("Reshape", (x,), {"shape": shape})
            return x if self.points else run_kernel("Identity", (x,))
        if shape == size and all(stride == 1 for stride in self.strides):
            return run_kernel("Slice", (x,), {"begin": tuple(self.begin), "size": size})
        attrs = {"begin": tuple(self.begin), "size": size, "strides": tuple(self.strides), "shape": shape}
        return run_kernel("StridedSlice", (x,), attrs)

    def take_points(self, block: Tensor) -> Tensor:
        """What the arrays take of the block: their axes become one group, which stands where the first of them was if
        ints and arrays are neighbours in the key, and in front otherwise."""
        first, last = self._advanced[0], self._advanced[-1]
        place = self._before_advanced if last - first == len(self._advanced) - 1 else 0
        axes = [point.axis for point in self.points]
        if len(axes) == 1:
            indices = self.points[0].indices
            taken = run_kernel("GatherV2", (block, indices), {"axis": axes[0], "batch_dims": 0})
            return _move_axes(taken, axes[0], place, indices.rank)
        rest = [axis for axis in _range(block.rank) if axis not in axes]
        order = tuple(axes + rest)
        if order != tuple(_range(block.rank)):
            block = run_kernel("Transpose", (block,), {"perm": order})
        together = _broadcast([point.indices for point in self.points])
        taken = run_kernel("GatherNd", (block, run_kernel("Pack", together, {"axis": together[0].rank})))
        return _move_axes(taken, 0, place, together[0].rank)


def _plain(entry: Any) -> Any:
    """One part of a key as None, `...`, an int, a slice, or a tensor of integers or bools."""
    if entry is None or entry is ... or entry.__class__ is int or entry.__class__ is _Slice:
        return entry
    if isinstance(entry, Tensor):
        return entry if entry.storage.dtype.kind == "b" else convert_integers(entry, "x[...]", "an index")
    if isinstance(entry, (bool, np.bool_)):
        return make_tensor(np.array(entry))
    if not isinstance(entry, (list, tuple, np.ndarray)) and hasattr(entry, "__index__"):
        return operator.index(entry)
    if isinstance(entry, (str, bytes)):
        raise TypeError(f"x[...]: a tensor has no field {entry!r}; it is indexed with numbers, slices and arrays")
    array = as_numpy(entry, "x[...]", "an index")
    if array.dtype.kind == "b":
        return make_tensor(np.array(array, order="C"))
    if array.dtype.kind in "iu" or not array.size:
        return make_tensor(np.array(array, np.int32 if array.dtype == np.int32 else np.int64, order="C"))
    raise TypeError(f"x[...]: an index must be an integer, a bool, a slice or None, got {array.dtype} values")


def _with_all_axes(x: Tensor, key: list[Any]) -> list[Any]:
    """The key with full slices in place of the ellipsis, or at its end, so that it covers every axis of `x`."""
    covered = 0
    ellipses: list[int] = []
    for place, entry in enumerate(key):
        if entry is ...:
            ellipses.append(place)
        elif isinstance(entry, Tensor) and entry.storage.dtype.kind == "b":
            covered += entry.rank
        elif entry is not None:
            covered += 1
    if len(ellipses) > 1:
        raise ValueError("x[...]: there can be only one ellipsis (...) in a key")
    if covered > x.rank:
        raise OutOfRangeError(f"x[...]: {covered} indices for a tensor of {x.rank} axes (x: {format_shape(x.shape)})")
    missing = [_ALL] * (x.rank - covered)
    if not ellipses:
        return key + missing
    # An ellipsis for no axis still parts its neighbours.
    return key[: ellipses[0]] + (missing or [...]) + key[ellipses[0] + 1 :]


def _broadcast(indices: list[Tensor]) -> tuple[Tensor, ...]:
    try:
        shape = np.broadcast_shapes(*[t.shape for t in indices])
    except ValueError:
        shapes = " and ".join(format_shape(t.shape) for t in indices)
        raise ValueError(f"x[...]: the arrays of indices cannot be broadcast together ({shapes})") from None
    dtype = "int64" if any(t.dtype == "int64" for t in indices) else "int32"
    same = [convert(t, "x[...]", "an array of indices", dtype) for t in indices]
    return tuple([t if t.shape == shape else run_kernel("BroadcastTo", (t,), {"shape": shape}) for t in same])


def _move_axes(x: Tensor, source: int, target: int, count: int) -> Tensor:
    """Moves `count` neighbouring axes from `source` to `target`."""
    if source == target or not count:
        return x
    axes = list(_range(x.rank))
    group = axes[source : source + count]
    del axes[source : source + count]
    return run_kernel("Transpose", (x,), {"perm": tuple(axes[:target] + group + axes[target:])})

"""`x[key]`: NumPy-style indexing."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple, cast

import numpy as np

from varigrad.dtypes import as_numpy
from varigrad.engine import make_tensor, run_kernel
from varigrad.errors import OutOfRangeError
from varigrad.ops.arguments import common_shape, convert, convert_integers
from varigrad.tensor import Tensor, format_shape

__all__ = ["get_item"]

_ALL = slice(None)
_INDEXING = "x[...]"


def get_item(x: Tensor, key: Any, op: str = _INDEXING) -> Tensor:
    """`x[key]` as NumPy means it: ints, slices, `...`, `None`, and integer or boolean arrays, in any combination.

    Integer arrays broadcast together; a boolean array stands for the indices of its true places. A list is an array.
    All of it can be differentiated. `op` is what errors speak of.

    Raises:
        OutOfRangeError: An index is outside its axis (an `IndexError` too).
        ValueError: Too many indices, arrays that don't broadcast, a mask of the wrong shape.
        TypeError: A key that is none of these.
    """
    if key.__class__ is int and x.storage.ndim:
        return _row(x, key, op)
    index = _Index(x, cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,), op)
    taken = index.take_block(x)
    return index.take_points(taken) if index.points else taken


def _row(x: Tensor, row: int, op: str) -> Tensor:
    """`x[row]`: much the most frequent key, so spared the general way."""
    shape = x.storage.shape
    begin = _position(x, row, 0, op)
    others = len(shape) - 1
    attrs = {
        "begin": (begin,) + (0,) * others,
        "size": (1, *shape[1:]),
        "strides": (1,) * (others + 1),
        "shape": shape[1:],
    }
    return run_kernel("StridedSlice", (x,), attrs)


def _position(x: Tensor, index: int, axis: int, op: str) -> int:
    """An index on an axis, counted from the front."""
    length = x.storage.shape[axis]
    if not -length <= index < length:
        raise OutOfRangeError(
            f"{op}: index {index} is outside axis {axis}, which is {length} long (x: {format_shape(x.shape)})"
        )
    return index % length


class _Point(NamedTuple):
    """An integer array in a key."""

    axis: int  # of the block that the key's other parts take
    indices: Tensor


class _Index:
    """A key, taken apart: first a block is taken (ints, slices, new axes), then points in it (arrays)."""

    def __init__(self, x: Tensor, key: tuple[Any, ...], op: str) -> None:
        self.x = x
        self._op = op
        self.begin: list[int] = []
        self.size: list[int] = []
        self.strides: list[int] = []
        self.shape: list[int] = []  # of the block
        self.points: list[_Point] = []
        # Where ints and arrays stand in the key, and how many axes of the block come before the first of them.
        self._advanced: list[int] = []
        self._before_advanced = 0
        for place, entry in enumerate(_with_all_axes(x, [_plain(entry) for entry in key], op)):
            self._add(place, entry)

    def _add(self, place: int, entry: Any) -> None:
        if entry is None:
            self.shape.append(1)
        elif entry is ...:
            return
        elif isinstance(entry, slice):
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
        self._take(_position(self.x, index, self._next_axis(), self._op), 1, 1)

    def _add_slice(self, entry: slice) -> None:
        try:
            steps = range(*entry.indices(self.x.shape[self._next_axis()]))
        except ValueError:
            raise ValueError(f"{self._op}: a slice cannot have step 0") from None
        except TypeError:
            raise TypeError(f"{self._op}: slices take integers, got {entry}") from None
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
        rest = [axis for axis in range(block.rank) if axis not in axes]
        order = tuple(axes + rest)
        if order != tuple(range(block.rank)):
            block = run_kernel("Transpose", (block,), {"perm": order})
        together = _broadcast([point.indices for point in self.points])
        taken = run_kernel("GatherNd", (block, run_kernel("Pack", together, {"axis": together[0].rank})))
        return _move_axes(taken, 0, place, together[0].rank)


def _plain(entry: Any) -> Any:
    """One part of a key as None, `...`, an int, a slice, or a tensor of integers or bools."""
    if entry is None or entry is ... or entry.__class__ is int or entry.__class__ is slice:
        return entry
    if isinstance(entry, Tensor):
        return entry if entry.storage.dtype.kind == "b" else convert_integers(entry, _INDEXING, "an index")
    if isinstance(entry, (bool, np.bool_)):
        return make_tensor(np.array(entry))
    if not isinstance(entry, (list, tuple, np.ndarray)) and hasattr(entry, "__index__"):
        return operator.index(entry)
    if isinstance(entry, (str, bytes)):
        raise TypeError(f"x[...]: a tensor has no field {entry!r}; it is indexed with numbers, slices and arrays")
    array = as_numpy(entry, _INDEXING, "an index")
    if array.dtype.kind == "b":
        return make_tensor(np.array(array, order="C"))
    if array.dtype.kind in "iu" or not array.size:
        return make_tensor(np.array(array, np.int32 if array.dtype == np.int32 else np.int64, order="C"))
    raise TypeError(f"x[...]: an index must be an integer, a bool, a slice or None, got {array.dtype} values")


def _with_all_axes(x: Tensor, key: list[Any], op: str) -> list[Any]:
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
        raise ValueError(f"{op}: there can be only one ellipsis (...) in a key")
    if covered > x.rank:
        raise OutOfRangeError(f"{op}: {covered} indices for a tensor of {x.rank} axes (x: {format_shape(x.shape)})")
    missing = [_ALL] * (x.rank - covered)
    if not ellipses:
        return key + missing
    # An ellipsis for no axis still parts its neighbours.
    return key[: ellipses[0]] + (missing or [...]) + key[ellipses[0] + 1 :]


def _broadcast(indices: list[Tensor]) -> tuple[Tensor, ...]:
    shape = common_shape(*[t.shape for t in indices])
    if shape is None:
        shapes = " and ".join(format_shape(t.shape) for t in indices)
        raise ValueError(f"x[...]: the arrays of indices cannot be broadcast together ({shapes})")
    dtype = "int64" if any(t.dtype == "int64" for t in indices) else "int32"
    same = [convert(t, _INDEXING, "an array of indices", dtype) for t in indices]
    return tuple([t if t.shape == shape else run_kernel("BroadcastTo", (t,), {"shape": shape}) for t in same])


def _move_axes(x: Tensor, source: int, target: int, count: int) -> Tensor:
    """Moves `count` neighbouring axes from `source` to `target`."""
    if source == target or not count:
        return x
    axes = list(range(x.rank))
    group = axes[source : source + count]
    del axes[source : source + count]
    return run_kernel("Transpose", (x,), {"perm": tuple(axes[:target] + group + axes[target:])})

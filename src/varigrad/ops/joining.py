"""Joining tensors along an axis, and splitting them again."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.dtypes import MAX_RANK, DType, promote
from varigrad.engine import run_kernel, run_kernel_multi
from varigrad.ops.arguments import TensorLike, convert, convert_each, normalize_axis, of_rank
from varigrad.ops.options import integer, integers, items_of
from varigrad.tensor import Tensor, format_shape

__all__ = ["concat", "concat1d", "concat2d", "concat3d", "concat4d", "split", "stack", "unstack"]


def concat(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Tensors one after the other along an axis. Mirrors `tf.concat`.

    Args:
        tensors: One or more, of one rank and of one shape but for the length of `axis`. The result has the widest of
            their dtypes.
        axis: The axis to join along, negative ones counted from the back.

    Raises:
        ValueError: No tensors, or shapes that don't fit together.

    >>> import varigrad as vg
    >>> vg.concat([[[1], [2]], [[3], [4]]], axis=1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    return _concat("concat", tensors, axis)


def _concat(op: str, tensors: Sequence[TensorLike], axis: int) -> Tensor:
    parts = _of_one_dtype(op, tensors)
    axis = normalize_axis(op, axis, parts[0].rank)
    check_joinable(op, [part.storage.shape for part in parts], axis)
    if len(parts) == 1:
        return run_kernel("Identity", parts)
    return run_kernel("Concat", parts, {"axis": axis})


def check_joinable(op: str, shapes: Sequence[Sequence[int]], axis: int) -> None:
    """Explains why tensors of these shapes cannot be joined along an axis, if they cannot."""
    first = shapes[0]
    for position, shape in enumerate(shapes):
        if len(shape) != len(first) or shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
            raise ValueError(
                f"{op}: tensors[{position}] differs from tensors[0] in more than the length of axis {axis} "
                f"(tensors[0]: {format_shape(first)}, tensors[{position}]: {format_shape(shape)})"
            )


def _concat_of_rank(rank: int, tensors: Sequence[TensorLike], axis: int) -> Tensor:
    op = f"concat{rank}d"
    parts = [of_rank(op, rank, x, f"tensors[{i}]") for i, x in enumerate(items_of(op, "tensors", tensors))]
    return _concat(op, parts, axis)


def concat1d(tensors: Sequence[TensorLike]) -> Tensor:
    """`vg.concat` of vectors. Mirrors `tf.concat1d`.

    >>> import varigrad as vg
    >>> vg.concat1d([[1, 2], [3]]).tolist()
    [1.0, 2.0, 3.0]
    """
    return _concat_of_rank(1, tensors, 0)


def concat2d(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """`vg.concat` of tensors of rank 2. Mirrors `tf.concat2d`.

    >>> import varigrad as vg
    >>> vg.concat2d([[[1, 2]], [[3, 4]]], axis=1).tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    """
    return _concat_of_rank(2, tensors, axis)


def concat3d(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """`vg.concat` of tensors of rank 3. Mirrors `tf.concat3d`.

    >>> import varigrad as vg
    >>> vg.concat3d([[[[1, 2]]], [[[3, 4]]]], axis=1).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    return _concat_of_rank(3, tensors, axis)


def concat4d(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """`vg.concat` of tensors of rank 4. Mirrors `tf.concat4d`.

    >>> import varigrad as vg
    >>> vg.concat4d([[[[[1, 2]]]], [[[[3, 4]]]]], axis=3).tolist()
    [[[[1.0, 2.0, 3.0, 4.0]]]]
    """
    return _concat_of_rank(4, tensors, axis)


def stack(tensors: Sequence[TensorLike], axis: int = 0) -> Tensor:
    """Tensors of one shape side by side along a new axis. Mirrors `tf.stack`.

    Args:
        tensors: One or more, of one shape. The result has the widest of their dtypes.
        axis: Where the new axis comes to stand in the result; negative ones are counted from its back.

    Raises:
        ValueError: No tensors, or shapes that differ.

    >>> import varigrad as vg
    >>> vg.stack([[1, 2], [3, 4]], axis=1).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    parts = _of_one_dtype("stack", tensors)
    first = parts[0].shape
    if len(first) == MAX_RANK:
        raise ValueError(f"stack: the tensors have {MAX_RANK} axes, and tensors have no more")
    axis = normalize_axis("stack", axis, len(first) + 1)
    for position, part in enumerate(parts):
        if part.shape != first:
            raise ValueError(
                f"stack: the shapes differ (tensors[0]: {format_shape(first)}, "
                f"tensors[{position}]: {format_shape(part.shape)}); make them equal, or join them with concat"
            )
    return run_kernel("Pack", parts, {"axis": axis})


def split(x: TensorLike, num_or_size_splits: int | Sequence[int], axis: int = 0) -> list[Tensor]:
    """The parts of a tensor along an axis. Mirrors `tf.split`.

    Args:
        x: Rank 1 or more, any dtype.
        num_or_size_splits: How many equal parts; or the length of each, one of which may be -1 for what is left.
        axis: The axis to split, negative ones counted from the back.

    Raises:
        ValueError: The axis has not that length, or does not split into that many equal parts.

    >>> import varigrad as vg
    >>> [part.tolist() for part in vg.split([1, 2, 3, 4], 2)]
    [[1.0, 2.0], [3.0, 4.0]]
    >>> [part.tolist() for part in vg.split([1, 2, 3, 4], [1, -1])]
    [[1.0], [2.0, 3.0, 4.0]]
    """
    x = convert(x, "split", "x")
    axis = normalize_axis("split", axis, x.rank)
    sizes = split_sizes("split", num_or_size_splits, x.shape[axis], axis)
    return list(run_kernel_multi("SplitV", (x,), {"sizes": sizes, "axis": axis}))


def split_sizes(op: str, given: int | Sequence[int], length: int, axis: int) -> tuple[int, ...]:
    """The length of each part of an axis."""
    if isinstance(given, int) or getattr(given, "shape", None) == ():
        given = integer(op, "num_or_size_splits", given, None)
        if given < 1 or length % given:
            raise ValueError(f"{op}: axis {axis} is {length} long, which does not make {given} equal parts")
        return (length // given,) * given
    sizes = list(integers(op, "num_or_size_splits", given, None))
    if sizes.count(-1) > 1:
        raise ValueError(f"{op}: num_or_size_splits {sizes} leaves more than one length to work out")
    if -1 in sizes:
        place = sizes.index(-1)
        sizes[place] = 0
        sizes[place] = length - sum(sizes)
    if sum(sizes) != length or min(sizes, default=0) < 0:
        raise ValueError(f"{op}: num_or_size_splits {list(sizes)} does not add up to axis {axis}, which is {length}")
    return tuple(sizes)


def unstack(x: TensorLike, axis: int = 0) -> list[Tensor]:
    """The slices of a tensor along an axis, without that axis. Mirrors `tf.unstack`.

    >>> import varigrad as vg
    >>> [row.tolist() for row in vg.unstack([[1, 2], [3, 4]])]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    x = convert(x, "unstack", "x")
    return list(run_kernel_multi("Unpack", (x,), {"axis": normalize_axis("unstack", axis, x.rank)}))


def _of_one_dtype(op: str, tensors: Sequence[TensorLike]) -> tuple[Tensor, ...]:
    """The tensors in a list, in the widest of their dtypes; a tensor counts as the list of its rows."""
    parts = tuple(convert_each(items_of(op, "tensors", tensors), op, "tensors"))
    if not parts:
        raise ValueError(f"{op}: needs at least one tensor")
    first = parts[0].storage.dtype
    if all(part.storage.dtype == first for part in parts):
        return parts
    dtype: DType = parts[0].dtype
    for part in parts:
        dtype = promote(dtype, part.dtype, op)
    return tuple([convert(part, op, "tensors", dtype) for part in parts])

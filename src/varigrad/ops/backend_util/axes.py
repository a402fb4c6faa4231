"""Axes and their order, for authors of kernels and gradients: part of the namespace `vg.backend_util`."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "assert_axes_are_inner_most_dims",
    "axes_are_inner_most_dims",
    "combine_locations",
    "compute_out_and_reduce_shapes",
    "expand_shape_to_keep_dim",
    "get_axes_permutation",
    "get_inner_most_axes",
    "get_undo_axes_permutation",
]

Ints = Sequence[int]


def axes_are_inner_most_dims(axes: Ints, rank: int) -> bool:
    """Whether the axes are the last ones of a tensor of that rank, in order.

    Mirrors `tf.backend_util.axesAreInnerMostDims`.

    >>> import varigrad as vg
    >>> vg.backend_util.axes_are_inner_most_dims([2, 3], 4)
    True
    """
    return tuple(axes) == get_inner_most_axes(len(axes), rank)


def assert_axes_are_inner_most_dims(msg: str, axes: Ints, rank: int) -> None:
    """Raises a ValueError, which `msg` begins, unless the axes are the last ones.

    Mirrors `tf.backend_util.assertAxesAreInnerMostDims`.

    >>> import varigrad as vg
    >>> vg.backend_util.assert_axes_are_inner_most_dims("my_op", [0], 2)
    Traceback (most recent call last):
        ...
    ValueError: my_op: takes the last axes only, got axes [0] of a tensor of rank 2; transpose it first
    """
    if not axes_are_inner_most_dims(axes, rank):
        raise ValueError(
            f"{msg}: takes the last axes only, got axes {list(axes)} of a tensor of rank {rank}; transpose it first"
        )


def get_inner_most_axes(num_axes: int, rank: int) -> tuple[int, ...]:
    """The last axes of a tensor, so many of them. Mirrors `tf.backend_util.getInnerMostAxes`.

    >>> import varigrad as vg
    >>> vg.backend_util.get_inner_most_axes(2, 4)
    (2, 3)
    """
    return tuple(range(rank - num_axes, rank))


def combine_locations(output_loc: Ints, reduce_loc: Ints, axes: Ints) -> tuple[int, ...]:
    """An index into a tensor, from one into what a reduction over `axes` makes of it and one into what it sums.

    Mirrors `tf.backend_util.combineLocations`.

    >>> import varigrad as vg
    >>> vg.backend_util.combine_locations([4, 1], [3, 7], axes=[0, 2])
    (3, 4, 7, 1)
    """
    outside, inside = iter(output_loc), iter(reduce_loc)
    rank = len(output_loc) + len(reduce_loc)
    return tuple([next(inside if axis in axes else outside) for axis in range(rank)])


def compute_out_and_reduce_shapes(a_shape: Ints, axes: Ints) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape that a reduction over `axes` leaves, and the shape that it sums.

    Mirrors `tf.backend_util.computeOutAndReduceShapes`.

    >>> import varigrad as vg
    >>> vg.backend_util.compute_out_and_reduce_shapes([3, 7, 2, 4], [0, 2])
    ((7, 4), (3, 2))
    """
    kept = tuple([length for axis, length in enumerate(a_shape) if axis not in axes])
    return kept, tuple([a_shape[axis] for axis in axes])


def expand_shape_to_keep_dim(shape: Ints, axes: Ints) -> tuple[int, ...]:
    """The shape that a reduction over `axes` left, with an axis of length 1 for each of them.

    Mirrors `tf.backend_util.expandShapeToKeepDim`.

    >>> import varigrad as vg
    >>> vg.backend_util.expand_shape_to_keep_dim([7, 3], [1])
    (7, 1, 3)
    """
    return combine_locations(shape, (1,) * len(axes), axes)


def get_axes_permutation(axes: Ints, rank: int) -> tuple[int, ...] | None:
    """The transposition that moves the axes to the end, or None if they are there.

    Mirrors `tf.backend_util.getAxesPermutation`.

    >>> import varigrad as vg
    >>> vg.backend_util.get_axes_permutation([0, 1], 4)
    (2, 3, 0, 1)
    """
    if axes_are_inner_most_dims(axes, rank):
        return None
    return (*[axis for axis in range(rank) if axis not in axes], *axes)


def get_undo_axes_permutation(axes: Ints) -> tuple[int, ...]:
    """The transposition that takes back another one. Mirrors `tf.backend_util.getUndoAxesPermutation`.

    >>> import varigrad as vg
    >>> vg.backend_util.get_undo_axes_permutation([2, 0, 1, 3])
    (1, 2, 0, 3)
    """
    return tuple(sorted(range(len(axes)), key=axes.__getitem__))

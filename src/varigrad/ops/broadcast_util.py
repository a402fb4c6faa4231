"""How shapes broadcast, for authors of kernels and gradients: the namespace `vg.broadcast_util`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from varigrad.ops.arguments import broadcast_shapes
from varigrad.tensor import format_shape

__all__ = ["assert_and_get_broadcast_shape", "get_broadcast_dims", "get_reduction_axes"]

Shape = Sequence[int]


def assert_and_get_broadcast_shape(shape_a: Shape, shape_b: Shape) -> tuple[int, ...]:
    """The shape to which two shapes broadcast. Mirrors `tf.broadcast_util.assertAndGetBroadcastShape`.

    Raises:
        ValueError: They do not broadcast.

    >>> import varigrad as vg
    >>> vg.broadcast_util.assert_and_get_broadcast_shape([4, 1, 7], [3, 1])
    (4, 3, 7)
    """
    return broadcast_shapes("assert_and_get_broadcast_shape", tuple(shape_a), tuple(shape_b))


def get_broadcast_dims(in_shape: Shape, out_shape: Shape) -> tuple[int, ...]:
    """The axes of `in_shape` that are repeated to make `out_shape`. Mirrors `tf.broadcast_util.getBroadcastDims`.

    Raises:
        ValueError: `in_shape` does not broadcast to `out_shape`.

    >>> import varigrad as vg
    >>> vg.broadcast_util.get_broadcast_dims([4, 1, 3], [5, 4, 3, 3])
    (1,)
    """
    added = len(out_shape) - len(in_shape)
    axes = _checked("get_broadcast_dims", in_shape, out_shape)
    return tuple([axis - added for axis in axes if axis >= added])


def get_reduction_axes(in_shape: Shape, out_shape: Shape) -> tuple[int, ...]:
    """The axes of `out_shape` over which to sum a gradient of that shape, to have one for `in_shape`.

    Mirrors `tf.broadcast_util.getReductionAxes`. The sum may lack axes of length 1 that `in_shape` begins with; reshape
    it to `in_shape`.

    Raises:
        ValueError: `in_shape` does not broadcast to `out_shape`.

    >>> import varigrad as vg
    >>> vg.broadcast_util.get_reduction_axes([4, 1, 3], [5, 4, 3, 3])
    (0, 2)
    """
    return _checked("get_reduction_axes", in_shape, out_shape)


def _checked(op: str, in_shape: Shape, out_shape: Shape) -> tuple[int, ...]:
    shape, given = tuple(in_shape), tuple(out_shape)
    if broadcast_shapes(op, shape, given) != given:
        raise ValueError(f"{op}: {format_shape(shape)} does not broadcast to {format_shape(given)}")
    return broadcast_axes(shape, given)


# For gradient rules, not exported.


@lru_cache(maxsize=1024)
def broadcast_axes(shape: tuple[int, ...], given: tuple[int, ...]) -> tuple[int, ...]:
    """The axes along which a tensor of shape `shape` was broadcast to one of shape `given`."""
    added = len(given) - len(shape)
    return tuple(axis for axis in range(len(given)) if axis < added or (shape[axis - added] == 1 != given[axis]))

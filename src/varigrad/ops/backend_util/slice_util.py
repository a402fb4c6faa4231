"""Blocks and strides, for authors of kernels: the namespace `vg.backend_util.slice_util`."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.ops.slicing import block_of
from varigrad.tensor import Tensor

__all__ = ["compute_out_shape", "is_slice_continous", "mask_to_axes", "parse_slice_params"]

Ints = Sequence[int]


def parse_slice_params(
    x: Tensor, begin: int | Ints, size: int | Ints | None = None
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where `vg.slice(x, begin, size)` begins and how long it is, on each axis.

    Mirrors `tf.backend_util.slice_util.parseSliceParams`.

    Raises:
        ValueError: The block is not inside `x`.

    >>> import varigrad as vg
    >>> vg.backend_util.slice_util.parse_slice_params(vg.zeros([3, 4]), 1, [-1, 2])
    ((1, 0), (2, 2))
    """
    return block_of("parse_slice_params", x.shape, begin, size)


def compute_out_shape(begin: Ints, end: Ints, strides: Ints) -> tuple[int, ...]:
    """The shape of what strided slices take, all bounds being inside the tensor; 0 where they go the other way.

    Mirrors `tf.backend_util.slice_util.computeOutShape`.

    >>> import varigrad as vg
    >>> vg.backend_util.slice_util.compute_out_shape([0, 3], [4, 0], [2, -1])
    (2, 3)
    """
    return tuple([len(range(*steps)) for steps in zip(begin, end, strides, strict=True)])


def mask_to_axes(mask: int) -> tuple[int, ...]:
    """The places of the bits that are set in one of the masks of `vg.strided_slice`.

    Mirrors `tf.backend_util.slice_util.maskToAxes`.

    >>> import varigrad as vg
    >>> vg.backend_util.slice_util.mask_to_axes(0b101)
    (0, 2)
    """
    return tuple([axis for axis in range(mask.bit_length()) if mask >> axis & 1])


def is_slice_continous(shape: Ints, begin: Ints, size: Ints) -> bool:
    """Whether a block of a tensor of shape `shape` lies in one piece of its memory.

    Mirrors `tf.backend_util.slice_util.isSliceContinous`, which is spelled so.

    >>> import varigrad as vg
    >>> vg.backend_util.slice_util.is_slice_continous([4, 3], [1, 0], [2, 3])
    True
    """
    # Rows lie in one piece if all axes below the first that is cut into several are whole.
    first = next((axis for axis, length in enumerate(size) if length > 1), len(size))
    return all(begin[axis] == 0 and size[axis] == shape[axis] for axis in range(first + 1, len(size)))

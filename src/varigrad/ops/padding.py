"""Margins around tensors, and blocks of them moved between axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import TensorLike, accept_floats, convert, normalize_shape, of_rank, reshape_to
from varigrad.ops.options import integer, items_of, number, one_of
from varigrad.ops.shaping import clone, reshape, transpose
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "batch_to_space_nd",
    "depth_to_space",
    "mirror_pad",
    "pad",
    "pad1d",
    "pad2d",
    "pad3d",
    "pad4d",
    "space_to_batch_nd",
]

Paddings = Sequence[Sequence[int]]


def _check_paddings(op: str, argument: str, given: Paddings, count: int) -> tuple[tuple[int, int], ...]:
    pairs = tuple([normalize_shape(op, pair, argument) for pair in items_of(op, argument, given)])
    if len(pairs) != count or any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{op}: {argument} must be {count} pairs [before, after], got {[list(p) for p in pairs]}")
    return tuple([(pair[0], pair[1]) for pair in pairs])


def pad(x: TensorLike, paddings: Paddings, constant_value: float = 0) -> Tensor:
    """The values with a margin of one value around them. Mirrors `tf.pad`.

    Args:
        x: Numeric or bool, rank 1 or more.
        paddings: For each axis, how many to put before and after: `[[before, after], …]`.
        constant_value: The value of the margin.

    Raises:
        ValueError: `paddings` has not one pair for each axis, or a negative number.

    >>> import varigrad as vg
    >>> vg.pad([1, 2], [[1, 2]], 9).tolist()
    [9.0, 1.0, 2.0, 9.0, 9.0]
    """
    x = convert(x, "pad", "x")
    if not x.rank:
        raise ValueError("pad: x is a scalar, which has no axis to pad; reshape it first")
    return _pad("pad", x, paddings, constant_value)


def _pad(op: str, x: Tensor, paddings: Paddings, constant_value: float) -> Tensor:
    if x.dtype == "string":
        raise TypeError(f"{op}: x holds strings, but must be numeric or bool")
    attrs = {
        "paddings": _check_paddings(op, "paddings", paddings, x.rank),
        "constant_value": number(op, "constant_value", constant_value),
    }
    return run_kernel("PadV2", (x,), attrs)


def pad1d(x: TensorLike, paddings: Sequence[int], constant_value: float = 0) -> Tensor:
    """`vg.pad` of a vector, by `[before, after]`. Mirrors `tf.pad1d`.

    >>> import varigrad as vg
    >>> vg.pad1d([1, 2], [1, 2]).tolist()
    [0.0, 1.0, 2.0, 0.0, 0.0]
    """
    return _pad("pad1d", of_rank("pad1d", 1, x), [paddings], constant_value)


def pad2d(x: TensorLike, paddings: Paddings, constant_value: float = 0) -> Tensor:
    """`vg.pad` of a tensor of rank 2. Mirrors `tf.pad2d`.

    >>> import varigrad as vg
    >>> vg.pad2d([[1, 2]], [[0, 1], [1, 0]]).tolist()
    [[0.0, 1.0, 2.0], [0.0, 0.0, 0.0]]
    """
    return _pad("pad2d", of_rank("pad2d", 2, x), paddings, constant_value)


def pad3d(x: TensorLike, paddings: Paddings, constant_value: float = 0) -> Tensor:
    """`vg.pad` of a tensor of rank 3. Mirrors `tf.pad3d`.

    >>> import varigrad as vg
    >>> vg.pad3d([[[1], [2]]], [[0, 0], [1, 0], [0, 1]]).tolist()
    [[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]]
    """
    return _pad("pad3d", of_rank("pad3d", 3, x), paddings, constant_value)


def pad4d(x: TensorLike, paddings: Paddings, constant_value: float = 0) -> Tensor:
    """`vg.pad` of a tensor of rank 4. Mirrors `tf.pad4d`.

    >>> import varigrad as vg
    >>> vg.pad4d([[[[1, 2]]]], [[0, 0], [0, 0], [1, 0], [0, 1]], constant_value=9).tolist()
    [[[[9.0, 9.0, 9.0], [1.0, 2.0, 9.0]]]]
    """
    return _pad("pad4d", of_rank("pad4d", 4, x), paddings, constant_value)


def mirror_pad(x: TensorLike, paddings: Paddings, mode: str) -> Tensor:
    """The values with a margin in which they are mirrored. Mirrors `tf.mirrorPad`.

    Args:
        x: Rank 1 or more, any dtype.
        paddings: For each axis, how many to put before and after.
        mode: `"reflect"` mirrors about the outermost values, `"symmetric"` beyond them, so that they occur twice.

    Raises:
        ValueError: An unknown mode, or a margin longer than there are values to mirror.

    >>> import varigrad as vg
    >>> vg.mirror_pad([1, 2, 3], [[2, 1]], "reflect").tolist()
    [3.0, 2.0, 1.0, 2.0, 3.0, 2.0]
    >>> vg.mirror_pad([1, 2, 3], [[2, 1]], "symmetric").tolist()
    [2.0, 1.0, 1.0, 2.0, 3.0, 3.0]
    """
    mode = one_of("mirror_pad", "mode", mode, ("reflect", "symmetric"))
    x = convert(x, "mirror_pad", "x")
    if not x.rank:
        raise ValueError("mirror_pad: x is a scalar, which has no axis to pad; reshape it first")
    pairs = _check_paddings("mirror_pad", "paddings", paddings, x.rank)
    shared = 1 if mode == "reflect" else 0
    for axis, (before, after) in enumerate(pairs):
        if max(before, after) > x.shape[axis] - shared:
            raise ValueError(
                f"mirror_pad: axis {axis} is {x.shape[axis]} long, which leaves {x.shape[axis] - shared} values to "
                f"mirror in mode {mode!r}, but its padding is {[before, after]}"
            )
    result = x
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            length = x.shape[axis]
            middle = range(length)
            left = range(before - 1 + shared, shared - 1, -1)
            right = range(length - 1 - shared, length - 1 - shared - after, -1)
            places = make_tensor(np.array([*left, *middle, *right], np.int32))
            result = run_kernel("GatherV2", (result, places), {"axis": axis, "batch_dims": 0})
    return clone(x) if result is x else result


def space_to_batch_nd(x: TensorLike, block_shape: Sequence[int], paddings: Paddings) -> Tensor:
    """Blocks of the spatial axes moved into the batch. Mirrors `tf.spaceToBatchND`.

    Args:
        x: Shape `[batch, *spatial, ...]`.
        block_shape: The length of a block on each spatial axis.
        paddings: The zeros to put before and after each spatial axis first; the padded lengths must be whole numbers
            of blocks.

    Returns:
        Shape `[batch * product of block_shape, *spatial / block_shape, ...]`.

    >>> import varigrad as vg
    >>> vg.space_to_batch_nd([[[1, 2], [3, 4]]], [2, 2], [[0, 0], [0, 0]]).tolist()
    [[[1.0]], [[2.0]], [[3.0]], [[4.0]]]
    """
    x = convert(x, "space_to_batch_nd", "x")
    blocks, pairs = _check_blocks("space_to_batch_nd", x, block_shape, "paddings", paddings)
    count = len(blocks)
    if any(before or after for before, after in pairs):
        x = pad(x, [(0, 0), *pairs, *[(0, 0)] * (x.rank - 1 - count)])
    batch, spatial, rest = x.shape[0], x.shape[1 : 1 + count], x.shape[1 + count :]
    for axis, (length, block) in enumerate(zip(spatial, blocks, strict=True), 1):
        if length % block:
            raise ValueError(
                f"space_to_batch_nd: axis {axis} is {length} long with its padding, not a whole number of blocks of "
                f"{block}"
            )
    cells = [n for length, block in zip(spatial, blocks, strict=True) for n in (length // block, block)]
    x = reshape_to(x, (batch, *cells, *rest))
    in_block = [2 + 2 * i for i in range(count)]
    between = [1 + 2 * i for i in range(count)]
    x = transpose(x, [*in_block, 0, *between, *range(1 + 2 * count, x.rank)])
    return reshape_to(x, (batch * math.prod(blocks), *cells[::2], *rest))


def batch_to_space_nd(x: TensorLike, block_shape: Sequence[int], crops: Paddings) -> Tensor:
    """The reverse of `space_to_batch_nd`: parts of the batch put back into blocks. Mirrors `tf.batchToSpaceND`.

    Args:
        x: Shape `[batch, *spatial, ...]`; the batch is a multiple of the product of `block_shape`.
        block_shape: The length of a block on each spatial axis.
        crops: How many to cut off at the beginning and end of each spatial axis afterwards.

    Returns:
        Shape `[batch / product of block_shape, *spatial * block_shape - crops, ...]`.

    >>> import varigrad as vg
    >>> vg.batch_to_space_nd([[[1]], [[2]], [[3]], [[4]]], [2, 2], [[0, 0], [0, 0]]).tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]
    """
    x = convert(x, "batch_to_space_nd", "x")
    blocks, cut = _check_blocks("batch_to_space_nd", x, block_shape, "crops", crops)
    count, cells = len(blocks), math.prod(blocks)
    if not cells or x.shape[0] % cells:
        raise ValueError(
            f"batch_to_space_nd: the batch of {x.shape[0]} is not a multiple of the {cells} cells of a block "
            f"{list(blocks)}"
        )
    batch, spatial, rest = x.shape[0] // cells, x.shape[1 : 1 + count], x.shape[1 + count :]
    x = reshape_to(x, (*blocks, batch, *spatial, *rest))
    pairs = [axis for i in range(count) for axis in (count + 1 + i, i)]
    x = transpose(x, [count, *pairs, *range(2 * count + 1, x.rank)])
    lengths = [n * block for n, block in zip(spatial, blocks, strict=True)]
    x = reshape_to(x, (batch, *lengths, *rest))
    begin = [0, *[before for before, _ in cut], *[0] * len(rest)]
    size = [n - before - after for n, (before, after) in zip(lengths, cut, strict=True)]
    if min(size, default=0) < 0:
        raise ValueError(f"batch_to_space_nd: crops {[list(c) for c in cut]} cut more than there is ({lengths})")
    return run_kernel("Slice", (x,), {"begin": tuple(begin), "size": (batch, *size, *rest)})


def _check_blocks(
    op: str, x: Tensor, block_shape: Sequence[int], argument: str, pairs: Paddings
) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    blocks = normalize_shape(op, block_shape, "block_shape")
    if x.rank < 1 + len(blocks):
        raise ValueError(
            f"{op}: x needs a batch axis and {len(blocks)} spatial ones for blocks {list(blocks)} "
            f"(x: {format_shape(x.shape)})"
        )
    if 0 in blocks:
        raise ValueError(f"{op}: block_shape {list(blocks)} must be positive")
    return blocks, _check_paddings(op, argument, pairs, len(blocks))


def depth_to_space(x: TensorLike, block_size: int, data_format: str = "NHWC") -> Tensor:
    """Channels laid out as blocks of height and width. Mirrors `tf.depthToSpace`.

    Args:
        x: Floating, `[batch, height, width, channels]` or `[batch, channels, height, width]`.
        block_size: The side of a block, 2 or more; its square divides the channels.
        data_format: `"NHWC"` or `"NCHW"`.

    Returns:
        Shape `[batch, height * block_size, width * block_size, channels / block_size ** 2]`, or the like.

    >>> import varigrad as vg
    >>> vg.depth_to_space([[[[1, 2, 3, 4]]]], 2).reshape([2, 2]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    x = of_rank("depth_to_space", 4, accept_floats(x, "depth_to_space", "x"))
    data_format = one_of("depth_to_space", "data_format", data_format, ("NHWC", "NCHW"))
    block_size = integer("depth_to_space", "block_size", block_size, 2)
    channels = x.shape[3 if data_format == "NHWC" else 1]
    if channels % block_size**2:
        raise ValueError(
            f"depth_to_space: {channels} channels are not a multiple of {block_size**2}, the cells of a block "
            f"(x: {format_shape(x.shape)})"
        )
    depth = channels // block_size**2
    if data_format == "NHWC":
        batch, height, width, _ = x.shape
        x = reshape(x, (batch, height, width, block_size, block_size, depth))
        return reshape(transpose(x, (0, 1, 3, 2, 4, 5)), (batch, height * block_size, width * block_size, depth))
    batch, _, height, width = x.shape
    x = reshape(x, (batch, block_size, block_size, depth, height, width))
    return reshape(transpose(x, (0, 3, 4, 1, 5, 2)), (batch, depth, height * block_size, width * block_size))

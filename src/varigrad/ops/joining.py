"""Joining tensors along an axis, and splitting them again."""

from __future__ import annotations

from collections.abc import Sequence

from varigrad.dtypes import DType, promote
from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, convert, normalize_axis
from varigrad.tensor import Tensor, format_shape

__all__ = ["concat", "stack"]


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
    parts = _of_one_dtype("concat", tensors)
    first = parts[0].shape
    axis = normalize_axis("concat", axis, len(first))
    for position, part in enumerate(parts):
        shape = part.shape
        if len(shape) != len(first) or shape[:axis] != first[:axis] or shape[axis + 1 :] != first[axis + 1 :]:
            raise ValueError(
                f"concat: tensors[{position}] differs from tensors[0] in more than the length of axis {axis} "
                f"(tensors[0]: {format_shape(first)}, tensors[{position}]: {format_shape(shape)})"
            )
    if len(parts) == 1:
        return run_kernel("Identity", parts)
    return run_kernel("Concat", parts, {"axis": axis})


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
    axis = normalize_axis("stack", axis, len(first) + 1)
    for position, part in enumerate(parts):
        if part.shape != first:
            raise ValueError(
                f"stack: the shapes differ (tensors[0]: {format_shape(first)}, "
                f"tensors[{position}]: {format_shape(part.shape)}); make them equal, or join them with concat"
            )
    return run_kernel("Pack", parts, {"axis": axis})


def _of_one_dtype(op: str, tensors: Sequence[TensorLike]) -> tuple[Tensor, ...]:
    """The tensors in a list, in the widest of their dtypes; a tensor counts as the list of its rows."""
    parts = tuple([x if isinstance(x, Tensor) else convert(x, op, f"tensors[{i}]") for i, x in enumerate(tensors)])
    if not parts:
        raise ValueError(f"{op}: needs at least one tensor")
    first = parts[0].storage.dtype
    if all(part.storage.dtype == first for part in parts):
        return parts
    dtype: DType = parts[0].dtype
    for part in parts:
        dtype = promote(dtype, part.dtype, op)
    return tuple([convert(part, op, "tensors", dtype) for part in parts])

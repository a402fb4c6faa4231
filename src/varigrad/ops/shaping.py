"""Changes of shape, layout and dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arguments import (
    TensorLike,
    cast_to,
    check_dtype,
    convert,
    normalize_axes,
    normalize_axis,
    normalize_shape,
)
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "broadcast_to",
    "cast",
    "clone",
    "expand_dims",
    "reshape",
    "squeeze",
    "transpose",
]


def cast(x: TensorLike, dtype: str) -> Tensor:
    """The values in another dtype. Mirrors `tf.cast`.

    Floats become integers by dropping the fraction, numbers become bools by comparing with 0, and complex numbers
    become real ones by dropping the imaginary part.

    Args:
        x: Any shape.
        dtype: The dtype's name.

    Raises:
        ValueError: An unknown dtype.
        TypeError: Strings to numbers, or numbers to strings.

    >>> import varigrad as vg
    >>> vg.cast([1.7, -1.7], "int32").tolist()
    [1, -1]
    """
    x = convert(x, "cast", "x")
    dtype = check_dtype("cast", dtype)
    if x.dtype == dtype:
        return run_kernel("Identity", (x,))
    if "string" in (x.dtype, dtype):
        raise TypeError(f"cast: {x.dtype} cannot become {dtype}; convert the values with Python and make a new tensor")
    return cast_to(x, dtype)


def clone(x: TensorLike) -> Tensor:
    """A new tensor of the same values, which lives and is disposed of by itself. Mirrors `tf.clone`.

    >>> import varigrad as vg
    >>> vg.clone([1, 2]).tolist()
    [1.0, 2.0]
    """
    return run_kernel("Identity", (convert(x, "clone", "x"),))


def reshape(x: TensorLike, shape: Sequence[int]) -> Tensor:
    """The same values, in the same order, in another shape. Mirrors `tf.reshape`.

    Args:
        x: Any shape and dtype.
        shape: The new shape, of as many elements; one length may be -1, and is worked out from the others.

    Raises:
        ValueError: The shape does not hold as many elements as `x`.

    >>> import varigrad as vg
    >>> vg.reshape([1, 2, 3, 4, 5, 6], [2, -1]).tolist()
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    """
    if not isinstance(x, Tensor):
        x = convert(x, "reshape", "x")
    return run_kernel("Reshape", (x,), {"shape": _fill_in("reshape", x, shape)})


def _fill_in(op: str, x: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    """A shape of as many elements as `x`, its -1 replaced."""
    try:
        target = tuple(shape)
        known = math.prod(target)
    except TypeError:
        target, known = (), -1
    if known >= 0 and known == x.storage.size and all(n.__class__ is int and n >= 0 for n in target):
        return target
    lengths = [-1 if n == -1 else normalize_shape(op, (n,))[0] for n in _as_sequence(op, shape)]
    missing = [axis for axis, n in enumerate(lengths) if n == -1]
    if len(missing) > 1:
        raise ValueError(f"{op}: shape {format_shape(lengths)} leaves more than one length to work out")
    if missing:
        others = math.prod(n for n in lengths if n != -1)
        if others and x.size % others == 0:
            lengths[missing[0]] = x.size // others
    if math.prod(lengths) != x.size or -1 in lengths:
        raise ValueError(
            f"{op}: x has {x.size} elements, which do not fill shape {format_shape(list(shape))} "
            f"(x: {format_shape(x.shape)})"
        )
    return tuple(lengths)


def _as_sequence(op: str, shape: Sequence[int]) -> list[int]:
    if not isinstance(shape, (list, tuple)):
        raise TypeError(f"{op}: shape must be a list of integers, got {shape!r}")
    return list(shape)


def expand_dims(x: TensorLike, axis: int = 0) -> Tensor:
    """The same values with an axis of length 1 put in. Mirrors `tf.expandDims`.

    Args:
        x: Any shape and dtype.
        axis: Where the new axis comes to stand in the result; negative ones are counted from its back.

    Raises:
        ValueError: The axis is out of range.

    >>> import varigrad as vg
    >>> vg.expand_dims([1, 2, 3], 1).shape
    (3, 1)
    """
    x = convert(x, "expand_dims", "x")
    place = normalize_axis("expand_dims", axis, x.rank + 1)
    return run_kernel("Reshape", (x,), {"shape": (*x.shape[:place], 1, *x.shape[place:])})


def squeeze(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """The same values without axes of length 1. Mirrors `tf.squeeze`.

    Args:
        x: Any shape and dtype.
        axis: The axes to take out; None means every axis of length 1.

    Raises:
        ValueError: An axis named is out of range or longer than 1.

    >>> import varigrad as vg
    >>> vg.squeeze([[[1, 2]]]).shape
    (2,)
    >>> vg.squeeze([[[1, 2]]], [0]).shape
    (1, 2)
    """
    x = convert(x, "squeeze", "x")
    if axis is None:
        shape = tuple([n for n in x.shape if n != 1])
    else:
        axes = normalize_axes("squeeze", axis, x.rank)
        for a in axes:
            if x.shape[a] != 1:
                raise ValueError(f"squeeze: axis {a} has length {x.shape[a]}, not 1 (x: {format_shape(x.shape)})")
        shape = tuple([n for a, n in enumerate(x.shape) if a not in axes])
    return run_kernel("Reshape", (x,), {"shape": shape})


def transpose(x: TensorLike, perm: Sequence[int] | None = None) -> Tensor:
    """The values with axes reordered. Mirrors `tf.transpose`.

    Args:
        x: Any shape and dtype.
        perm: For each axis of the result, which axis of `x` it is; by default the axes are reversed.

    Raises:
        ValueError: `perm` does not name each axis once.

    >>> import varigrad as vg
    >>> vg.transpose([[1, 2, 3], [4, 5, 6]]).tolist()
    [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    """
    x = convert(x, "transpose", "x")
    if perm is None:
        order = tuple(range(x.rank - 1, -1, -1))
    else:
        order = tuple([normalize_axis("transpose", axis, x.rank, "perm") for axis in perm])
        if len(set(order)) != x.rank:
            raise ValueError(
                f"transpose: perm {list(perm)} must name each of the {x.rank} axes once (x: {format_shape(x.shape)})"
            )
    return run_kernel("Transpose", (x,), {"perm": order})


def broadcast_to(x: TensorLike, shape: Sequence[int]) -> Tensor:
    """The values repeated along new axes, and along axes of length 1, to fill a shape. Mirrors `tf.broadcastTo`.

    Args:
        x: Any shape and dtype.
        shape: The shape to fill, to which x's own must broadcast.

    Raises:
        ValueError: x's shape does not broadcast to `shape`.

    >>> import varigrad as vg
    >>> vg.broadcast_to([[1], [2]], [2, 3]).tolist()
    [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    x = convert(x, "broadcast_to", "x")
    target = normalize_shape("broadcast_to", shape)
    added = len(target) - x.rank
    if added < 0 or any(n not in (1, target[added + axis]) for axis, n in enumerate(x.shape)):
        raise ValueError(f"broadcast_to: shape {format_shape(x.shape)} does not broadcast to {format_shape(target)}")
    return run_kernel("BroadcastTo", (x,), {"shape": target})

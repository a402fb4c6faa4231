"""Changes of shape, layout and dtype."""

from __future__ import annotations

import math
from collections.abc import Sequence

from varigrad.dtypes import MAX_RANK
from varigrad.engine import run_kernel
from varigrad.ops.arguments import (
    TensorLike,
    cast_to,
    check_dtype,
    convert,
    convert_integers,
    normalize_axes,
    normalize_axis,
    normalize_shape,
    of_rank,
)
from varigrad.ops.arithmetic import scale
from varigrad.ops.creation import complex, imag, real
from varigrad.ops.options import flag, integer, items_of
from varigrad.tensor import Tensor, format_shape

__all__ = [
    "broadcast_args",
    "broadcast_to",
    "cast",
    "clone",
    "ensure_shape",
    "expand_dims",
    "reshape",
    "reverse",
    "reverse1d",
    "reverse2d",
    "reverse3d",
    "reverse4d",
    "squeeze",
    "tile",
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
    if isinstance(shape, (list, tuple)):
        target = tuple(shape)
        known = all(n.__class__ is int and n >= 0 for n in target) and len(target) <= MAX_RANK
        if known and math.prod(target) == x.storage.size:
            return target
    lengths = [-1 if n.__class__ is int and n == -1 else normalize_shape(op, (n,))[0] for n in _as_sequence(op, shape)]
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
        raise TypeError(f"{op}: shape must be a list of integers, got {shape!r:.80}")
    if len(shape) > MAX_RANK:
        raise ValueError(f"{op}: shape has {len(shape)} lengths; tensors have {MAX_RANK} axes at most")
    return list(shape)


# Methods only, as in TensorFlow.js.


def flatten(x: Tensor) -> Tensor:
    """The values as a vector."""
    return run_kernel("Reshape", (x,), {"shape": (x.storage.size,)})


def as_scalar(x: Tensor) -> Tensor:
    """The one value of a one-element tensor, as rank 0."""
    if x.size != 1:
        raise ValueError(f"as_scalar: x must have one element, got shape {format_shape(x.shape)}")
    return run_kernel("Reshape", (x,), {"shape": ()})


def as1d(x: Tensor) -> Tensor:
    """The values as a vector."""
    return flatten(x)


def as2d(x: Tensor, rows: int, columns: int) -> Tensor:
    """The values in a shape of rank 2."""
    return reshape(x, (rows, columns))


def as3d(x: Tensor, rows: int, columns: int, depth: int) -> Tensor:
    """The values in a shape of rank 3."""
    return reshape(x, (rows, columns, depth))


def as4d(x: Tensor, rows: int, columns: int, depth: int, depth2: int) -> Tensor:
    """The values in a shape of rank 4."""
    return reshape(x, (rows, columns, depth, depth2))


def as5d(x: Tensor, rows: int, columns: int, depth: int, depth2: int, depth3: int) -> Tensor:
    """The values in a shape of rank 5."""
    return reshape(x, (rows, columns, depth, depth2, depth3))


def to_float(x: Tensor) -> Tensor:
    """The values as float32."""
    return cast(x, "float32")


def to_int(x: Tensor) -> Tensor:
    """The values as int32, fractions cut off."""
    return cast(x, "int32")


def to_bool(x: Tensor) -> Tensor:
    """Whether each value is not 0."""
    return cast(x, "bool")


def reshape_as(x: Tensor, like: TensorLike) -> Tensor:
    """The values in the shape of another tensor."""
    return reshape(x, convert(like, "reshape_as", "like").shape)


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
    if x.rank == MAX_RANK:
        raise ValueError(f"expand_dims: x has {MAX_RANK} axes, and tensors have no more")
    return run_kernel("Reshape", (x,), {"shape": (*x.shape[:place], 1, *x.shape[place:])})


def squeeze(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """The same values without axes of length 1. Mirrors `tf.squeeze`.

    Args:
        x: Any shape and dtype.
        axis: The axes to take out; None, or no axes, means every axis of length 1.

    Raises:
        ValueError: An axis named is out of range or longer than 1.

    >>> import varigrad as vg
    >>> vg.squeeze([[[1, 2]]]).shape
    (2,)
    >>> vg.squeeze([[[1, 2]]], [0]).shape
    (1, 2)
    """
    x = convert(x, "squeeze", "x")
    if axis is None or (isinstance(axis, (list, tuple)) and not axis):
        shape = tuple([n for n in x.shape if n != 1])
    else:
        axes = normalize_axes("squeeze", axis, x.rank)
        for a in axes:
            if x.shape[a] != 1:
                raise ValueError(f"squeeze: axis {a} has length {x.shape[a]}, not 1 (x: {format_shape(x.shape)})")
        shape = tuple([n for a, n in enumerate(x.shape) if a not in axes])
    return run_kernel("Reshape", (x,), {"shape": shape})


def ensure_shape(x: TensorLike, shape: Sequence[int | None]) -> Tensor:
    """`x` itself, once its shape is known to be as said. Mirrors `tf.ensureShape`.

    Args:
        x: Any shape and dtype.
        shape: The length of each axis, None where any length will do.

    Raises:
        ValueError: x's shape is another.

    >>> import varigrad as vg
    >>> vg.ensure_shape([[1, 2]], [None, 2]).shape
    (1, 2)
    """
    x = convert(x, "ensure_shape", "x")
    lengths = items_of("ensure_shape", "shape", shape)
    shape = [n if n is None else integer("ensure_shape", "shape", n) for n in lengths]
    if len(shape) != x.rank or any(n not in (None, length) for n, length in zip(shape, x.shape, strict=True)):
        raise ValueError(f"ensure_shape: x must have shape {format_shape(shape)}, got {format_shape(x.shape)}")
    return x


def transpose(x: TensorLike, perm: Sequence[int] | None = None, conjugate: bool = False) -> Tensor:
    """The values with axes reordered. Mirrors `tf.transpose`.

    Args:
        x: Any shape and dtype.
        perm: For each axis of the result, which axis of `x` it is; by default the axes are reversed.
        conjugate: Conjugates complex values too.

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
        axes = items_of("transpose", "perm", perm)
        order = tuple([normalize_axis("transpose", axis, x.rank, "perm") for axis in axes])
        if len(set(order)) != x.rank:
            raise ValueError(
                f"transpose: perm {list(order)} must name each of the {x.rank} axes once (x: {format_shape(x.shape)})"
            )
    if flag("transpose", "conjugate", conjugate) and x.storage.dtype.kind == "c":
        x = complex(real(x), scale(imag(x), -1.0))
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


def broadcast_args(s0: TensorLike, s1: TensorLike) -> Tensor:
    """The shape to which two shapes broadcast, as a vector of integers. Mirrors `tf.broadcastArgs`.

    Args:
        s0: A shape as integers `[rank]`.
        s1: Another.

    Raises:
        ValueError: They do not broadcast, or are not vectors.

    >>> import varigrad as vg
    >>> vg.broadcast_args([4, 1, 3], [2, 1]).tolist()
    [4, 2, 3]
    """
    shapes = (convert_integers(s0, "broadcast_args", "s0"), convert_integers(s1, "broadcast_args", "s1"))
    for argument, shape in zip(("s0", "s1"), shapes, strict=True):
        if shape.rank != 1:
            raise ValueError(f"broadcast_args: {argument} must be a vector, got shape {format_shape(shape.shape)}")
    return run_kernel("BroadcastArgs", shapes)


def reverse(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """The values in reverse order along axes. Mirrors `tf.reverse`.

    Args:
        x: Any shape and dtype.
        axis: The axes to reverse; None means all of them.

    >>> import varigrad as vg
    >>> vg.reverse([[1, 2], [3, 4]], 1).tolist()
    [[2.0, 1.0], [4.0, 3.0]]
    """
    return _reverse("reverse", convert(x, "reverse", "x"), axis)


def _reverse(op: str, x: Tensor, axis: int | Sequence[int] | None) -> Tensor:
    return run_kernel("Reverse", (x,), {"dims": normalize_axes(op, axis, x.rank)})


def reverse1d(x: TensorLike) -> Tensor:
    """A vector in reverse order. Mirrors `tf.reverse1d`.

    >>> import varigrad as vg
    >>> vg.reverse1d([1, 2, 3]).tolist()
    [3.0, 2.0, 1.0]
    """
    return _reverse("reverse1d", of_rank("reverse1d", 1, x), 0)


def reverse2d(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """`vg.reverse` of a tensor of rank 2. Mirrors `tf.reverse2d`.

    >>> import varigrad as vg
    >>> vg.reverse2d([[1, 2], [3, 4]], axis=1).tolist()
    [[2.0, 1.0], [4.0, 3.0]]
    """
    return _reverse("reverse2d", of_rank("reverse2d", 2, x), axis)


def reverse3d(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """`vg.reverse` of a tensor of rank 3. Mirrors `tf.reverse3d`.

    >>> import varigrad as vg
    >>> vg.reverse3d([[[1, 2], [3, 4]]], axis=[1, 2]).tolist()
    [[[4.0, 3.0], [2.0, 1.0]]]
    """
    return _reverse("reverse3d", of_rank("reverse3d", 3, x), axis)


def reverse4d(x: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """`vg.reverse` of a tensor of rank 4. Mirrors `tf.reverse4d`.

    >>> import varigrad as vg
    >>> vg.reverse4d([[[[1, 2], [3, 4]]]], axis=2).tolist()
    [[[[3.0, 4.0], [1.0, 2.0]]]]
    """
    return _reverse("reverse4d", of_rank("reverse4d", 4, x), axis)


def tile(x: TensorLike, reps: Sequence[int]) -> Tensor:
    """The whole tensor repeated along each axis. Mirrors `tf.tile`.

    Args:
        x: Any shape and dtype.
        reps: How often along each axis; one number an axis.

    Raises:
        ValueError: `reps` has not one number for each axis.

    >>> import varigrad as vg
    >>> vg.tile([[1, 2]], [2, 2]).tolist()
    [[1.0, 2.0, 1.0, 2.0], [1.0, 2.0, 1.0, 2.0]]
    """
    x = convert(x, "tile", "x")
    counts = normalize_shape("tile", reps, "reps")
    if len(counts) != x.rank:
        raise ValueError(
            f"tile: reps {list(counts)} must have one number for each of the {x.rank} axes (x: {format_shape(x.shape)})"
        )
    return run_kernel("Tile", (x,), {"reps": counts})

"""Taking parts of tensors."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from varigrad.engine import run_kernel
from varigrad.ops.arguments import TensorLike, convert
from varigrad.tensor import Tensor, format_shape

__all__ = ["slice"]


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

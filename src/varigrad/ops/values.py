"""Making tensors, variables and buffers of given values, and printing them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from varigrad.buffers import TensorBuffer
from varigrad.dtypes import to_array
from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import (
    TensorLike,
    check_dtype,
    convert,
    holds_tensors,
    normalize_shape,
)
from varigrad.ops.options import flag
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = [
    "buffer",
    "print",
    "scalar",
    "tensor",
    "tensor1d",
    "tensor2d",
    "tensor3d",
    "tensor4d",
    "tensor5d",
    "tensor6d",
    "variable",
]


def tensor(values: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
    """A tensor with a copy of the values.

    Mirrors `tf.tensor`.

    Args:
        values: A number, bool or string, nested lists of them, a NumPy array, a pandas object, anything that speaks
            DLPack, or a tensor. Gradients flow through tensors, also in lists.
        shape: The shape to give the values; by default the nesting's own. Nested lists must have this shape already,
            but that their innermost rows may hold several axes; an array is reshaped.
        dtype: The dtype name. By default Python numbers, whole ones too, and floating-point arrays become float32,
            integer arrays int32, bools bool, text string.

    Raises:
        ValueError: Ragged nesting; values that don't fill the shape, or are nested in another one; an integer that
            doesn't fit the dtype.

    >>> import varigrad as vg
    >>> vg.tensor([[1, 2], [3, 4]])
    Tensor([[1., 2.], [3., 4.]], shape=[2, 2], dtype=float32)
    >>> vg.tensor([1, 2, 3, 4], [2, 2], "int32").shape
    (2, 2)
    """
    return _make("tensor", values, shape, dtype)


def _make(op: str, values: Any, shape: Sequence[int] | None, dtype: str | None, argument: str = "values") -> Tensor:
    if isinstance(values, Tensor) or holds_tensors(values):
        return _from_tensors(op, values, shape, dtype, argument)
    array = to_array(values, dtype, op, argument)
    if shape is not None:
        target = normalize_shape(op, shape)
        if math.prod(target) != array.size:
            raise ValueError(f"{op}: {array.size} values do not fill shape {format_shape(target)}")
        if isinstance(values, (list, tuple)) and not _nests_as(array.shape, target):
            raise ValueError(
                f"{op}: the values are nested as {format_shape(array.shape)}, which is not shape "
                f"{format_shape(target)}; give them flat, or reshape the tensor"
            )
        array = array.reshape(target)
    return make_tensor(array)


def _nests_as(nesting: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether nested lists fit a shape of as many values: axis by axis, but for the innermost rows, which may hold all
    that is left of it."""
    outer = len(nesting) - 1
    return nesting[:outer] == shape[:outer]


def _from_tensors(op: str, values: Any, shape: Sequence[int] | None, dtype: str | None, argument: str) -> Tensor:
    x = convert(values, op, argument, None if dtype is None else check_dtype(op, dtype))
    if shape is None:
        return run_kernel("Identity", (x,)) if x is values else x
    target = normalize_shape(op, shape)
    if math.prod(target) != x.size:
        raise ValueError(f"{op}: {x.size} values do not fill shape {format_shape(target)}")
    return run_kernel("Reshape", (x,), {"shape": target})


def _tensor_of_rank(rank: int, values: Any, shape: Sequence[int] | None, dtype: str | None) -> Tensor:
    op = f"tensor{rank}d"
    if shape is not None:
        shape = normalize_shape(op, shape)
        if len(shape) != rank:
            raise ValueError(f"{op}: shape must have {rank} lengths, got {format_shape(shape)}")
    result = _make(op, values, shape, dtype)
    if result.rank != rank:
        raise ValueError(
            f"{op}: values must be nested {rank} deep, got shape {format_shape(result.shape)}; "
            "give a shape for flat values"
        )
    return result


def tensor1d(values: Any, dtype: str | None = None) -> Tensor:
    """`vg.tensor` of rank 1. Mirrors `tf.tensor1d`.

    >>> import varigrad as vg
    >>> vg.tensor1d([1, 2], dtype="int32")
    Tensor([1, 2], shape=[2], dtype=int32)
    """
    return _tensor_of_rank(1, values, None, dtype)


def tensor2d(values: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
    """`vg.tensor` of rank 2. Mirrors `tf.tensor2d`.

    >>> import varigrad as vg
    >>> vg.tensor2d([1, 2, 3, 4], [2, 2]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    return _tensor_of_rank(2, values, shape, dtype)


def tensor3d(values: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
    """`vg.tensor` of rank 3. Mirrors `tf.tensor3d`.

    >>> import varigrad as vg
    >>> vg.tensor3d([1, 2], [1, 1, 2]).tolist()
    [[[1.0, 2.0]]]
    """
    return _tensor_of_rank(3, values, shape, dtype)


def tensor4d(values: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
    """`vg.tensor` of rank 4. Mirrors `tf.tensor4d`.

    >>> import varigrad as vg
    >>> vg.tensor4d([1, 2], [1, 1, 1, 2]).tolist()
    [[[[1.0, 2.0]]]]
    """
    return _tensor_of_rank(4, values, shape, dtype)


def tensor5d(values: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
    """`vg.tensor` of rank 5. Mirrors `tf.tensor5d`.

    >>> import varigrad as vg
    >>> vg.tensor5d([1, 2], [1, 1, 1, 1, 2]).tolist()
    [[[[[1.0, 2.0]]]]]
    """
    return _tensor_of_rank(5, values, shape, dtype)


def tensor6d(values: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
    """`vg.tensor` of rank 6. Mirrors `tf.tensor6d`.

    >>> import varigrad as vg
    >>> vg.tensor6d([1, 2], [1, 1, 1, 1, 1, 2]).tolist()
    [[[[[[1.0, 2.0]]]]]]
    """
    return _tensor_of_rank(6, values, shape, dtype)


def scalar(value: Any, dtype: str | None = None) -> Tensor:
    """A tensor of rank 0. Mirrors `tf.scalar`.

    >>> import varigrad as vg
    >>> vg.scalar(2.5).item()
    2.5
    """
    result = _make("scalar", value, None, dtype, "value")
    if result.rank:
        raise ValueError(f"scalar: needs one value, got shape {format_shape(result.shape)}")
    return result


def variable(
    initial_value: TensorLike,
    trainable: bool = True,
    name: str | None = None,
    dtype: str | None = None,
) -> Variable:
    """A variable with the initial value; what later happens to the variable leaves that as it is.

    Mirrors `tf.variable`; Python values are accepted as well as tensors.

    Args:
        initial_value: Its first value; shape and dtype are fixed by it.
        trainable: Whether `vg.variable_grads` and optimizers look at it unasked.
        name: By which its gradient and optimizer state are found; `variable_1` and so on by default.
        dtype: Converts the initial value.

    Raises:
        ValueError: A variable of that name is alive already.

    >>> import varigrad as vg
    >>> w = vg.variable([1, 2], name="weights_example")
    >>> w
    Variable([1., 2.], shape=[2], dtype=float32, name='weights_example')
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"variable: name must be a string, got {name!r:.80}")
    if holds_tensors(initial_value):
        initial_value = convert(initial_value, "variable", "initial_value")
    value = initial_value.storage if isinstance(initial_value, Tensor) else initial_value
    if isinstance(initial_value, Tensor) and dtype is None:
        return Variable(initial_value.storage, trainable, name)
    return Variable(to_array(value, dtype, "variable", "initial_value"), trainable, name)


def buffer(shape: Sequence[int], dtype: str = "float32", values: Any = None) -> TensorBuffer:
    """A buffer to be filled value by value and made into a tensor. Mirrors `tf.buffer`.

    Args:
        shape: The shape.
        dtype: The dtype.
        values: The values to begin with, in row-major order; zeros by default.

    >>> import varigrad as vg
    >>> b = vg.buffer([2, 2])
    >>> b.set(3, 0, 1)
    >>> b.to_tensor().tolist()
    [[0.0, 3.0], [0.0, 0.0]]
    """
    return TensorBuffer(normalize_shape("buffer", shape), check_dtype("buffer", dtype), values)


def print(x: TensorLike, verbose: bool = False) -> None:
    """Prints the values, and the dtype, rank and shape if `verbose`, in TensorFlow.js's layout. Mirrors `tf.print`.

    >>> import varigrad as vg
    >>> vg.print([1, 2.5])
    Tensor
        [1, 2.5]
    """
    convert(x, "print", "x").print(flag("print", "verbose", verbose))

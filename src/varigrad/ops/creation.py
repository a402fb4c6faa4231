"""Making tensors and variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.dtypes import to_array
from varigrad.engine import make_tensor
from varigrad.ops.arguments import TensorLike
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["scalar", "tensor", "variable"]


def tensor(values: Any, shape: Sequence[int] | None = None, dtype: str | None = None) -> Tensor:
    """A tensor with a copy of the values.

    Mirrors `tf.tensor`.

    Args:
        values: A number, bool or string, nested lists of them, a NumPy array, a pandas object, or a tensor.
        shape: The shape to give the values; by default the nesting's own.
        dtype: The dtype name. By default Python numbers, whole ones too, and floating-point arrays become float32,
            integer arrays int32, bools bool, text string.

    Raises:
        ValueError: Ragged nesting; values that don't fill the shape; an integer that doesn't fit the dtype.

    >>> import varigrad as vg
    >>> vg.tensor([[1, 2], [3, 4]])
    Tensor([[1., 2.], [3., 4.]], shape=[2, 2], dtype=float32)
    >>> vg.tensor([1, 2, 3, 4], [2, 2], "int32").shape
    (2, 2)
    """
    array = to_array(values, dtype, "tensor")
    if shape is not None:
        try:
            array = array.reshape(tuple(shape))
        except ValueError:
            raise ValueError(f"tensor: {array.size} values do not fill shape {format_shape(list(shape))}") from None
    return make_tensor(array)


def scalar(value: Any, dtype: str | None = None) -> Tensor:
    """A tensor of rank 0. Mirrors `tf.scalar`.

    >>> import varigrad as vg
    >>> vg.scalar(2.5).item()
    2.5
    """
    result = tensor(value, dtype=dtype)
    if result.rank:
        raise ValueError(f"scalar: needs one value, got shape {format_shape(result.shape)}")
    return result


def variable(
    initial_value: TensorLike,
    trainable: bool = True,
    name: str | None = None,
    dtype: str | None = None,
) -> Variable:
    """A variable with a copy of the initial value.

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
    value = initial_value.storage if isinstance(initial_value, Tensor) else initial_value
    if isinstance(initial_value, Tensor) and dtype is None:
        return Variable(initial_value.storage.copy(), trainable, name)
    return Variable(to_array(value, dtype, "variable", "initial_value"), trainable, name)

"""Making tensors and variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from varigrad.dtypes import to_array
from varigrad.engine import make_tensor, run_kernel
from varigrad.ops.arguments import TensorLike, check_dtype, convert, convert_integers, normalize_shape
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["fill", "one_hot", "ones", "ones_like", "scalar", "tensor", "variable", "zeros", "zeros_like"]


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


def zeros(shape: Sequence[int], dtype: str = "float32") -> Tensor:
    """Zeros in a shape. Mirrors `tf.zeros`.

    >>> import varigrad as vg
    >>> vg.zeros([2, 2]).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    attrs = {"shape": normalize_shape("zeros", shape), "value": 0, "dtype": check_dtype("zeros", dtype)}
    return run_kernel("Fill", (), attrs)


def ones(shape: Sequence[int], dtype: str = "float32") -> Tensor:
    """Ones in a shape. Mirrors `tf.ones`.

    >>> import varigrad as vg
    >>> vg.ones([2], "int32").tolist()
    [1, 1]
    """
    attrs = {"shape": normalize_shape("ones", shape), "value": 1, "dtype": check_dtype("ones", dtype)}
    return run_kernel("Fill", (), attrs)


def fill(shape: Sequence[int], value: TensorLike, dtype: str | None = None) -> Tensor:
    """One value in a shape. Mirrors `tf.fill`.

    Args:
        shape: The shape of the result.
        value: A number, bool or string, or a scalar tensor, through which gradients flow.
        dtype: The dtype; by default float32 for Python numbers, and the value's own otherwise.

    Raises:
        ValueError: `value` is more than one value.

    >>> import varigrad as vg
    >>> vg.fill([2, 2], 4).tolist()
    [[4.0, 4.0], [4.0, 4.0]]
    """
    # The value is a tensor, not an attribute, so that a compiled step need not be compiled for each one.
    x = convert(value, "fill", "value", dtype)
    if x.rank:
        raise ValueError(f"fill: value must be one value, got shape {format_shape(x.shape)}; broadcast_to takes many")
    return run_kernel("BroadcastTo", (x,), {"shape": normalize_shape("fill", shape)})


def zeros_like(x: TensorLike) -> Tensor:
    """Zeros in the shape and dtype of `x`. Mirrors `tf.zerosLike`.

    >>> import varigrad as vg
    >>> vg.zeros_like([[1, 2]]).tolist()
    [[0.0, 0.0]]
    """
    return run_kernel("ZerosLike", (convert(x, "zeros_like", "x"),))


def ones_like(x: TensorLike) -> Tensor:
    """Ones in the shape and dtype of `x`. Mirrors `tf.onesLike`.

    >>> import varigrad as vg
    >>> vg.ones_like([[1, 2]]).tolist()
    [[1.0, 1.0]]
    """
    return run_kernel("OnesLike", (convert(x, "ones_like", "x"),))


def one_hot(indices: TensorLike, depth: int, on_value: float = 1, off_value: float = 0, dtype: str = "int32") -> Tensor:
    """A row for each index, with `on_value` at the index and `off_value` elsewhere. Mirrors `tf.oneHot`.

    Args:
        indices: Integers (or bools, as 0 and 1), any shape. An index outside `0 … depth - 1` gives a row of
            `off_value` only.
        depth: The length of a row.
        on_value: The value at the index.
        off_value: The value elsewhere.
        dtype: The dtype of the result.

    Returns:
        A tensor of shape `[*indices.shape, depth]`.

    Raises:
        TypeError: The indices are not integers.

    >>> import varigrad as vg
    >>> vg.one_hot([0, 2, 5], 3).tolist()
    [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    """
    x = convert_integers(indices, "one_hot", "indices")
    attrs = {
        "depth": normalize_shape("one_hot", (depth,), "depth")[0],
        "on_value": on_value,
        "off_value": off_value,
        "dtype": check_dtype("one_hot", dtype),
    }
    return run_kernel("OneHot", (x,), attrs)

"""New values for variables."""

from __future__ import annotations

import numpy as np

from varigrad.dtypes import Array, as_numpy, kind_of, to_array
from varigrad.engine import make_tensor, share_values
from varigrad.ops import arithmetic
from varigrad.ops.arguments import TensorLike
from varigrad.tensor import Tensor, Variable, format_shape

__all__ = ["assign", "assign_add", "assign_sub"]


def assign(variable: Variable, value: TensorLike) -> Variable:
    """Gives a variable new values and returns it. Mirrors `tf.Variable.assign`.

    Tensors that were made from the variable before keep the values they have.

    Args:
        variable: The variable.
        value: A tensor of the variable's shape and dtype, or an array or numbers of that shape, which are converted.

    Raises:
        ValueError: Another shape.
        TypeError: A tensor of another dtype, or fractions for a variable of integers.

    >>> import varigrad as vg
    >>> counter = vg.variable(0, dtype="int32")
    >>> counter.assign(3).item()
    3
    """
    if not isinstance(value, Tensor):
        value = _convert(variable, value)
    elif value.storage.dtype != variable.storage.dtype:
        raise TypeError(
            f"assign: the variable {variable.name!r} is {variable.dtype} but the value is {value.dtype}; "
            f"cast it with .cast({variable.dtype!r})"
        )
    if value.storage.shape != variable.storage.shape:
        raise ValueError(
            f"assign: the variable {variable.name!r} has shape {format_shape(variable.shape)} but the value has "
            f"{format_shape(value.shape)}; a variable keeps its shape, so reshape the value or make a new variable"
        )
    share_values(variable, value)
    return variable


def _convert(variable: Variable, value: TensorLike) -> Tensor:
    array = as_numpy(value, "assign", "value")
    if variable.storage.dtype.kind in "ib" and kind_of(array.dtype) == "f" and _has_fractions(array):
        raise TypeError(
            f"assign: the variable {variable.name!r} is {variable.dtype}, which cannot hold fractions; round them first"
        )
    return make_tensor(to_array(array, variable.dtype, "assign", "value"))


def _has_fractions(array: Array) -> bool:
    with np.errstate(invalid="ignore"):  # infinities and NaN, which have none
        return bool((array % 1 > 0).any())


def assign_add(variable: Variable, value: TensorLike) -> Variable:
    """Adds to a variable in place and returns it; also `variable += value`.

    >>> import varigrad as vg
    >>> vg.variable([1, 2]).assign_add([10, 20]).tolist()
    [11.0, 22.0]
    """
    return assign(variable, arithmetic.add(variable, value))


def assign_sub(variable: Variable, value: TensorLike) -> Variable:
    """Subtracts from a variable in place and returns it; also `variable -= value`.

    >>> import varigrad as vg
    >>> vg.variable([1, 2]).assign_sub([10, 20]).tolist()
    [-9.0, -18.0]
    """
    return assign(variable, arithmetic.sub(variable, value))

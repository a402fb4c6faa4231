"""Inputs that are indices: checked, so that an error names the layer, the index and where it stands."""

from __future__ import annotations

from varigrad.engine import run_kernel
from varigrad.tensor import Tensor

__all__ = ["checked_indices"]


def checked_indices(owner: str, inputs: Tensor, count: int, argument: str) -> Tensor:
    """The inputs as integers, each of which is from 0 to `count` - 1; checked in compiled steps too.

    Args:
        owner: The layer's name, for errors.
        inputs: Whole numbers, of any dtype.
        count: How many indices there are.
        argument: The layer's argument that says so, for errors.

    Raises:
        OutOfRangeError: An index is not among them.
        ValueError: A number is not whole.
        TypeError: The inputs are no real numbers.
    """
    if inputs.dtype in ("string", "complex64"):
        raise TypeError(f"{owner}: its inputs are indices, got {inputs.dtype}")
    return run_kernel("WholeIndices", (inputs,), {"owner": owner, "count": count, "argument": argument})

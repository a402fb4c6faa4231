"""Inputs that are indices: checked, so that an error names the layer, the index and where it stands."""

from __future__ import annotations

import numpy as np

from varigrad.errors import OutOfRangeError
from varigrad.ops.arguments import cast_to
from varigrad.tensor import Tensor

__all__ = ["checked_indices"]


def checked_indices(owner: str, inputs: Tensor, count: int, what: str) -> Tensor:
    """The inputs as integers, each of which is from 0 to `count` - 1.

    Args:
        owner: The layer's name, for errors.
        inputs: Whole numbers, of any dtype.
        count: How many indices there are.
        what: What says so, for errors.

    Raises:
        OutOfRangeError: An index is not among them.
        ValueError: A number is not whole.
    """
    values = inputs.storage
    # Values that other backends hold are checked when they are used.
    if isinstance(values, np.ndarray) and values.size:
        if values.dtype.kind == "f" and not (values == np.trunc(values)).all():
            place = tuple(int(i) for i in np.argwhere(values != np.trunc(values))[0])
            raise ValueError(
                f"{owner}: its inputs are indices, but {values[place]} at position {list(place)} is not a whole number"
            )
        if values.min() < 0 or values.max() >= count:
            place = tuple(int(i) for i in np.argwhere((values < 0) | (values >= count))[0])
            raise OutOfRangeError(
                f"{owner}: index {int(values[place])} at position {list(place)} of its inputs is outside of "
                f"0..{count - 1} ({what}={count})"
            )
    return inputs if inputs.dtype in ("int32", "int64") else cast_to(inputs, "int32")

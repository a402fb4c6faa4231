"""`TensorBuffer`: values that are written one by one, to be made into a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from varigrad.dtypes import numpy_dtype, to_array
from varigrad.engine import make_tensor
from varigrad.tensor import Tensor, format_shape

__all__ = ["TensorBuffer"]


class TensorBuffer:
    """A mutable array for building a tensor value by value (`tf.TensorBuffer`).

    Made by `vg.buffer`; `to_tensor` copies the values into a tensor.

    >>> import varigrad as vg
    >>> b = vg.buffer([2, 2])
    >>> b.set(5.0, 1, 0)
    >>> b.to_tensor().tolist()
    [[0.0, 0.0], [5.0, 0.0]]
    """

    def __init__(self, shape: Sequence[int], dtype: str = "float32", values: Any = None) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self.rank = len(self.shape)
        if values is None:
            fill: Any = "" if dtype == "string" else 0
            self.values = np.full(self.size, fill, numpy_dtype(dtype, "buffer"))
        else:
            self.values = to_array(values, dtype, "buffer").reshape(-1)
            if self.values.size != self.size:
                raise ValueError(f"buffer: {self.values.size} values do not fill shape {format_shape(self.shape)}")

    def set(self, value: Any, *location: int) -> None:
        """Writes one value at the index given, one integer an axis (none for the first element)."""
        self.values[self.loc_to_index(location or (0,) * self.rank)] = value

    def get(self, *location: int) -> Any:
        """The value at the index given, one integer an axis (none for the first element)."""
        value = self.values[self.loc_to_index(location or (0,) * self.rank)]
        return value if self.dtype == "string" else value.item()

    def loc_to_index(self, location: Sequence[int]) -> int:
        """The flat index of a location."""
        if len(location) != self.rank:
            raise ValueError(f"buffer: {len(location)} indices for shape {format_shape(self.shape)}")
        for axis, (at, length) in enumerate(zip(location, self.shape, strict=True)):
            if not 0 <= at < length:
                raise ValueError(f"buffer: index {at} on axis {axis} is outside shape {format_shape(self.shape)}")
        return int(np.ravel_multi_index(tuple(location), self.shape)) if self.rank else 0

    def index_to_loc(self, index: int) -> tuple[int, ...]:
        """The location of a flat index."""
        return tuple(int(i) for i in np.unravel_index(index, self.shape)) if self.rank else ()

    def to_tensor(self) -> Tensor:
        """A tensor with a copy of the values."""
        return make_tensor(self.values.reshape(self.shape).copy())

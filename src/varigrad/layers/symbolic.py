"""Symbolic tensors: what is known of a model's inputs and outputs before there are values."""

from __future__ import annotations

from varigrad.layers.arguments import Shape
from varigrad.tensor import format_shape

__all__ = ["SymbolicTensor"]


class SymbolicTensor:
    """The name, shape and dtype of a tensor to come; unknown axes of the shape are None.

    Mirrors `tf.SymbolicTensor`.

    >>> import varigrad as vg
    >>> vg.sequential(layers=[vg.layers.dense(units=2, input_shape=[3])]).outputs[0].shape
    (None, 2)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(self, name: str, shape: Shape, dtype: str) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"SymbolicTensor({self.name!r}, shape={format_shape(self.shape)}, dtype={self.dtype})"

"""Symbolic tensors: what is known of a model's inputs and outputs before there are values."""

from __future__ import annotations

from typing import NamedTuple

from varigrad.layers.arguments import Shape

__all__ = ["SymbolicTensor"]


class SymbolicTensor(NamedTuple):
    """The name, shape and dtype of a tensor to come; unknown axes of the shape are None."""

    name: str
    shape: Shape
    dtype: str
